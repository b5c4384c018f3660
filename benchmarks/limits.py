"""Two limits for a source: the decode alone with the fastest decoder at hand, and the floor below any pipeline of these codecs.

The floor is the fastest way to a decoded picture that is not smaller than the rendition (shrink on load included), one resize to
the rendition's size, and one encode with the encoder and quality that pixlane returned: each measured alone, and added up. It
does no hashing, no base64, no looking at alpha, turns nothing, converts no colour and checks no limit.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy
import pyvips
from PIL import ExifTags, Image

from benchmarks.clock import Sample, measure
from benchmarks.task import Outcome
from pixlane import formats
from pixlane.imaging import encode

LOADERS = {"png": "png", "jpeg": "jpeg", "webp": "webp", "gif": "gif", "tiff": "tiff", "avif": "heif"}
JPEG_SHRINKS = (8.0, 4.0, 2.0)
WEBP_SHRINKS = (8.0, 6.0, 4.0, 3.0, 2.0, 1.5)


@dataclass(frozen=True)
class Decoder:
    """A way to decode a source into memory; `shrink` divides the sides on the way."""

    name: str
    shrink: float
    decode: Callable[[bytes], pyvips.Image]


def decoders(data: bytes) -> Iterator[Decoder]:
    """Every decoder at hand for these bytes, full size first."""
    name = formats.detect(data).format.name
    if name in LOADERS:
        yield Decoder("libvips", 1, partial(_vips, name))
        if name == "jpeg":
            for shrink in JPEG_SHRINKS:
                yield Decoder(f"libvips shrink {shrink:g}", shrink, partial(_vips, name, shrink=int(shrink)))
        if name == "webp":
            for shrink in WEBP_SHRINKS:
                yield Decoder(f"libvips shrink {shrink:g}", shrink, partial(_vips, name, scale=1 / shrink))
    yield Decoder("pillow", 1, _pillow)


def measure_limits(path: Path, outcome: Outcome) -> tuple[dict[str, Sample], dict[str, str]]:
    """One measurement of the stages of both limits, by stage; and which decoder was the fastest for each.

    Args:
        outcome: what pixlane made of the source.
    """
    data = path.read_bytes()
    stored_width, stored_height, turned = _stored(data)
    width, height = (outcome.height, outcome.width) if turned else (outcome.width, outcome.height)
    full: tuple[Sample, str] | None = None
    best: tuple[Sample, Sample, pyvips.Image, str] | None = None
    for decoder in decoders(data):
        if decoder.shrink > 1 and (stored_width / decoder.shrink < width or stored_height / decoder.shrink < height):
            continue
        try:
            decode, picture = measure(partial(decoder.decode, data))
        except (pyvips.Error, OSError):
            continue
        if decoder.shrink == 1 and (full is None or decode.wall < full[0].wall):
            full = decode, decoder.name
        resize, small = measure(partial(_resize, picture, width, height))
        if best is None or (decode + resize).wall < (best[0] + best[1]).wall:
            best = decode, resize, small, decoder.name
    if full is None or best is None:
        raise ValueError(f"no decoder at hand reads {path.name}")
    small = best[2] if not best[2].hasalpha() else best[2][: best[2].bands - 1].copy_memory()
    way = encoder_of(small, outcome)
    encoding, _ = measure(lambda: way(small))
    stages = {"decode": full[0], "floor_decode": best[0], "floor_resize": best[1], "floor_encode": encoding}
    return stages, {"decode": full[1], "floor": best[3]}


def encoder_of(picture: pyvips.Image, outcome: Outcome) -> Callable[[pyvips.Image], Any]:
    """The encode that made the outcome. An attempt does not tell chroma and Huffman tables, the number of bytes does."""
    if outcome.encoder == "untouched":
        return lambda picture: None
    ways = VARIANTS[outcome.encoder](outcome.quality)
    return min(ways, key=lambda way: abs(way(picture).byte_count - outcome.byte_count))


VARIANTS: dict[str, Callable[[Any], list[Callable[[pyvips.Image], Any]]]] = {
    "jpeg": lambda quality: [
        partial(encode.jpeg, limit=None, quality=quality, full_chroma=chroma, optimised=tables)
        for chroma in (False, True)
        for tables in (False, True)
    ],
    "png": lambda quality: [lambda picture: encode.png(picture, None)],
    "palette": lambda quality: [lambda picture: encode.exact(picture, None) or encode.palette(picture, None)],
    "webp": lambda quality: [lambda picture: encode.webp(picture, None, quality)],
}


def _vips(name: str, data: bytes, **options: Any) -> pyvips.Image:
    load = getattr(pyvips.Image, f"{LOADERS[name]}load_buffer")
    return load(data, access="sequential", **options).copy_memory()


def _pillow(data: bytes) -> pyvips.Image:
    image = Image.open(io.BytesIO(data))
    image.load()
    return pyvips.Image.new_from_array(numpy.asarray(image if image.mode in ("L", "RGB", "RGBA") else image.convert("RGB")))


def _stored(data: bytes) -> tuple[int, int, bool]:
    """The stored size, and whether an upright picture has its sides the other way round."""
    with Image.open(io.BytesIO(data)) as image:
        return *image.size, image.getexif().get(ExifTags.Base.Orientation, 1) >= 5


def _resize(picture: pyvips.Image, width: int, height: int) -> pyvips.Image:
    if (picture.width, picture.height) == (width, height):
        return picture
    return picture.resize(width / picture.width, vscale=height / picture.height, kernel="lanczos3").copy_memory()
