"""Histories that are bad from the start, through the official SDKs: many bad images at once, resumed sessions, whole requests."""

from __future__ import annotations

from typing import Any

import pytest

from pixlane.messages import Memory, repair, wires, with_recovery
from tests.pure import make
from tests.pure.test_messages_conversations import JPEG, NOISE_JPEG, PLACEHOLDER, PNG, SVG, URL
from tests.stubs.http import Server
from tests.stubs.provider import Provider
from tests.stubs.senders import ROUTES, Route

pytestmark = pytest.mark.slow  # the SDKs take seconds to load

BAD = [
    ("image/png", b"<html>gone</html>"),
    ("image/jpeg", NOISE_JPEG[:9000]),
    ("image/bmp", make.flat(make.BLUE, (40, 40), "BMP")),
    ("image/svg+xml", SVG),
    ("image/png", JPEG),
    ("image/png", make.flat(make.RED, (9000, 60))),
    ("image/tiff", make.flat(make.BLUE, (41, 41), "TIFF")),
    ("image/png", b""),
]
BY_NAME = {route.name: route for route in ROUTES}


def images(route: Route, *given: tuple[str, bytes]) -> list[Any]:
    return [wires.get(route.wire).image_part(mime, data) for mime, data in given]


def said(route: Route, text: str, *parts: Any) -> dict[str, Any]:
    wire = wires.get(route.wire)
    return wire.user_message([wire.text_part(text), *parts])


def accounted(provider: Provider) -> int:
    """Images that the model saw in the last request, and words in place of others."""
    last = provider.turns[-1]
    return len(last.pictures) + len(last.urls) + sum(len(PLACEHOLDER.findall(text)) for text in last.texts)


def asked(route: Route, provider: Provider, history: list[Any], turns: int = 2) -> list[int]:
    """How many requests were refused in each turn."""
    memory, refused = Memory(), []
    with Server(provider) as server:
        send = route.connect(server.url)
        for turn in range(1, turns + 1):
            before = len(provider.refused)
            assert with_recovery(send, history, route.profile, route.wire, memory=memory).response
            refused.append(len(provider.refused) - before)
            history += [route.said("seen"), said(route, f"and now, turn {turn + 1}")]
    return refused


@pytest.mark.parametrize("route", ROUTES, ids=lambda route: route.name)
def test_eight_bad_images_in_one_message_cost_two_refusals_each_at_most_and_the_good_one_is_seen(route: Route) -> None:
    provider = route.provider()
    history = [said(route, "what is in these?", *images(route, ("image/png", PNG), *BAD))]
    first, second = asked(route, provider, history)
    assert 1 <= first <= 2 * len(BAD)
    assert second == 0
    assert accounted(provider) == len(BAD) + 1
    assert "png 40x30" in [str(picture) for picture in provider.turns[-1].pictures] or route.name == "groq"  # takes five


@pytest.mark.parametrize("route", ROUTES, ids=lambda route: route.name)
def test_a_session_that_was_poisoned_before_is_resumed(route: Route) -> None:
    provider = route.provider()
    history: list[Any] = []
    for number, bad in enumerate(BAD):
        history += [said(route, f"turn {number}", *images(route, bad)), route.said("seen")]
    history.append(said(route, "go on"))
    first, second = asked(route, provider, history)
    assert 1 <= first <= 2 * len(BAD)
    assert second == 0
    assert accounted(provider) == len(BAD)


@pytest.mark.parametrize("repaired", [True, False], ids=["repaired before", "recovered"])
def test_more_images_than_a_request_may_have_lose_the_oldest_alone(repaired: bool) -> None:
    route = BY_NAME["anthropic"]
    provider = route.provider()
    flats = [make.flat((number, 255 - number, 7), (16 + number % 5, 16)) for number in range(104)]
    history: list[Any] = []
    for number in range(0, 104, 8):
        parts = images(route, *(("image/png", data) for data in flats[number : number + 8]))
        history += [said(route, f"turn {number}", *parts), route.said("seen")]
    history.append(said(route, "which was the last?"))
    if repaired:
        history[:] = repair(history, route.profile, route.wire).messages
    assert asked(route, provider, history) == [0 if repaired else 1, 0]
    assert len(provider.turns[-1].pictures) == 100
    assert accounted(provider) == 104
    assert [image.decode() for image in wires.images(history, route.wire)] == flats[4:]


@pytest.mark.parametrize("repaired", [True, False], ids=["repaired before", "recovered"])
def test_a_request_over_the_bytes_that_gemini_takes_is_made_lighter(repaired: bool) -> None:
    route = BY_NAME["gemini_3"]
    provider = route.provider()
    large = [make.array(make.noise(1700, 1000, seed=seed), compress_level=1) for seed in range(4)]  # 5.1 MB each
    history = [said(route, "compare these", *images(route, *(("image/png", data) for data in [*large, PNG])))]
    if repaired:
        history[:] = repair(history, route.profile, route.wire).messages
    first, second = asked(route, provider, history)
    assert (first, second) == (0 if repaired else first, 0)
    assert first <= 2
    assert accounted(provider) == 5
    assert "png 40x30" in [str(picture) for picture in provider.turns[-1].pictures]


def test_a_url_that_the_provider_cannot_load_gives_way_to_its_name() -> None:
    route = BY_NAME["openai_chat"]
    provider = route.provider()
    wire = wires.get(route.wire)
    history = [said(route, "see", wire.url_part("image.jpg"), wire.url_part(URL), *images(route, ("image/png", PNG)))]
    assert asked(route, provider, history) == [1, 0]
    assert (provider.turns[-1].urls, len(provider.turns[-1].pictures)) == ((URL,), 1)
    assert accounted(provider) == 3
