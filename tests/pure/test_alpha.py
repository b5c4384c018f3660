"""Transparency always lies on a background where pixels are touched, and what is visible stays visible."""

from __future__ import annotations

import numpy as np
import pytest
from PIL import Image

from pixlane import Recipe, normalize
from pixlane.imaging.flatten import DARK
from tests.pure import make


def rgba(colour: tuple[int, ...], size: int = 32) -> np.ndarray:
    """The left half of that colour, the right half clear with black under it."""
    pixels = np.zeros((size, size, 4), np.uint8)
    pixels[:, : size // 2] = colour
    return pixels


def palette(transparent: int | bytes = 0) -> bytes:
    image = Image.new("P", (16, 16), 0)
    image.putpalette([*make.BLACK, *make.RED])
    image.paste(1, (0, 0, 8, 16))
    return make.encode(image, "PNG", transparency=transparent)


@pytest.mark.parametrize(
    "data",
    [
        make.array(rgba((255, 0, 0, 255))),
        make.array(rgba((255, 0, 0, 255)), "WEBP", lossless=True),
        make.array(rgba((255, 0, 0, 255)), "TIFF"),
        make.array(rgba((255, 0, 0, 255)), "AVIF", quality=100),
        make.array(rgba((255, 0, 0, 255)), "ICO", sizes=[(32, 32)]),
        make.array(rgba((255, 0, 0, 255)), "TGA"),
        palette(),
        palette(b"\x00\xff"),
    ],
    ids=["png", "webp", "tiff", "avif", "ico", "tga", "palette", "palette with alpha"],
)
def test_what_is_clear_becomes_white_and_never_black(data: bytes) -> None:
    rendition = normalize(data, make.LOSSLESS, name="a.tga" if data[:4] == b"\0\0\2\0" or data[:3] == b"\0\0\n" else None)
    pixels = make.shown(rendition)
    assert make.near(pixels[2, 2], make.RED, 8)
    assert make.near(pixels[2, -3], make.WHITE, 8)
    assert "alpha_flattened" in make.codes(rendition)


def test_grey_with_alpha() -> None:
    pixels = np.zeros((16, 16, 2), np.uint8)
    pixels[:, :8] = (90, 255)
    found = make.seen(make.png(pixels))
    assert make.near(found[4, 4], (90,) * 3, 0)
    assert make.near(found[4, 12], make.WHITE, 0)


def test_a_colour_key_is_transparent() -> None:
    image = Image.new("RGB", (16, 16), (10, 20, 30))
    image.paste(make.RED, (0, 0, 8, 16))
    found = make.seen(make.encode(image, "PNG", transparency=(10, 20, 30)))
    assert make.near(found[4, 12], make.WHITE, 0)
    assert make.near(found[4, 4], make.RED, 0)


def test_half_transparent_is_mixed() -> None:
    assert make.near(make.seen(make.array(np.full((8, 8, 4), (0, 0, 0, 128), np.uint8)))[4, 4], (127,) * 3, 1)


def test_colour_hidden_under_clear_pixels_never_bleeds_through_a_resize() -> None:
    pixels = np.zeros((400, 400, 4), np.uint8)
    pixels[...] = (0, 255, 0, 0)  # clear green
    pixels[:, :203] = (255, 0, 0, 255)
    found = make.seen(make.array(pixels), Recipe(accept=("image/png",), max_side=100))
    assert found[..., 1].min() >= 0
    row = found[50]
    greenish = (row[:, 1] > row[:, 0] + 8) | (row[:, 1] > row[:, 2] + 8)
    assert not greenish.any()


def test_premultiplied_tiff_is_not_darkened_twice() -> None:
    pixels = np.full((8, 8, 4), (100, 0, 0, 128), np.uint8)
    found = make.seen(make.tiff(pixels, bits=8, photometric=2, t338=[1]))
    assert make.near(found[4, 4], (227, 127, 127), 2)


def test_white_on_clear_gets_a_dark_background() -> None:
    pixels = rgba((255, 255, 255, 255))
    rendition = normalize(make.array(pixels), make.LOSSLESS)
    found = make.shown(rendition)
    assert make.near(found[4, 4], make.WHITE, 0)
    assert make.near(found[4, 28], DARK, 0)
    assert "background_dark" in make.codes(rendition)


def test_thin_white_text_on_clear_stays_visible() -> None:
    pixels = np.zeros((200, 200, 4), np.uint8)
    pixels[100:103, 20:180] = (250, 250, 250, 255)
    assert make.seen(make.array(pixels)).std() > 5


def test_dark_on_clear_keeps_white() -> None:
    rendition = normalize(make.array(rgba((20, 20, 20, 255))), make.LOSSLESS)
    assert make.near(make.shown(rendition)[4, 28], make.WHITE, 0)
    assert "background_dark" not in make.codes(rendition)


@pytest.mark.parametrize(("background", "wanted"), [("white", make.WHITE), ("dark", DARK), ("#204060", (32, 64, 96))])
def test_the_background_of_the_recipe_is_taken(background: str, wanted: tuple[int, ...]) -> None:
    recipe = Recipe(accept=("image/png",), background=background)
    assert make.near(make.seen(make.array(rgba((255, 255, 255, 255))), recipe)[4, 28], wanted, 0)


def test_a_coloured_background_under_grey_gives_colour() -> None:
    pixels = np.zeros((16, 16, 2), np.uint8)
    recipe = Recipe(accept=("image/png",), background="#204060")
    assert make.near(make.seen(make.png(pixels), recipe)[4, 4], (32, 64, 96), 0)


def test_wholly_clear_is_the_background() -> None:
    assert make.near(make.seen(make.array(np.zeros((8, 8, 4), np.uint8)))[4, 4], make.WHITE, 0)


def test_an_opaque_alpha_channel_is_no_transparency() -> None:
    pixels = np.dstack([make.smooth(), np.full((64, 64), 255, np.uint8)])
    rendition = normalize(make.array(pixels), make.LOSSLESS)
    assert "alpha_flattened" not in make.codes(rendition)
    assert (make.shown(rendition) == make.smooth()).all()


def test_a_bmp_whose_alpha_byte_nobody_filled_is_opaque() -> None:
    pixels = np.dstack([make.smooth(), np.zeros((64, 64), np.uint8)])
    for data in (make.array(pixels, "BMP"), bitfields(pixels)):
        assert (make.seen(data) == make.smooth()).all()


def bitfields(pixels: np.ndarray) -> bytes:
    """A BMP with a V4 header that promises an alpha mask."""
    import struct

    height, width = pixels.shape[:2]
    body = pixels[::-1, :, [2, 1, 0, 3]].tobytes()
    masks = struct.pack("<IIII", 0xFF0000, 0xFF00, 0xFF, 0xFF000000)
    head = struct.pack("<IiiHHIIiiII", 108, width, height, 1, 32, 3, len(body), 2835, 2835, 0, 0) + masks + b"BGRs" + bytes(48)
    return b"BM" + struct.pack("<IHHI", 14 + len(head) + len(body), 0, 0, 14 + len(head)) + head + body
