"""Weaknesses that were found by running an agent of this field, by their number in that list, and what happens here instead."""

from __future__ import annotations

import base64
import io
from pathlib import Path
from typing import Any

import numpy as np
import pillow_heif
import pytest
from PIL import Image

from pixlane import Recipe, normalize, profiles
from pixlane.messages import Attached, Memory, build_parts, repair, wires
from tests.pure import make, make_pictures

PNG = make.flat(make.RED, (40, 30))
SVG_24 = b'<svg xmlns="http://www.w3.org/2000/svg" width="24" height="24"><rect width="9" height="9"/></svg>'
MEMORY = Memory()


def attach(tmp_path: Path, name: str, data: bytes, **options: Any) -> Attached:
    (tmp_path / name).write_bytes(data)
    return build_parts("look", [tmp_path / name], memory=MEMORY, **options)


def picture(attached: Attached) -> Image.Image:
    (image,) = wires.images([attached.message], "openai_chat")
    return Image.open(io.BytesIO(image.decode() or b""))


def user(*images: bytes, mime: str = "image/png") -> dict[str, Any]:
    wire = wires.get("anthropic")
    return wire.user_message([wire.text_part("look"), *(wire.image_part(mime, one) for one in images)])


def sent(messages: Any, profile: Any = "anthropic") -> list[bytes | None]:
    repaired = repair(messages, profile, "anthropic", memory=MEMORY)
    return [image.decode() for image in wires.images(repaired.messages, "anthropic")]


def heic(width: int, height: int) -> bytes:
    out = io.BytesIO()
    pillow_heif.from_pillow(Image.fromarray(make_pictures.photo(width, height))).save(out, quality=80)
    return out.getvalue()


@pytest.mark.slow
def test_1_a_photograph_in_heic_becomes_a_jpeg_of_its_own_size_not_a_huge_png(tmp_path: Path) -> None:
    drawn = picture(attach(tmp_path, "a.heic", heic(400, 300)))
    assert (drawn.format, drawn.size) == ("JPEG", (400, 300))


def test_2_the_model_is_told_of_what_could_not_be_attached(tmp_path: Path) -> None:
    attached = attach(tmp_path, "a.jxl", b"\x00\x00\x00\x0cJXL \r\n\x87\n" + bytes(40))
    assert attached.skipped[0].code == "unsupported_format"
    assert "[Not attached:" in attached.parts[0]["text"]


@pytest.mark.parametrize("data", [b"<html>", b"just text", b"", b"\x89PNG\r\n\x1a\n"])
def test_3_garbage_is_never_attached_as_an_image(tmp_path: Path, data: bytes) -> None:
    attached = attach(tmp_path, "a.png", data)
    assert wires.images([attached.message], "openai_chat") == []
    assert len(attached.skipped) == 1


def test_5_one_image_that_cannot_be_made_to_fit_leaves_the_others_their_cure() -> None:
    narrow = profiles.Profile("narrow", "2026", max_side_px=100, max_aspect=50, accept=("image/png", "image/jpeg"))
    hopeless, large = make.flat(make.RED, (4000, 4)), make.flat(make.BLUE, (200, 200))
    (data,) = sent([user(hopeless), user(large)], narrow)
    assert Image.open(io.BytesIO(data or b"")).size == (100, 100)


@pytest.mark.slow
def test_5_many_images_that_fit_one_by_one_are_made_to_fit_together() -> None:
    photos = [make.array(make.noise(300, 200, seed=seed), "JPEG", quality=95) for seed in range(30)]
    tight = profiles.Profile("tight", "2026", max_request_bytes=2_000_000, accept=("image/jpeg",))
    assert sum(len(photo) for photo in photos) * 4 / 3 > 2_000_000
    left = sent([user(photo, mime="image/jpeg") for photo in photos], tight)
    assert len(left) > 10
    assert sum(len(base64.b64encode(data or b"")) for data in left) < 2_000_000


def test_5_images_in_tool_results_are_seen_too() -> None:
    wire = wires.get("anthropic")
    message = wire.tool_message("1", [wire.image_part("image/png", make.flat(make.RED, (8100, 90)))])
    (data,) = sent([message])
    assert Image.open(io.BytesIO(data or b"")).width == 8000


@pytest.mark.parametrize("size", [(100, 20_000), (40, 20_000), (10, 9_000), (1, 9_000)])
def test_6_a_long_narrow_picture_never_grows_and_keeps_the_limit(size: tuple[int, int]) -> None:
    for data in sent([user(make.flat(make.RED, size))]):
        drawn = Image.open(io.BytesIO(data or b""))
        assert drawn.width <= size[0]
        assert drawn.height <= 8000


def test_7_no_detail_is_wasted_by_halving() -> None:
    (data,) = sent([user(make.flat(make.RED, (8001, 40)))])
    assert Image.open(io.BytesIO(data or b"")).width == 8000


@pytest.mark.slow
def test_8_a_bomb_is_named_and_not_embedded(tmp_path: Path) -> None:
    bomb = make.encode(Image.new("1", (14_000, 14_000)), "PNG")
    attached = attach(tmp_path, "a.png", bomb)
    assert attached.skipped[0].code == "too_many_pixels"
    assert sent([user(bomb)]) == []


@pytest.mark.parametrize(("ink", "paper"), [((0, 0, 0), 255), ((255, 255, 255), 64)])
def test_9_transparency_gets_a_background_on_which_its_content_is_seen(
    ink: tuple[int, int, int], paper: int, tmp_path: Path
) -> None:
    pixels = np.zeros((40, 40, 4), np.uint8)
    pixels[10:30, 10:30] = (*ink, 255)
    drawn = picture(attach(tmp_path, "a.webp", make.array(pixels, "WEBP", lossless=True))).convert("L")
    inside, outside = drawn.getpixel((20, 20)), drawn.getpixel((2, 2))
    assert isinstance(inside, int)
    assert isinstance(outside, int)
    assert abs(inside - outside) > 150
    assert (outside >= paper) if paper == 255 else (outside <= paper)


def test_10_a_picture_is_upright_after_a_resize() -> None:
    turned = make.array(make.smooth(8200, 60), "JPEG", exif=b"Exif\0\0" + make.exif(6))
    (data,) = sent([user(turned, mime="image/jpeg")])
    width, height = Image.open(io.BytesIO(data or b"")).size
    assert height == 8000
    assert width in (58, 59)


def test_11_sixteen_bits_and_ink_colours_are_shown_as_they_are_meant(tmp_path: Path) -> None:
    ramp = np.tile(np.linspace(0, 65535, 256, dtype=np.uint16), (32, 1))
    floats = np.tile(np.linspace(0, 1, 256, dtype=np.float32), (32, 1))
    for name, data in (("a.png", make.array(ramp)), ("b.tif", make.array(ramp, "TIFF")), ("c.tif", make.array(floats, "TIFF"))):
        grey = np.asarray(picture(attach(tmp_path, name, data)).convert("L")).astype(int)
        assert grey[16, 4] < 12, name
        assert 115 < grey[16, 128] < 141, name
        assert grey[16, 251] > 243, name
    ink = make.encode(Image.new("CMYK", (32, 32), (0, 255, 255, 0)), "JPEG", quality=95)
    red, green, blue = np.asarray(picture(attach(tmp_path, "d.jpg", ink)).convert("RGB"))[16, 16].astype(int)
    assert red > 180 > 90 > max(green, blue)


def test_12_no_mode_and_no_cut_raises_out_of_the_call(tmp_path: Path) -> None:
    grey_alpha = make.encode(Image.new("LA", (30, 30), (9, 120)), "PNG")
    assert len(sent([user(grey_alpha), user(make.array(make.noise(), "JPEG")[:700], mime="image/jpeg")])) == 2
    assert attach(tmp_path, "la.png", grey_alpha).skipped == ()


@pytest.mark.parametrize("form", ["TIFF", "ICO", "BMP", "AVIF", "PPM"])
def test_13_what_can_be_attached_can_be_sent_from_anywhere_else_too(form: str, tmp_path: Path) -> None:
    data = make.flat(make.RED, (32, 32), form)
    assert picture(attach(tmp_path, f"a.{form.lower()}", data)).size == (32, 32)
    assert len(sent([user(data, mime="application/octet-stream")])) == 1


def test_14_text_is_no_image_whatever_it_mentions(tmp_path: Path) -> None:
    page = b"<!DOCTYPE html><html><body><svg width='9' height='9'></svg></body></html>"
    assert attach(tmp_path, "a.svg", page).skipped[0].code == "not_an_image"
    assert attach(tmp_path, "b.bmp", b"BM is how this text begins").skipped[0].code == "not_an_image"
    entities = b'<!DOCTYPE svg [<!ENTITY a "9">]>' + SVG_24.replace(b'"9"', b'"&a;"', 1)
    assert [about.code for about in attach(tmp_path, "c.svg", entities).skipped] in ([], ["unsafe_svg"])


def test_15_an_icon_is_drawn_large_enough_and_a_poster_small_enough(tmp_path: Path) -> None:
    assert picture(attach(tmp_path, "icon.svg", SVG_24)).size == (512, 512)
    assert max(picture(attach(tmp_path, "poster.svg", SVG_24.replace(b'"24"', b'"9000"'))).size) == 1568


def test_16_pixels_take_their_claims_with_them() -> None:
    wire = wires.get("anthropic")
    text = "what is this?\n\n[Image attached at: /tmp/a.png]"
    message = wire.user_message([wire.text_part(text), wire.image_part("image/png", b"<html>")])
    repaired = repair([message], "anthropic", "anthropic")
    assert "[Image attached at:" not in str(repaired.messages)
    assert "/tmp/a.png" in str(repaired.messages)


def test_16_nothing_is_dropped_that_the_receiver_takes() -> None:
    wire = wires.get("anthropic")
    shots = [make.flat((shade, 0, 0), (30, 30)) for shade in range(6)]
    assert sent([wire.tool_message(str(at), [wire.image_part("image/png", shot)]) for at, shot in enumerate(shots)]) == shots


def test_17_a_failed_description_is_no_description() -> None:
    wire = wires.get("mistral")
    message = wire.tool_message("1", [wire.image_part("image/png", PNG)])

    def fails(_: bytes) -> str:
        raise TimeoutError

    repaired = repair([message], "mistral", "mistral", fails)
    assert "described" not in str(repaired.messages)
    assert [change.code for change in repaired.changes] == ["omitted"]


def test_18_upper_case_and_line_breaks_do_not_matter() -> None:
    url = "DATA:image/png;base64," + base64.encodebytes(PNG).decode()
    attached = build_parts("look", urls=[url, "HTTPS://example.com/a.png"])
    assert attached.skipped == ()
    assert len(wires.images([attached.message], "openai_chat")) == 2


def test_22_on_gemini_a_url_and_broken_base64_leave_a_word(tmp_path: Path) -> None:
    url = "https://example.com/a.png"
    attached = build_parts("look", urls=[url], wire="gemini")
    assert attached.skipped[0].code == "wire_takes_no_url"
    assert url in attached.parts[0]["text"]
    broken = {"role": "user", "parts": [{"inlineData": {"mimeType": "image/png", "data": "***"}}]}
    repaired = repair([broken], "gemini_3", "gemini")
    assert repaired.messages == [{"role": "user", "parts": [{"text": "[image omitted: image/png, corrupt input]"}]}]


def test_22_the_same_file_three_times_is_one_payload(tmp_path: Path) -> None:
    paths = [tmp_path / name for name in ("a.png", "b.png", "c.png")]
    for path in paths:
        path.write_bytes(PNG)
    assert len(wires.images([build_parts("look", paths).message], "openai_chat")) == 1


def test_a_history_of_thirty_turns_is_answered_although_one_image_is_bad() -> None:
    history: list[Any] = []
    memory = Memory()
    for turn in range(30):
        history.append(user(b"<html>" if turn == 3 else make.flat((turn, 0, 0), (20, 20))))
        repaired = repair(history, "anthropic", "anthropic", memory=memory)
        assert len(wires.images(repaired.messages, "anthropic")) == turn + 1 - (turn >= 3)
        history.append({"role": "assistant", "content": "seen"})


def test_what_is_drawn_is_what_normalize_draws(tmp_path: Path) -> None:
    data = make.flat(make.BLUE, (30, 30), "BMP")
    (image,) = wires.images([attach(tmp_path, "a.bmp", data, recipe=Recipe()).message], "openai_chat")
    assert image.decode() == normalize(data).data
