"""Thirty turns with images of every bad kind, through the official SDKs, against stubs that hold the published limits."""

from __future__ import annotations

import asyncio
import json
import re
from dataclasses import dataclass
from typing import Any

import pytest

from pixlane.messages import Answer, Memory, repair, wires, with_recovery
from tests.pure import make
from tests.stubs.http import Server
from tests.stubs.pictures import look
from tests.stubs.provider import limits_published
from tests.stubs.senders import ROUTES, Route

pytestmark = pytest.mark.slow  # the SDKs take seconds to load

TURNS = 30
PNG = make.flat(make.RED, (40, 30))
JPEG = make.array(make.smooth(64, 48), "JPEG")
WEBP = make.flat(make.GREEN, (20, 20), "WEBP")
NOISE_JPEG = make.array(make.noise(300, 200), "JPEG", quality=95)
NOISE_PNG = make.array(make.noise(100, 100))
SVG = b'<svg xmlns="http://www.w3.org/2000/svg" width="24" height="24"><rect width="9" height="9"/></svg>'
URL = "https://example.com/picture.png"


@dataclass(frozen=True)
class Sent:
    """An image as a careless agent sends it: its bytes as declared, or the text of broken base64, or a URL."""

    data: bytes | str
    declared: str = "image/png"


def animated(colours: tuple[Any, ...]) -> bytes:
    first, *rest = [make.Image.new("RGB", (24, 24), colour) for colour in colours]
    return make.encode(first, "GIF", save_all=True, append_images=rest, duration=80)


def many(count: int) -> list[Sent]:
    return [Sent(make.flat((shade * 9, 40, 90), (16, 16))) for shade in range(count)]


USER: dict[int, list[Sent]] = {
    1: [Sent(PNG)],
    2: [Sent(NOISE_JPEG[: len(NOISE_JPEG) // 2], "image/jpeg")],  # truncated
    3: [Sent(NOISE_PNG[:200] + bytes(400) + NOISE_PNG[600:])],  # corrupt
    4: [Sent(make.array(make.noise(1900, 1500)))],  # 8.6 MB of a PNG
    5: [Sent(make.flat(make.RED, (9000, 100)))],
    6: [Sent(JPEG)],  # as PNG
    7: [Sent(make.flat(make.BLUE, (40, 40), "BMP"), "image/bmp"), Sent(make.flat(make.GREEN, (33, 33)))],
    8: [Sent(make.flat(make.BLUE, (41, 41), "TIFF"), "image/tiff")],
    9: [Sent(SVG, "image/svg+xml")],
    10: [Sent(animated((make.RED, make.BLUE)), "image/gif")],
    11: [Sent(b"<html><body>Not found</body></html>")],
    12: [Sent("iVBORw0KGgo=AAAA?broken")],
    16: [Sent(make.flat(make.GREEN, (2400, 30)))],
    18: [Sent(PNG)],  # again
    20: [Sent(make.flat(make.RED, (50, 20), "WEBP"))],  # as PNG
    21: [Sent(b"")],
    22: [Sent(make.flat(make.RED, (30, 30)), "image/jpg")],
    23: [Sent(SVG.replace(b"24", b"25"))],  # as PNG
    24: [Sent(b"\x89PNG\r\n\x1a\n" + bytes(200)), Sent(make.flat(make.BLUE, (35, 35)))],
    26: [Sent(make.array(make.noise(64, 64, seed=5), "PNG")[:-30])],
    27: [Sent(make.flat(make.BLUE, (30, 8100)))],
}
TOOL: dict[int, list[Sent]] = {
    13: [Sent(make.flat(make.BLUE, (60, 60)))],
    14: [Sent(NOISE_JPEG[: len(NOISE_JPEG) // 3], "image/jpeg")],
    15: [Sent(make.flat(make.GREEN, (8200, 40)))],
    17: [Sent(WEBP)],  # as PNG
    25: [Sent(b"not an image"), Sent(make.flat(make.WHITE, (61, 61)))],
}
MANY = {19: many(22)}

PLACEHOLDER = re.compile(
    r"\[image omitted: |\[image, described: |\[the same image as |\[Image, not shown: |\[an image that is not"
)
ALREADY_FINE = {"image/png", "image/jpeg", "image/gif", "image/webp"}


class Conversation:
    """A history that grows turn by turn, and what was done to it."""

    def __init__(self, route: Route, repaired: bool) -> None:
        self.route = route
        self.repaired = repaired
        self.wire = wires.get(route.wire)
        self.history: list[Any] = []
        self.introduced = 0
        self.changes: list[Any] = []
        self.memory = Memory()
        # Repair holds what is published; what a server holds besides, or held before, is what recovery is for.
        self.provider = route.provider(limits_published(route.provider.limits_of) if repaired else {})

    def turn(self, number: int, send: Any) -> tuple[str, int, int]:
        """The answer, how many requests were refused, and how many images came in."""
        images = [*self.user(number), *MANY.get(number, ())]
        tools = self.tools(number)
        if tools:
            self.history.append(self.wire.user_message([self.wire.text_part("shoot")]))
            self.history.append(self.route.called(f"call_{number}"))
            parts = [self.wire.text_part(f"turn {number} taken"), *(self.part(one) for one in tools)]
            self.history.append(self.wire.tool_message(f"call_{number}", parts, "shot"))
        if not tools or self.route.wire not in ("anthropic", "gemini"):
            parts = [self.wire.text_part(f"turn {number}"), *(self.part(one) for one in images)]
            self.history.append(self.wire.user_message(parts))
        came = len(images) + len(tools)
        self.introduced += came
        if self.repaired:
            done = repair(self.history, self.route.profile, self.route.wire, memory=self.memory)
            self.history[:] = done.messages
            self.changes += done.changes
        before = len(self.provider.refused)
        answer = with_recovery(send, self.history, self.route.profile, self.route.wire, memory=self.memory)
        self.changes += answer.changes
        self.history.append(self.route.said("seen"))
        return answer.response, len(self.provider.refused) - before, came

    def user(self, number: int) -> list[Sent]:
        limited = self.route.name == "anthropic" or (self.route.name == "groq" and self.repaired)  # else a 413 without a word
        return [] if number == 4 and not limited else USER.get(number, [])

    def tools(self, number: int) -> list[Sent]:
        unseen = self.route.tool_images == "lost" and not self.repaired  # no error tells of it: repair is what helps
        return [] if unseen else TOOL.get(number, [])

    def part(self, image: Sent) -> Any:
        if isinstance(image.data, bytes):
            return self.wire.image_part(image.declared, image.data)
        part = json.dumps(self.wire.image_part(image.declared, b"xx"))
        return json.loads(part.replace("eHg=", image.data))

    def untold(self) -> list[bytes]:
        """Pictures that are sent otherwise than they came in, beyond those that a change tells of."""
        came = {one.data for turn in (USER, TOOL, MANY) for images in turn.values() for one in images}
        sent = [image.decode() for image in wires.images(self.history, self.wire)]
        told = [change for change in self.changes if change.code in ("transcoded", "shrunk")]
        return [data for data in sent if data is not None and data not in came][len(told) :]

    def accounted(self) -> int:
        """Images that the model saw in the last request, and words in place of others."""
        last = self.provider.turns[-1]
        words = sum(len(PLACEHOLDER.findall(text)) for text in last.texts)
        return len(last.pictures) + len(last.urls) + words


@pytest.mark.parametrize("repaired", [True, False], ids=["repaired before", "recovered"])
@pytest.mark.parametrize("route", ROUTES, ids=lambda route: route.name)
def test_thirty_turns_are_answered_and_nothing_vanishes(route: Route, repaired: bool) -> None:
    talk = Conversation(route, repaired)
    with Server(talk.provider) as server:
        send = route.connect(server.url)
        for number in range(1, TURNS + 1):
            answer, refused, came = talk.turn(number, send)
            assert f"turn {number}" in answer, answer
            if repaired:
                assert refused == 0, (number, [str(one) for one in talk.provider.refused])
            else:
                assert refused <= 2 * came, (number, [str(one) for one in talk.provider.refused])
            assert talk.accounted() == talk.introduced, (number, talk.provider.turns[-1])
            assert talk.untold() == []
    assert len(talk.provider.turns) == TURNS
    good = look(PNG)
    if "max_images" not in talk.provider.limits or talk.provider.limits["max_images"] > 60:
        assert good in talk.provider.turns[-1].pictures


@pytest.mark.parametrize("route", [ROUTES[0], ROUTES[1]], ids=lambda route: route.name)
def test_an_async_client_recovers_in_the_same_way(route: Route) -> None:
    wire = wires.get(route.wire)
    history = [
        wire.user_message([wire.text_part("turn 1"), wire.image_part("image/png", b"<html>"), wire.image_part("image/png", PNG)])
    ]
    provider = route.provider()
    with Server(provider) as server:
        answer = asyncio.run(ask_later(route, server.url, history))
    assert "turn 1" in answer.response
    assert [fault.kind for fault in answer.refused] == ["undecodable" if route.name == "anthropic" else "type"]
    assert provider.turns[0].pictures == (look(PNG),)
    assert [one.decode() for one in wires.images(history, wire)] == [PNG]


async def ask_later(route: Route, url: str, history: list[Any]) -> Answer[str]:
    from anthropic import AsyncAnthropic
    from openai import AsyncOpenAI

    async def send(messages: list[Any]) -> str:
        if route.name == "anthropic":
            async with AsyncAnthropic(base_url=url, api_key="none", max_retries=0) as client:
                return (await client.messages.create(model="claude", max_tokens=64, messages=messages)).content[0].text
        async with AsyncOpenAI(base_url=f"{url}/v1", api_key="none", max_retries=0) as client:
            return str((await client.chat.completions.create(model="gpt", messages=messages)).choices[0].message.content)

    return await with_recovery(send, history, route.profile, route.wire)


def test_an_image_that_an_sdk_itself_refuses_gives_way_and_the_next_turn_is_sent() -> None:
    (route,) = (route for route in ROUTES if route.name == "gemini_3")
    talk = Conversation(route, repaired=False)
    with Server(talk.provider) as server:
        send = route.connect(server.url)
        talk.history.append(talk.wire.user_message([talk.wire.text_part("turn 1"), talk.part(USER[12][0])]))
        answer = with_recovery(send, talk.history, route.profile, route.wire)
        assert [(fault.kind, fault.provider) for fault in answer.refused] == [("undecodable", "sdk")]
        assert "turn 1" in answer.response
        assert wires.images(talk.history, talk.wire) == []
        talk.history += [route.said("seen"), talk.wire.user_message([talk.wire.text_part("turn 2")])]
        assert "turn 2" in with_recovery(send, talk.history, route.profile, route.wire).response


def test_an_error_that_is_about_no_image_is_raised_as_it_is() -> None:
    def send(messages: list[Any]) -> str:
        raise ValueError("no such model")

    with pytest.raises(ValueError, match="no such model"):
        with_recovery(
            send,
            [wires.get("anthropic").user_message([wires.get("anthropic").image_part("image/png", PNG)])],
            "anthropic",
            "anthropic",
        )


def test_the_limit_of_a_server_that_is_lower_than_the_published_one_is_learned_from_its_refusal() -> None:
    (route,) = (route for route in ROUTES if route.name == "anthropic")
    wire, provider, memory = wires.get(route.wire), route.provider(), Memory()
    large = make.array(make.noise(1400, 1200))  # 6.7 MB as base64: over 5,242,880, under what is published
    history = [wire.user_message([wire.text_part("turn 1"), wire.image_part("image/png", large)])]
    with Server(provider) as server:
        send = route.connect(server.url)
        for turn in (1, 2):
            history[:] = repair(history, route.profile, route.wire, memory=memory).messages
            assert f"turn {turn}" in with_recovery(send, history, route.profile, route.wire, memory=memory).response
            history += [route.said("seen"), wire.user_message([wire.text_part(f"turn {turn + 1}")])]
    assert len(provider.refused) == 1
    assert len(provider.turns[1].pictures) == 1


def test_a_description_takes_the_place_of_pixels_that_are_refused() -> None:
    (route,) = (route for route in ROUTES if route.name == "openai_chat")
    wire, provider = wires.get(route.wire), route.provider(sees=False)
    history = [wire.user_message([wire.text_part("turn 1"), wire.image_part("image/png", PNG)])]
    with Server(provider) as server:
        answer = with_recovery(route.connect(server.url), history, route.profile, route.wire, lambda data: "a red card")
    assert [fault.kind for fault in answer.refused] == ["no_vision"]
    assert any("a red card" in text for text in provider.turns[0].texts)
