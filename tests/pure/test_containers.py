"""Files that hold more than one picture: which one is shown, what is said about the rest, and that the rest never leaves."""

from __future__ import annotations

import io
import struct
import zlib

import numpy as np
import pytest
from PIL import Image

from pixlane import Recipe, normalize
from pixlane.errors import PageOutOfRange, UnsupportedFormat
from tests.pure import make

FRAMES = [Image.new("RGB", (32, 32), colour) for colour in (make.RED, make.GREEN, make.BLUE)]


def moving(form: str, **options: object) -> bytes:
    return make.encode(FRAMES[0], form, save_all=True, append_images=FRAMES[1:], duration=100, **options)


def page(number: int) -> Recipe:
    return Recipe(accept=("image/png",), page=number)


@pytest.mark.parametrize("form", ["GIF", "WEBP", "PNG", "AVIF", "TIFF"])
def test_an_animation_gives_the_frame_that_is_asked_for(form: str) -> None:
    data = moving(form, **({"lossless": True} if form == "WEBP" else {"quality": 100} if form == "AVIF" else {}))
    for number, colour in enumerate((make.RED, make.GREEN, make.BLUE)):
        rendition = normalize(data, page(number))
        assert make.near(make.shown(rendition)[16, 16], colour, 12), number
        assert rendition.source.frames == 3
        assert "frames_dropped" in make.codes(rendition)
    with pytest.raises(PageOutOfRange) as caught:
        normalize(data, page(3))
    assert caught.value.limit == 2


def test_one_frame_is_no_animation() -> None:
    rendition = normalize(make.flat(make.RED, form="GIF"))
    assert rendition.source.frames == 1
    assert "frames_dropped" not in make.codes(rendition)


def test_a_later_frame_is_shown_on_what_lies_under_it() -> None:
    under, over = Image.new("RGB", (32, 32), make.RED), Image.new("RGBA", (32, 32), (0, 0, 0, 0))
    over.paste((0, 0, 255, 255), (8, 8, 16, 16))
    data = make.encode(under, "GIF", save_all=True, append_images=[over], duration=50, disposal=1)
    found = make.seen(data, page(1))
    assert make.near(found[12, 12], make.BLUE, 4)
    assert make.near(found[2, 2], make.RED, 4)


def test_a_first_frame_smaller_than_the_canvas_keeps_the_canvas() -> None:
    gif = make.flat(make.RED, (8, 8), form="GIF")
    data = gif[:6] + struct.pack("<HH", 32, 24) + gif[10:]
    rendition = normalize(data, make.LOSSLESS)
    assert (rendition.source.width, rendition.source.height) == (32, 24)
    assert make.near(make.shown(rendition)[2, 2], make.RED, 2)
    assert make.near(make.shown(rendition)[20, 28], make.WHITE, 2)


def test_the_hidden_default_picture_of_an_apng_is_not_what_browsers_show() -> None:
    data = make.encode(FRAMES[0], "PNG", save_all=True, append_images=FRAMES[1:], default_image=True, duration=100)
    rendition = normalize(data, make.LOSSLESS)
    assert make.near(make.shown(rendition)[16, 16], make.GREEN, 0)
    assert rendition.source.frames == 2


def test_of_an_mpo_only_the_first_picture_leaves() -> None:
    data = make.encode(FRAMES[0], "MPO", save_all=True, append_images=FRAMES[2:])
    rendition = normalize(data, Recipe(accept=("image/jpeg",)), name="phone.mpo")
    assert rendition.source.mime == "image/jpeg"
    assert {"trailing_data_dropped"} <= make.codes(rendition)
    assert "declared_type_wrong" not in make.codes(rendition)
    assert make.near(make.shown(rendition)[16, 16], make.RED, 6)
    assert rendition.data.count(b"\xff\xd8\xff") == 1


@pytest.mark.parametrize("form", ["JPEG", "PNG", "WEBP", "GIF"])
def test_what_stands_after_the_end_never_leaves(form: str) -> None:
    clean = make.array(make.smooth(), form)
    rendition = normalize(clean + b"MotionPhoto: a secret film" * 9)
    assert b"secret" not in rendition.data
    assert "trailing_data_dropped" in make.codes(rendition)
    assert "trailing_data_dropped" not in make.codes(normalize(clean))


def test_an_end_marker_inside_a_thumbnail_is_not_the_end() -> None:
    thumbnail = make.flat(make.BLUE, form="JPEG")
    data = make.with_segment(make.array(make.smooth(), "JPEG"), 0xE1, b"Exif\0\0" + make.exif(1) + thumbnail)
    assert "trailing_data_dropped" not in make.codes(normalize(data))


@pytest.mark.parametrize("kind", [1, 2], ids=["ico", "cur"])
def test_the_largest_picture_of_an_icon_comes_first(kind: int) -> None:
    pictures = {
        size: Image.new("RGBA", (size, size), (*colour, 255))
        for size, colour in ((16, make.RED), (48, make.BLUE), (32, make.GREEN))
    }
    data = icon(pictures, kind)
    rendition = normalize(data, make.LOSSLESS)
    assert (rendition.source.width, rendition.source.frames) == (48, 3)
    assert make.near(make.shown(rendition)[10, 10], make.BLUE, 0)
    assert make.near(make.seen(data, page(1))[10, 10], make.GREEN, 0)
    assert "frames_dropped" in make.codes(rendition)
    with pytest.raises(PageOutOfRange):
        normalize(data, page(3))


def icon(pictures: dict[int, Image.Image], kind: int) -> bytes:
    """An icon or cursor of 32-bit bitmaps with an empty mask; a cursor's hot spot stands where an icon has planes and bits."""
    directory, bodies = b"", b""
    for size, picture in pictures.items():
        pixels = np.asarray(picture)[::-1, :, [2, 1, 0, 3]].tobytes()
        mask = bytes(-(-size // 32) * 4 * size)
        body = struct.pack("<IiiHHIIiiII", 40, size, 2 * size, 1, 32, 0, len(pixels), 0, 0, 0, 0) + pixels + mask
        hot = (1, 32) if kind == 1 else (3, 5)
        directory += struct.pack("<BBBBHHII", size, size, 0, 0, *hot, len(body), 6 + 16 * len(pictures) + len(bodies))
        bodies += body
    return struct.pack("<HHH", 0, kind, len(pictures)) + directory + bodies


def test_a_photoshop_file_shows_its_composite() -> None:
    pixels = make.smooth(20, 10)
    head = b"8BPS" + struct.pack(">H6xHIIHH", 1, 3, 10, 20, 8, 3) + bytes(12) + b"\0\0"
    data = head + b"".join(pixels[..., band].tobytes() for band in range(3))
    assert (make.seen(data) == pixels).all()


def test_apples_png_is_refused_in_words_to_act_on() -> None:
    data = make.png(make.smooth())
    data = data[:8] + make.chunk(b"CgBI", b"\x50\x00\x20\x02") + data[8:]
    with pytest.raises(UnsupportedFormat, match="convert it"):
        normalize(data)


def test_a_gain_map_jpeg_shows_its_base_picture() -> None:
    base = make.with_segment(
        make.array(make.smooth(), "JPEG", quality=95), 0xE1, b"http://ns.adobe.com/xap/1.0/\0<x hdrgm:Version='1.0'/>"
    )
    rendition = normalize(base + make.flat((128,), form="JPEG", mode="L"), make.LOSSLESS)
    assert np.abs(make.shown(rendition) - make.smooth()).mean() < 4
    assert {"trailing_data_dropped", "metadata_removed"} <= make.codes(rendition)


def test_interlaced_png_and_progressive_jpeg_are_whole() -> None:
    raw = make.array(make.smooth(), "JPEG", progressive=True, quality=95, subsampling=0)
    assert np.abs(make.seen(raw) - make.smooth()).mean() < 3
    assert (make.seen(adam7(make.smooth(19, 13))) == make.smooth(19, 13)).all()


def adam7(pixels: np.ndarray) -> bytes:
    """An interlaced PNG, its passes as in the specification, section 8.2."""
    raw = b""
    for x, y, across, down in ((0, 0, 8, 8), (4, 0, 8, 8), (0, 4, 4, 8), (2, 0, 4, 4), (0, 2, 2, 4), (1, 0, 2, 2), (0, 1, 1, 2)):
        part = pixels[y::down, x::across]
        raw += b"".join(b"\0" + row.tobytes() for row in part if part.size)
    head = struct.pack(">IIBBBBB", pixels.shape[1], pixels.shape[0], 8, 2, 0, 0, 1)
    return make.PNG + make.chunk(b"IHDR", head) + make.chunk(b"IDAT", zlib.compress(raw)) + make.chunk(b"IEND", b"")


def test_metadata_never_leaves_and_is_noted() -> None:
    exif = b"Exif\0\0" + make.exif(1) + b"GPS position"
    for form in ("JPEG", "PNG", "WEBP"):
        data = make.array(make.smooth(), form, exif=exif)
        rendition = normalize(data)
        assert b"GPS" not in rendition.data, form
        assert "metadata_removed" in make.codes(rendition), form
    commented = make.png(make.smooth(), make.chunk(b"tEXt", b"Comment\0a secret"))
    assert "metadata_removed" in make.codes(normalize(commented))
    assert b"secret" not in normalize(commented).data
    assert Image.open(io.BytesIO(normalize(commented).data)).info.get("Comment") is None
