"""The text of a PDF and its number of pages, through PDFium in the process that draws vectors and may die of it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Final

from pixlane import settings as knobs

MAX_TEXT_PAGES: Final = 100


@dataclass(frozen=True)
class DocumentText:
    """The text of the first pages. `count`: of all pages; `cut`: the last one is not whole."""

    count: int
    pages: tuple[str, ...]
    cut: bool


def text(data: bytes, max_characters: int) -> DocumentText:
    """Of at most 100 pages. Raises EncryptedInput, CorruptInput, EngineMissing, RenderFailed, DeadlineExceeded."""
    from pixlane.imaging.svg.draw_process import pool

    header = {"op": "pdf_text", "first": 0, "last": MAX_TEXT_PAGES, "max_characters": max_characters}
    answer, content = pool().ask(header, data, knobs.current().svg_timeout_s)
    return DocumentText(answer["pages"], tuple(json.loads(content)), answer["cut"])


def page_count(data: bytes) -> int:
    """Raises as `text`."""
    from pixlane.imaging.svg.draw_process import pool

    answer, _ = pool().ask({"op": "pdf_open", "page": 0}, data, knobs.current().svg_timeout_s)
    return int(answer["pages"])
