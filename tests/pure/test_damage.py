"""Damaged files: what a browser would show in full is shown with a note, missing picture data is an error that says how much."""

from __future__ import annotations

import contextlib
import zlib

import numpy as np
import pillow_heif
import pytest
from PIL import ImageFile

from pixlane import Recipe, normalize
from pixlane.errors import CorruptInput, InvalidDimensions, SourceError, TruncatedInput
from tests.pure import make

ALLOWED = Recipe(accept=("image/png",), target_bytes=4 << 20, allow_truncated=True)
NOISE = make.noise(256, 256)
BASELINE = make.array(NOISE, "JPEG")
PROGRESSIVE = make.array(NOISE, "JPEG", progressive=True)


@pytest.mark.parametrize("data", [BASELINE, PROGRESSIVE], ids=["baseline", "progressive"])
def test_a_jpeg_without_its_end_marker_is_shown_with_a_note(data: bytes) -> None:
    rendition = normalize(data[:-2], make.LOSSLESS)
    assert (make.shown(rendition) == make.seen(data)).all()
    assert "repaired" in make.codes(rendition)
    assert "truncated" not in make.codes(rendition)


@pytest.mark.parametrize("part", [0.3, 0.5, 0.9])
def test_half_a_baseline_jpeg_says_how_much_is_there(part: float) -> None:
    cut = BASELINE[: int(len(BASELINE) * part)]
    with pytest.raises(TruncatedInput) as caught:
        normalize(cut)
    assert abs(caught.value.details["decoded_fraction"] - part) < 0.1
    rendition = normalize(cut, ALLOWED)
    there = int(256 * part) - 24
    assert (make.shown(rendition)[:there] == make.seen(BASELINE)[:there]).all()
    assert "truncated" in make.codes(rendition)
    assert "repaired" not in make.codes(rendition)


def test_half_a_progressive_jpeg_is_truncated_even_with_an_end_marker_put_on() -> None:
    cut = PROGRESSIVE[: len(PROGRESSIVE) // 2]
    for data in (cut, cut + b"\xff\xd9"):
        with pytest.raises(TruncatedInput):
            normalize(data)
        assert "truncated" in make.codes(normalize(data, ALLOWED))


def test_a_jpeg_with_junk_between_its_segments_is_shown() -> None:
    data = BASELINE[:20] + b"junk!" + BASELINE[20:]
    rendition = normalize(data, make.LOSSLESS)
    assert (make.shown(rendition) == make.seen(BASELINE)).all()
    assert "repaired" in make.codes(rendition)


PLAIN = make.png(NOISE)


@pytest.mark.parametrize("part", [0.25, 0.5, 0.95])
def test_half_a_png_says_how_much_is_there(part: float) -> None:
    cut = PLAIN[: int(len(PLAIN) * part)]
    with pytest.raises(TruncatedInput) as caught:
        normalize(cut)
    assert abs(caught.value.details["decoded_fraction"] - part) < 0.06
    rows = int(256 * part) - 20
    rendition = normalize(cut, ALLOWED)
    assert (make.shown(rendition)[:rows] == NOISE[:rows]).all()
    assert "truncated" in make.codes(rendition)


def test_a_png_without_its_end_chunk_is_shown_with_a_note() -> None:
    rendition = normalize(PLAIN[:-12], make.LOSSLESS)
    assert (make.shown(rendition) == NOISE).all()
    assert "repaired" in make.codes(rendition)


@pytest.mark.parametrize("kind", [b"IDAT", b"IEND", b"tEXt"])
def test_a_wrong_check_sum_around_good_pixels_is_repaired(kind: bytes) -> None:
    data = bytearray(make.png(NOISE, make.chunk(b"tEXt", b"a\0b")))
    at = data.index(kind)
    length = int.from_bytes(data[at - 4 : at], "big")
    data[at + 4 + length] ^= 0xFF
    rendition = normalize(bytes(data), make.LOSSLESS)
    assert (make.shown(rendition) == NOISE).all()
    assert "repaired" in make.codes(rendition)


def test_a_wrong_check_sum_of_the_compressed_data_is_repaired() -> None:
    raw = b"".join(b"\0" + row.tobytes() for row in NOISE)
    packed = bytearray(zlib.compress(raw))
    packed[-1] ^= 0xFF
    head = PLAIN[:33]
    data = head + make.chunk(b"IDAT", bytes(packed)) + make.chunk(b"IEND", b"")
    rendition = normalize(data, make.LOSSLESS)
    assert (make.shown(rendition) == NOISE).all()
    assert "repaired" in make.codes(rendition)


def test_damage_in_the_middle_of_a_png_is_missing_data() -> None:
    data = bytearray(make.png(make.smooth(256, 256)))
    at = data.index(b"IDAT") + 4
    length = int.from_bytes(data[at - 8 : at - 4], "big")
    data[at + length // 2 : at + length // 2 + 16] = b"\xff" * 16
    with pytest.raises(TruncatedInput) as caught:
        normalize(bytes(data))
    assert 0.1 < caught.value.details["decoded_fraction"] < 0.9


def test_a_gif_without_its_trailer_is_shown_with_a_note() -> None:
    data = make.array(NOISE, "GIF")
    rendition = normalize(data[:-1], make.LOSSLESS)
    assert (make.shown(rendition) == make.seen(data)).all()
    assert "repaired" in make.codes(rendition)


def test_half_a_gif_is_truncated() -> None:
    data = make.array(NOISE, "GIF", interlace=False)
    with pytest.raises(TruncatedInput):
        normalize(data[: len(data) // 2])
    rendition = normalize(data[: len(data) // 2], ALLOWED)
    assert (make.shown(rendition)[:90] == make.seen(data)[:90]).all()
    assert "truncated" in make.codes(rendition)


def test_an_animation_cut_off_behind_its_first_frame_shows_the_first() -> None:
    frames = [make.Image.fromarray(make.noise(64, 64, seed=seed)) for seed in (1, 2, 3)]
    data = make.encode(frames[0], "GIF", save_all=True, append_images=frames[1:])
    rendition = normalize(data[: int(len(data) * 0.8)], make.LOSSLESS)
    assert (make.shown(rendition) == make.seen(data)).all()
    assert "repaired" in make.codes(rendition)


@pytest.mark.parametrize("form", ["WEBP", "AVIF", "HEIF"])
def test_all_or_nothing_codecs_are_truncated_also_where_that_is_allowed(form: str) -> None:
    if form == "HEIF":
        pillow_heif.register_heif_opener()
    data = make.array(NOISE, form)
    for recipe in (Recipe(), ALLOWED):
        with pytest.raises(TruncatedInput) as caught:
            normalize(data[: len(data) // 2], recipe)
        assert caught.value.details["decoded_fraction"] is None


def test_a_webp_cut_off_in_the_metadata_behind_its_pixels_is_shown() -> None:
    data = make.array(make.smooth(), "WEBP", lossless=True, exif=b"Exif\0\0" + make.exif(1) + bytes(200))
    rendition = normalize(data[:-50], make.LOSSLESS)
    assert (make.shown(rendition) == make.smooth()).all()
    assert "repaired" in make.codes(rendition)


def test_half_a_tiff_says_how_much_is_there() -> None:
    data = make.tiff(NOISE, bits=8, photometric=2)
    moved = bytearray(data)
    directory = int.from_bytes(data[4:8], "little")
    # the directory first, the strip behind it, so that a cut hits the pixels
    head, body, tail = data[:8], data[8:directory], data[directory:]
    at = 8
    shift = len(head) + len(tail)
    moved = bytearray(head + tail + body)
    moved[4:8] = at.to_bytes(4, "little")
    for entry in range(int.from_bytes(tail[:2], "little")):
        here = at + 2 + 12 * entry
        tag = int.from_bytes(moved[here : here + 2], "little")
        if tag == 273:
            moved[here + 2 : here + 12] = (4).to_bytes(2, "little") + (1).to_bytes(4, "little") + shift.to_bytes(4, "little")
        elif int.from_bytes(moved[here + 4 : here + 8], "little") > 2:
            value = int.from_bytes(moved[here + 8 : here + 12], "little") - directory + at
            moved[here + 8 : here + 12] = value.to_bytes(4, "little")
    whole = bytes(moved)
    assert (make.seen(whole) == NOISE).all()
    cut = whole[: shift + len(body) // 2]
    with pytest.raises(TruncatedInput) as caught:
        normalize(cut)
    assert abs(caught.value.details["decoded_fraction"] - 0.5) < 0.02
    assert "truncated" in make.codes(normalize(cut, ALLOWED))


@pytest.mark.parametrize("form", ["BMP", "PPM", "TGA"])
def test_half_of_a_raw_format(form: str) -> None:
    data = make.array(NOISE, form)
    name = f"a.{form.lower()}"
    with pytest.raises(TruncatedInput):
        normalize(data[: len(data) // 2], name=name)
    assert "truncated" in make.codes(normalize(data[: len(data) // 2], ALLOWED, name=name))
    assert not ImageFile.LOAD_TRUNCATED_IMAGES


@pytest.mark.parametrize(
    "form", ["PNG", "JPEG", "GIF", "WEBP", "TIFF", "BMP", "ICO", "AVIF", "PPM", "TGA", "QOI", "PCX", "DDS", "SGI"]
)
def test_no_cut_and_no_flipped_byte_gives_anything_but_a_rendition_or_a_typed_error(form: str) -> None:
    data = make.array(make.noise(24, 24), form)
    random = np.random.default_rng(7)
    for trial in range(40):
        broken = bytearray(data[: random.integers(1, len(data) + 1)] if trial % 2 else data)
        for _ in range(trial % 5):
            broken[random.integers(0, len(broken))] = random.integers(0, 256)
        with contextlib.suppress(SourceError):
            normalize(bytes(broken), name=f"a.{form.lower()}")


def test_a_side_of_zero_is_named() -> None:
    data = make.png(NOISE)
    with pytest.raises(InvalidDimensions):
        normalize(data[:16] + bytes(4) + data[20:])


def test_a_header_alone_is_truncated() -> None:
    for data in (PLAIN[:40], PLAIN[:20], make.array(NOISE, "GIF")[:12], BASELINE[:60]):
        with pytest.raises((TruncatedInput, CorruptInput)):
            normalize(data)


def test_tags_that_are_missing_or_of_another_type_end_typed() -> None:
    data = make.tiff(make.noise(16, 16), bits=8, photometric=2)
    at = int.from_bytes(data[4:8], "little") + 2  # the first entry is the width
    for tag, kind in ((9999, 3), (256, 2), (256, 7)):
        broken = data[:at] + tag.to_bytes(2, "little") + kind.to_bytes(2, "little") + data[at + 4 :]
        with pytest.raises(SourceError):
            normalize(broken)


def test_a_directory_beyond_what_a_file_can_be_ends_typed() -> None:
    with pytest.raises(SourceError):
        normalize(b"II+\0\x08\0\0\0" + b"\xff" * 8 + bytes(64))


def test_a_comment_that_is_no_text_harms_nothing() -> None:
    data = make.png(make.smooth(), make.chunk(b"tEXt", b"Co\x80ment\0\xff\xfe"))
    assert (make.seen(data) == make.smooth()).all()
