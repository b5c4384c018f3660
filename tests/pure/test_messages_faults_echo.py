"""What is no fault of an image: other errors, and bodies that repeat what the user wrote."""

from __future__ import annotations

import json
from typing import Any

import httpx
import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from pixlane.messages import classify_error
from pixlane.messages.faults import wordings

OVER = "image exceeds 5 MB maximum: 15908784 bytes > 5242880 bytes"
ROWS = [row for row in wordings() if not row.in_success]
SHOWN = [row.text.format(any="12 x", limit="9", actual="10", path="messages[1]") for row in ROWS]


def error(message: str, **fields: Any) -> dict[str, Any]:
    return {"error": {"message": message, "type": "invalid_request_error", **fields}}


ECHOES = {
    "a field beside the error": lambda said: {**error("Invalid request."), "request": {"messages": [{"content": said}]}},
    "the input of a validation error": lambda said: {
        "detail": [
            {"type": "missing", "loc": ["body", "model"], "msg": "Field required", "input": {"message": said, "error": said}}
        ]
    },
    "the input of another": lambda said: {"detail": [{"type": "missing", "msg": "Field required", "input": said}]},
    "its context": lambda said: {"detail": [{"loc": ["body"], "msg": "Value error", "ctx": {"error": said}}]},
    "the place of a text": lambda said: error(f"messages.0.content.0.text: {said}"),
    "the place of a tool's input": lambda said: error(f"messages.1.content.0.tool_use.input.path: {said}"),
    "a place that is no image, as a field": lambda said: {"detail": [{"loc": ["body", "tools", 0, "name"], "msg": said}]},
    "a parameter that is no image": lambda said: error(said, param="tools[0].function.name"),
    "quoted": lambda said: error(f'The prompt "{said}" was flagged by our policy.'),
    "quoted at the beginning": lambda said: error(f"'{said}' is not the name of a tool"),
    "quoted in backticks at the beginning": lambda said: error(f"`{said}` is not a valid tool_choice"),
    "after a colon": lambda said: error(f"Invalid prompt: {said}"),
    "on a line of its own": lambda said: error(f"Your request was refused:\n{said}"),
    "as JSON after words": lambda said: error(f"Could not parse tool arguments: {json.dumps(error(said))}"),
    "what a model made": lambda said: error("Failed to call a function.", code="tool_use_failed", failed_generation=said),
    "what a filter found": lambda said: error("Flagged.", code=400, metadata={"reasons": ["x"], "flagged_input": said}),
    "an answer": lambda said: {"id": "1", "choices": [{"message": {"role": "assistant", "content": said}}]},
    "an answer of Ollama": lambda said: {"model": "m", "message": {"role": "assistant", "content": said}, "done": True},
    "pydantic's words": lambda said: error(
        f"1 validation error for Request\nmodel\n  Field required [type=missing, input_value={{'content': {said!r}}}, "
        "input_type=dict]"
    ),
    "a page of HTML": lambda said: f"<html><body><h1>400 Bad Request</h1><p>{said}</p></body></html>",
}


@pytest.mark.parametrize("form", ECHOES)
def test_what_the_user_wrote_is_not_what_the_provider_says(form: str) -> None:
    for said in SHOWN:
        for status in (400, 200, None):
            for body in (ECHOES[form](said), json.dumps(ECHOES[form](said))):
                assert classify_error(status, body, "anthropic") is None, said


@pytest.mark.parametrize("said", [said for said, row in zip(SHOWN, ROWS, strict=True) if not row.text.endswith("{any}")])
def test_words_that_go_on_are_another_sentence(said: str) -> None:
    assert classify_error(400, error(f"{said} is no name of a tool"), "any") is None


@pytest.mark.parametrize("status", [401, 403, 408, 409, 429, 500, 502, 503, 529])
def test_limits_of_rate_and_failures_of_the_server_are_no_fault_of_an_image(status: int) -> None:
    assert classify_error(status, error(OVER), "anthropic") is None
    wrapped = error("Provider returned error", code=400, metadata={"raw": json.dumps(error(OVER, code=status))})
    assert classify_error(400, wrapped, "openrouter") is None


@pytest.mark.parametrize("status", [400, 429, 500])
def test_an_exception_brings_its_status_and_its_body(status: int) -> None:
    response = httpx.Response(status, json=error(OVER), request=httpx.Request("POST", "https://example.com"))
    raised = httpx.HTTPStatusError("refused", request=response.request, response=response)
    behind = RuntimeError("the turn failed")
    behind.__cause__ = raised
    for exception in (raised, behind):
        fault = classify_error(None, exception, "anthropic")
        assert (fault is not None) == (status == 400)
        assert fault is None or fault.limit == 5_242_880
    before = ConnectionError("reset")
    before.__context__ = raised  # what happened before is not what happened
    assert classify_error(None, before, "anthropic") is None


def test_of_all_wordings_one_comes_with_a_failure_of_the_server_and_from_its_own_alone() -> None:
    for status in (429, 500, 502, 503, 529):
        for said, row in zip(SHOWN, ROWS, strict=True):
            for provider in (row.provider, "openrouter", ""):
                fault = classify_error(status, error(said), provider)
                assert (fault is not None) == (row.in_failure and status == 500 and provider == "ollama"), said


def test_a_cause_that_a_body_names_counts_more_than_its_words() -> None:
    assert classify_error(400, {"error": {"message": OVER, "type": "rate_limit_error"}}, "anthropic") is None
    assert classify_error(None, {"error": {"message": OVER, "type": "overloaded_error"}}, "anthropic") is None
    assert classify_error(200, {"error": {"message": OVER, "code": 503}}, "openrouter") is None


@pytest.mark.parametrize(
    "body", ["", b"", None, "Payload Too Large", "<html><h1>413 Request Entity Too Large</h1></html>", {}, {"error": {}}, 7]
)
def test_the_status_413_alone_proves_nothing(body: Any) -> None:
    assert classify_error(413, body, "anthropic") is None


@pytest.mark.parametrize(
    "message",
    [
        "prompt is too long: 214331 tokens > 200000 maximum",
        "messages: text content blocks must be non-empty",
        "messages.1.content.0.video.source.media_type: Input should be 'image/jpeg', 'image/png', 'image/gif' or 'image/webp'",
        "messages.0.content.0.document.source.base64.media_type: Input should be 'application/pdf'",
        "Unsupported MIME type: video/mp4",
        "The model `image exceeds` does not exist",
        "tools.0.custom.name: String should match pattern '^[a-zA-Z0-9_-]{1,128}$'",
        "Invalid value: 'audio'. Supported values are: 'input_text', 'input_image'",
        "input must be a string",
        "name must be a string",
        "messages.0.content.0.text: Input should be a valid string",
        "max_tokens: expected integer, got string",
        "No endpoints found that support tool use.",
        "invalid params, invalid audio detail: auto (2013)",
    ],
)
def test_other_refusals_are_no_fault_of_an_image(message: str) -> None:
    for provider in ("anthropic", "openai", "gemini", "minimax", "groq", ""):
        assert classify_error(400, error(message), provider) is None


def test_a_sentence_that_names_no_image_counts_only_from_its_own_provider() -> None:
    for text, own in (
        ("Request contains an invalid argument.", "gemini"),
        ("invalid params, chat content is empty (2013)", "minimax"),
    ):
        assert classify_error(400, error(text), own) is not None
        assert classify_error(400, error(text), "anthropic") is None
    fault = classify_error(400, error("Request contains an invalid argument."), "google")
    assert fault is not None
    assert not fault.sure


def test_a_success_is_read_only_for_the_error_in_it() -> None:
    words = "Vision add-on is not loaded, but images were provided for processing"
    assert classify_error(200, {"error": words}, "lmstudio") is not None
    assert classify_error(200, OVER, "anthropic") is None
    assert classify_error(200, f"{words}. That is what you asked me to say", "lmstudio") is None


def test_a_picture_that_a_body_repeats_costs_nothing_and_hides_nothing() -> None:
    url = "data:image/jpeg;base64," + "QUJD" * 500_000
    fault = classify_error(400, error(f"'{url}' is not a valid absolute URI", code="invalid_payload"), "azure")
    assert fault is not None
    assert (fault.kind, len(fault.text) < 400) == ("bytes", True)


ANY_JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=20)
    | st.sampled_from(SHOWN)
    | st.binary(max_size=9),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["error", "message", "detail", "loc", "param", "metadata", "raw", "code", "type"]), inner
        )
    ),
    max_leaves=15,
)


@pytest.mark.slow
@given(status=st.none() | st.integers(0, 999), body=ANY_JSON, provider=st.text(max_size=9))
@hypothesis_settings(max_examples=80, deadline=None)
def test_no_body_raises(status: int | None, body: Any, provider: str) -> None:
    classify_error(status, body, provider)
    classify_error(status, str(body), provider)
    classify_error(status, ValueError(body), provider)


@pytest.mark.parametrize(
    "body", ["[" * 100_000, "{'a':" * 50_000, '{"error":' * 50_000, "b'" + "\\" * 99_999, "x" * 3_000_000, "…" * 300_000]
)
def test_no_body_is_too_deep_or_too_long(body: str) -> None:
    assert classify_error(400, body, "anthropic") is None
    assert classify_error(400, body.encode(), "anthropic") is None
