"""Every wording with which a provider refuses images, and what it is taken for."""

from __future__ import annotations

import json

import pytest

from pixlane.messages import ImageFault, classify_error
from pixlane.messages.faults import KINDS, Wording, codes, wordings
from tests.pure.refusal_texts import BODIES, IN_MESSAGE, OVER, TEXTS, TOOL_TEXTS, openai_body


@pytest.mark.parametrize(("status", "provider", "text", "kind", "limit", "place"), TEXTS, ids=[row[2][:70] for row in TEXTS])
def test_every_text_is_known(
    status: int, provider: str, text: str, kind: str, limit: tuple[int | None, str | None], place: tuple[int, ...]
) -> None:
    fault = classify_error(status, text, provider)
    assert fault is not None
    assert (fault.kind, fault.limit, fault.place) == (kind, limit[0], place)
    assert limit[1] in (fault.basis, fault.unit, None)
    assert fault.message_index == (place[0] if place else None)
    assert fault.content_index == (place[1] if len(place) > 1 else None)


@pytest.mark.parametrize("form", BODIES)
def test_every_text_is_known_in_every_form_of_a_body(form: str) -> None:
    for status, provider, text, kind, (limit, _), place in TEXTS:
        fault = classify_error(status, BODIES[form](text), provider)
        assert fault is not None, text
        assert (fault.kind, fault.limit, fault.place) == (kind, limit, place), text


@pytest.mark.parametrize("text", TOOL_TEXTS)
def test_a_tool_message_that_has_to_be_a_string(text: str) -> None:
    for form in BODIES.values():
        fault = classify_error(400, form(text), "custom:my-proxy")
        assert fault is not None
        assert fault.kind == "tool_images"


@pytest.mark.parametrize("code", codes())
def test_a_code_says_it_without_words(code: str) -> None:
    fault = classify_error(400, openai_body("Something went wrong.", code=code), "openai")
    assert fault is not None
    assert fault.kind == codes()[code]
    assert classify_error(400, {"error": {"message": "", "type": code}}, "openai") is None, "only a code is one"


@pytest.mark.parametrize(
    ("text", "kind", "limit"),
    [
        ("Image size must be less than 20MB", "bytes", 20_000_000),
        ("Image exceeds 4 MiB maximum", "bytes", 4 << 20),
        ("image file size is too large", "bytes", None),
        ("image too large", "bytes", None),
        ("image_too_large", "bytes", None),
        ("image size exceeds the limit", "bytes", None),
        ("image dimensions exceed the maximum", "pixels", None),
        ("too many images", "count", None),
        ("unsupported image", "type", None),
        ("This model does not support image inputs.", "no_vision", None),
    ],
)
def test_what_several_servers_say_is_known_from_anybody(text: str, kind: str, limit: int | None) -> None:
    fault = classify_error(None, openai_body(text), "")
    assert fault is not None
    assert (fault.kind, fault.limit) == (kind, limit)


def test_xiaomi_says_it_in_a_field_of_its_own() -> None:
    body = {"error": {"code": "400", "message": "Param Incorrect", "param": "`text` is not set", "type": ""}}
    fault = classify_error(400, body, "xiaomi")
    assert fault is not None
    assert fault.kind == "tool_images"


def test_the_field_beside_the_sentence_names_the_place() -> None:
    body = openai_body(
        "You uploaded an unsupported image.", code="invalid_image_format", param="messages.[3].content.[1].image_url"
    )
    fault = classify_error(400, body, "openai")
    assert fault is not None
    assert fault.place == (3, 1)
    pydantic = {
        "detail": [{"type": "string_type", "loc": ["body", "messages", 2, "content"], "msg": "Input should be a valid string"}]
    }
    fault = classify_error(422, pydantic, "vllm")
    assert fault is not None
    assert (fault.kind, fault.place) == ("tool_images", (2,))


@pytest.mark.parametrize("row", wordings(), ids=lambda row: row.text[:60])
def test_every_row_of_the_table_is_reached(row: Wording) -> None:
    text = row.text.format(any="12 x", limit="9", actual="10", path="messages[1]")
    fault = classify_error(200 if row.in_success else 400, text, row.provider)
    assert fault is not None
    assert (fault.kind, fault.provider, fault.source) == (row.kind, row.provider, row.source)
    assert row.kind in KINDS
    assert row.source


def test_a_fault_is_json() -> None:
    fault = classify_error(400, f"{IN_MESSAGE}.base64: {OVER}", "anthropic")
    assert isinstance(fault, ImageFault)
    record = json.loads(json.dumps(fault.to_dict()))
    assert (record["kind"], record["limit"], record["actual"], record["place"]) == ("bytes", 5_242_880, 15_908_784, [3, 1])
