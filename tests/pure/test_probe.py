"""Headers alone: the size that the pipeline finds, from at most 64 KiB."""

from __future__ import annotations

import io

import numpy as np
import pillow_heif
import pytest

from pixlane import normalize
from pixlane.probe import MAX_READ_BYTES, probe
from tests.pure import make


class Counting(io.BytesIO):
    total = 0

    def read(self, size: int | None = -1, /) -> bytes:
        data = super().read(size)
        self.total += len(data)
        return data


@pytest.mark.parametrize(
    "form", ["PNG", "JPEG", "GIF", "WEBP", "TIFF", "AVIF", "BMP", "PPM", "TGA", "QOI", "PCX", "SGI", "DDS", "ICO", "HEIF"]
)
def test_the_size_is_the_one_that_the_pipeline_finds(form: str) -> None:
    if form == "HEIF":
        pillow_heif.register_heif_opener()
    data = make.array(make.noise(48, 40), form, **({"sizes": [(48, 40)]} if form == "ICO" else {}))
    found, source = probe(data, name=f"a.{form.lower()}"), normalize(data, name=f"a.{form.lower()}").source
    assert (found.width, found.height) == (source.width, source.height) == (48, 40)
    assert found.frames in (None, source.frames)
    assert found.format.mime == source.mime


@pytest.mark.parametrize("form", ["PNG", "JPEG", "WEBP", "TIFF"])
def test_the_size_is_upright(form: str) -> None:
    pixels = np.zeros((20, 60, 3), np.uint8)
    if form == "PNG":
        data = make.png(pixels, make.chunk(b"eXIf", make.exif(6)))
    elif form == "TIFF":
        data = make.tiff(pixels, bits=8, photometric=2, t274=[6])
    else:
        data = make.array(pixels, form, exif=b"Exif\0\0" + make.exif(6))
    found = probe(data)
    assert (found.width, found.height, found.orientation) == (20, 60, 6)


def test_a_size_behind_a_long_profile_is_found_by_seeking() -> None:
    data = make.array(make.noise(48, 40), "JPEG")
    for _ in range(30):
        data = make.with_segment(data, 0xE2, b"ICC_PROFILE\0" + bytes(60_000))
    file = Counting(data)
    assert (probe(file).width, probe(file).height) == (48, 40)
    assert len(data) > 1_800_000
    assert file.total < 3 * MAX_READ_BYTES  # two probes


def test_a_tiff_whose_directory_is_at_its_end_is_found_by_seeking() -> None:
    file = Counting(make.tiff(make.noise(600, 400), bits=8, photometric=2))
    assert probe(file).width == 600
    assert file.total <= MAX_READ_BYTES


def test_transparency_and_frames() -> None:
    clear = np.zeros((8, 8, 4), np.uint8)
    assert probe(make.array(clear)).alpha is True
    assert probe(make.flat(make.RED)).alpha is False
    assert probe(make.array(clear, "WEBP", lossless=True)).alpha is True
    frames = [make.Image.new("RGB", (8, 8), (shade, 0, 0)) for shade in (0, 90, 200)]
    for form, wanted in (("PNG", 3), ("TIFF", 3), ("GIF", None), ("WEBP", None)):
        assert probe(make.encode(frames[0], form, save_all=True, append_images=frames[1:])).frames == wanted


def test_what_is_no_picture_has_no_size() -> None:
    for data in (
        b"",
        b"text",
        b"<svg xmlns='http://www.w3.org/2000/svg'/>",
        make.PNG,
        b"\xff\xd8\xff",
        b"II*\0",
        b"RIFF\0\0\0\0WEBP",
    ):
        assert probe(data).width is None
