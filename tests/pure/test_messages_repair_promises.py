"""What repair promises for any history: nothing lost without a word, the input untouched, a second run changes nothing."""

from __future__ import annotations

import base64
import copy
import json
from collections.abc import Callable
from dataclasses import replace as altered
from typing import Any

import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from pixlane import profiles
from pixlane.errors import InvalidArgument
from pixlane.messages import repair, wires
from pixlane.messages.changes import CHANGE_CODES
from pixlane.messages.sentences import DEFAULT
from tests.pure import odd
from tests.pure.histories import (
    BMP,
    BROKEN,
    GIF,
    HTML,
    JPEG,
    LONG,
    NOT_DECODED,
    PHOTO,
    PNG,
    ROUTES,
    SVG,
    codes,
    fixed,
    shown,
    tool,
    user,
)

# All together ------------------------------------------------------------------------------------------------------------------

PIECES: dict[str, Callable[[str], Any]] = {
    "plain": lambda wire: user(wire=wire),
    "png": lambda wire: user(PNG, wire=wire),
    "wrong type": lambda wire: user(JPEG, wire=wire),
    "svg and bmp": lambda wire: user(SVG, BMP, wire=wire),
    "html": lambda wire: user(HTML, PNG, wire=wire, text=f"x\n\n{DEFAULT.handle.format(path='/a.png')}"),
    "broken": lambda wire: user(BROKEN, wire=wire),
    "cut": lambda wire: user(PHOTO[:9000], wire=wire, mime="image/jpeg"),
    "long": lambda wire: user(LONG, wire=wire),
    "photo": lambda wire: user(PHOTO, wire=wire, mime="image/jpeg"),
    "gif": lambda wire: user(GIF, wire=wire, mime="image/gif"),
    "tool png": lambda wire: tool(PNG, wire=wire, text=DEFAULT.image_loaded),
    "tool html": lambda wire: tool(HTML, JPEG, wire=wire, text=DEFAULT.image_loaded),
    "tool bmp": lambda wire: tool(BMP, wire=wire),
    "empty": lambda wire: {"role": "user", "content": None},
}
GOOD = (PNG, JPEG)  # every receiver takes these


def as_base64(raw: bytes) -> str:
    """Raw bytes as Bedrock's client sends them."""
    return base64.b64encode(raw).decode()


@pytest.mark.slow
@given(
    route=st.sampled_from(ROUTES),
    pieces=st.lists(st.sampled_from(sorted(PIECES)), max_size=9),
    max_images=st.sampled_from([None, 2, 5]),
    max_request_bytes=st.sampled_from([None, 60_000]),
)
@hypothesis_settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_repair_keeps_its_promises(
    route: tuple[str, str], pieces: list[str], max_images: int | None, max_request_bytes: int | None
) -> None:
    wire, name = route
    own = profiles.get(name)
    profile = altered(own, max_images=max_images or own.max_images, max_request_bytes=max_request_bytes or own.max_request_bytes)
    messages = [PIECES[piece](wire) for piece in pieces]
    before = copy.deepcopy(messages)
    repaired = fixed(messages, profile, wire)

    assert messages == before, "the input is untouched"
    again = fixed(repaired.messages, profile, wire)
    assert (again.messages, again.changes) == (repaired.messages, ()), "a second run changes nothing"
    if not repaired.changes:
        assert repaired.messages == messages

    gone = {change.path for change in repaired.changes if change.code in ("omitted", "described", "repeated")}
    after = shown(repaired.messages, wire)
    assert len(after) == len(wires.images(messages, wire)) - len(gone), "nothing goes without a change that says so"
    limited = max_images or max_request_bytes or own.max_images or wire in ("mistral", "mcp")
    if not limited:
        for data in GOOD:
            assert (data in shown(messages, wire)) == (data in after), "an accepted image is there, byte for byte"
    if profile.max_images:
        assert len(after) <= profile.max_images
    if max_request_bytes and own.bytes_basis:
        assert len(json.dumps(repaired.messages, default=as_base64)) <= max_request_bytes or len(after) <= 1

    order = [data for data in after if data in GOOD]
    carried = all(not image.in_tool_result for image in wires.images(messages, wire))
    if carried:
        first = [data for at, data in enumerate(shown(messages, wire)) if data in GOOD]
        assert order == list(dict.fromkeys(data for data in first if data in order)), "the order stays"


@pytest.mark.slow
@given(wire=st.sampled_from(wires.NAMES), data=st.data())
@hypothesis_settings(max_examples=200, deadline=None)
def test_no_history_of_any_shape_raises(wire: str, data: st.DataObject) -> None:
    messages: Any = [user(PNG, BMP, wire=wire), tool(JPEG, HTML, wire=wire)]
    for _ in range(data.draw(st.integers(1, 2))):
        places = [place for place in odd.paths(messages) if place]
        messages = odd.with_value(messages, data.draw(st.sampled_from(places)), data.draw(odd.VALUES))
    before = copy.deepcopy(messages)
    repaired = fixed(messages, "safe", wire)
    assert messages == before
    assert fixed(repaired.messages, "safe", wire).messages == repaired.messages


@pytest.mark.parametrize(("wire", "profile"), ROUTES)
def test_one_bad_image_never_changes_what_becomes_of_the_others(wire: str, profile: str) -> None:
    good = [user(PNG, wire=wire), user(JPEG, wire=wire, mime="image/jpeg")]
    for bad in (HTML, BROKEN, b"", NOT_DECODED, LONG, SVG[:30]):
        repaired = fixed([good[0], user(bad, wire=wire), good[1]], profile, wire)
        assert [repaired.messages[0], repaired.messages[2]] == good
        assert fixed(repaired.messages, profile, wire).changes == ()


def test_every_change_code_is_reached() -> None:
    everything = [
        user(JPEG),
        user(
            {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": base64.encodebytes(PNG).decode()}}
        ),
        user(BMP, LONG, PNG),
        tool(HTML, text=DEFAULT.image_loaded),
        user(JPEG),
    ]
    found = set(codes(fixed(everything)))
    found |= set(codes(fixed([tool(PNG, wire="openai_chat")], "openai_chat", "openai_chat")))
    found |= set(codes(fixed([tool(JPEG, wire="mistral")], "mistral", "mistral", describe=lambda _: "words")))
    assert found == set(CHANGE_CODES)


def test_changes_are_json() -> None:
    assert json.loads(json.dumps([change.to_dict() for change in fixed([user(JPEG)]).changes])) == [
        {"code": "relabelled", "path": [0, "content", 1], "text": "declared as image/png, the bytes are image/jpeg"}
    ]


@pytest.mark.parametrize("depth", [40, 300])
def test_results_inside_of_results_are_followed_as_far_as_any_provider_does(depth: int) -> None:
    part: Any = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"}}
    for _ in range(depth):
        part = {"type": "tool_result", "tool_use_id": "a", "content": [part]}
    repaired = repair([{"role": "user", "content": [part]}], "anthropic", "anthropic")
    assert len(repaired.changes) == (depth < 50)


def test_what_no_json_can_be_written_of_is_a_typed_error() -> None:
    content: Any = "x"
    for _ in range(5_000):
        content = [content]
    with pytest.raises(InvalidArgument, match="nested"):
        repair([{"role": "assistant", "content": [{"type": "tool_use", "input": content}]}], "anthropic", "anthropic")
