"""Rare forms of common formats: each gives the right pixels, or is refused by name; never a wrong picture without a word."""

from __future__ import annotations

import io
import struct

import numpy as np
import pytest
from PIL import Image, ImageCms

from pixlane import Recipe, normalize
from pixlane.errors import CorruptInput, UnsupportedFormat
from pixlane.imaging import icc
from tests.pure import make

WHITE = Recipe(accept=("image/png",), target_bytes=4 << 20, background="white")
SMOOTH = make.smooth(48, 32)
GREY = SMOOTH[..., 0]
HALF = np.where(np.arange(48) < 24, 255, 0).astype(np.uint8)[None, :].repeat(32, 0)
P3 = icc.matrix_profile(icc.DISPLAY_P3)


def seen(data: bytes) -> np.ndarray:
    return make.seen(data, WHITE)


def grey_of(data: bytes) -> np.ndarray:
    return seen(data)[..., 0]


# TIFF -----------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("pixels", "bits", "sample_format"),
    [
        ((1 - GREY / 255).astype(np.float32), 32, 3),
        ((127 - GREY.astype(int)).astype(np.int8), 8, 2),
        (((127 - GREY.astype(int)) * 256).astype(np.int16), 16, 2),
        (((127 - GREY.astype(np.int64)) << 24).astype(np.int32), 32, 2),
        (((255 - GREY.astype(np.int64)) << 24).astype(np.uint32), 32, 1),
        ((255 - GREY.astype(np.uint16)) * 257, 16, 1),
        (255 - GREY, 8, 1),
    ],
    ids=["float", "int8", "int16", "int32", "uint32", "uint16", "uint8"],
)
def test_where_white_is_zero_white_is_white_whatever_the_numbers(pixels: np.ndarray, bits: int, sample_format: int) -> None:
    found = grey_of(make.tiff(pixels, bits=bits, photometric=0, sample_format=sample_format))
    assert np.abs(found - GREY).max() <= 1


def test_a_further_channel_that_is_no_transparency_hides_nothing() -> None:
    data = make.tiff(np.dstack([SMOOTH, HALF]), bits=8, photometric=2, t338=[0])
    rendition = normalize(data, WHITE)
    assert (make.shown(rendition) == SMOOTH).all()
    assert "metadata_removed" in make.codes(rendition)
    assert make.near(seen(make.tiff(np.dstack([SMOOTH, HALF]), bits=8, photometric=2, t338=[2]))[0, 47], make.WHITE)


@pytest.mark.parametrize(
    ("tags", "photometric", "named"),
    [
        ({"t259": [50001]}, 1, "50001"),
        ({}, 32803, "sensor"),
        ({"t50706": [1, 4]}, 1, "raw photograph"),
        ({"t254": [1], "t330": [8]}, 1, "raw photograph"),
    ],
    ids=["WebP in TIFF", "colour filters", "DNG", "a thumbnail before its photograph"],
)
def test_a_tiff_that_no_engine_reads_rightly_is_refused_by_name(tags: dict[str, list[int]], photometric: int, named: str) -> None:
    with pytest.raises(UnsupportedFormat, match=named):
        normalize(make.tiff(GREY, bits=8, photometric=photometric, **tags))


@pytest.mark.parametrize("bits", [6, 10, 14, 24])
def test_depths_that_are_not_decoded_are_unsupported_and_not_damaged(bits: int) -> None:
    with pytest.raises(UnsupportedFormat):
        normalize(make.tiff(np.zeros((8, bits), np.uint8), bits=bits, t256=[8]))


# PNG and GIF ----------------------------------------------------------------------------------------------------------------


def test_an_indexed_png_without_its_palette_is_corrupt_and_not_black() -> None:
    with pytest.raises(CorruptInput, match="palette"):
        normalize(make.png(GREY, colour=3))


def test_a_gif_whose_screen_has_no_size_takes_that_of_its_first_frame() -> None:
    data = bytearray(make.array(GREY, "GIF"))
    data[6:10] = bytes(4)
    rendition = normalize(bytes(data), WHITE)
    assert (rendition.width, rendition.height) == (48, 32)
    assert (make.shown(rendition)[..., 0] == GREY).all()
    assert "repaired" in make.codes(rendition)


# JPEG 2000 ------------------------------------------------------------------------------------------------------------------


def deep_jp2(pixels: np.ndarray) -> bytes:
    """A JPEG 2000 of 8 bits whose numbers are said to be the lower ones of 9: white is 255 + 128 of 511 there."""
    data = bytearray(make.array(pixels, "JPEG2000"))
    at = data.index(b"\xff\x4f\xff\x51") + 42
    for index in range(pixels.shape[2]):
        data[at + 3 * index] += 1
    return bytes(data)


def test_more_than_8_bits_of_a_jpeg_2000_in_colour_are_noted() -> None:
    rendition = normalize(deep_jp2(SMOOTH), WHITE)
    assert "depth_reduced" in make.codes(rendition)
    assert np.abs(make.shown(rendition) - (SMOOTH.astype(int) + 128) // 2).max() <= 1


def lossy_jp2(level: int) -> bytes:
    """16 bits a channel, twice as far from the middle as `level` of 8 is: 255 is beyond white, 65,535."""
    data = bytearray(make.flat((level,) * 3, (16, 16), "JPEG2000", irreversible=True, num_resolutions=1))
    components, steps = data.index(b"\xff\x4f\xff\x51") + 42, data.index(b"\xff\x5c")
    for index in range(3):
        data[components + 3 * index] = 16 - 1
    data[steps + 4] += 1 << 5  # a guard bit more, for a step that is twice as large
    data[steps + 5] -= 1 << 3
    return bytes(data)


@pytest.mark.parametrize(("level", "seen_as"), [(255, 255), (160, 192), (100, 72), (0, 0)])
def test_white_of_a_lossy_deep_jpeg_2000_is_not_black(level: int, seen_as: int) -> None:
    rendition = normalize(lossy_jp2(level), WHITE)
    assert make.near(make.shown(rendition)[8, 8], (seen_as,) * 3, 1)
    assert "depth_reduced" in make.codes(rendition)


LOSSLESS_WHITE = bytes.fromhex(
    "ff4fff51002f0000000000080000000800000000000000000000000800000008000000000000000000030f01010f01010f0101ff52000c"
    "00000001010004040001ff5c00044080ff640025000143726561746564206279204f70656e4a5045472076657273696f6e20322e352e34"
    "ff90000a00000000008e0001ff93dff893d011504276c2c3a74738061204fd600002fc4e5d51b569fb11cd87e6c3f361f9b0fcd87e6c3f"
    "361f9b0fcd87e6c3f361f9b0fcd87e6c3f361f9b0fcd87e6c3f361f9b0fcd87e6c3f361f9b0fcd87e6c3f361f9b0fcd87e6c3f361f9b0f"
    "cd87e6c3f361f9b0fcd87e6c3f361f9b0fcd87e6c3f361f9b0fcd87e6c3f8080ffd9"
)
"""8 x 8 px of 16 bits a channel without loss, the right half white and the left half black; written with OpenJPEG."""


def test_white_of_a_lossless_deep_jpeg_2000_is_not_black() -> None:
    found = seen(LOSSLESS_WHITE)
    assert (found[:, 4:] == 255).all()
    assert (found[:, :4] == 0).all()


def test_the_profile_of_a_jpeg_2000_is_converted() -> None:
    colour = np.full((8, 8, 3), (200, 100, 50), np.uint8)
    data = make.array(colour, "JPEG2000")
    at, head = data.index(b"colr") - 4, data.index(b"jp2h") - 4
    old, new = int.from_bytes(data[at : at + 4], "big"), make.box(b"colr", b"\2\0\0" + P3)
    length = int.from_bytes(data[head : head + 4], "big") - old + len(new)
    tagged = data[:head] + struct.pack(">I", length) + data[head + 4 : at] + new + data[at + old :]
    rendition = normalize(tagged, WHITE)
    assert make.near(make.shown(rendition)[0, 0], through_p3(colour)[0, 0])
    assert "profile_converted" in make.codes(rendition)


def through_p3(pixels: np.ndarray) -> np.ndarray:
    srgb = ImageCms.createProfile("sRGB")
    return np.asarray(ImageCms.profileToProfile(Image.fromarray(pixels), ImageCms.ImageCmsProfile(io.BytesIO(P3)), srgb))


# BMP ------------------------------------------------------------------------------------------------------------------------


def bmp(
    bits: int, coding: int, body: bytes, *, size: int = 40, head: bytes = b"", palette: bytes = b"", after: bytes = b""
) -> bytes:
    info = struct.pack("<IiiHHIIiiII", size, 48, 32, 1, bits, coding, len(body), 0, 0, 0, 0) + head
    start = 14 + len(info) + len(palette)
    return b"BM" + struct.pack("<IHHI", start + len(body), 0, 0, start) + info + palette + body + after


def test_the_profile_inside_a_bmp_is_converted() -> None:
    body = SMOOTH[::-1, :, ::-1].tobytes()
    head = bytes(16) + b"DEBM" + bytes(48) + struct.pack("<IIII", 0, 124 + len(body), len(P3), 0)
    rendition = normalize(bmp(24, 0, body, size=124, head=head, after=P3), WHITE)
    assert np.abs(make.shown(rendition) - through_p3(SMOOTH)).max() <= 3
    assert {"profile_converted", "metadata_removed"} <= make.codes(rendition)


@pytest.mark.parametrize(("bits", "coding"), [(0, 4), (0, 5), (64, 0)], ids=["JPEG inside", "PNG inside", "64 bits"])
def test_a_bmp_that_is_not_decoded_is_unsupported_and_not_damaged(bits: int, coding: int) -> None:
    with pytest.raises(UnsupportedFormat):
        normalize(bmp(bits, coding, bytes(48 * 32 * 8)))


GREYS = b"".join(bytes((level, level, level, 0)) for level in range(256))
SIXTEEN = b"".join(bytes((level * 17, level * 17, level * 17, 0)) for level in range(16))


@pytest.mark.parametrize(
    ("bits", "coding", "palette", "runs", "level"),
    [
        (8, 1, GREYS, b"\5\xc8\0\0\0\2\3\1\0\3\1\2\3\0\0\1", 200),
        (4, 2, SIXTEEN, b"\5\xcc\0\0\0\2\3\1\0\3\x12\x30\0\1", 204),
    ],
    ids=["RLE8", "RLE4"],
)
def test_runs_that_end_before_the_picture_leave_its_first_colour(
    bits: int, coding: int, palette: bytes, runs: bytes, level: int
) -> None:
    rendition = normalize(bmp(bits, coding, runs, palette=palette), WHITE)
    found = make.shown(rendition)[::-1, :, 0]  # from the lowest row up
    assert (found[0, :5] == level).all()
    assert list(found[2, 3:6]) == ([1, 2, 3] if bits == 8 else [17, 34, 51])
    assert found.sum() == 5 * level + found[2, 3:6].sum()
    assert "repaired" in make.codes(rendition)


# TGA, PSD, PNM, SGI ----------------------------------------------------------------------------------------------------------


def tga(bits: int, descriptor: int, body: bytes) -> bytes:
    head = struct.pack("<BBBHHBHHHHBB", 0, 0, 2, 0, 0, 0, 0, 0, 48, 32, bits, descriptor)
    return head + body + bytes(8) + b"TRUEVISION-XFILE.\0"


@pytest.mark.parametrize("descriptor", [0x20, 0x28], ids=["no bit is alpha", "eight bits that nobody filled"])
def test_an_alpha_byte_of_a_tga_that_nobody_filled_is_opaque(descriptor: int) -> None:
    body = np.dstack([SMOOTH[..., ::-1], np.zeros((32, 48), np.uint8)]).tobytes()
    assert (seen(tga(32, descriptor, body)) == SMOOTH).all()


def test_alpha_of_a_tga_counts_where_it_says_so() -> None:
    found = seen(tga(32, 0x28, np.dstack([SMOOTH[..., ::-1], HALF]).tobytes()))
    assert (found == np.where(HALF[..., None] == 255, SMOOTH, 255)).all()


@pytest.mark.parametrize("bit", [0, 0x8000])
def test_the_sixteenth_bit_of_a_tga_hides_nothing(bit: int) -> None:
    five = SMOOTH.astype(int) >> 3
    packed = (five[..., 0] << 10 | five[..., 1] << 5 | five[..., 2] | bit).astype("<u2")
    assert np.abs(seen(tga(16, 0x21, packed.tobytes())) - five * 255 // 31).max() <= 1


def psd(channels: list[np.ndarray], mode: int, *, layers: int | None = None, bits: int = 8) -> bytes:
    head = b"8BPS\0\1" + bytes(6) + struct.pack(">HIIHH", len(channels), 32, 48, bits, mode) + bytes(8)
    section = b"" if layers is None else struct.pack(">Ih", 2, layers) + bytes(4)
    return head + struct.pack(">I", len(section)) + section + b"\0\0" + b"".join(channel.tobytes() for channel in channels)


def test_a_bit_that_is_set_is_black_in_a_photoshop_bitmap() -> None:
    found = grey_of(psd([np.packbits(GREY < 128, axis=1)], 0, bits=1))
    assert (found == np.where(GREY < 128, 0, 255)).all()


@pytest.mark.parametrize(("layers", "hides"), [(1, False), (-1, True), (None, True)])
def test_a_saved_selection_of_a_photoshop_file_is_no_transparency(layers: int | None, hides: bool) -> None:
    found = seen(psd([*np.moveaxis(SMOOTH, -1, 0), HALF], 3, layers=layers))
    assert (found == np.where((HALF[..., None] == 255) | (not hides), SMOOTH, 255)).all()


WIDE = SMOOTH.astype(np.uint16) * 257
SGI_HEAD = struct.pack(">HBBHHHHII4x80sI404x", 474, 0, 2, 3, 48, 32, 3, 0, 65_535, b"", 0)


@pytest.mark.parametrize(
    "data",
    [
        b"P6 48 32 65535\n" + WIDE.astype(">u2").tobytes(),
        b"P3 # a comment\n48 32 65535\n" + b" ".join(b"%d" % value for value in WIDE.ravel()),
        SGI_HEAD + np.moveaxis(WIDE[::-1], -1, 0).astype(">u2").tobytes(),
    ],
    ids=["PPM", "PPM in letters", "SGI"],
)
def test_16_bits_in_colour_are_noted_whatever_the_format(data: bytes) -> None:
    rendition = normalize(data, WHITE)
    assert (make.shown(rendition) == SMOOTH).all()
    assert "depth_reduced" in make.codes(rendition)


# Orientation ----------------------------------------------------------------------------------------------------------------


def turned(form: str) -> bytes:
    data = Image.Exif()
    data[0x0112] = 6
    return make.array(SMOOTH, form, exif=data)


@pytest.mark.parametrize("form", ["JPEG", "PNG", "WEBP", "TIFF", "AVIF"])
def test_what_was_stored_turned_is_noted(form: str) -> None:
    rendition = normalize(turned(form), WHITE)
    assert (rendition.width, rendition.height) == (32, 48)
    assert "turned_upright" in make.codes(rendition)
    assert "turned_upright" not in make.codes(normalize(make.array(SMOOTH, form), WHITE))
