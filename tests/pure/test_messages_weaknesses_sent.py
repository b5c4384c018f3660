"""The weaknesses of that list that show when a request is sent, and those that were only read in its code."""

from __future__ import annotations

import asyncio
import base64
import io
import re
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from pixlane import profiles, settings
from pixlane.errors import SourceTooLarge
from pixlane.fetching import fetch_url
from pixlane.messages import (
    Answer,
    ImageFault,
    MediaFolder,
    Memory,
    admit,
    extract_image_refs,
    from_capture,
    from_mcp,
    recover,
    repair,
    wires,
    with_recovery,
)
from tests.pure import make
from tests.pure.histories import BMP, HTML, JPEG, PHOTO, PNG, said, shown, tool, user
from tests.pure.tools import CLOSED, OPEN, image
from tests.stubs.http import Reply, Server

MEMORY = Memory()
ASSISTANT = {"role": "assistant", "content": "seen"}
PHOTO_2 = make.array(make.noise(500, 400, seed=2), "JPEG", quality=95)


class Refused(Exception):
    """As an SDK raises it."""

    def __init__(self, message: str, status: int = 400) -> None:
        super().__init__(message)
        self.status_code = status
        self.body = {"type": "error", "error": {"type": "invalid_request_error", "message": message}}


class Provider:
    """Refuses in `words` as long as an image is not taken; counts what it is asked."""

    def __init__(self, words: str, takes: Any) -> None:
        self.words = words
        self.takes = takes
        self.asked = 0

    def __call__(self, messages: list[Any]) -> str:
        self.asked += 1
        if not all(self.takes(one) for one in wires.images(messages, "anthropic")):
            raise Refused(self.words)
        return "seen"


def send(provider: Provider, history: list[Any], profile: Any = "anthropic") -> Answer[str]:
    return with_recovery(provider, history, profile, "anthropic", memory=MEMORY)


def chars(data: bytes | None) -> int:
    return len(base64.b64encode(data or b""))


def test_4_what_was_shrunk_is_shrunk_for_every_later_call() -> None:
    provider = Provider("image exceeds 100 KB maximum", lambda one: chars(one.decode()) < 100_000)
    history = [user(PHOTO, mime="image/jpeg")]
    send(provider, history)
    assert provider.asked == 2
    for turn in range(5):
        history += [ASSISTANT, user(make.flat((turn, 0, 0)))]
        send(provider, history)
    assert provider.asked == 2 + 5
    assert chars(shown(history)[0]) < 100_000


def test_5_one_image_that_cannot_be_helped_does_not_keep_the_others_from_it() -> None:
    noise = make.array(make.noise(64, 64))  # at the floor already, and no JPEG of it is small enough
    fault = ImageFault("bytes", "image too large", "any", 1_000, basis="base64")
    recovery = recover([user(noise, PHOTO, mime="image/png"), tool(BMP)], fault, "anthropic", "anthropic", memory=MEMORY)
    assert recovery.retry
    done = {change.path: change.code for change in recovery.changes}
    assert done == {
        (0, "content", 1): "omitted",
        (0, "content", 2): "omitted",
        (1, "content", 0, "content", 1): "shrunk",
    }
    assert chars(shown(recovery.messages)[0]) < 1_000


@pytest.mark.parametrize("size", [(100, 20_000), (40, 20_000), (10, 9_000), (1, 9_000)])
def test_6_a_long_narrow_picture_never_grows_when_it_is_shrunk(size: tuple[int, int]) -> None:
    limitless = replace(profiles.get("anthropic"), max_aspect=None, max_side_px=None)
    fault = ImageFault("pixels", "too long", "any", 8_000, unit="px")
    recovery = recover([user(make.flat(make.RED, size))], fault, limitless, "anthropic", memory=MEMORY)
    for data in shown(recovery.messages):
        drawn = Image.open(io.BytesIO(data or b""))
        assert drawn.width <= size[0]
        assert drawn.height <= 8_000
    assert recovery.retry


def test_7_a_side_over_the_limit_is_cut_to_it_in_one_step() -> None:
    fault = ImageFault("pixels", "too long", "any", 2_000, unit="px")
    recovery = recover([user(make.flat(make.RED, (2_001, 1_000)))], fault, "anthropic", "anthropic", memory=MEMORY)
    assert Image.open(io.BytesIO(shown(recovery.messages)[0] or b"")).size == (2_000, 1_000)


@pytest.mark.slow
def test_9_what_is_shrunk_keeps_a_background_on_which_it_is_seen() -> None:
    pixels = np.zeros((900, 900, 4), np.uint8)
    pixels[200:700, 200:700, :3] = make.noise(500, 500)
    pixels[200:700, 200:700, 3] = 255
    fault = ImageFault("bytes", "too large", "any", 120_000, basis="base64")
    recovery = recover([user(make.array(pixels))], fault, "anthropic", "anthropic", memory=MEMORY)
    drawn = Image.open(io.BytesIO(shown(recovery.messages)[0] or b"")).convert("RGBA")
    corner = drawn.getpixel((1, 1))
    assert isinstance(corner, tuple)
    assert corner[3] == 0 or min(corner[:3]) > 200, "no black corners"


def test_10_what_is_shrunk_is_upright_once() -> None:
    turned = make.array(make.noise(600, 300), "JPEG", quality=95, exif=b"Exif\0\0" + make.exif(6))
    fault = ImageFault("bytes", "too large", "any", 60_000, basis="base64")
    recovery = recover([user(turned, mime="image/jpeg")], fault, "anthropic", "anthropic", memory=MEMORY)
    drawn = Image.open(io.BytesIO(shown(recovery.messages)[0] or b""))
    assert drawn.height > drawn.width
    assert drawn.getexif().get(0x0112, 1) == 1


@pytest.mark.parametrize(
    "data",
    [
        make.encode(Image.new("LA", (300, 300), (9, 120)), "PNG"),
        make.array(np.tile(np.linspace(0, 65535, 256, dtype=np.uint16), (200, 1))),
        make.encode(Image.new("CMYK", (300, 300), (0, 255, 255, 0)), "JPEG"),
        PHOTO[: len(PHOTO) // 2],
        HTML,
        b"",
    ],
    ids=["grey and alpha", "sixteen bits", "ink", "cut off", "a web page", "nothing"],
)
def test_12_no_mode_and_no_cut_raises_out_of_a_recovery(data: bytes) -> None:
    only_jpeg = replace(profiles.get("anthropic"), accept=("image/jpeg",))
    for kind in ("bytes", "pixels", "type", "mismatch", "undecodable"):
        fault = ImageFault(kind, "refused", "any", 60)  # type: ignore[arg-type]
        recovery = recover([user(data, PNG)], fault, only_jpeg, "anthropic", memory=MEMORY)
        assert len(recovery.messages) == 1


def test_18_a_file_url_is_named_with_its_reason_however_it_is_spelled() -> None:
    refs = extract_image_refs("see file:///tmp/my%20shot.png and file://localhost/tmp/a.png")
    assert (refs.paths, refs.urls) == ((), ()) or (refs.paths, refs.urls) == ([], [])
    assert {ignored.reason for ignored in refs.ignored} == {"unsupported_scheme"}
    assert len(refs.ignored) == 2


@pytest.mark.parametrize("name", ["my shot.png", "a+b.png", "a@2x.png", "a (1).png"])
def test_19_a_path_is_found_with_whatever_is_in_its_name(name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(PNG)
    assert list(extract_image_refs(f'look at "{tmp_path / name}" please').paths) == [str(tmp_path / name)]


def test_19_a_name_that_only_begins_as_an_image_is_none(tmp_path: Path) -> None:
    (tmp_path / "a.png").write_bytes(PNG)
    assert list(extract_image_refs(f"{tmp_path}/a.png-old").paths) == []


@pytest.mark.parametrize("tail", ["a.png.webp", "a.png?x=(1)", "a.png#x"])
def test_19_a_url_is_whole(tail: str) -> None:
    assert list(extract_image_refs(f"see https://example.com/{tail} there").urls) == [f"https://example.com/{tail}"]


def test_19_an_address_that_gives_out_secrets_and_a_text_without_end_attach_nothing() -> None:
    refs = extract_image_refs("http://169.254.169.254/a.png")
    assert [ignored.reason for ignored in refs.ignored] == ["metadata_address"]
    assert list(extract_image_refs("https://a" * 100_000).urls) == []  # quadratic work would not end


def test_20_a_download_stops_at_the_limit_and_not_at_the_end() -> None:
    sent = []

    def endless() -> Iterator[bytes]:
        for number in range(100_000):
            sent.append(number)
            yield bytes(65_536)

    allowed = replace(settings.load({}), url_sources=True, url_allowed_networks="127.0.0.1", max_source_bytes=1_000_000)
    with Server(lambda _: Reply(endless())) as server, pytest.raises(SourceTooLarge):
        fetch_url(f"{server.url}/a.png", allowed)
    assert len(sent) < 2_000


def test_20_the_event_loop_goes_on_while_a_refused_picture_is_worked_on() -> None:
    started, go_on = threading.Event(), threading.Event()

    def describe(_: bytes) -> str:
        started.set()
        assert go_on.wait(30)
        return "a window"

    async def ask(messages: list[Any]) -> str:
        if wires.images(messages, "anthropic"):
            raise Refused("unknown variant `image_url`, expected `text`")
        return "seen"

    async def main() -> Answer[str]:
        turn = asyncio.ensure_future(with_recovery(ask, [user(PNG)], "anthropic", "anthropic", describe))
        while not started.is_set():
            await asyncio.sleep(0.01)
        go_on.set()  # only a loop that goes on comes here
        return await turn

    assert "a window" in said(asyncio.run(main()).messages)


@pytest.mark.parametrize(
    ("words", "bad", "takes"),
    [
        ("Image size must be less than 20MB", PHOTO, lambda one: len(one.decode()) < 100_000),
        ("image file size is too large", PHOTO, lambda one: len(one.decode()) < 100_000),
        ("Could not process image", HTML, lambda one: one.decode() != HTML),
        (
            "Image does not match the provided media type image/png",
            JPEG,
            lambda one: one.mime == "image/jpeg" or one.decode() == PNG,
        ),
        ("unsupported image", BMP, lambda one: one.decode() != BMP),
    ],
)
def test_21_every_wording_is_recovered_from(words: str, bad: bytes, takes: Any) -> None:
    provider = Provider(words, takes)
    history = [user(PNG), ASSISTANT, user(bad, PNG)]
    assert send(provider, history).response == "seen"
    assert provider.asked <= 3
    assert shown(history).count(PNG) == 2


def test_21_too_many_images_are_too_many() -> None:
    history = [user(make.flat((shade, 0, 0))) for shade in range(8)]

    def few(messages: list[Any]) -> str:
        if len(wires.images(messages, "anthropic")) > 5:
            raise Refused("too many images")
        return "seen"

    assert with_recovery(few, history, "anthropic", "anthropic", memory=MEMORY).response == "seen"
    assert shown(history)[-1] == make.flat((7, 0, 0))


# By reading only ---------------------------------------------------------------------------------------------------------------


def test_a_capture_of_any_size_is_bounded(tmp_path: Path) -> None:
    result = from_capture(make.array(make.noise(2000, 300)), OPEN, media=MediaFolder(tmp_path))
    (picture,) = result.images
    assert max(picture.width, picture.height) <= 1568
    assert chars(picture.data) < 262_144


def test_pictures_are_described_side_by_side(tmp_path: Path) -> None:
    together = threading.Barrier(3, timeout=30)

    def describe(_: bytes) -> str:
        together.wait()  # one after the other they would wait for ever
        return "a window"

    blocks = [image(make.flat((shade, 9, 9))) for shade in range(3)]
    result = from_mcp({"content": blocks}, CLOSED, describe=describe, media=MediaFolder(tmp_path))
    assert str(result).count("a window") == 3


def test_one_refusal_of_tool_images_does_not_blind_the_conversation() -> None:
    fault = ImageFault("tool_images", "tool message content must be a string", "any")
    recovery = recover([user(PNG), tool(JPEG)], fault, "anthropic", "anthropic", memory=MEMORY)
    assert shown(recovery.messages) == [PNG]
    assert repair([*recovery.messages, user(PHOTO, mime="image/jpeg")], "anthropic", "anthropic", memory=MEMORY).changes == ()


def test_a_message_of_pictures_alone_is_never_deleted() -> None:
    wire = wires.get("anthropic")
    message = wire.user_message([wire.image_part("image/png", PNG)])
    recovery = recover([message], ImageFault("no_vision", "", "any"), "anthropic", "anthropic", memory=MEMORY)
    assert "[image omitted:" in said(recovery.messages)


def test_what_a_provider_has_cached_of_the_conversation_stays_as_it_was() -> None:
    history = [user(PNG), ASSISTANT, user(PHOTO_2, mime="image/jpeg"), ASSISTANT, user(PHOTO, mime="image/jpeg")]
    before = list(history)
    provider = Provider(
        f"messages.4.content.1.image.source.base64: image exceeds 100 KB maximum: {chars(PHOTO)} bytes > 100000 bytes",
        lambda one: one.message_index < 4 or chars(one.decode()) < 100_000,
    )
    send(provider, history)
    assert all(now is then for now, then in zip(history[:4], before, strict=False))
    assert history[4] is not before[4]


def test_a_request_has_a_budget_for_its_images() -> None:
    shots = [make.flat((shade, 0, 0)) for shade in range(12)]
    admission = admit([*shots, shots[0]], "anthropic")
    assert len(admission.admitted) == 8
    assert admission.left_out


def test_every_weakness_of_the_list_has_a_test() -> None:
    pages = Path(__file__).parent.glob("test_messages_weaknesses*.py")
    numbers = {int(number) for page in pages for number in re.findall(r"^def test_(\d+)_", page.read_text(), re.MULTILINE)}
    assert numbers == set(range(1, 23))
