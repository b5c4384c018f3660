"""Where a text is code, as CommonMark has it: fenced by backticks or tildes, or inline; in time linear in the text."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator

# A fence may stand in a quote or a list; the indentation that CommonMark takes for other code is a list's in a chat.
_BREAKS = re.compile(
    r"^[ \t>]*+(?:(?:[-*+]|\d{1,9}[.)])[ \t]++)?(?P<fence>`{3,}+|~{3,}+)(?P<info>[^\n]*+)\n?|(?P<blank>\n(?:[ \t\r]*+\n)+)",
    re.MULTILINE,
)
_RUN = re.compile(r"(?=[\\`])\\*+(?P<run>`*)")

Span = tuple[int, int]


def code_spans(text: str) -> list[Span]:
    """(start, end) of each stretch of code, fences and backticks included, in order and apart from each other.

    A fence that nothing closes runs to the end of the text; an inline one that nothing closes is no code.
    """
    spans: list[Span] = []
    opened: tuple[str, int] | None = None  # the fence that waits for its end, where it stands
    paragraph = 0  # where the text began that may hold inline code
    for found in _BREAKS.finditer(text):
        fence = found["fence"]
        if opened is None and (fence is None or not (fence[0] == "`" and "`" in found["info"])):
            spans += _inline(text, paragraph, found.start())
            paragraph = found.end()
            opened = (fence, found.start()) if fence else None
        elif opened and fence and fence[0] == opened[0][0] and len(fence) >= len(opened[0]) and not found["info"].strip():
            spans.append((opened[1], found.end()))
            opened, paragraph = None, found.end()
    spans.extend([(opened[1], len(text))] if opened else _inline(text, paragraph, len(text)))
    return spans


def _inline(text: str, start: int, end: int) -> Iterator[Span]:
    """Runs of backticks, each closed by the next run of the same length."""
    if text.count("`", start, end) < 2:
        return
    runs: list[tuple[int, int, int]] = []  # where it begins, where it begins as one that opens, where it ends
    closing: dict[int, list[int]] = {}  # length to the places in `runs`
    for found in _RUN.finditer(text, start, end):
        length = len(found["run"])
        if length:
            first = found.start("run")
            # A backslash takes one backtick's meaning, but inside of code it is a backslash.
            escaped = found.start("run") - found.start()
            runs.append((first, first + escaped % 2, found.end()))
            closing.setdefault(length, []).append(len(runs) - 1)
    index = 0
    while index < len(runs):
        _, first, last = runs[index]
        same = closing.get(last - first, [])
        place = bisect_right(same, index)
        if place < len(same):
            index = same[place]
            yield first, runs[index][2]
        index += 1
