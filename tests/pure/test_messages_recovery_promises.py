"""What recovery promises for any history, any fault and every wire: nothing grows, nothing goes that was taken, it ends."""

from __future__ import annotations

import base64
import copy
import io
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from PIL import Image

from pixlane.messages import ImageFault, Recovery, classify_error, recover, wires, with_recovery
from pixlane.messages.changes import CHANGE_CODES
from pixlane.messages.faults import KINDS
from tests.pure import make, odd
from tests.pure.histories import BMP, BROKEN, GIF, HTML, JPEG, LONG, MEMORY, PHOTO, PNG, ROUTES, SVG, shown, tool, user

WIDE = make.flat(make.GREEN, (5000, 60))
LARGE = make.array(make.noise(240, 200), "PNG")
PIECES: dict[str, Callable[[str], Any]] = {
    "plain": lambda wire: user(wire=wire),
    "answer": lambda wire: {"role": "model" if wire == "gemini" else "assistant", "content": "seen", "parts": [{"text": "seen"}]},
    "png": lambda wire: user(PNG, wire=wire),
    "wrong type": lambda wire: user(JPEG, wire=wire),
    "bmp": lambda wire: user(BMP, PNG, wire=wire, mime="image/bmp"),
    "html": lambda wire: user(HTML, PNG, wire=wire),
    "broken": lambda wire: user(BROKEN, wire=wire),
    "long": lambda wire: user(LONG, wire=wire),
    "wide": lambda wire: user(WIDE, wire=wire),
    "photo": lambda wire: user(PHOTO, wire=wire, mime="image/jpeg"),
    "large": lambda wire: user(LARGE, PNG, wire=wire),
    "gif": lambda wire: user(GIF, wire=wire, mime="image/gif"),
    "tool png": lambda wire: tool(PNG, wire=wire),
    "tool html": lambda wire: tool(HTML, JPEG, wire=wire),
    "tool photo": lambda wire: tool(PHOTO, wire=wire, mime="image/jpeg"),
    "empty": lambda wire: {"role": "user", "content": None},
    "odd": lambda wire: "not a message",
}
BASES = ["raw", "base64", "data_url", "request", None]
FAULTS = st.builds(
    ImageFault,
    kind=st.sampled_from(sorted(KINDS)),
    text=st.just("refused"),
    provider=st.just("any"),
    limit=st.none() | st.sampled_from([1, 2, 300, 2_000, 8_000, 40_000, 200_000]),
    actual=st.none() | st.just(4 * -(-len(PHOTO) // 3)),
    basis=st.sampled_from(BASES),
    path=st.sampled_from(["", "messages.1.content.1.image.source", "messages[0].content[1]", "contents[1].parts[1]", "input[0]"]),
    sure=st.booleans(),
    many=st.booleans(),
    at_least=st.booleans(),
    urls=st.booleans(),
)


def pixels(data: bytes | None) -> tuple[int, int]:
    try:
        return Image.open(io.BytesIO(data or b"")).size
    except OSError:
        return (0, 0)


@pytest.mark.slow
@given(route=st.sampled_from(ROUTES), pieces=st.lists(st.sampled_from(sorted(PIECES)), max_size=6), fault=FAULTS)
@hypothesis_settings(max_examples=120, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_recovery_keeps_its_promises(route: tuple[str, str], pieces: list[str], fault: ImageFault) -> None:
    wire, profile = route
    messages = [PIECES[piece](wire) for piece in pieces]
    before = copy.deepcopy(messages)
    recovery: Recovery | None = None
    sent = messages
    for _ in range(2 * len(wires.images(messages, wire)) + 2):
        recovery = recover(sent, fault, profile, wire, after=recovery, memory=MEMORY)
        assert messages == before, "the input is untouched"
        assert recovery.retry == (recovery.messages != sent)
        assert recovery.retry <= bool(recovery.changes), "no change without a word"
        check(sent, recovery, fault, wire)
        if not recovery.retry:
            break
        sent = recovery.messages
    assert recovery is None or not recovery.retry, "it comes to an end"


def check(sent: list[Any], recovery: Recovery, fault: ImageFault, wire: str) -> None:
    gone = [change.path for change in recovery.changes if change.code in ("omitted", "described")]
    touched = {change.path for change in recovery.changes}
    assert {change.code for change in recovery.changes} <= set(CHANGE_CODES)
    assert len(recovery.messages) == len(sent)
    old = [image for image in wires.images(sent, wire) if image.path not in gone]
    new = wires.images(recovery.messages, wire)
    assert len(new) == len(old), "nothing goes without a change that says so"
    if fault.kind == "no_vision":
        assert new == []
    for was, now in zip(old, new, strict=True):
        first, second = was.decode(), now.decode()
        if was.path not in touched:
            assert first == second, "an image that the fault is not about is there, byte for byte"
        elif SVG not in (first, second):
            assert pixels(second)[0] <= pixels(first)[0] or pixels(first) == (0, 0), "recovery never enlarges"
            assert pixels(second)[1] <= pixels(first)[1] or pixels(first) == (0, 0)
            if fault.kind == "bytes":
                assert len(second or b"") < len(first or b"")
            if fault.kind == "pixels":
                assert len(second or b"") <= max(len(first or b""), 64 * 1024)
    assert fault.kind not in ("no_vision", "tool_images") or not {"shrunk", "transcoded"} & {c.code for c in recovery.changes}


Rule = Callable[[bytes], str | None]


def too_large(data: bytes) -> str | None:
    size = len(base64.b64encode(data))
    return f"image exceeds 100 KB maximum: {size} bytes > 100000 bytes" if size > 100_000 else None


def too_wide(data: bytes) -> str | None:
    over = max(pixels(data)) > 2_000
    return "At least one of the image dimensions exceed max allowed size: 2000 pixels" if over else None


def no_picture(data: bytes) -> str | None:
    return "Could not process image" if pixels(data) == (0, 0) else None


class Refused(Exception):
    def __init__(self, body: Any) -> None:
        super().__init__(body)
        self.status_code = 400
        self.body = {"error": {"message": body, "type": "invalid_request_error"}}


@pytest.mark.slow
@given(
    route=st.sampled_from(ROUTES),
    pieces=st.lists(st.sampled_from(["plain", "answer", "png", "html", "wide", "photo", "tool png", "tool photo"]), max_size=7),
    rules=st.lists(st.sampled_from([too_large, too_wide, no_picture]), min_size=1, max_size=3, unique=True),
)
@hypothesis_settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_each_bad_image_costs_two_refusals_at_most_and_no_good_one_goes(
    route: tuple[str, str], pieces: list[str], rules: list[Rule]
) -> None:
    wire, profile = route
    history = [PIECES[piece](wire) for piece in pieces]
    before = shown(history, wire)
    bad = [data for data in before if data is not None and any(rule(data) for rule in rules)]

    def send(messages: list[Any]) -> str:
        for data in shown(messages, wire):
            for rule in rules:
                if (text := rule(data or b"")) is not None:
                    raise Refused(text)
        return "seen"

    answer = with_recovery(send, history, profile, wire, memory=MEMORY)
    assert answer.response == "seen"
    assert len(answer.refused) <= 2 * len(bad)
    after = shown(history, wire)
    assert [data for data in before if data not in bad] == [data for data in after if data in before]
    assert len(after) == len(before) - before.count(HTML) if no_picture in rules else len(after) == len(before)
    assert with_recovery(send, history, profile, wire, memory=MEMORY).refused == (), "none in later turns"


@pytest.mark.slow
@given(wire=st.sampled_from(wires.NAMES), data=st.data())
@hypothesis_settings(max_examples=80, deadline=None)
def test_no_history_of_any_shape_raises(wire: str, data: st.DataObject) -> None:
    messages: Any = [user(PNG, BMP, wire=wire), tool(JPEG, HTML, wire=wire)]
    places = [place for place in odd.paths(messages) if place]
    messages = odd.with_value(messages, data.draw(st.sampled_from(places)), data.draw(odd.VALUES))
    before = copy.deepcopy(messages)
    for kind in sorted(KINDS):
        recover(messages, ImageFault(kind, "refused", "any"), "safe", wire, memory=MEMORY)  # type: ignore[arg-type]
        assert messages == before


def test_what_was_classified_is_what_is_recovered_on_every_wire() -> None:
    found = classify_error(400, "image exceeds 100 KB maximum: 377288 bytes > 100000 bytes", "anthropic")
    assert found is not None
    for wire, profile in ROUTES:
        recovery = recover([user(PHOTO, PNG, wire=wire)], found, profile, wire, memory=MEMORY)
        photo, png = shown(recovery.messages, wire)
        assert len(base64.b64encode(photo or b"")) < 100_000, wire
        assert png == PNG, wire
