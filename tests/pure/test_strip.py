"""Metadata is cut away, the pixels and what decoding needs stay."""

from __future__ import annotations

import io
import struct
import zlib

import numpy as np
import pytest
from PIL import Image, ImageCms, PngImagePlugin

from pixlane.imaging.strip import strip

from . import make_pictures as make

PAGE = Image.fromarray(make.text(120, 90))
SECRET = b"taken at home"
MIME = {"PNG": "image/png", "JPEG": "image/jpeg", "WEBP": "image/webp", "GIF": "image/gif"}


def with_metadata(form: str, picture: Image.Image = PAGE, **options) -> bytes:
    exif = Image.Exif()
    exif[0x010E] = SECRET.decode()
    profile = ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()
    if form == "GIF":
        return make.save(picture.convert("P"), form, comment=SECRET, **options)
    if form == "PNG":
        options["pnginfo"] = PngImagePlugin.PngInfo()
        options["pnginfo"].add_text("Comment", SECRET.decode())
        options["pnginfo"].add_itxt("XML:com.adobe.xmp", SECRET.decode())
    if form in ("JPEG", "WEBP"):
        options["xmp"] = b"<x>" + SECRET + b"</x>"
    if form == "JPEG":
        options["comment"] = SECRET
    return make.save(picture, form, exif=exif, icc_profile=profile, **options)


VARIANTS = [
    ("PNG", {}),
    ("PNG", {"picture": PAGE.convert("P")}),
    ("PNG", {"picture": PAGE.convert("1")}),
    ("JPEG", {}),
    ("JPEG", {"progressive": True}),
    ("JPEG", {"picture": PAGE.convert("L")}),
    ("JPEG", {"restart_marker_blocks": 2}),
    ("WEBP", {}),
    ("WEBP", {"lossless": True}),
    ("GIF", {}),
]


@pytest.mark.parametrize(("form", "options"), VARIANTS)
def test_the_pixels_stay_and_the_metadata_goes(form, options):
    data = with_metadata(form, **options)
    bare = strip(MIME[form], data)
    assert SECRET in data
    assert SECRET not in bare
    assert len(bare) < len(data)
    assert np.array_equal(make.pixels(bare), make.pixels(data))
    info = Image.open(io.BytesIO(bare)).info
    assert not {"exif", "icc_profile", "xmp", "comment", "Comment"} & set(info)


@pytest.mark.parametrize(("form", "options"), VARIANTS)
def test_a_second_cut_finds_nothing(form, options):
    bare = strip(MIME[form], with_metadata(form, **options))
    assert strip(MIME[form], bare) == bare


@pytest.mark.parametrize("form", MIME)
def test_what_follows_the_end_is_never_forwarded(form):
    data = make.save(PAGE.convert("P") if form == "GIF" else PAGE, form)
    assert SECRET not in strip(MIME[form], data + SECRET)


@pytest.mark.parametrize("form", MIME)
def test_a_file_that_ends_early_is_left_to_the_decoder(form):
    data = make.save(PAGE.convert("P") if form == "GIF" else PAGE, form)
    for length in (3, 20, len(data) // 2, len(data) - 5):
        bare = strip(MIME[form], data[:length])
        assert bare is None or form == "WEBP"


def test_an_adobe_marker_is_kept_because_it_says_what_the_channels_mean():
    data = make.save(Image.merge("CMYK", [PAGE.convert("L")] * 4), "JPEG")
    assert b"Adobe" in data
    bare = strip("image/jpeg", data)
    assert b"Adobe" in bare
    assert np.array_equal(make.pixels(bare), make.pixels(data))


def test_a_jfif_thumbnail_is_cut_out_of_its_segment():
    data = make.save(PAGE, "JPEG")
    segment = b"JFIF\0\x01\x01\0\0\x01\0\x01" + bytes([2, 2]) + b"thumb-pixels"
    with_thumbnail = b"\xff\xd8\xff\xe0" + struct.pack(">H", len(segment) + 2) + segment + data[20:]
    bare = strip("image/jpeg", with_thumbnail)
    assert b"thumb" not in bare
    assert b"JFIF" in bare
    assert np.array_equal(make.pixels(bare), make.pixels(data))


def test_a_comment_between_the_scans_of_a_progressive_jpeg_goes_too():
    data = make.save(PAGE, "JPEG", progressive=True)
    second = data.index(b"\xff\xda", data.index(b"\xff\xda") + 2)
    table = data.rfind(b"\xff\xc4", 0, second)
    at = table if table > data.index(b"\xff\xda") else second
    spoiled = data[:at] + b"\xff\xfe" + struct.pack(">H", len(SECRET) + 2) + SECRET + data[at:]
    bare = strip("image/jpeg", spoiled)
    assert SECRET not in bare
    assert np.array_equal(make.pixels(bare), make.pixels(data))


def chunk(kind: bytes, content: bytes) -> bytes:
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))


MEANINGS = {b"gAMA": 4, b"cHRM": 32, b"sRGB": 1, b"tRNS": 6, b"sBIT": 3, b"cICP": 4}


@pytest.mark.parametrize(("kind", "length"), MEANINGS.items())
def test_png_chunks_that_say_what_the_numbers_mean_stay(kind, length):
    data = make.save(PAGE, "PNG")
    part = chunk(kind, bytes(length))
    assert part in strip("image/png", data[:33] + part + data[33:])


@pytest.mark.parametrize(("kind", "length"), MEANINGS.items())
def test_a_png_with_a_chunk_of_a_wrong_length_is_drawn_anew_as_strict_readers_refuse_it(kind, length):
    data = make.save(PAGE, "PNG")
    for wrong in (0, length - 1, length + 2):
        if (kind, wrong) != (b"sBIT", 2):
            assert strip("image/png", data[:33] + chunk(kind, bytes(wrong)) + data[33:]) is None


@pytest.mark.parametrize(("at", "value"), [(24, 3), (25, 5), (26, 1), (27, 1), (28, 7)])
def test_a_png_head_that_the_specification_does_not_know_is_never_forwarded(at, value):
    data = bytearray(make.save(PAGE, "PNG"))
    data[at] = value
    data[29:33] = zlib.crc32(data[12:29]).to_bytes(4, "big")
    assert strip("image/png", bytes(data)) is None


@pytest.mark.parametrize("kind", [b"tEXt", b"zTXt", b"iTXt", b"eXIf", b"iCCP", b"tIME", b"prVt", b"acTL", b"caBX"])
def test_other_png_chunks_go(kind):
    data = make.save(PAGE, "PNG")
    assert kind not in strip("image/png", data[:33] + chunk(kind, SECRET) + data[33:])


def test_an_unknown_critical_png_chunk_leaves_the_file_to_the_decoder():
    data = make.save(PAGE, "PNG")
    assert strip("image/png", data[:33] + chunk(b"CgBI", b"\x50\0\x20\x02") + data[33:]) is None


@pytest.mark.parametrize("marker", [0xC3, 0xC9, 0xCA])
def test_a_jpeg_process_that_browsers_do_not_show_is_not_kept(marker):
    data = bytearray(make.save(PAGE, "JPEG"))
    data[data.index(b"\xff\xc0") + 1] = marker
    assert strip("image/jpeg", bytes(data)) is None


def test_the_webp_header_forgets_what_was_cut():
    bare = strip("image/webp", with_metadata("WEBP"))
    assert bare[12:16] == b"VP8X"
    assert bare[20] == 0
    assert int.from_bytes(bare[4:8], "little") == len(bare) - 8


def test_an_animated_webp_is_not_cut():
    frames = [Image.new("RGB", (16, 16), colour) for colour in ("red", "green")]
    assert strip("image/webp", make.save(frames[0], "WEBP", save_all=True, append_images=frames[1:])) is None


def test_other_types_are_not_cut():
    assert strip("image/tiff", b"II*\0") is None
