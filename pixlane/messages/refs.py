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
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, NamedTuple
from urllib.parse import unquote

from pixlane.messages.code_spans import code_spans
from pixlane.messages.path_marks import KNOWN, TAKEN, PathMark, Stretch, ends_in, holds, paths_in, stretches, token_start
from pixlane.messages.urls import Url, find_urls

MAX_REFERENCES = 1_000  # that are answered; as many in code
MAX_LOOKUPS = 1_000  # files that are touched
MAX_NAMES = 10_000  # extensions of images, and as many URLs, that are looked at
SHOWN_CHARS = 200  # of what is ignored

REASONS: dict[str, str] = {
    "in_code": "it stands in code; write it outside of backticks to attach it",
    "missing": "there is no such file",
    "not_a_file": "it is a folder, a device or a pipe",
    "unreadable": "the system does not let it be looked at",
    "unsupported_extension": "documents and pictures of this kind are not attached",
    "unsupported_scheme": "only http and https URLs are attached; write a local file as a path",
    "no_image_extension": "an image is meant, but the URL or path does not end as one",
    "not_absolute": "a path begins with / or ~/ (on Windows with a drive)",
    "windows_path": "a path of Windows, and this is none",
    "metadata_address": "the address gives out secrets of machines, never images",
    "too_many": f"a text may hold {MAX_REFERENCES:,} references; this one, and what follows, is not looked at",
}
"""Reason to the sentence that explains it."""

_MARKDOWN = re.compile(r"!\[[^\[\]\n]*\]\(\s*<?(?=https?://|~?/)([^\s()<>]+)", re.IGNORECASE)
_SENTENCE = re.compile(r"[;:,.!?]\s")
_TWO_SLASHES = re.compile(r"[\\/].*[\\/]", re.DOTALL)
_ESCAPED = re.compile(r"\\(.)")


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
    ends = list(islice(ends_in(text), MAX_NAMES + 1))
    cut = min(urls.pop().start if len(urls) > MAX_NAMES else len(text), ends.pop() if len(ends) > MAX_NAMES else len(text))
    desk = _Desk(text[:cut], windows)
    if cut < len(text):
        desk.ignore(text[cut : cut + SHOWN_CHARS], "too_many", cut)
    shown = _MARKDOWN.search(desk.text)
    if urls or ends or shown:
        spans = code_spans(desk.text)
        for url in urls:
            desk.take_url(url, holds(spans, url.start))
        for stretch in stretches(ends, spans, sorted([*spans, *((url.start, url.end) for url in urls)]), cut):
            desk.read(stretch)
        for image in _MARKDOWN.finditer(desk.text) if shown else ():
            desk.expect(image[1], image.start(1), holds(spans, image.start(1)))
    return desk.result()


@dataclass
class _Desk:
    text: str
    windows: bool
    paths: dict[str, int] = field(default_factory=dict)  # to the offset
    urls: dict[str, int] = field(default_factory=dict)
    ignored: dict[tuple[str, str], int] = field(default_factory=dict)
    seen: set[int] = field(default_factory=set)  # offsets of what was looked at
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

    def expect(self, text: str, at: int, in_code: bool) -> None:
        """What Markdown shows as an image is told of, if nothing was until here."""
        if at in self.seen:
            return
        if in_code:
            self._code(text, at)
        elif not self._full(at, at + len(text)):
            self.ignore(text, "no_image_extension", at)

    # URLs ----------------------------------------------------------------------------------------------------------------

    def take_url(self, url: Url, in_code: bool) -> None:
        verdict = url.verdict(TAKEN, KNOWN)
        if verdict == "no_image":
            return
        self.seen.add(url.start)
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

    def read(self, stretch: Stretch) -> None:
        for path in paths_in(self.text, stretch):
            self.seen.add(path.start)
            if stretch.in_code:
                self._code(self.text[path.start : path.ends[0]], path.start)
            elif not self._full(path.start, path.ends[0]):
                self._take(path)

    def _take(self, path: PathMark) -> None:
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
        if not path.spaced or (_TWO_SLASHES.search(shortest) and not _SENTENCE.search(shortest)):
            self.ignore(shortest, reasons[-1], path.start)
        else:  # "/help says a.png" names a.png
            at = token_start(text, path.start, ends[0])
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


def _reason_against(path: str) -> str:
    try:
        mode = os.stat(path).st_mode
    except (FileNotFoundError, NotADirectoryError):
        return "missing"
    except (OSError, ValueError) as error:
        return "unreadable" if isinstance(error, PermissionError) else "missing"
    return "" if stat.S_ISREG(mode) else "not_a_file"


def _in_order(found: dict[str, int]) -> tuple[str, ...]:
    return tuple(sorted(found, key=found.__getitem__))
