"""SVG sources made in code, and what a drawing of one shows."""

from __future__ import annotations

import base64
import zlib

import numpy as np

from pixlane import formats
from pixlane.imaging import decoders
from pixlane.imaging.deadline import Deadline
from pixlane.imaging.work import Work
from pixlane.recipe import Recipe, Region
from pixlane.settings import Limits

NAMESPACES = 'xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink"'


def svg(body: str, attributes: str = 'width="100" height="100"', before: str = "") -> bytes:
    return f"{before}<svg {NAMESPACES} {attributes}>{body}</svg>".encode()


def data_url(data: bytes, mime: str = "image/png") -> str:
    return f"data:{mime};base64,{base64.b64encode(data).decode()}"


def png(red: int, green: int, blue: int, side: int = 8, alpha: int = 255) -> bytes:
    """A square of one colour."""
    row = b"\0" + bytes((red, green, blue, alpha)) * side
    return _png(side, 6, zlib.compress(row * side))


def flat_png(side: int) -> bytes:
    """A black grey-scale square: many pixels in few bytes."""
    packer = zlib.compressobj(9)
    row = bytes(side + 1)
    return _png(side, 0, b"".join(packer.compress(row) for _ in range(side)) + packer.flush())


def _png(side: int, colour: int, packed: bytes) -> bytes:
    def chunk(kind: bytes, content: bytes) -> bytes:
        return len(content).to_bytes(4, "big") + kind + content + zlib.crc32(kind + content).to_bytes(4, "big")

    header = side.to_bytes(4, "big") * 2 + bytes((8, colour, 0, 0, 0))
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", packed) + chunk(b"IEND", b"")


def opened(data: bytes, recipe: Recipe | None = None, limits: Limits | None = None) -> Work:
    limits = limits or Limits()
    work = Work(data, recipe or Recipe(), limits, Deadline(limits.soft_timeout_s), source_bytes=len(data))
    work.detected = formats.detect(data).format
    work.opened = decoders.open_source(work)
    return work


def drawn(work: Work, region: Region | None = None, size: tuple[int, int] | None = None) -> np.ndarray:
    """The picture as height x width x 3."""
    assert work.opened is not None
    facts = work.opened.facts
    image = work.opened.draw(region or Region(0, 0, facts.width, facts.height), *(size or (facts.width, facts.height)))
    pixels = np.asarray(image)
    return np.repeat(pixels, 3, axis=2) if pixels.shape[2] == 1 else pixels


def codes(work: Work) -> set[str]:
    return {note.code for note in work.notes}


def share(pixels: np.ndarray, colour: tuple[int, int, int], within: int = 40) -> float:
    """The part of the picture that has about this colour."""
    return float((np.abs(pixels.astype(int) - colour).max(axis=2) <= within).mean())


NOTED: dict[str, bytes] = {
    "svg_repaired": b'<svg width="9" height="9"/>',
    "svg_reference_removed": svg('<image href="a.png"/>'),
    "svg_script_removed": svg("<script/>"),
    "svg_foreign_removed": svg("<foreignObject/>"),
    "svg_animation_ignored": svg("<rect><set/></rect>"),
    "svg_font_replaced": svg("<style>@font-face{font-family:x}</style>"),
    "svg_text_not_drawn": svg("<text y='50'>\U000f1234</text>"),
    "svg_image_unreadable": svg(f'<image href="{data_url(b"text")}"/>'),
    "svg_filter_limited": svg('<filter><feTurbulence numOctaves="99"/></filter>'),
    "vector_size_assumed": svg('<rect width="9" height="9"/>', ""),
    "vector_scaled": svg(""),
}
"""A source for each note on vectors; `svg_engine_fallback` needs an engine that is missing (tests/pure/test_svg_draw.py)."""
