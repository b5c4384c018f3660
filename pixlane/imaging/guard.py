"""What a source may cost, asked of the header before a pixel is decoded."""

from __future__ import annotations

from pixlane.errors import (
    EmptyInput,
    InvalidDimensions,
    PageOutOfRange,
    RegionOutOfRange,
    SourceTooLarge,
    TooLargeToDecode,
    TooManyFrames,
    TooManyPixels,
)
from pixlane.imaging.work import Work
from pixlane.settings import Limits

MAX_SIDE_PX = 10_000_000  # libvips' own bound


def check_bytes(work: Work) -> None:
    """The number of bytes, before anything looks at them."""
    if not work.data:
        raise EmptyInput("the source is empty", limit=1, actual=0)
    limit = work.limits.max_source_bytes
    if len(work.data) > limit:
        raise SourceTooLarge(
            f"the source has {len(work.data):,} bytes, allowed are {limit:,}", limit=limit, actual=len(work.data)
        )


def check_size(limits: Limits, width: int, height: int) -> None:
    """The size that a header promises. Openers call it before they let an engine decode."""
    for side in (width, height):
        if not 0 < side <= MAX_SIDE_PX:
            raise InvalidDimensions(f"the header says {width} x {height} px", limit=MAX_SIDE_PX, actual=side)
    if width * height > limits.max_pixels:
        raise TooManyPixels(
            f"the picture has {width} x {height} = {width * height:,} px, allowed are {limits.max_pixels:,}",
            limit=limits.max_pixels,
            actual=width * height,
        )


BYTES_PER_PIXEL = {
    "streamed": 0.8,  # baseline JPEG, PNG, TIFF in strips or tiles: rows pass through
    "interlaced": 4.5,  # PNG: the whole picture at once
    "progressive": 6.5,  # JPEG: all coefficients
    "webp": 8.5,
    "gif": 9.0,  # the canvas of a frame and of the one before
    "avif": 9.0,
    "heif": 12.0,
    "numbers": 40.0,  # signed, wide and float: scaled in double precision
    "pillow": 10.0,
}
"""What decoding costs beyond the source, by kind; measured at 100 megapixels, rounded up."""


def check_memory(limits: Limits, width: int, height: int, kind: str) -> None:
    """The memory that decoding takes, by the cost of a pixel."""
    estimate = round(width * height * BYTES_PER_PIXEL[kind])
    if estimate > limits.max_decode_bytes:
        raise TooLargeToDecode(
            f"decoding {width} x {height} px ({kind}) takes about {estimate:,} bytes, allowed are {limits.max_decode_bytes:,}",
            limit=limits.max_decode_bytes,
            actual=estimate,
        )


def check_frames(limits: Limits, frames: int | None) -> None:
    """The number of frames, pages or pictures that a header promises."""
    if frames is not None and frames > limits.max_frames:
        raise TooManyFrames(
            f"the source has {frames:,} frames, allowed are {limits.max_frames:,}", limit=limits.max_frames, actual=frames
        )


def check_page(page: int, frames: int | None) -> None:
    """The page that is wanted, where the number of pages is known."""
    if frames is not None and page >= frames:
        raise PageOutOfRange(f"page {page} was asked for, the source has {frames}, counted from 0", limit=frames - 1, actual=page)


def check_region(work: Work) -> None:
    """The region lies inside the upright source."""
    region = work.recipe.region
    if region is None or work.opened is None:
        return
    facts = work.opened.facts
    right, bottom = region.x + region.width, region.y + region.height
    if right > facts.width or bottom > facts.height:
        raise RegionOutOfRange(
            f"the region ends at ({right}, {bottom}), the upright source at ({facts.width}, {facts.height})",
            limit=[facts.width, facts.height],
            actual=[right, bottom],
        )
    work.region = region
