"""References to images in what a user wrote: which attach, and of everything that looks like one and does not, why.

refs = extract_image_refs("what is wrong in ~/shots/a b.png and https://example.com/c.webp?rev=3, not in `~/d.png`")
refs.paths, refs.urls                   ("/home/me/shots/a b.png",), ("https://example.com/c.webp?rev=3",)
refs.ignored[0].reason                  "in_code"

Two rules bound the work: a text is cut into pieces that are each looked at once, and counts end what nobody means.
"""

from __future__ import annotations

import os
import re
import stat
import unicodedata
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, NamedTuple
from urllib.parse import unquote

from pixlane import formats
from pixlane.messages.code_spans import Span, code_spans
from pixlane.messages.urls import Url, find_urls

MAX_REFERENCES = 1_000  # that are answered; as many in code
MAX_LOOKUPS = 1_000  # files that are touched
MAX_NAMES = 10_000  # extensions of images, and as many URLs, that are looked at
MAX_ENDS = 4  # where a path with spaces may end
SHOWN_CHARS = 200  # of what is ignored

REASONS: dict[str, str] = {
    "in_code": "it stands in code; write it outside of backticks to attach it",
    "missing": "there is no such file",
    "not_a_file": "it is a folder, a device or a pipe",
    "unreadable": "the system does not let it be looked at",
    "unsupported_extension": "documents and pictures of this kind are not attached",
    "unsupported_scheme": "only http and https URLs are attached; write a local file as a path",
    "no_image_extension": "the URL names an image, but its path does not end as one",
    "not_absolute": "a path begins with / or ~/ (on Windows with a drive)",
    "windows_path": "a path of Windows, and this is none",
    "metadata_address": "the address gives out secrets of machines, never images",
    "too_many": f"a text may hold {MAX_REFERENCES:,} references; this one, and what follows, is not looked at",
}
"""Reason to the sentence that explains it."""

TAKEN = frozenset(ext for row in formats.FORMATS.values() if row.engines and row.name != "pdf" for ext in row.extensions)
KNOWN = TAKEN | {ext for row in formats.FORMATS.values() if row.image for ext in row.extensions} | {"pdf"}

_EXTENSION = re.compile(r"\.([A-Za-z0-9]{2,5})(?![A-Za-z0-9_])")
# What comes before the last place where a path can begin, greedily: found from the end in one step.
_LAST_START = re.compile(r".*(?<![A-Za-z0-9_/\\.~\-%+&#?$])(?P<start>(?P<drive>[A-Za-z]:[\\/])|~?/)(?![\s/])", re.DOTALL)
_SPACE = re.compile(r"(?<!\\)\s")
_SENTENCE = re.compile(r"[;:,.!?]\s")
_TOKEN_BREAK = re.compile(r".*[\s\"'<>()\[\]{}`,;|=!*]", re.DOTALL)
_GOES_ON = re.compile(r"[/~]|[\\.\-+@%=&$][A-Za-z0-9_]")  # after an extension that is not the end
_ESCAPED = re.compile(r"\\(.)")
_QUOTES = {'"': '"', "'": "'", "“": "”", "‘": "’", "«": "»", "„": "“", "「": "」"}


class Ignored(NamedTuple):
    """Something that looks like an image and is not attached. `reason` is a key of REASONS, `at` the offset in the text."""

    text: str
    reason: str
    at: int


@dataclass(frozen=True)
class ImageRefs:
    """Paths (expanded, not resolved) and URLs (verbatim), each once, in the order of the text."""

    paths: tuple[str, ...] = ()
    urls: tuple[str, ...] = ()
    ignored: tuple[Ignored, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        ignored = [{"text": one.text, "reason": one.reason, "why": REASONS[one.reason]} for one in self.ignored]
        return {"paths": list(self.paths), "urls": list(self.urls), "ignored": ignored}


def extract_image_refs(text: Any, *, windows: bool = os.name == "nt") -> ImageRefs:
    """The images that a text names: absolute paths of regular files, and http(s) URLs, by the extensions of the registry.

    PDFs and archives never attach, nor does anything in code. What is no text holds no references. Touches the disk with at
    most MAX_LOOKUPS `stat` calls; fetches nothing.
    """
    if not isinstance(text, str) or not text:
        return ImageRefs()
    urls = find_urls(text, MAX_NAMES + 1)
    ends = list(islice(_ends(text), MAX_NAMES + 1))
    cut = min(urls.pop().start if len(urls) > MAX_NAMES else len(text), ends.pop() if len(ends) > MAX_NAMES else len(text))
    desk = _Desk(text[:cut], windows)
    if cut < len(text):
        desk.ignore(text[cut : cut + SHOWN_CHARS], "too_many", cut)
    if urls or ends:
        spans = code_spans(desk.text)
        for url in urls:
            desk.take_url(url, _holds(spans, url.start))
        for stretch in _stretches(ends, spans, sorted([*spans, *((url.start, url.end) for url in urls)]), cut):
            desk.read(stretch)
    return desk.result()


class _Stretch(NamedTuple):
    """A piece of the text that holds something; `ends` as those of `_ends`."""

    start: int
    end: int
    in_code: bool
    ends: list[int]


def _stretches(ends: list[int], spans: list[Span], covered: list[Span], last: int) -> Iterator[_Stretch]:
    """The pieces of code, and those outside of code and URLs, that hold an end; one each."""
    place = 0
    while place < len(ends):
        after = bisect_left(covered, ends[place], key=lambda span: span[0])
        start, end = covered[after - 1] if after else (0, 0)
        inside = ends[place] <= end
        if not inside:
            start, end = end, covered[after][0] if after < len(covered) else last
        beyond = bisect_right(ends, end, lo=place)
        in_code = inside and _holds(spans, start)
        if in_code or not inside:
            yield _Stretch(start, end, in_code, ends[place:beyond])
        place = max(beyond, place + 1)


def _ends(text: str) -> Iterator[int]:
    """Where something may end that is named like an image."""
    for found in _EXTENSION.finditer(text):
        if found[1].lower() in KNOWN and not _GOES_ON.match(text, found.end()):
            yield found.end()


@dataclass
class _Desk:
    text: str
    windows: bool
    paths: dict[str, int] = field(default_factory=dict)  # to the offset
    urls: dict[str, int] = field(default_factory=dict)
    ignored: dict[tuple[str, str], int] = field(default_factory=dict)
    looked_up: dict[str, str] = field(default_factory=dict)  # path to "" or the reason against it
    references: int = 0
    in_code: int = 0

    def result(self) -> ImageRefs:
        ignored = sorted((Ignored(text, reason, at) for (text, reason), at in self.ignored.items()), key=lambda one: one.at)
        return ImageRefs(_in_order(self.paths), _in_order(self.urls), tuple(ignored))

    def ignore(self, text: str, reason: str, at: int) -> None:
        self.ignored.setdefault((text[:SHOWN_CHARS], reason), at)

    def _full(self, at: int, end: int) -> bool:
        """Whether there is no room for a further reference, which is then told once."""
        self.references += 1
        if self.references == MAX_REFERENCES + 1:
            self.ignore(self.text[at:end], "too_many", at)
        return self.references > MAX_REFERENCES

    # URLs ----------------------------------------------------------------------------------------------------------------

    def take_url(self, url: Url, in_code: bool) -> None:
        verdict = url.verdict(TAKEN, KNOWN)
        if verdict == "no_image":
            return
        if in_code:
            self._code(url.text, url.start)
        elif self._full(url.start, url.end):
            return
        elif verdict == "taken":
            self.urls.setdefault(url.text, url.start)
        else:
            self.ignore(url.text, verdict, url.start)

    # Code ----------------------------------------------------------------------------------------------------------------

    def _code(self, text: str, at: int) -> None:
        self.in_code += 1
        if self.in_code <= MAX_REFERENCES:
            self.ignore(text, "in_code", at)
        elif self.in_code == MAX_REFERENCES + 1:
            self.ignore(text, "too_many", at)

    # Paths ---------------------------------------------------------------------------------------------------------------

    def read(self, stretch: _Stretch) -> None:
        for path in self._paths(stretch):
            if stretch.in_code:
                self._code(self.text[path.start : path.ends[0]], path.start)
            elif not self._full(path.start, path.ends[0]):
                self._take(path)

    def _take(self, path: _Path) -> None:
        text, ends = self.text, path.ends
        if path.relative:
            self.ignore(text[path.start : ends[0]], "not_absolute", path.start)
            return
        if path.drive and not self.windows:
            self.ignore(text[path.start : ends[0]], "windows_path", path.start)
            return
        reasons = []
        for end in reversed(ends):  # the longest that is there: "a.png copy.png" is not "a.png"
            if text[text.rindex(".", path.start, end) + 1 : end].lower() not in TAKEN:
                reasons.append("unsupported_extension")
                continue
            found, reason = self._found(text[path.start : end])
            if not reason:
                self.paths.setdefault(found, path.start)
                return
            reasons.append(reason)
        shortest = text[path.start : ends[0]]
        if not path.spaced or (re.search(r"[\\/].*[\\/]", shortest) and not _SENTENCE.search(shortest)):
            self.ignore(shortest, reasons[-1], path.start)
        else:  # "/help says a.png" names a.png
            at = self._token(path.start, ends[0])
            self.ignore(text[at : ends[0]], "not_absolute", at)

    def _found(self, written: str) -> tuple[str, str]:
        """The path that is meant, and the reason against it, "" for none."""
        spellings = dict.fromkeys((written, _ESCAPED.sub(r"\1", written) if not self.windows else written, unquote(written)))
        first, reason = "", ""
        for spelling in spellings:
            path = os.path.expanduser(spelling)
            if path not in self.looked_up:
                if len(self.looked_up) >= MAX_LOOKUPS:
                    return path, "too_many"
                self.looked_up[path] = _reason_against(path)
            if not self.looked_up[path]:
                return path, ""
            if not first or reason == "missing":
                first, reason = path, self.looked_up[path]
        return first, reason

    def _paths(self, stretch: _Stretch) -> Iterator[_Path]:
        """What looks like a path in a stretch: where it begins and where it may end, line by line."""
        open_path: _Path | None = None
        low = stretch.start
        for stop in stretch.ends:
            line = self.text.rfind("\n", low, stop) + 1
            began = self._last_start(max(low, line), stop)
            if open_path and (began or line):
                yield open_path
                open_path = None
            low = max(low, line)
            if began:
                open_path = began
            if open_path:
                open_path.add(self.text, stop, low)
            elif not stretch.in_code:
                at = self._token(low, stop)
                if at < self.text.rindex(".", at, stop):
                    yield _Path(at, [stop], relative=True)
            low = stop
        if open_path:
            yield open_path

    def _last_start(self, low: int, end: int) -> _Path | None:
        while found := _LAST_START.match(self.text, low, end):
            at = found.start("start")
            before = self.text[at - 1 : at]
            # A letter goes on: "and/or", "café/a.png". One of a script without spaces does not: "看/tmp/a.png".
            if not before.isalpha() or unicodedata.category(before) == "Lo":
                return _Path(at, [], drive=found["drive"] is not None)
            end = found.end() - 1
        return None

    def _token(self, low: int, end: int) -> int:
        """Where the word begins that ends there."""
        broken = _TOKEN_BREAK.match(self.text, low, end)
        return broken.end() if broken else low


@dataclass
class _Path:
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


def _reason_against(path: str) -> str:
    try:
        mode = os.stat(path).st_mode
    except (FileNotFoundError, NotADirectoryError):
        return "missing"
    except (OSError, ValueError) as error:
        return "unreadable" if isinstance(error, PermissionError) else "missing"
    return "" if stat.S_ISREG(mode) else "not_a_file"


def _holds(spans: list[Span], at: int) -> bool:
    """Whether one of the spans, in order and apart, holds the offset."""
    place = bisect_right(spans, at, key=lambda span: span[0])
    return place > 0 and at < spans[place - 1][1]


def _in_order(found: dict[str, int]) -> tuple[str, ...]:
    return tuple(sorted(found, key=found.__getitem__))
