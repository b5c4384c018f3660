"""Upright exactly once, in every container; and a point of the rendition leads back to the same point of the source."""

from __future__ import annotations

import io

import numpy as np
import pillow_heif
import pytest
from PIL import Image

from pixlane import Recipe, Region, normalize
from tests.pure import make

# Where the top left corner of the stored picture is seen, as (right, bottom), and whether the sides change places.
SEEN = {1: (0, 0), 2: (1, 0), 3: (1, 1), 4: (0, 1), 5: (0, 0), 6: (1, 0), 7: (1, 1), 8: (0, 1)}
TURNED = (5, 6, 7, 8)


def quarters(width: int = 64, height: int = 32) -> np.ndarray:
    """Red, green / blue, white."""
    pixels = np.zeros((height, width, 3), np.uint8)
    pixels[: height // 2, : width // 2] = make.RED
    pixels[: height // 2, width // 2 :] = make.GREEN
    pixels[height // 2 :, : width // 2] = make.BLUE
    pixels[height // 2 :, width // 2 :] = make.WHITE
    return pixels


def turned(pixels: np.ndarray, orientation: int) -> np.ndarray:
    """The upright picture, by the definition in EXIF 2.32 and not by our own code."""
    return {
        1: lambda p: p,
        2: lambda p: p[:, ::-1],
        3: lambda p: p[::-1, ::-1],
        4: lambda p: p[::-1],
        5: lambda p: p.transpose(1, 0, 2),
        6: lambda p: np.rot90(p, -1),
        7: lambda p: p[::-1, ::-1].transpose(1, 0, 2),
        8: lambda p: np.rot90(p),
    }[orientation](pixels)


def file_with(orientation: int, form: str, pixels: np.ndarray) -> bytes:
    if form == "PNG":
        return make.png(pixels, make.chunk(b"eXIf", make.exif(orientation)))
    if form == "TIFF":
        return make.tiff(pixels, bits=8, photometric=2, t274=[orientation])
    options = {"quality": 95, "subsampling": 0} if form == "JPEG" else {"lossless": True}
    return make.array(pixels, form, exif=b"Exif\0\0" + make.exif(orientation, order=">"), **options)


@pytest.mark.parametrize("form", ["JPEG", "PNG", "WEBP", "TIFF"])
@pytest.mark.parametrize("orientation", range(1, 9))
def test_every_exif_value_is_applied_once(form: str, orientation: int) -> None:
    rendition = normalize(file_with(orientation, form, quarters()), make.LOSSLESS)
    wanted = turned(quarters(), orientation)
    assert (rendition.source.width, rendition.source.height) == (rendition.width, rendition.height) == wanted.shape[1::-1]
    assert np.abs(make.shown(rendition) - wanted).mean() < 3
    again = normalize(rendition.data, make.LOSSLESS)
    assert (again.width, again.height) == (rendition.width, rendition.height)


@pytest.mark.parametrize("value", [0, 9, 300, 65535])
def test_values_that_mean_nothing_are_upright(value: int) -> None:
    for form in ("JPEG", "PNG", "WEBP", "TIFF"):
        rendition = normalize(file_with(value, form, quarters()), make.LOSSLESS)
        assert (rendition.width, rendition.height) == (64, 32), form


def test_exif_that_is_nonsense_is_upright() -> None:
    for block in (b"", b"Exif\0\0", b"Exif\0\0II*\0\xff\xff\xff\xff", b"Exif\0\0" + b"\xff" * 40):
        data = make.with_segment(make.array(quarters(), "JPEG"), 0xE1, block)
        assert normalize(data).source.width == 64


def test_a_heic_is_turned_by_its_container_and_never_by_its_exif() -> None:
    pillow_heif.register_heif_opener()
    exif = Image.Exif()
    exif[0x0112] = 6
    by_both = make.array(quarters(), "HEIF", exif=exif.tobytes(), quality=95)
    by_exif_alone = make.array(quarters(), "HEIF", exif=exif, quality=95)
    assert b"irot" in by_both
    assert b"irot" not in by_exif_alone
    once = normalize(by_both, make.LOSSLESS)
    assert (once.source.width, once.source.height) == (32, 64)
    assert make.near(make.shown(once)[4, 28], make.RED, 12)
    assert normalize(by_exif_alone).source.width == 64


@pytest.mark.parametrize("orientation", range(1, 9))
def test_an_avif_is_turned_by_its_container_with_either_engine(orientation: int, monkeypatch: pytest.MonkeyPatch) -> None:
    exif = Image.Exif()
    exif[0x0112] = orientation
    data = make.array(quarters(), "AVIF", exif=exif.tobytes(), quality=95)
    wanted = turned(quarters(), orientation)
    first = normalize(data, make.LOSSLESS)
    assert np.abs(make.shown(first) - wanted).mean() < 6
    monkeypatch.setitem(__import__("pixlane.imaging.decoders", fromlist=["OPENERS"]).OPENERS, "vips", "tests.pure.make:missing")
    second = normalize(data, make.LOSSLESS)
    assert np.abs(make.shown(second) - wanted).mean() < 6


def marked(width: int, height: int, x: int, y: int) -> np.ndarray:
    """Black with a white dot of 8 x 8 px whose centre is (x, y) in the stored picture."""
    pixels = np.zeros((height, width, 3), np.uint8)
    pixels[y - 4 : y + 4, x - 4 : x + 4] = 255
    return pixels


def centre(pixels: np.ndarray) -> tuple[float, float]:
    light = pixels.sum(axis=2).astype(float)
    light[light < 60] = 0
    rows, columns = np.indices(light.shape)
    return float(((columns + 0.5) * light).sum() / light.sum()), float(((rows + 0.5) * light).sum() / light.sum())


@pytest.mark.parametrize("form", ["JPEG", "PNG", "WEBP"])
@pytest.mark.parametrize("orientation", range(1, 9))
@pytest.mark.parametrize("region", [None, (37, 21, 151, 143)])
@pytest.mark.parametrize("max_side", [1568, 97, 41])
def test_a_point_leads_back_to_its_source(form: str, orientation: int, region: tuple[int, ...] | None, max_side: int) -> None:
    stored = marked(301, 203, 150, 97) if orientation not in TURNED else marked(203, 301, 97, 150)
    upright = turned(stored, orientation)
    wanted = centre(upright)
    recipe = Recipe(accept=("image/png",), max_side=max_side, region=Region(*region) if region else None)
    rendition = normalize(file_with(orientation, form, stored), recipe)
    found = rendition.to_source(*centre(make.shown(rendition)))
    half = 0.5 / min(rendition.scale)
    assert abs(found[0] - wanted[0]) <= half
    assert abs(found[1] - wanted[1]) <= half


def test_a_region_is_cut_at_full_detail() -> None:
    pixels = make.noise(400, 300)
    rendition = normalize(make.array(pixels), Recipe(accept=("image/png",), region=Region(10, 20, 50, 40), max_side=60))
    assert (make.shown(rendition) == pixels[20:60, 10:60]).all()
    assert rendition.scale == (1.0, 1.0)
    assert np.asarray(Image.open(io.BytesIO(rendition.data))).shape[:2] == (40, 50)
