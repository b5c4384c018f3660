"""Odd but real files: each against a truth that was computed by hand or by another program."""

from __future__ import annotations

import io
import struct
import zlib
from pathlib import Path

import numpy as np
import pytest
from PIL import Image, ImageCms

from pixlane import Recipe, normalize
from pixlane.errors import CorruptInput, SourceError, TargetUnreachable, TruncatedInput, UnsupportedFormat
from pixlane.imaging import icc
from tests.pure import make, make_svg

SMOOTH, NOISE = make.smooth(48, 32), make.noise(48, 32)
WHITE = Recipe(accept=("image/png",), target_bytes=4 << 20, background="white")
ALLOWED = Recipe(accept=("image/png",), target_bytes=4 << 20, allow_truncated=True)


def page(number: int) -> Recipe:
    return Recipe(accept=("image/png",), target_bytes=4 << 20, background="white", page=number)


# TIFF -----------------------------------------------------------------------------------------------------------------------


def lab() -> np.ndarray:
    sheet = ImageCms.profileToProfile(
        Image.fromarray(SMOOTH), ImageCms.createProfile("sRGB"), ImageCms.createProfile("LAB"), outputMode="LAB"
    )
    return np.asarray(sheet)


def test_lab_of_every_coding_is_relative_to_d50() -> None:
    stored = lab()
    signed = [(stored[..., axis].view(np.int8).astype(np.int16) * 256).view(np.uint16) for axis in (1, 2)]
    for data in (
        make.encode(Image.fromarray(stored, "LAB"), "TIFF"),
        make.tiff(np.stack([stored[..., 0].astype(np.uint16) * 257, *signed], -1), bits=16, photometric=8),
        make.tiff(np.stack([stored[..., 0], stored[..., 1] ^ 128, stored[..., 2] ^ 128], -1), bits=8, photometric=9),
    ):
        rendition = normalize(data, make.LOSSLESS)
        assert np.abs(make.shown(rendition) - SMOOTH).mean() < 1.5
        assert "profile_converted" in make.codes(rendition)


def test_colours_as_itu_lab_are_refused_by_name() -> None:
    with pytest.raises(UnsupportedFormat, match="ITU"):
        normalize(make.tiff(NOISE, bits=8, photometric=10))


def test_ycbcr_without_subsampling_is_no_rgb() -> None:
    stored = np.asarray(Image.fromarray(SMOOTH).convert("YCbCr"))
    assert np.abs(make.seen(make.tiff(stored, bits=8, photometric=6, t530=[1, 1])) - SMOOTH).max() <= 4


@pytest.mark.parametrize("coding", ["zstd", "lzma"])
def test_a_tiff_that_one_engine_was_not_built_for_goes_to_the_next(coding: str) -> None:
    assert (make.seen(make.array(SMOOTH, "TIFF", compression=coding)) == SMOOTH).all()


def test_numbers_of_64_bits_are_unsupported_and_not_damaged() -> None:
    with pytest.raises(UnsupportedFormat) as caught:
        normalize(make.tiff(np.ones((8, 8)), bits=64, sample_format=3))
    assert (caught.value.limit, caught.value.actual) == (32, 64)


def test_twelve_bits_packed_use_the_whole_range() -> None:
    values = np.linspace(0, 4095, 48 * 32).reshape(32, 48).astype(np.uint16)
    first, second = values[:, ::2], values[:, 1::2]
    packed = np.stack([first >> 4, (first & 15) << 4 | second >> 8, second & 255], -1).astype(np.uint8).reshape(32, 72)
    seen = make.seen(make.tiff(packed, bits=12, photometric=1, t256=[48]))
    assert np.abs(seen[..., 0] - values / 4095 * 255).max() <= 1


def test_a_tiff_cut_off_behind_its_first_page_shows_that_page() -> None:
    pages = [Image.fromarray(make.noise(64, 64, seed=seed)) for seed in (1, 2, 3)]
    data = make.encode(pages[0], "TIFF", save_all=True, append_images=pages[1:])
    for part in (0.4, 0.5, 0.6):
        rendition = normalize(data[: int(len(data) * part)], make.LOSSLESS)
        assert (make.shown(rendition) == np.asarray(pages[0])).all()
        assert "repaired" in make.codes(rendition)


# Damage ---------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", ["ICO", "ICNS", "JPEG2000", "QOI", "TIFF", "DDS", "AVIF", "WEBP", "GIF", "PNG", "JPEG"])
@pytest.mark.parametrize("part", [0.1, 0.3, 0.6])
def test_what_ends_early_is_truncated_and_not_corrupt(form: str, part: float) -> None:
    options = {"compression": "tiff_lzw"} if form == "TIFF" else {}
    size = 128 if form == "ICNS" else 96
    data = make.array(make.noise(size, size), form, **options)
    with pytest.raises(TruncatedInput):
        normalize(data[: int(len(data) * part)])


@pytest.mark.parametrize("permille", range(100, 1000, 25))
def test_a_progressive_jpeg_cut_anywhere_can_be_drawn(permille: int) -> None:
    data = make.array(make.noise(96, 96), "JPEG", progressive=True)
    assert "truncated" in make.codes(normalize(data[: len(data) * permille // 1000], ALLOWED))


def test_a_jpeg_coded_in_a_way_that_no_engine_knows_is_unsupported() -> None:
    data = bytearray(make.array(SMOOTH, "JPEG"))
    data[data.index(b"\xff\xc0") + 4] = 12  # bits
    with pytest.raises(UnsupportedFormat):
        normalize(bytes(data))


# PNG ------------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [b"gAMA", b"cHRM", b"sRGB", b"tRNS", b"sBIT", b"cICP"])
def test_a_chunk_of_a_wrong_length_never_reaches_a_receiver(kind: bytes) -> None:
    rendition = normalize(make.png(SMOOTH, make.chunk(kind, b"")), make.LOSSLESS)
    assert (make.shown(rendition) == SMOOTH).all()  # Pillow, as other strict readers, would refuse it
    assert kind not in rendition.data


def test_an_animation_without_frames_is_a_still_picture() -> None:
    rendition = normalize(make.png(SMOOTH, make.chunk(b"acTL", struct.pack(">II", 1, 0))), make.LOSSLESS)
    assert (make.shown(rendition) == SMOOTH).all()
    assert rendition.source.frames == 1


@pytest.mark.parametrize("disposal", [0, 1, 2])
def test_the_hidden_picture_of_an_animated_png_shows_in_no_frame(disposal: int) -> None:
    def flat(colour: tuple[int, ...], side: int) -> bytes:
        return zlib.compress(b"".join(b"\0" + bytes(colour) * side for _ in range(side)))

    def control(number: int, side: int, at: int, blend: int) -> bytes:
        return make.chunk(b"fcTL", struct.pack(">IIIIIHHBB", number, side, side, at, at, 1, 10, disposal, blend))

    data = (
        make.PNG
        + make.chunk(b"IHDR", struct.pack(">IIBBBBB", 16, 16, 8, 6, 0, 0, 0))
        + make.chunk(b"acTL", struct.pack(">II", 2, 0))
        + make.chunk(b"IDAT", flat((0, 0, 255, 255), 16))
        + control(0, 16, 0, 1)
        + make.chunk(b"fdAT", struct.pack(">I", 1) + flat((255, 0, 0, 128), 16))
        + control(2, 8, 4, 0)
        + make.chunk(b"fdAT", struct.pack(">I", 3) + flat((0, 255, 0, 255), 8))
        + make.chunk(b"IEND", b"")
    )
    assert make.near(make.seen(data, page(0))[0, 0], (255, 127, 127))
    assert make.near(make.seen(data, page(1))[0, 0], (255, 127, 127) if disposal == 0 else make.WHITE)
    assert make.near(make.seen(data, page(1))[8, 8], make.GREEN)


# Icons and others through Pillow ----------------------------------------------------------------------------------------------


def bitmap(alpha: int, clear: np.ndarray) -> bytes:
    """A red bitmap of 32 bits as icons hold it, with a mask."""
    pixels = np.full((*clear.shape, 4), (0, 0, 255, alpha))
    mask = b"".join(np.packbits(row).tobytes() for row in clear[::-1])
    return (
        struct.pack("<IiiHHIIiiII", 40, clear.shape[1], clear.shape[0] * 2, 1, 32, 0, 0, 0, 0, 0, 0)
        + pixels.astype(np.uint8).tobytes()
        + mask
    )


HALF = np.arange(32)[None, :].repeat(32, 0) < 16


@pytest.mark.parametrize("kind", [1, 2], ids=["ico", "cur"])
def test_a_mask_counts_where_the_alpha_byte_is_not_used(kind: int) -> None:
    seen = make.seen(make.icon(kind, bitmap(0, HALF)), WHITE)
    assert make.near(seen[16, 4], make.WHITE)
    assert make.near(seen[16, 28], make.RED)
    assert make.near(make.seen(make.icon(kind, bitmap(255, HALF)), WHITE)[16, 4], make.RED)


@pytest.mark.parametrize(
    ("data", "named"),
    [
        (b"8BPS\0\x02" + bytes(6) + struct.pack(">HIIHH", 3, 8, 8, 8, 3) + bytes(40), "PSB"),
        (b"8BPS\0\x01" + bytes(6) + struct.pack(">HIIHH", 3, 8, 8, 16, 3) + bytes(40), "16 bits"),
        (b"P7\nWIDTH 2\nHEIGHT 2\nDEPTH 3\nMAXVAL 255\nENDHDR\n" + bytes(12), "PAM"),
        (b"PF\n2 2\n-1.0\n" + bytes(48), "PFM"),
    ],
)
def test_a_variant_that_is_not_decoded_is_named(data: bytes, named: str) -> None:
    with pytest.raises(UnsupportedFormat, match=named):
        normalize(data)


def test_what_no_frame_of_a_gif_covers_is_clear_on_every_page() -> None:
    first, second = Image.new("P", (8, 8), 1), Image.new("P", (8, 8), 2)
    for image in (first, second):
        image.putpalette([0, 0, 0, 255, 0, 0, 0, 255, 0, 0, 0, 255])
    data = bytearray(make.encode(first, "GIF", save_all=True, append_images=[second], disposal=1))
    data[6:10] = struct.pack("<HH", 16, 16)
    for number in (0, 1):
        assert make.near(make.seen(bytes(data), page(number))[15, 15], make.WHITE)
        assert not make.near(make.seen(bytes(data), page(number))[4, 4], make.WHITE)


def test_what_a_gif_frame_clears_behind_itself_is_clear_and_not_the_background_colour() -> None:
    first, second = Image.new("P", (16, 16), 1), Image.new("P", (8, 8), 2)
    for image in (first, second):
        image.putpalette([0, 0, 0, 255, 0, 0, 0, 0, 255, 0, 255, 0])
    animation = make.encode(second, "GIF", save_all=True, append_images=[second.point([3] * 256)], disposal=2, background=1)
    data = bytearray(animation)
    data[6:10] = struct.pack("<HH", 16, 16)
    second_frame = data.index(b"\x2c", data.index(b"\x2c") + 1)
    data[second_frame + 1 : second_frame + 5] = struct.pack("<HH", 8, 8)
    seen = make.seen(bytes(data), page(1))
    assert make.near(seen[2, 2], make.WHITE)
    assert make.near(seen[12, 12], make.GREEN)


# Colour ---------------------------------------------------------------------------------------------------------------------


def grey_profile(gamma: float) -> bytes:
    tags = {
        b"desc": b"desc" + struct.pack(">II", 0, 2) + b"x\0" + bytes(79),
        b"wtpt": b"XYZ " + bytes(4) + struct.pack(">3i", *(round(value * 65536) for value in icc.D50)),
        b"kTRC": b"curv" + bytes(4) + struct.pack(">IH", 1, round(gamma * 256)),
    }
    table, body, at = b"", b"", 132 + 12 * len(tags)
    for tag, content in tags.items():
        table += tag + struct.pack(">II", at + len(body), len(content))
        body += content + bytes(-len(content) % 4)
    head = struct.pack(
        ">I4s4s4s4s4s12s4s", at + len(body), bytes(4), b"\2\x40\0\0", b"mntr", b"GRAY", b"XYZ ", bytes(12), b"acsp"
    )
    head += bytes(28) + struct.pack(">3i", *(round(value * 65536) for value in icc.D50)) + bytes(48)
    return head + struct.pack(">I", len(tags)) + table + body


@pytest.mark.parametrize("gamma", [1.0, 1.8, 2.2])
def test_a_grey_profile_of_another_curve_is_converted_in_the_shadows_too(gamma: float) -> None:
    ramp = np.arange(256, dtype=np.uint8).reshape(16, 16)
    profile = grey_profile(gamma)
    truth = ImageCms.profileToProfile(
        Image.fromarray(ramp),
        ImageCms.ImageCmsProfile(io.BytesIO(profile)),
        ImageCms.createProfile("sRGB"),
        outputMode="RGB",
    )
    assert np.abs(make.seen(make.array(ramp, icc_profile=profile)) - np.asarray(truth)).max() <= 3


# The rest -------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", ["AVIF", "HEIF"])
def test_data_behind_a_heif_or_avif_is_noted(form: str) -> None:
    data = make.array(SMOOTH, form)
    assert "trailing_data_dropped" not in make.codes(normalize(data))
    assert "trailing_data_dropped" in make.codes(normalize(data + make.box(b"mpvd", b"film" * 50)))
    assert "trailing_data_dropped" in make.codes(normalize(data + b"PK\3\4" + bytes(30)))


def test_a_declared_type_that_says_nothing_contradicts_nothing() -> None:
    rendition = normalize(make.array(SMOOTH), make.LOSSLESS, declared_type="application/octet-stream")
    assert "declared_type_wrong" not in make.codes(rendition)


def test_bytes_that_are_no_text_are_not_called_text() -> None:
    with pytest.raises(SourceError, match="no known image format"):
        normalize(b"\x89")
    with pytest.raises(SourceError, match="text"):
        normalize("Die Größe des Bildes ist nicht bekannt".encode("latin-1"))


def test_a_picture_too_long_for_the_only_accepted_type_is_unreachable_and_never_of_another_type() -> None:
    data = make.encode(Image.new("RGB", (20_000, 20)), "PNG")
    with pytest.raises(TargetUnreachable):
        normalize(data, Recipe(accept=("image/webp",), max_side=65_500, max_halvings=0))


def test_a_stylesheet_instruction_in_the_first_line_is_noted(tmp_path: Path) -> None:
    data = make_svg.svg("<rect width='9' height='9'/>", before='<?xml-stylesheet href="a.css"?>')
    assert "svg_reference_removed" in make.codes(normalize(data))


@pytest.mark.parametrize("tag", [256, 258, 259, 262, 273, 277, 278, 279, 338, 339])
@pytest.mark.parametrize("kind", [2, 7], ids=["letters", "raw bytes"])
def test_a_tag_that_holds_no_numbers_ends_typed(tag: int, kind: int) -> None:
    data = bytearray(make.tiff(NOISE, bits=8, photometric=2, t338=[0]))
    at = data.index(struct.pack("<H", tag), int.from_bytes(data[4:8], "little"))
    data[at + 2 : at + 4] = struct.pack("<H", kind)
    for recipe in (make.LOSSLESS, ALLOWED):
        try:
            normalize(bytes(data), recipe)
        except SourceError:
            continue


def test_an_animation_whose_clock_stands_still_ends_typed() -> None:
    frames = [Image.fromarray(make.noise(32, 32, seed=seed)) for seed in (1, 2)]
    data = bytearray(make.encode(frames[0], "AVIF", save_all=True, append_images=frames[1:]))
    at = data.index(b"mdhd") + 4
    start = at + (20 if data[at] == 1 else 12)
    data[start : start + 4] = bytes(4)  # ticks a second
    with pytest.raises(CorruptInput):
        normalize(bytes(data), make.LOSSLESS)
