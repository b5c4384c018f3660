"""The pages of a document that somebody asks for, as written by a person or a model: "3", "2-5", "1,4-6"."""

from __future__ import annotations

import re
from collections.abc import Sequence

from pixlane.errors import InvalidArgument

_RANGE = re.compile(r"\s*(\d{1,6})\s*(?:-\s*(\d{1,6})\s*)?", re.ASCII)


def numbers(pages: str | Sequence[int] | None) -> list[int] | None:
    """Page numbers from 1, in the order asked for, each once. Raises InvalidArgument."""
    if pages is None:
        return None
    if not isinstance(pages, str):
        found = list(pages)
        if not found or any(not isinstance(page, int) or isinstance(page, bool) or page < 1 for page in found):
            raise InvalidArgument("pages are whole numbers from 1", actual=str(pages)[:80])
        return list(dict.fromkeys(found))
    wanted: list[int] = []
    for part in pages.split(","):
        match = _RANGE.fullmatch(part)
        first, last = (int(match[1]), int(match[2] or match[1])) if match else (0, 0)
        if not match or first < 1 or last < first:
            raise InvalidArgument(f'pages are written "3", "2-5" or "1,4-6", got {pages[:80]!r}', actual=pages[:80])
        wanted += range(first, last + 1)
    return list(dict.fromkeys(wanted))


def ranges(pages: Sequence[int]) -> str:
    return f"{pages[0]}" if len(pages) == 1 else f"{pages[0]} to {pages[-1]}"
