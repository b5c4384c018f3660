"""Strips, huge sides and tiny budgets: no side under one pixel, no raster enlarged, and limits asked of the header."""

from __future__ import annotations

import struct
import zlib

import numpy as np
import pillow_heif
import pytest

from pixlane import Recipe, Region, normalize
from pixlane.errors import (
    InvalidDimensions,
    PixlaneError,
    RegionOutOfRange,
    SourceTooLarge,
    TargetUnreachable,
    TooLargeToDecode,
    TooManyFrames,
    TooManyPixels,
)
from pixlane.settings import Limits
from tests.pure import make


def promise(width: int, height: int, bits: int = 1) -> bytes:
    """A PNG whose header promises that size, with rows of zeros."""
    head = struct.pack(">IIBBBBB", width, height, bits, 0, 0, 0, 0)
    pack = zlib.compressobj(9)
    rows = pack.compress(bytes(min(height, 1000) * (1 + (width * bits + 7) // 8))) + pack.flush()
    return make.PNG + make.chunk(b"IHDR", head) + make.chunk(b"IDAT", rows) + make.chunk(b"IEND", b"")


@pytest.mark.parametrize("size", [(1, 20_000), (20_000, 1), (1, 1), (40, 20_000), (65_536, 2), (2, 65_536)])
def test_a_strip_stays_a_strip(size: tuple[int, int]) -> None:
    data = make.flat((90, 90, 90), size)
    rendition = normalize(data)
    assert (rendition.source.width, rendition.source.height) == size
    assert max(rendition.width, rendition.height) <= 1568
    assert min(rendition.width, rendition.height) >= 1
    assert make.near(make.shown(rendition)[0, 0], (90,) * 3, 4)


def test_a_strip_that_cannot_fit_ends_typed() -> None:
    data = make.array(make.noise(1, 20_000))
    with pytest.raises(TargetUnreachable):
        normalize(data, Recipe(target_bytes=100, embed=False, max_halvings=0))
    rendition = normalize(data, Recipe(target_bytes=100, embed=False, on_miss="smallest"))
    assert not rendition.fits
    assert "target_missed" in make.codes(rendition)


def test_a_raster_never_grows() -> None:
    rendition = normalize(make.flat(make.RED, (10, 7)), Recipe(max_side=4000))
    assert (rendition.width, rendition.height) == (10, 7)


@pytest.mark.slow
def test_every_axis_has_its_own_scale() -> None:
    rendition = normalize(make.array(make.smooth(3001, 1999), "JPEG"), Recipe(max_side=333))
    assert rendition.width == 333
    assert abs(rendition.height - 333 * 1999 / 3001) <= 1
    assert make.near(make.shown(rendition)[0, -1], (255, 0, 0), 12)
    assert make.near(make.shown(rendition)[-1, -1], (255, 255, 0), 12)


@pytest.mark.parametrize("form", ["JPEG", "WEBP"])
def test_shrink_on_load_shows_the_same_picture_as_a_full_decode(form: str) -> None:
    pixels = make.smooth(1600, 1200)
    plain = make.seen(make.array(pixels), Recipe(accept=("image/png",), max_side=200))
    shrunk = make.seen(make.array(pixels, form, quality=95), Recipe(accept=("image/png",), max_side=200))
    assert np.abs(plain - shrunk).max() <= 6


def test_too_many_pixels_are_refused_from_the_header() -> None:
    with pytest.raises(TooManyPixels) as caught:
        normalize(promise(60_000, 60_000))
    assert (caught.value.limit, caught.value.actual) == (100_000_000, 3_600_000_000)


@pytest.mark.parametrize("form", ["PNG", "JPEG", "GIF", "WEBP", "TIFF", "BMP", "PPM", "AVIF", "ICO", "TGA", "QOI", "HEIF"])
def test_the_limit_of_pixels_holds_for_every_format(form: str) -> None:
    if form == "HEIF":
        pillow_heif.register_heif_opener()
    data = make.flat(make.RED, (64, 64), form)
    name = f"a.{form.lower()}"
    assert normalize(data, name=name, limits=Limits(max_pixels=64 * 64)).source.width == 64
    with pytest.raises(TooManyPixels):
        normalize(data, name=name, limits=Limits(max_pixels=64 * 64 - 1))


def test_too_many_bytes_and_frames() -> None:
    data = make.flat(make.RED)
    with pytest.raises(SourceTooLarge) as caught:
        normalize(data, limits=Limits(max_source_bytes=len(data) - 1))
    assert (caught.value.limit, caught.value.actual) == (len(data) - 1, len(data))
    frames = [make.Image.new("RGB", (8, 8), (shade, 0, 0)) for shade in range(0, 250, 50)]
    for form in ("GIF", "WEBP", "TIFF", "PNG"):
        moving = make.encode(frames[0], form, save_all=True, append_images=frames[1:])
        assert normalize(moving, limits=Limits(max_frames=5)).source.frames == 5
        with pytest.raises(TooManyFrames):
            normalize(moving, limits=Limits(max_frames=4))


def test_sides_of_zero_are_invalid() -> None:
    for size in ((0, 5), (5, 0)):
        with pytest.raises(InvalidDimensions):
            normalize(promise(*size))


def test_a_region_must_lie_inside() -> None:
    data = make.flat(make.RED, (40, 30))
    assert normalize(data, Recipe(region=Region(0, 0, 40, 30))).width == 40
    with pytest.raises(RegionOutOfRange) as caught:
        normalize(data, Recipe(region=Region(1, 0, 40, 30)))
    assert (caught.value.limit, caught.value.actual) == ([40, 30], [41, 30])


def test_a_deadline_that_has_passed_is_a_typed_error() -> None:
    with pytest.raises(PixlaneError) as caught:
        normalize(make.array(make.noise(800, 800)), limits=Limits(soft_timeout_s=0.0))
    assert caught.value.code == "timeout"
    assert caught.value.retryable


def test_the_target_is_clamped_with_a_note() -> None:
    assert "target_clamped" in make.codes(normalize(make.flat(make.RED), Recipe(target_bytes=10)))


@pytest.mark.parametrize(
    ("form", "options"), [("BMP", {}), ("JPEG", {"progressive": True}), ("WEBP", {}), ("GIF", {}), ("AVIF", {}), ("QOI", {})]
)
def test_what_takes_too_much_memory_is_refused_from_the_header(form: str, options: dict[str, bool]) -> None:
    data = make.array(make.noise(256, 256), form, **options)
    with pytest.raises(TooLargeToDecode) as caught:
        normalize(data, limits=Limits(max_decode_bytes=100_000))
    assert caught.value.limit == 100_000
    assert caught.value.actual > 256 * 256 * 4


def test_what_streams_takes_little() -> None:
    for form in ("PNG", "JPEG", "TIFF"):
        assert normalize(make.array(make.noise(256, 256), form), limits=Limits(max_decode_bytes=100_000)).source.width == 256


@pytest.mark.slow
def test_a_deadline_ends_a_decode_in_the_middle() -> None:
    data = make.array(make.noise(3000, 3000), compress_level=1)
    with pytest.raises(PixlaneError) as caught:
        normalize(data, limits=Limits(soft_timeout_s=0.05))
    assert caught.value.code == "timeout"
