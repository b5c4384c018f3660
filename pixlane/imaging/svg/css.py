"""CSS without a way out of the document: `url(#id)` stays, every other reference and `@import` go."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

from pixlane.errors import UnsafeSvg

MAX_CSS_CHARACTERS = 524_288  # of one sheet or attribute that has to be taken apart

# Nothing can be referred to without one of these; an escape could spell any of them.
_SUSPECT = re.compile(r"[\\@]|url|src|image|cross-fade|element", re.IGNORECASE)
_LOCAL = re.compile(r"url\(\s*#[\w.:-]+\s*\)")
_FETCHING_FUNCTIONS = frozenset(
    {"url", "src", "image", "image-set", "-webkit-image-set", "cross-fade", "-webkit-cross-fade", "element"}
)
_DROPPED_RULES = frozenset({"import", "font-face", "namespace", "charset"})
_PAINTS = frozenset({"fill", "stroke"})


@dataclass
class Removed:
    """What was taken out: references by their text, and font declarations by number."""

    references: list[str] = field(default_factory=list)
    fonts: int = 0


def clean(text: str, removed: Removed, property_name: str = "") -> str:
    """The same sheet, declarations or value, with local references only.

    `property_name` is that of a lone value, as in a presentation attribute. Raises UnsafeSvg when there is too much of it.
    """
    if not _SUSPECT.search(_LOCAL.sub("", text)):
        return text
    if len(text) > MAX_CSS_CHARACTERS:
        raise UnsafeSvg(
            f"the SVG has a style of {len(text)} characters, allowed are {MAX_CSS_CHARACTERS}",
            limit=MAX_CSS_CHARACTERS,
            actual=len(text),
        )
    import tinycss2  # type: ignore[import-untyped]

    try:
        return str(tinycss2.serialize(_clean(tinycss2.parse_component_value_list(text), removed, property_name)))
    except RecursionError:
        raise UnsafeSvg("the SVG has a style with too many nested brackets") from None


def _clean(values: list[Any], removed: Removed, property_name: str) -> list[Any]:
    kept: list[Any] = []
    rule = ""  # name of the at-rule that is being dropped
    for index, value in enumerate(values):
        if rule:
            if value.type == "{} block" or (value.type == "literal" and value.value == ";"):
                rule = ""
            elif rule == "import" and value.type in ("url", "string", "function"):
                removed.references.append(_spelled(value))
            continue
        if value.type == "at-keyword" and value.lower_value in _DROPPED_RULES:
            rule = value.lower_value
            removed.fonts += rule == "font-face"
            continue
        if value.type == "ident" and _is_literal(values, index + 1, ":"):
            property_name = value.lower_value
        target = _target(value)
        if target is not None and not target.startswith("#"):
            removed.references.append(target)
            kept.append(_nothing(property_name))
            continue
        for name in ("content", "arguments"):
            nested = getattr(value, name, None)
            if isinstance(nested, list):
                setattr(value, name, _clean(nested, removed, property_name))
        kept.append(value)
    return kept


def _target(value: Any) -> str | None:
    """What the token refers to; None when it is no reference."""
    if value.type == "url":
        return str(value.value).strip()
    if value.type == "function" and value.lower_name in _FETCHING_FUNCTIONS:
        if value.lower_name != "url":
            return f"{value.lower_name}()"
        return next((str(argument.value).strip() for argument in value.arguments if argument.type == "string"), "url()")
    if value.type == "error" and "url" in str(value.kind):
        return "url()"
    return None


def _spelled(value: Any) -> str:
    return _target(value) or str(getattr(value, "value", "@import"))


def _is_literal(values: list[Any], index: int, sign: str) -> bool:
    while index < len(values) and values[index].type in ("whitespace", "comment"):
        index += 1
    return index < len(values) and values[index].type == "literal" and values[index].value == sign


def _nothing(property_name: str) -> Any:
    """What stands for a removed reference: for a paint one that is not there, so that its fallback colour counts."""
    import tinycss2

    return tinycss2.parse_component_value_list("url(#removed)" if property_name in _PAINTS else "none")[0]
