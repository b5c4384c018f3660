"""Where in a text something stands that is named like an image: paths, with spaces too, and names without a folder.

The search goes from ends to beginnings: an extension of the registry is rare, what may be the beginning of a path is not. Every
piece of the text is looked at once.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from pixlane import formats
from pixlane.messages.code_spans import Span

MAX_ENDS = 4  # where a path with spaces may end
MAX_PATH_CHARS = 4_096  # PATH_MAX of Linux: what is longer cannot be there

TAKEN = frozenset(ext for row in formats.FORMATS.values() if row.engines and row.name != "pdf" for ext in row.extensions)
KNOWN = TAKEN | {ext for row in formats.FORMATS.values() if row.image for ext in row.extensions} | {"pdf"}

_EXTENSION = re.compile(r"\.([A-Za-z0-9]{2,5})(?![A-Za-z0-9_])")
# What comes before the last place where a path can begin, greedily: found from the end in one step.
_LAST_START = re.compile(
    r".*(?<![A-Za-z0-9_/\\.~\-%+&#?$)\]}])(?P<start>(?P<drive>[A-Za-z]:[\\/])|~?(?<!\b[A-Za-z]:)/)(?![\s/])", re.DOTALL
)
_SPACE = re.compile(r"(?<!\\)\s")
_TOKEN_BREAK = re.compile(r".*[\s\"'<>()\[\]{}`,;|=!*]", re.DOTALL)
_GOES_ON = re.compile(r"[/~]|[\\.\-+@%=&$][A-Za-z0-9_]")  # after an extension that is not the end
_QUOTES = {'"': '"', "'": "'", "“": "”", "‘": "’", "«": "»", "„": "“", "「": "」"}


class Stretch(NamedTuple):
    """A piece of the text that holds something; `ends` as those of `ends_in`."""

    start: int
    end: int
    in_code: bool
    ends: list[int]


def stretches(ends: list[int], spans: list[Span], covered: list[Span], last: int) -> Iterator[Stretch]:
    """The pieces of code, and those outside of code and URLs, that hold an end; one each."""
    place = 0
    while place < len(ends):
        after = bisect_left(covered, ends[place], key=lambda span: span[0])
        start, end = covered[after - 1] if after else (0, 0)
        inside = ends[place] <= end
        if not inside:
            start, end = end, covered[after][0] if after < len(covered) else last
        beyond = bisect_right(ends, end, lo=place)
        in_code = inside and holds(spans, start)
        if in_code or not inside:
            yield Stretch(start, end, in_code, ends[place:beyond])
        place = max(beyond, place + 1)


def ends_in(text: str) -> Iterator[int]:
    """Where something may end that is named like an image."""
    for found in _EXTENSION.finditer(text):
        if found[1].lower() in KNOWN and not _GOES_ON.match(text, found.end()):
            yield found.end()


@dataclass
class PathMark:
    """Where a path begins and, in order, where it may end."""

    start: int
    ends: list[int]
    drive: bool = False
    relative: bool = False
    spaced: bool = False
    closed: bool = False

    def add(self, text: str, end: int, low: int) -> None:
        """One more end, if the path can reach it; from `low` on nothing was looked at yet."""
        if self.closed or len(self.ends) >= MAX_ENDS:
            return
        quote = _QUOTES.get(text[self.start - 1 : self.start])
        if quote and text.find(quote, max(low, self.start), end) >= 0:
            self.closed = bool(self.ends)
            if self.closed:
                return
        if not self.ends:
            self.spaced = not (quote and text[end : end + 1] == quote) and _SPACE.search(text, self.start, end) is not None
        self.ends.append(end)
        self.closed = bool(quote and text[end : end + 1] == quote)


def paths_in(text: str, stretch: Stretch) -> Iterator[PathMark]:
    """What looks like a path in a stretch: where it begins and where it may end, line by line."""
    open_path: PathMark | None = None
    low = stretch.start
    for stop in stretch.ends:
        line = text.rfind("\n", low, stop) + 1
        low = max(low, line, stop - MAX_PATH_CHARS)
        began = _last_start(text, low, stop)
        if open_path and (began or line or low > open_path.ends[-1]):
            yield open_path
            open_path = None
        if began:
            open_path = began
        if open_path:
            open_path.add(text, stop, low)
        elif not stretch.in_code:
            at = token_start(text, low, stop)
            if at < text.rindex(".", at, stop):
                yield PathMark(at, [stop], relative=True)
        low = stop
    if open_path:
        yield open_path


def _last_start(text: str, low: int, end: int) -> PathMark | None:
    while found := _LAST_START.match(text, low, end):
        at, end = found.start("start"), found.end() - 1
        before = text[at - 1 : at]
        # A letter goes on: "and/or", "café/a.png". One of a script without spaces does so only in a path: "看/tmp/a.png".
        if before.isalpha() and (unicodedata.category(before) != "Lo" or text.rfind("/", _word_start(text, low, at), at) >= 0):
            continue
        return PathMark(at, [], drive=found["drive"] is not None)
    return None


def _word_start(text: str, low: int, end: int) -> int:
    return max(low, *(text.rfind(space, low, end) for space in " \t\n"))


def token_start(text: str, low: int, end: int) -> int:
    """Where the word begins that ends there."""
    broken = _TOKEN_BREAK.match(text, low, end)
    return broken.end() if broken else low


def holds(spans: list[Span], at: int) -> bool:
    """Whether one of the spans, in order and apart, holds the offset."""
    place = bisect_right(spans, at, key=lambda span: span[0])
    return place > 0 and at < spans[place - 1][1]
