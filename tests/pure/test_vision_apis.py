"""Each API is asked in its published form, over a real socket, and its answer becomes an observation in source pixels."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from pixlane import settings
from pixlane.errors import VisionObservationFailed
from pixlane.vision.credentials import Secret
from pixlane.vision.looking import Looker, Question
from pixlane.vision.memory import LocalMemory
from pixlane.vision.observation import Observation
from pixlane.vision.sending import SHOWN_CHARS, Sender
from tests.pure import make
from tests.running import clean_environment
from tests.stubs.http import Reply
from tests.stubs.vision import (
    CLOSED,
    FENCED,
    FINDINGS,
    GOOD,
    KEY,
    REFUSING,
    TRUNCATED,
    TWO_OBJECTS,
    WRAPPED,
    WRONG_SCHEMA,
    Provider,
    Said,
    said,
)

WIRES = ("openai_chat", "openai_responses", "anthropic", "gemini", "ollama")
PICTURE = make.flat(make.RED, size=(200, 100))
QUICK = Sender(first_pause_s=0.01)


def look(
    provider: Provider, data: bytes = PICTURE, *, timeout_s: float = 30.0, sender: Sender = QUICK, **asked: Any
) -> Observation:
    looker = Looker(settings.load({}), provider.config, provider.environ, LocalMemory(), sender)
    return looker.look(data, Question.of("What is there?", provider.model, **asked), None, timeout_s)


@pytest.mark.parametrize("wire", WIRES)
def test_each_api_is_asked_in_its_published_form_and_gives_an_observation(wire: str) -> None:
    with Provider(wire, [GOOD]) as provider:
        seen = look(provider)
    assert seen.summary == FINDINGS["summary"]
    assert [text.text for text in seen.ocr] == ["STOP"]
    assert [(each.type, each.a, each.b) for each in seen.relations] == [("inside", "a", "b")]
    assert seen.uncertainties == ("the shade",)
    by = seen.generated_by
    assert (by.mode, by.provider, by.model, by.structured, by.repaired, by.attempts) == (
        "vision_adapter",
        provider.name,
        "stub-vlm",
        "schema",
        False,
        1,
    )
    assert len(provider.asked) == 1
    mime, data = provider.pictures[0]
    assert mime in (None, "image/png")
    assert data.startswith(b"\x89PNG")


def question_and_picture(wire: str, body: Any) -> list[str]:
    """The kinds of the parts of the user's message, in order."""
    if wire == "ollama":
        return ["picture", "text"] if body["messages"][1]["images"] else []
    message = {"openai_responses": "input", "gemini": "contents"}.get(wire, "messages")
    parts = next(entry for entry in body[message] if entry["role"] == "user")
    return ["text" if "text" in part else "picture" for part in parts["parts" if wire == "gemini" else "content"]]


@pytest.mark.parametrize("wire", WIRES)
def test_the_picture_comes_before_the_question(wire: str) -> None:
    with Provider(wire, [GOOD]) as provider:
        look(provider)
    assert question_and_picture(wire, provider.asked[0]) == ["picture", "text"]


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("answer", [FENCED, WRAPPED], ids=["fenced", "wrapped"])
def test_one_object_in_a_fence_or_in_prose_is_an_answer(wire: str, answer: Said) -> None:
    with Provider(wire, [answer]) as provider:
        seen = look(provider)
    assert seen.summary == FINDINGS["summary"]
    assert not seen.generated_by.repaired


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize(
    "answer",
    [TRUNCATED, WRONG_SCHEMA, TWO_OBJECTS, Said("I see a red field."), Said("")],
    ids=["cut", "wrong", "two", "prose", "none"],
)
def test_a_reply_that_is_not_valid_is_asked_for_once_more(wire: str, answer: Said) -> None:
    with Provider(wire, [answer, GOOD]) as provider:
        seen = look(provider)
    assert seen.generated_by.repaired
    assert seen.generated_by.attempts == 2
    first, second = provider.asked
    key = {"openai_responses": "input", "gemini": "contents"}.get(wire, "messages")
    assert len(second[key]) == len(first[key]) + 2
    said_now = json.dumps(second[key][-1])
    assert ("shorter" in said_now) == (answer is TRUNCATED)
    assert "whole JSON object again" in said_now


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("answer", [TRUNCATED, WRONG_SCHEMA], ids=["cut", "wrong"])
def test_after_two_replies_that_are_not_valid_there_is_no_observation(wire: str, answer: Said) -> None:
    with Provider(wire, [answer]) as provider, pytest.raises(VisionObservationFailed) as caught:
        look(provider)
    assert caught.value.details["reason"] == "invalid_reply"
    assert not caught.value.retryable
    assert len(provider.asked) == 2
    assert caught.value.details["reference"]["sha256"] == hashlib.sha256(PICTURE).hexdigest()


@pytest.mark.parametrize("wire", [wire for wire in WIRES if wire != "ollama"])
def test_a_refusal_is_not_asked_again(wire: str) -> None:
    with Provider(wire, [REFUSING]) as provider, pytest.raises(VisionObservationFailed) as caught:
        look(provider)
    assert caught.value.details["reason"] == "refused"
    assert len(provider.asked) == 1


@pytest.mark.parametrize("wire", WIRES)
def test_a_server_that_takes_no_schema_is_told_it_in_words(wire: str) -> None:
    with Provider(wire, [GOOD], takes_schema=False) as provider:
        seen = look(provider)
    assert seen.generated_by.structured == "prompt"
    assert "additionalProperties" not in json.dumps(provider.asked[0]).partition("JSON Schema:")[2]
    assert "JSON Schema:" in json.dumps(provider.asked[1])


ERRORS = {
    "openai_chat": {"error": {"message": "over the rate", "type": "rate_limit"}},
    "openai_responses": {"error": {"message": "over the rate", "code": "rate_limit_exceeded"}},
    "anthropic": {"type": "error", "error": {"type": "overloaded_error", "message": "over the rate"}},
    "gemini": {"error": {"code": 429, "message": "over the rate", "status": "RESOURCE_EXHAUSTED"}},
    "ollama": {"error": "over the rate"},
}


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("status", [429, 500, 502, 503, 529])
def test_a_provider_that_is_busy_is_asked_again(wire: str, status: int) -> None:
    busy = Reply(ERRORS[wire], status, {"Retry-After": "0"})
    with Provider(wire, [busy, busy, GOOD]) as provider:
        seen = look(provider)
    assert seen.summary == FINDINGS["summary"]
    assert seen.generated_by.attempts == 3


@pytest.mark.parametrize("wire", WIRES)
def test_a_connection_that_is_closed_is_made_again(wire: str) -> None:
    with Provider(wire, [CLOSED, GOOD]) as provider:
        assert look(provider).generated_by.attempts == 2


@pytest.mark.parametrize("wire", WIRES)
def test_a_provider_that_stays_busy_is_given_up_with_its_own_words(wire: str) -> None:
    with Provider(wire, [Reply(ERRORS[wire], 503)]) as provider, pytest.raises(VisionObservationFailed) as caught:
        look(provider)
    error = caught.value
    assert (error.details["reason"], error.details["status"], error.retryable) == ("busy", 503, True)
    assert "over the rate" in error.message
    assert len(provider.asked) == QUICK.max_tries == error.details["attempts"]


def test_a_pause_that_the_provider_asks_for_is_kept_and_one_beyond_the_deadline_ends_the_tries() -> None:
    later = Reply({}, 429, {"Retry-After": "3600"})
    beyond = pytest.raises(VisionObservationFailed, match=r"the next try would be in 3600\.0 s")
    with Provider("openai_chat", [later, GOOD]) as provider, beyond:
        look(provider)
    assert len(provider.asked) == 1


def test_a_pause_may_be_named_by_its_end() -> None:
    past, future = ("Tue, 01 Dec 2020 00:00:00 GMT", "Fri, 31 Dec 2199 23:59:59 GMT")
    with Provider("anthropic", [Reply({}, 529, {"Retry-After": past}), GOOD]) as provider:
        assert look(provider).generated_by.attempts == 2
    beyond = pytest.raises(VisionObservationFailed, match="the next try would be in")
    with Provider("anthropic", [Reply({}, 529, {"Retry-After": future}), GOOD]) as provider, beyond:
        look(provider)
    assert len(provider.asked) == 1


def test_a_slow_provider() -> None:
    with Provider("anthropic", [Said(GOOD.text, after_s=3.0)]) as provider, pytest.raises(VisionObservationFailed) as caught:
        look(provider, timeout_s=0.5)
    assert (caught.value.details["reason"], caught.value.retryable) == ("deadline", True)
    assert "0.5 s" in caught.value.message


@pytest.mark.parametrize("wire", WIRES)
def test_a_request_that_is_refused_is_not_sent_again(wire: str) -> None:
    refused = pytest.raises(VisionObservationFailed, match="404: no such model")
    with Provider(wire, [Reply({"error": {"message": "no such model"}}, 404)]) as provider, refused as caught:
        look(provider)
    assert (caught.value.details["reason"], caught.value.retryable) == ("request", False)
    assert len(provider.asked) == 1


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("answer", [{}, [], "", {"choices": []}, {"output": None, "content": 1, "candidates": {}, "message": 3}])
def test_an_answer_of_another_form_is_said_as_such(wire: str, answer: Any) -> None:
    body = answer if answer != "" else "<html>a proxy's page</html>"
    with Provider(wire, [Reply(body)]) as provider, pytest.raises(VisionObservationFailed) as caught:
        look(provider)
    assert caught.value.details["reason"] in ("answer", "invalid_reply")


# The key ---------------------------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("status", [400, 401, 403, 500])
def test_the_key_is_in_no_error_and_in_no_log(wire: str, status: int, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("DEBUG")
    echo = Reply({"error": {"message": f"Incorrect API key provided: {KEY}"}}, status)
    with Provider(wire, [echo]) as provider, pytest.raises(VisionObservationFailed) as caught:
        look(provider)
    told = json.dumps(caught.value.to_dict()) + repr(caught.value) + caplog.text
    assert KEY not in told
    assert caught.value.details["reason"] == {400: "request", 500: "busy"}.get(status, "credentials")


def test_half_a_key_at_the_end_of_what_is_shown_is_hidden_too() -> None:
    echo = Reply({"error": {"message": f"{'.' * (SHOWN_CHARS - 8)}{KEY}"}}, 400)
    with Provider("openai_chat", [echo]) as provider, pytest.raises(VisionObservationFailed) as caught:
        look(provider)
    assert KEY[:6] not in caught.value.message


WRONG_MACHINES = {
    "a proxy of another kind": ({"HTTPS_PROXY": "foo://127.0.0.1:1"}, "https://models.example/v1"),
    "a proxy that needs another package": ({"ALL_PROXY": "socks5://127.0.0.1:1"}, "https://models.example/v1"),
    "a proxy that is no address": ({"HTTPS_PROXY": "http://[::1"}, "https://models.example/v1"),
    "authorities that are not there": ({"SSL_CERT_FILE": "/nowhere/ca.pem"}, "http://127.0.0.1:9/v1"),
    "another scheme": ({}, "gopher://models.example/v1"),
    "no host": ({}, "http://"),
    "no address": ({}, "not an address"),
}


@pytest.mark.slow
@pytest.mark.parametrize(("variables", "base_url"), WRONG_MACHINES.values(), ids=list(WRONG_MACHINES))
def test_what_is_wrong_on_this_machine_is_a_typed_error_at_once(variables: dict[str, str], base_url: str, tmp_path: Path) -> None:
    script = f"""
from pixlane.errors import VisionObservationFailed
from pixlane.vision import view_image
config = {{"providers": {{"mine": {{"base_url": {base_url!r}}}}}}}
try:
    view_image({make.flat(make.RED)!r}, "What?", "mine/vlm", config=config, environ={{}})
except VisionObservationFailed as error:
    print(error.details["reason"], error.details["attempts"])
"""
    environment = {**clean_environment(tmp_path), **variables}
    done = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True, timeout=60)
    assert done.stdout.split() == ["request", "1"], done.stderr[-500:]


def test_a_key_is_not_printed_and_does_not_travel() -> None:
    assert KEY not in repr(Secret(KEY)) + str(Secret(KEY)) + f"{Secret(KEY)!r}" + str(vars(Secret(KEY)).keys())
    with pytest.raises(TypeError):
        __import__("pickle").dumps(Secret(KEY))


# Boxes -----------------------------------------------------------------------------------------------------------------------


def boxed(x: float, y: float, width: float, height: float) -> Said:
    box = {"x": x, "y": y, "width": width, "height": height}
    return said(ocr=[{"text": "w", "box": box, "confidence": None}])


LARGE = make.flat(make.RED, size=(4000, 1000))


def test_boxes_are_told_in_pixels_of_the_source_though_the_model_saw_it_smaller() -> None:
    with Provider("openai_chat", [boxed(156.8, 39.2, 78.4, 39.2)]) as provider:
        seen = look(provider, LARGE)
    assert seen.shown == (1568, 392)
    box = seen.ocr[0].box
    assert box is not None
    assert (box.x, box.y, box.width, box.height) == (400, 100, 200, 100)
    assert "1568 wide and 392 high" in json.dumps(provider.asked[0])


def test_a_model_that_speaks_in_thousandths_is_understood() -> None:
    with Provider("gemini", [boxed(100, 100, 50, 100)]) as provider:
        box = look(provider, LARGE).ocr[0].box
    assert box is not None
    assert (box.x, box.y, box.width, box.height) == (400, 100, 200, 100)
    assert "thousandths" in json.dumps(provider.asked[0])


def test_boxes_in_a_region_are_told_in_pixels_of_the_whole_source() -> None:
    with Provider("anthropic", [boxed(10, 20, 30, 40)]) as provider:
        seen = look(provider, LARGE, region=(3000, 500, 400, 300))
    assert seen.shown == (400, 300)
    box = seen.ocr[0].box
    assert box is not None
    assert (box.x, box.y, box.width, box.height) == (3010, 520, 30, 40)


def test_a_box_that_stands_out_is_cut_off_and_one_outside_is_left_out() -> None:
    entries = [
        {"text": "out", "box": {"x": 150, "y": -10, "width": 200, "height": 50}, "confidence": None},
        {"text": "over", "box": {"x": -20, "y": 60, "width": 50, "height": 90}, "confidence": None},
        {"text": "gone", "box": {"x": 500, "y": 500, "width": 10, "height": 10}, "confidence": None},
        {"text": "turned", "box": {"x": 50, "y": 50, "width": -10, "height": 10}, "confidence": None},
    ]
    with Provider("ollama", [said(ocr=entries)]) as provider:
        seen = look(provider)
    out, over, gone, turned = (text.box for text in seen.ocr)
    assert out is not None
    assert (out.x, out.y, out.width, out.height) == (150, 0, 50, 40)
    assert over is not None
    assert (over.x, over.y, over.width, over.height) == (0, 60, 30, 40)
    assert gone is None
    assert turned is None
    assert [note.code for note in seen.notes if note.code.startswith("box")] == ["box_clipped", "box_dropped"]


@pytest.mark.parametrize("wire", ["openai_chat", "gemini"])
def test_boxes_that_are_fractions_of_the_sides_are_asked_for_again(wire: str) -> None:
    with Provider(wire, [boxed(0.1, 0.2, 0.5, 0.25), boxed(4, 4, 8, 8)]) as provider:
        seen = look(provider)
    assert seen.generated_by.repaired
    assert "fractions" in str(provider.asked[1])
    with Provider(wire, [boxed(0.1, 0.2, 0.5, 0.25)] * 2) as provider, pytest.raises(VisionObservationFailed, match="fractions"):
        look(provider)


@pytest.mark.parametrize("names", [("a", "nobody"), ("a", "twice")])
def test_a_relation_to_nothing_or_to_one_of_several_is_left_out(names: tuple[str, str]) -> None:
    element = {"role": "text", "text": "STOP", "description": None, "box": None, "confidence": None}
    relation = {"type": "above", "a": names[0], "b": names[1], "confidence": None}
    several = [{"id": name, **element} for name in ("a", "twice", "twice")]
    with Provider("anthropic", [said(elements=several, relations=[relation])]) as provider:
        seen = look(provider)
    assert (len(seen.elements), seen.relations) == (3, ())
    assert [note.code for note in seen.notes] == ["relation_dropped"]


def test_a_confidence_beyond_its_bounds_is_no_valid_reply() -> None:
    over = said(ocr=[{"text": "w", "box": None, "confidence": 97}])
    with Provider("anthropic", [over, GOOD]) as provider:
        assert look(provider).generated_by.repaired
    assert "0 and 1" in json.dumps(provider.asked[1])


@pytest.mark.parametrize(
    "reply",
    [
        said(schema="visual_observation.v0"),
        said(ocr=[{"text": "w", "box": None, "confidence": "0.9"}]),
        said(ocr=[{"text": "w", "box": [1, 2, 3, 4], "confidence": None}]),
        said(ocr=[{"text": "w", "box": None, "confidence": None, "language": "en"}]),
        said(uncertainties={"text": "the shade"}),
        said(summary=" "),
        Said(GOOD.text.replace('"issues": [], ', "")),
        Said(GOOD.text.replace('"x": 10', '"x": NaN')),
    ],
    ids=["a key", "a number as text", "a box as a list", "a key inside", "an object", "blank", "a list missing", "no number"],
)
def test_a_reply_is_read_strictly(reply: Said) -> None:
    assert reply != GOOD
    with Provider("anthropic", [reply, GOOD]) as provider:
        assert look(provider).generated_by.repaired


def test_two_hundred_kilobytes_of_elements_are_read() -> None:
    entry = {"role": "cell", "text": "x" * 100, "description": None, "box": None, "confidence": None}
    many = said(elements=[{"id": str(number), **entry} for number in range(1200)], relations=[])
    assert len(many.text) > 200_000
    with Provider("gemini", [many]) as provider:
        assert len(look(provider).elements) == 1200


@pytest.mark.slow
def test_a_server_that_sends_a_byte_now_and_then_is_given_up_at_the_deadline() -> None:
    over = threading.Event()

    def trickle(_: Any) -> Reply:
        return Reply(b" " for _ in range(30) if not over.wait(0.2))

    with Provider("openai_chat", [trickle]) as provider, pytest.raises(VisionObservationFailed) as caught:
        look(provider, timeout_s=1.0)
    over.set()
    assert caught.value.details["reason"] == "deadline"


@pytest.mark.parametrize("wire", ["openai_chat", "ollama"])
def test_a_server_of_ones_own_is_not_told_how_long_a_reply_may_be(wire: str) -> None:
    with Provider(wire, [GOOD], key="") as own, Provider(wire, [GOOD]) as hosted:
        look(own)
        look(hosted)
    told = [{"max_tokens", "options"} & set(provider.asked[0]) for provider in (own, hosted)]
    assert told[0] == set()
    assert told[1]


def test_the_endpoint_that_is_named_is_the_one_that_is_asked() -> None:
    with Provider("anthropic", [GOOD]) as here, Provider("openai_chat", [GOOD], name="anthropic") as there:
        about = {**here.config["providers"]["anthropic"], "endpoints": {"eu": {"base_url": there.base_url, "wire": there.wire}}}
        looker = Looker(settings.load({}), {"providers": {"anthropic": about}}, here.environ, LocalMemory(), QUICK)
        seen = looker.look(PICTURE, Question.of("What?", "anthropic@eu/stub-vlm"), None)
    assert (len(here.asked), len(there.asked)) == (0, 1)
    assert seen.generated_by.endpoint == "eu"
    assert seen.selection is not None
    assert seen.selection.to_dict()["chosen"] == "anthropic@eu/stub-vlm"
