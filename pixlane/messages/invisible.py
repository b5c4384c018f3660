"""TAG characters, U+E0000 to U+E007F: no screen shows them, every model reads them. They go; the flags that they spell stay.

A flag is U+1F3F4, the tags of a subdivision's code and U+E007F (Unicode TS 51, ED-14a: an emoji tag sequence is valid where its
code is one of CLDR's). The list of codes is closed, so that a black flag carries no words of anybody.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

MAX_DEPTH = 64  # levels of a structure; what lies deeper is cut off, as no tool means it
CUT = "\N{HORIZONTAL ELLIPSIS}"

_FLAG = "\N{WAVING BLACK FLAG}"
_TAG_BASE = 0xE0000
_TAGS = re.compile(f"{_FLAG}([\U000e0020-\U000e007e]+)\U000e007f|[\U000e0000-\U000e007f]+")
_SURROGATE = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True)
class Cleaned:
    """A text or a structure of JSON values without what cannot be seen.

    Attributes:
        value: of the same form as what came in; its lists and mappings are new.
        tags: TAG characters that were removed.
        surrogates: halves of UTF-16 pairs that stood alone, each now U+FFFD: two of them make any character once they are JSON.
        cut: places deeper than MAX_DEPTH levels, each now an ellipsis.
        merged: keys that became equal to another one and were left out.
    """

    value: Any
    tags: int = 0
    surrogates: int = 0
    cut: int = 0
    merged: int = 0

    @property
    def changed(self) -> bool:
        return bool(self.tags or self.surrogates or self.cut or self.merged)


def clean(value: Any) -> Cleaned:
    """A tool's result, a resource, a tool's description, structured content: every string and every key in it.

    The input is untouched; a second run changes nothing.
    """
    count = _Count()
    return Cleaned(_clean(value, count, 0), count.tags, count.surrogates, count.cut, count.merged)


@dataclass
class _Count:
    tags: int = 0
    surrogates: int = 0
    cut: int = 0
    merged: int = 0


def _clean(value: Any, count: _Count, depth: int) -> Any:
    if isinstance(value, str):
        return _text(value, count)
    if depth >= MAX_DEPTH and isinstance(value, (Mapping, list, tuple)):
        count.cut += 1
        return CUT
    if isinstance(value, Mapping):
        return _mapping(value, count, depth)
    if isinstance(value, (list, tuple)):
        return [_clean(item, count, depth + 1) for item in value]
    return value


def _mapping(value: Mapping[Any, Any], count: _Count, depth: int) -> dict[Any, Any]:
    kept: dict[Any, Any] = {}
    for key, item in value.items():
        name = _text(key, count) if isinstance(key, str) else key
        if name in kept:
            count.merged += 1
        else:
            kept[name] = _clean(item, count, depth + 1)
    return kept


def _text(text: str, count: _Count) -> str:
    if text.isascii():
        return text
    if _SURROGATE.search(text):
        # Pairs first become the characters that they mean, as they would on the way to the model.
        text = text.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")
        text, alone = _SURROGATE.subn("\N{REPLACEMENT CHARACTER}", text)
        count.surrogates += alone

    def judge(found: re.Match[str]) -> str:
        code = found[1]
        if code is None:
            count.tags += len(found[0])
            return ""
        if _spelled(code) in _subdivisions():
            return found[0]
        count.tags += len(found[0]) - 1
        return _FLAG

    return _TAGS.sub(judge, text)


def _spelled(tags: str) -> str:
    return "".join(chr(ord(tag) - _TAG_BASE) for tag in tags)


@cache
def _subdivisions() -> frozenset[str]:
    text = resources.files("pixlane.messages").joinpath("subdivisions.json").read_text(encoding="utf-8")
    regions: dict[str, str] = json.loads(text)["regions"]
    return frozenset(region + code for region, codes in regions.items() for code in codes.split())
