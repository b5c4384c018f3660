"""Sending with recovery against a server that refuses: over real sockets, sync and async, one turn and thirty."""

from __future__ import annotations

import asyncio
import base64
import io
import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import httpx
import pytest
from PIL import Image

from pixlane.messages import Answer, Memory, wires, with_recovery
from tests.pure import make
from tests.pure.histories import HTML, JPEG, PHOTO, PNG, shown, tool, user
from tests.stubs.http import Reply, Request, Server

ASSISTANT = {"role": "assistant", "content": "seen"}
Verdict = tuple[int, str] | None
Judge = Callable[[list[Any]], Verdict]


def refusal(status: int, text: str) -> Reply:
    return Reply({"type": "error", "error": {"type": "invalid_request_error", "message": text}}, status)


@contextmanager
def provider(judge: Judge) -> Iterator[Server]:
    """A server that answers with what the judge says of the messages; None: with an answer."""

    def handle(request: Request) -> Reply:
        verdict = judge(request.json["messages"])
        return refusal(*verdict) if verdict else Reply({"role": "assistant", "content": "seen"})

    with Server(handle) as server:
        yield server


def post(server: Server) -> Callable[[list[Any]], Any]:
    def send(messages: list[Any]) -> Any:
        response = httpx.post(server.url, json={"messages": messages})
        response.raise_for_status()
        return response.json()

    return send


def post_later(server: Server) -> Callable[[list[Any]], Any]:
    async def send(messages: list[Any]) -> Any:
        async with httpx.AsyncClient() as client:
            response = await client.post(server.url, json={"messages": messages})
        response.raise_for_status()
        return response.json()

    return send


def both(server: Server, history: list[Any], way: str, **options: Any) -> Answer[Any]:
    options = {"memory": MEMORY, **options}
    if way == "sync":
        return with_recovery(post(server), history, "anthropic", "anthropic", **options)

    async def run() -> Answer[Any]:
        answer: Answer[Any] = await with_recovery(post_later(server), history, "anthropic", "anthropic", **options)
        return answer

    return asyncio.run(run())


MEMORY = Memory()
WAYS = pytest.mark.parametrize("way", ["sync", "async"])
LIMIT = 60_000


def named(messages: list[Any]) -> Verdict:
    """As Anthropic refuses: the first image over the limit, by its place."""
    for image in wires.images(messages, "anthropic"):
        keys = [key for key in image.path if isinstance(key, int)]
        inner = f".tool_result.content.{keys[2]}" if len(keys) > 2 else ""
        place = f"messages.{keys[0]}.content.{keys[1]}{inner}.image.source"
        size = len(str(image.data))
        if size > LIMIT:
            return 400, f"{place}.base64: image exceeds 60 KB maximum: {size} bytes > {LIMIT} bytes"
        try:
            form = Image.open(io.BytesIO(image.decode() or b"")).format
        except OSError:
            return 400, "Could not process image"
        if image.mime != f"image/{str(form).lower()}":
            appears = f"but the image appears to be a image/{str(form).lower()} image"
            return 400, f"{place}.base64: The image was specified using the {image.mime} media type, {appears}"
    return None


def blind(messages: list[Any]) -> Verdict:
    return (400, "unknown variant `image_url`, expected `text`") if wires.images(messages, "anthropic") else None


@WAYS
def test_a_refused_image_is_shrunk_and_the_history_remembers_it(way: str) -> None:
    history = [user(PNG), ASSISTANT, user(PHOTO, mime="image/jpeg")]
    given = list(history)
    with provider(named) as server:
        answer = both(server, history, way)
        assert answer.response["content"] == "seen"
        assert [fault.kind for fault in answer.refused] == ["bytes"]
        assert [change.code for change in answer.changes] == ["shrunk"]
        assert history == answer.messages
        assert history[:2] == given[:2]
        assert given[2]["content"][1]["source"]["data"] == base64.b64encode(PHOTO).decode(), (
            "the messages themselves are untouched"
        )
        both(server, history, way)
        assert len(server.log) == 3, "the next turn is taken at once"


@pytest.mark.slow
@WAYS
def test_thirty_turns_with_bad_images_are_all_answered(way: str) -> None:
    history: list[Any] = []
    bad = {3: HTML, 7: PHOTO, 12: make.flat(make.RED, (30, 30), "WEBP"), 20: HTML + b" ", 21: make.array(make.noise(500, 410))}
    refused = []
    with provider(named) as server:
        for turn in range(30):
            data = bad.get(turn, make.flat((turn, 0, 0), (20, 20)))
            history.append(tool(data) if turn % 3 == 0 else user(data))
            answer = both(server, history, way)
            refused.append(len(answer.refused))
            history.append(answer.response)
        assert len(server.log) == 30 + sum(refused)
    assert max(refused) <= 2
    assert {turn for turn, count in enumerate(refused) if count} == set(bad), "no refusal in a later turn"
    kept = [data for data in shown(history) if data]
    assert all(make.flat((turn, 0, 0), (20, 20)) in kept for turn in range(30) if turn not in bad)
    assert len(kept) == 28, "two were no pictures at all"


@WAYS
def test_what_is_refused_twice_gives_way(way: str) -> None:
    def stubborn(messages: list[Any]) -> Verdict:
        large = [data for data in shown(messages) if data and len(data) > 2_000]
        return (400, "image too large") if large else None

    history = [user(PNG), ASSISTANT, user(PHOTO, mime="image/jpeg"), ASSISTANT, user()]
    with provider(stubborn) as server:
        answer = both(server, history, way)
        assert len(server.log) == 3
    assert [change.code for change in answer.changes] == ["shrunk", "omitted"]
    assert shown(history) == [PNG]


URL = {"type": "image", "source": {"type": "url", "url": "https://example.com/a.png"}}


def picky(bad: Callable[[Any], bool], text: str) -> Judge:
    """Refuses one image, and says neither which nor what is wrong with it."""

    def judge(messages: list[Any]) -> Verdict:
        return (400, text) if any(bad(image) for image in wires.images(messages, "anthropic")) else None

    return judge


@pytest.mark.slow
@WAYS
@pytest.mark.parametrize("text", ["Could not process image", "image too large"])
@pytest.mark.parametrize(
    "bad",
    [lambda image: image.in_tool_result, lambda image: image.data and not image.in_tool_result, lambda image: image.url],
    ids=["of a tool", "of the user", "at a URL"],
)
def test_one_bad_image_among_several_as_likely_is_refused_twice_at_most(way: str, text: str, bad: Callable[[Any], bool]) -> None:
    other = make.array(make.noise(500, 400, seed=2), "JPEG", quality=95)
    older = [user(PNG), ASSISTANT]
    history = [*older, user(PHOTO, URL, mime="image/jpeg"), tool(other, mime="image/jpeg")]
    with provider(lambda messages: picky(bad, text)(messages[2:])) as server:
        answer = both(server, history, way, memory=Memory())
        assert 1 <= len(answer.refused) <= 2
        assert history[:2] == older, "what was taken before is not touched"
        assert both(server, history, way, memory=Memory()).refused == (), "none in later turns"


@pytest.mark.slow
@WAYS
@pytest.mark.parametrize("turn", range(5))
def test_a_history_that_was_never_taken_costs_four_refusals_at_most(way: str, turn: int) -> None:
    history = [message for number in range(5) for message in (user(make.flat((number, 9, 9), (20, 20))), ASSISTANT)]
    data = shown(history)[turn]
    with provider(picky(lambda image: image.decode() == data, "Could not process image")) as server:
        assert 1 <= len(both(server, history, way, memory=Memory()).refused) <= 4
        assert both(server, history, way, memory=Memory()).refused == ()


@WAYS
def test_a_model_that_does_not_see_gets_no_second_request_with_pixels(way: str) -> None:
    history = [user(PHOTO, mime="image/jpeg"), tool(PNG)]
    with provider(blind) as server:
        answer = both(server, history, way, describe=lambda _: "a cat")
        assert ["image" in json.dumps(request.json["messages"]) for request in server.log] == [True, True]
        assert [bool(wires.images(request.json["messages"], "anthropic")) for request in server.log] == [True, False]
    assert [change.code for change in answer.changes] == ["described", "described"]


@WAYS
@pytest.mark.parametrize("status", [401, 429, 500, 529])
def test_other_errors_are_the_callers_and_come_at_once(way: str, status: int) -> None:
    history = [user(PNG)]
    with provider(lambda _: (status, "image exceeds 5 MB maximum: 9 bytes > 5 bytes")) as server:
        with pytest.raises(httpx.HTTPStatusError):
            both(server, history, way)
        assert len(server.log) == 1
    assert shown(history) == [PNG]


@WAYS
def test_an_error_that_nothing_helps_against_is_raised_and_the_history_stays(way: str) -> None:
    history = [user(PNG), ASSISTANT, user(JPEG, mime="image/jpeg")]
    before = list(history)
    with provider(lambda _: (400, "image too large")) as server:
        with pytest.raises(httpx.HTTPStatusError):
            both(server, history, way)
        assert len(server.log) <= 2 * 2 + 1
    assert all(now is then for now, then in zip(history, before, strict=True))


@WAYS
def test_what_was_recovered_before_another_error_is_kept(way: str) -> None:
    def busy(messages: list[Any]) -> Verdict:
        return named(messages) or (529, "Overloaded")

    history = [user(PHOTO, mime="image/jpeg")]
    with provider(busy) as server:
        with pytest.raises(httpx.HTTPStatusError):
            both(server, history, way)
        assert len(server.log) == 2
    assert shown(history) != [PHOTO]
    with provider(named) as server:
        assert both(server, history, way).refused == ()


def test_a_refusal_that_comes_as_a_success_is_one() -> None:
    words = "Vision add-on is not loaded, but images were provided for processing"

    def handle(request: Request) -> Reply:
        seen = wires.images(request.json["messages"], "openai_chat")
        return Reply({"error": words} if seen else {"choices": []})

    history = [user(PNG, wire="openai_chat")]
    with Server(handle) as server:
        answer = with_recovery(post(server), history, "lm_studio", "openai_chat")
    assert answer.response == {"choices": []}
    assert wires.images(history, "openai_chat") == []


def test_a_history_that_cannot_be_written_to_comes_back_in_the_answer() -> None:
    history = (user(PHOTO, mime="image/jpeg"),)
    with provider(named) as server:
        answer = with_recovery(post(server), history, "anthropic", "anthropic", memory=MEMORY)
        assert with_recovery(post(server), answer.messages, "anthropic", "anthropic").refused == ()


def test_what_the_caller_appends_meanwhile_stays() -> None:
    history = [user(PHOTO, mime="image/jpeg")]
    with provider(named) as server:
        send = post(server)

        def slowly(messages: list[Any]) -> Any:
            answered = send(messages)
            history.append(ASSISTANT)
            return answered

        with_recovery(slowly, history, "anthropic", "anthropic", memory=MEMORY)
    assert len(history) == 2
    assert shown(history) != [PHOTO]


def test_pictures_are_worked_on_outside_of_the_event_loop() -> None:
    threads: list[str] = []

    def describe(_: bytes) -> str:
        threads.append(threading.current_thread().name)
        return "a cat"

    with provider(blind) as server:
        both(server, [user(PNG)], "async", describe=describe, memory=Memory())
    assert threads
    assert threading.current_thread().name not in threads
