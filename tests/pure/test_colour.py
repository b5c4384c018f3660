"""Depth and colour: whatever the numbers are, 8-bit sRGB comes out, and the note says what was done."""

from __future__ import annotations

import struct

import numpy as np
import pytest
from PIL import Image, ImageCms

from pixlane import Recipe, normalize
from pixlane.imaging import icc
from tests.pure import make

RAMP16 = np.linspace(0, 65535, 256).astype(np.uint16).reshape(16, 16)
P3 = icc.matrix_profile(icc.DISPLAY_P3)


def levels(data: bytes) -> np.ndarray:
    return make.seen(data)[..., 0]


@pytest.mark.parametrize(
    "data",
    [
        make.png(RAMP16, bits=16),
        make.tiff(RAMP16, bits=16),
        make.tiff(RAMP16, bits=16, order=">"),
        make.tiff(RAMP16, bits=16, big=True),
        b"P5 16 16 65535\n" + RAMP16.astype(">u2").tobytes(),
    ],
    ids=["png", "tiff", "big endian", "bigtiff", "pgm"],
)
def test_16_bit_grey_keeps_its_upper_byte(data: bytes) -> None:
    assert (levels(data) == RAMP16 >> 8).all()
    assert "depth_reduced" in make.codes(normalize(data))


def test_16_bit_colour_keeps_its_upper_byte() -> None:
    pixels = np.stack([RAMP16, RAMP16[::-1], RAMP16.T], axis=-1)
    assert (make.seen(make.png(pixels, bits=16)) == pixels >> 8).all()


def test_white_16_bit_paper_with_alpha_stays_white() -> None:
    pixels = np.full((8, 8, 4), 65535, np.uint16)
    pixels[:4, :, 3] = 0
    assert (make.seen(make.png(pixels, bits=16), Recipe(accept=("image/png",), background="white")) == 255).all()


def test_12_bits_of_a_sensor_in_16_are_not_black() -> None:
    data = make.tiff((RAMP16 >> 4).astype(np.uint16), bits=16)
    assert levels(data).max() == 255
    assert "depth_reduced" in make.codes(normalize(data))


@pytest.mark.parametrize(
    ("pixels", "bits", "form", "wanted"),
    [
        (np.linspace(-1000, 1000, 256).astype(np.int16).reshape(16, 16), 16, 2, (0, 255)),
        (np.linspace(0, 2**31 - 1, 256).astype(np.int32).reshape(16, 16), 32, 2, (0, 255)),
        (np.linspace(0, 2**32 - 1, 256).astype(np.uint32).reshape(16, 16), 32, 1, (0, 255)),
        (np.linspace(0, 1, 256).astype(np.float32).reshape(16, 16), 32, 3, (0, 255)),
        (np.linspace(0.25, 0.75, 256).astype(np.float32).reshape(16, 16), 32, 3, (64, 191)),
        (np.linspace(-5, 300, 256).astype(np.float32).reshape(16, 16), 32, 3, (0, 255)),
    ],
)
def test_numbers_of_other_kinds_are_scaled_by_their_range(
    pixels: np.ndarray, bits: int, form: int, wanted: tuple[int, int]
) -> None:
    data = make.tiff(pixels, bits=bits, sample_format=form)
    found = levels(data)
    assert make.near((found.min(), found.max()), wanted, 1)
    assert (np.diff(found.ravel()) >= 0).all()
    assert "depth_reduced" in make.codes(normalize(data))


def test_a_float_that_is_no_number_is_black_and_infinity_is_white() -> None:
    pixels = np.full((8, 8), 0.5, np.float32)
    pixels[0, 0], pixels[0, 1], pixels[0, 2] = np.nan, np.inf, -np.inf
    found = levels(make.tiff(pixels, bits=32, sample_format=3))
    assert list(found[0, :4]) == [0, 255, 0, 128]


def test_float_colour_is_scaled() -> None:
    pixels = make.smooth().astype(np.float32) / 255
    assert np.abs(make.seen(make.tiff(pixels, bits=32, sample_format=3, photometric=2)) - make.smooth()).max() <= 1


@pytest.mark.parametrize("bits", [1, 2, 4])
def test_few_bits_are_spread_to_eight(bits: int) -> None:
    count = 1 << bits
    row = np.arange(8) % count
    packed = np.packbits(((row[:, None] >> np.arange(bits)[::-1]) & 1).astype(np.uint8).ravel())
    raw = b"".join(b"\0" + packed.tobytes() for _ in range(8))
    head = struct.pack(">IIBBBBB", 8, 8, bits, 0, 0, 0, 0)
    data = make.PNG + make.chunk(b"IHDR", head) + make.chunk(b"IDAT", __import__("zlib").compress(raw)) + make.chunk(b"IEND", b"")
    assert (levels(data)[0] == row * 255 // (count - 1)).all()


def test_palettes_are_looked_up() -> None:
    image = Image.new("P", (4, 4), 1)
    image.putpalette([*make.BLACK, *make.RED, *make.BLUE])
    for form in ("PNG", "GIF", "BMP", "TIFF"):
        assert make.near(make.seen(make.encode(image, form))[0, 0], make.RED, 0), form


# Ink ------------------------------------------------------------------------------------------------------------------------

INK = make.flat((0, 255, 255, 0), (16, 16), "JPEG", mode="CMYK", quality=95)


@pytest.mark.parametrize("data", [INK, make.without_adobe(INK)], ids=["adobe", "no adobe"])
def test_red_ink_is_red_with_and_without_the_adobe_marker(data: bytes) -> None:
    assert make.near(make.seen(data)[8, 8], make.RED, 6)
    assert "cmyk_converted" in make.codes(normalize(data))


def test_ycck_is_not_cmyk() -> None:
    at = INK.index(b"Adobe") + 11
    data = INK[:at] + b"\x02" + INK[at + 1 :]
    assert not make.near(make.seen(data)[8, 8], make.RED, 60)


def test_black_ink_and_bare_paper() -> None:
    assert make.near(make.seen(make.flat((0, 0, 0, 255), form="JPEG", mode="CMYK"))[4, 4], make.BLACK, 3)
    assert make.near(make.seen(make.flat((0, 0, 0, 0), form="JPEG", mode="CMYK"))[4, 4], make.WHITE, 3)


def test_cmyk_tiff_is_converted() -> None:
    data = make.flat((255, 0, 0, 0), form="TIFF", mode="CMYK")
    assert make.near(make.seen(data)[4, 4], (0, 255, 255), 3)


def test_ink_with_a_broken_profile_is_still_red() -> None:
    data = make.flat((0, 255, 255, 0), (16, 16), "JPEG", mode="CMYK", icc_profile=b"no profile at all" * 20)
    assert make.near(make.seen(data)[8, 8], make.RED, 6)
    assert {"cmyk_converted", "profile_broken"} <= make.codes(normalize(data))


# Profiles -------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", ["PNG", "JPEG", "WEBP", "TIFF", "AVIF"])
def test_a_wide_gamut_profile_is_converted_and_removed(form: str) -> None:
    options = {"quality": 95} if form in ("JPEG", "AVIF") else {"lossless": True} if form == "WEBP" else {}
    data = make.flat((200, 120, 60), form=form, icc_profile=P3, **options)
    source = Image.new("RGB", (1, 1), (200, 120, 60))
    profile = ImageCms.ImageCmsProfile(__import__("io").BytesIO(P3))
    wanted = ImageCms.profileToProfile(source, profile, ImageCms.createProfile("sRGB")).getpixel((0, 0))
    rendition = normalize(data, make.LOSSLESS)
    assert make.near(make.shown(rendition)[4, 4], wanted, 5)
    assert {"profile_converted", "metadata_removed"} <= make.codes(rendition)
    assert "icc_profile" not in Image.open(__import__("io").BytesIO(rendition.data)).info


def test_an_srgb_profile_changes_no_pixel() -> None:
    srgb = ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()
    data = make.array(make.smooth(), icc_profile=srgb)
    assert (make.seen(data) == make.smooth()).all()
    assert "profile_converted" not in make.codes(normalize(data))


@pytest.mark.parametrize("profile", [b"x" * 300, P3[:200], P3[:16] + b"CMYK" + P3[20:], P3[:140] + b"\xff" * 200])
@pytest.mark.parametrize("form", ["PNG", "JPEG"])
def test_a_broken_profile_is_noted_and_the_numbers_stay(form: str, profile: bytes) -> None:
    data = make.flat((200, 120, 60), form=form, icc_profile=profile)
    rendition = normalize(data, make.LOSSLESS)
    assert make.near(make.shown(rendition)[4, 4], (200, 120, 60), 3)
    assert "profile_broken" in make.codes(rendition)


def test_linear_light_said_by_gama_becomes_srgb() -> None:
    pixels = np.full((8, 8, 3), 55, np.uint8)  # 0.2159 of linear light
    data = make.png(pixels, make.chunk(b"gAMA", struct.pack(">I", 100_000)))
    wanted = round(255 * (1.055 * (55 / 255) ** (1 / 2.4) - 0.055))
    assert make.near(make.seen(data)[4, 4], (wanted,) * 3, 2)
    assert "profile_converted" in make.codes(normalize(data))


def test_16_bits_of_linear_light_keep_their_shadows() -> None:
    pixels = np.full((8, 8, 3), 400, np.uint16)
    wanted = round(255 * (1.055 * (400 / 65535) ** (1 / 2.4) - 0.055))
    data = make.png(pixels, make.chunk(b"gAMA", struct.pack(">I", 100_000)), bits=16)
    assert make.near(make.seen(data)[4, 4], (wanted,) * 3, 2)


def test_primaries_said_by_chrm_are_converted() -> None:
    points = [0.3127, 0.3290, *(value for point in icc.DISPLAY_P3 for value in point)]
    chunks = (
        make.chunk(b"gAMA", struct.pack(">I", 45_455)),
        make.chunk(b"cHRM", struct.pack(">8I", *(round(v * 1e5) for v in points))),
    )
    pixels = np.full((8, 8, 3), (200, 120, 60), np.uint8)
    assert make.seen(make.png(pixels, *chunks))[4, 4][0] > 205


def test_the_usual_gama_changes_nothing() -> None:
    data = make.png(make.smooth(), make.chunk(b"gAMA", struct.pack(">I", 45_455)))
    assert (make.seen(data) == make.smooth()).all()


def test_lab_becomes_srgb() -> None:
    lab = ImageCms.profileToProfile(
        Image.new("RGB", (8, 8), (200, 80, 40)), ImageCms.createProfile("sRGB"), ImageCms.createProfile("LAB"), outputMode="LAB"
    )
    data = make.encode(lab, "TIFF")
    assert make.near(make.seen(data)[4, 4], (200, 80, 40), 6)
    assert "profile_converted" in make.codes(normalize(data))


@pytest.mark.parametrize("transfer", [16, 18])
def test_high_dynamic_range_is_tone_mapped(transfer: int) -> None:
    ramp = np.repeat(np.linspace(0, 255, 64).astype(np.uint8)[None, :, None], 3, axis=2).repeat(16, axis=0)
    data = make.png(ramp, make.chunk(b"cICP", bytes([9, transfer, 0, 1])))
    found = make.seen(data, Recipe(accept=("image/png",)))[8, :, 1]
    assert (np.diff(found) >= 0).all()
    assert found[0] <= 2
    assert found[-1] >= 250
    assert "tone_mapped" in make.codes(normalize(data))


def test_the_made_profile_is_what_it_says() -> None:
    assert icc.is_srgb(icc.matrix_profile(icc.SRGB))
    assert not icc.is_srgb(P3)
    assert not icc.is_srgb(icc.matrix_profile(icc.SRGB, gamma=1.0))
    assert icc.space(P3) == "RGB"
    assert not icc.is_srgb(b"")


@pytest.mark.parametrize("masks", [(0x3FF00000, 0xFFC00, 0x3FF), (0xFF000000, 0xFF0000, 0xFF00), (0x7C00, 0x3E0, 0x1F)])
def test_bit_fields_of_any_place_and_width_are_read(masks: tuple[int, int, int]) -> None:
    colour = np.array([200, 100, 50])
    packed = sum(
        round(level / 255 * (mask // (mask & -mask))) * (mask & -mask) for level, mask in zip(colour, masks, strict=True)
    )
    head = struct.pack("<IiiHHIIiiII", 40, 4, -4, 1, 32, 3, 64, 0, 0, 0, 0) + struct.pack("<3I", *masks)
    data = b"BM" + struct.pack("<IHHI", 14 + len(head) + 64, 0, 0, 14 + len(head)) + head + struct.pack("<I", packed) * 16
    assert make.near(make.seen(data)[1, 1], colour, 5)
