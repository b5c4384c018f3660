"""The encoders: a picture in memory to bytes, given up as soon as they are more than allowed. No metadata, deterministic.

A picture is 8-bit sRGB (3 bands) or grey (1 band), a pyvips image in memory.
"""

from __future__ import annotations

import io
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pixlane.imaging import fork_guard

if TYPE_CHECKING:
    import numpy
    import pyvips

PNG_LEVEL = 3  # half the time of level 6 for 3 to 9 % more bytes on screenshots
PALETTE_LEVEL = 6  # of the indices only: a third of the data
PALETTE_EFFORT = 1
WEBP_EFFORT = 2  # 15 to 25 % smaller than 0, half the time of 4
WEBP_FINE, WEBP_FINE_EFFORT = 90, 0  # from that quality on more effort saves next to nothing and takes half as much time again
WEBP_LOSSLESS_EFFORT = 0

MIME = {"jpeg": "image/jpeg", "png": "image/png", "exact": "image/png", "palette": "image/png", "webp": "image/webp"}
MAX_SIDE_PX = {"jpeg": 65_500, "webp": 16_383}  # what the formats can hold (libjpeg keeps a few back); others: no limit here


@dataclass(frozen=True)
class Outcome:
    """The bytes, or how many there were when the encoder was stopped."""

    data: bytes
    byte_count: int

    @property
    def done(self) -> bool:
        return bool(self.data)


def jpeg(picture: pyvips.Image, limit: int | None, quality: int, full_chroma: bool = False, optimised: bool = False) -> Outcome:
    """Baseline JPEG; colour at full resolution (4:4:4) or at half (4:2:0); `optimised` Huffman tables take twice the time."""
    chroma = "off" if full_chroma else "on"
    return _save(picture, "jpegsave_target", limit, Q=quality, subsample_mode=chroma, optimize_coding=optimised)


def png(picture: pyvips.Image, limit: int | None) -> Outcome:
    """Lossless PNG, 1 or 3 channels."""
    return _save(picture, "pngsave_target", limit, compression=PNG_LEVEL, filter="none")


def palette(picture: pyvips.Image, limit: int | None) -> Outcome:
    """PNG with the 256 colours that suit best, without dithering."""
    return _save(
        picture, "pngsave_target", limit, palette=True, effort=PALETTE_EFFORT, dither=0, compression=PALETTE_LEVEL, filter="none"
    )


def webp(picture: pyvips.Image, limit: int | None, quality: int | None) -> Outcome:
    """WebP, lossless where there is no quality."""
    if quality is None:
        return _save(picture, "webpsave_target", limit, lossless=True, effort=WEBP_LOSSLESS_EFFORT)
    effort = WEBP_FINE_EFFORT if quality >= WEBP_FINE else WEBP_EFFORT
    return _save(picture, "webpsave_target", limit, Q=quality, effort=effort)


def exact(picture: pyvips.Image, limit: int | None) -> Outcome | None:
    """Lossless PNG with a palette; None where there are more than 256 colours.

    Through numpy and Pillow: the quantizer of libvips moves colours by a level even where there are few.
    """
    found = _colours(picture)
    if found is None:
        return None
    import numpy
    from PIL import Image

    table = numpy.zeros(1 << 24, numpy.uint8)
    table[found] = numpy.arange(len(found), dtype=numpy.uint8)
    indexed = Image.fromarray(table[_packed(picture)])
    indexed.putpalette(numpy.stack([found >> 16, found >> 8 & 255, found & 255], axis=1).astype(numpy.uint8).tobytes())
    target = io.BytesIO()
    indexed.save(target, "PNG", compress_level=PALETTE_LEVEL)
    data = target.getvalue()
    return Outcome(data if limit is None or len(data) <= limit else b"", len(data))


def _colours(picture: pyvips.Image) -> numpy.ndarray[Any, numpy.dtype[numpy.uint32]] | None:
    """The colours as 0xRRGGBB in ascending order; None where there are more than 256."""
    import numpy

    seen = numpy.zeros(1 << 24, numpy.bool_)
    seen[_packed(picture)] = True
    found = numpy.flatnonzero(seen).astype(numpy.uint32)
    return found if len(found) <= 256 else None


def _packed(picture: pyvips.Image) -> numpy.ndarray[Any, numpy.dtype[numpy.uint32]]:
    import numpy

    pixels = picture.numpy().reshape(picture.height, picture.width, picture.bands).astype(numpy.uint32)
    red, green, blue = (pixels[..., min(band, picture.bands - 1)] for band in range(3))
    packed: numpy.ndarray[Any, numpy.dtype[numpy.uint32]] = red << 16 | green << 8 | blue
    return packed


def _save(picture: pyvips.Image, operation: str, limit: int | None, **options: Any) -> Outcome:
    """Encode into memory; the encoder is stopped when it has written more than `limit` bytes."""
    import pyvips

    fork_guard.enter()
    parts: list[bytes] = []
    written = 0

    def write(part: Any) -> int:
        nonlocal written
        written += len(part)
        if limit is not None and written > limit:
            return -1
        parts.append(bytes(part))
        return len(part)

    target = pyvips.TargetCustom()
    target.on_write(write)
    save: Callable[..., None] = getattr(picture, operation)
    try:
        save(target, keep="none", **options)
    except pyvips.Error:
        if limit is None or written <= limit:
            raise
        return Outcome(b"", written)
    return Outcome(b"".join(parts), written)
