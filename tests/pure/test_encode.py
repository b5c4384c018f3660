"""The encoders."""

from __future__ import annotations

import io

import numpy as np
import pytest
from PIL import Image

from pixlane.imaging import encode

from . import make_pictures as make

PAGE = make.vips(make.text(300, 200))
PHOTO = make.vips(make.photo(300, 200))
ENCODERS = {
    "jpeg": lambda picture, limit: encode.jpeg(picture, limit, 70),
    "optimised": lambda picture, limit: encode.jpeg(picture, limit, 70, True, True),
    "png": encode.png,
    "exact": encode.exact,
    "palette": encode.palette,
    "webp": lambda picture, limit: encode.webp(picture, limit, 70),
    "lossless webp": lambda picture, limit: encode.webp(picture, limit, None),
}


@pytest.mark.parametrize("name", ENCODERS)
def test_a_limit_of_exactly_the_size_lets_it_through_and_one_byte_less_stops_it(name):
    run = ENCODERS[name]
    size = run(PAGE, None).byte_count
    assert run(PAGE, size).data == run(PAGE, None).data
    stopped = run(PAGE, size - 1)
    assert not stopped.done
    assert stopped.byte_count > size - 1


def test_an_encoder_is_stopped_early_and_not_measured_to_its_end():
    picture = make.vips(make.noise(800, 800))
    whole = encode.png(picture, None).byte_count
    assert encode.png(picture, 10_000).byte_count < whole / 20
    assert encode.jpeg(picture, 10_000, 85).byte_count < whole / 20


@pytest.mark.parametrize("name", ENCODERS)
def test_the_same_picture_gives_the_same_bytes(name):
    assert ENCODERS[name](PAGE, None).data == ENCODERS[name](PAGE, None).data


@pytest.mark.parametrize("name", ["png", "exact", "lossless webp"])
@pytest.mark.parametrize("bands", [1, 3])
def test_lossless_is_lossless(name, bands):
    array = make.text(211, 97, ink="#123456", paper="#fedcba")
    array = array[..., :1] if bands == 1 else array
    assert np.array_equal(make.pixels(ENCODERS[name](make.vips(array), None).data), np.broadcast_to(array, (97, 211, 3)))


def test_an_exact_palette_is_offered_up_to_256_colours_and_not_for_257():
    few = np.zeros((16, 17, 3), np.uint8)
    few.reshape(-1, 3)[:256, 1] = np.arange(256)
    assert encode.exact(make.vips(few), None) is not None
    many = few.copy()
    many[-1, -1] = 255, 0, 0
    assert encode.exact(make.vips(many), None) is None


def test_a_palette_has_at_most_256_colours_and_stays_close_to_a_page():
    data = encode.palette(PAGE, None).data
    assert Image.open(io.BytesIO(data)).mode == "P"
    assert np.abs(make.pixels(data).astype(int) - make.text(300, 200)).max() <= 16


def test_full_chroma_keeps_red_letters_on_blue_that_half_chroma_smears():
    page = make.text(320, 200, ink="#ff0000", paper="#0000ff")
    off = {}
    for full in (True, False):
        seen = make.pixels(encode.jpeg(make.vips(page), None, 85, full).data).astype(int)
        off[full] = np.abs(seen - page).mean()
    assert off[True] < off[False] / 2


def test_optimised_tables_give_the_same_pixels_in_fewer_bytes():
    plain, optimised = (encode.jpeg(PHOTO, None, 70, False, better) for better in (False, True))
    assert optimised.byte_count < plain.byte_count
    assert np.array_equal(make.pixels(plain.data), make.pixels(optimised.data))


@pytest.mark.parametrize("name", ENCODERS)
def test_nothing_but_the_picture_is_written(name):
    picture = PAGE.copy()
    picture.set_type(make.pyvips.GValue.gstr_type, "png-comment-0-Author", "somebody")
    picture.set_type(make.pyvips.GValue.blob_type, "exif-data", b"Exif\0\0secret")
    picture.set_type(make.pyvips.GValue.blob_type, "xmp-data", b"<x>secret</x>")
    data = ENCODERS[name](picture, None).data
    assert b"secret" not in data
    assert b"somebody" not in data
    assert not Image.open(io.BytesIO(data)).getexif()


@pytest.mark.parametrize("size", [(1, 1), (1, 300), (300, 1), (7, 5)])
@pytest.mark.parametrize("name", ENCODERS)
def test_slivers_are_encoded(name, size):
    data = ENCODERS[name](make.vips(make.photo(*size) // 64), None).data
    assert make.pixels(data).shape == (size[1], size[0], 3)
