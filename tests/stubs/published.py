"""Whether a request has the form that a vendor publishes: the types of its own SDK, walked strictly; for Ollama its docs/api.md.

`check(wire, body)` raises AssertionError with the place and what is wrong there: a key that is not known, one that is missing, or
a value of another type. `check_answer(wire, body)` does the same for what a stub answers, so that it speaks the real protocol.
"""

from __future__ import annotations

import types
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from importlib import import_module
from typing import Annotated, Any, Literal, NotRequired, Required, Union, get_args, get_origin

import jsonschema
from typing_extensions import get_type_hints, is_typeddict


def check(wire: str, body: Any) -> None:
    CHECKS[wire](body)


def check_answer(wire: str, body: Any) -> None:
    if wire == "ollama":
        jsonschema.validate(body, OLLAMA_ANSWER)
    else:
        _kind_of_answer(wire).model_validate(body)


@cache
def _kind_of_answer(wire: str) -> Any:
    module, name = ANSWER_KINDS[wire]
    return getattr(import_module(module), name)


ANSWER_KINDS = {
    "openai_chat": ("openai.types.chat", "ChatCompletion"),
    "openai_responses": ("openai.types.responses", "Response"),
    "anthropic": ("anthropic.types", "Message"),
    "gemini": ("google.genai.types", "GenerateContentResponse"),
}


def _openai_chat(body: Any) -> None:
    from openai.types.chat.completion_create_params import CompletionCreateParamsNonStreaming

    _conforms(body, CompletionCreateParamsNonStreaming)
    if "response_format" in body:
        _is_strict(body["response_format"]["json_schema"]["schema"])


def _openai_responses(body: Any) -> None:
    from openai.types.responses.response_create_params import ResponseCreateParamsNonStreaming

    _conforms(body, ResponseCreateParamsNonStreaming)
    if "text" in body:
        _is_strict(body["text"]["format"]["schema"])


def _anthropic(body: Any) -> None:
    from anthropic.types.message_create_params import MessageCreateParamsNonStreaming

    _conforms(body, MessageCreateParamsNonStreaming)
    if "output_config" in body:
        _is_strict(body["output_config"]["format"]["schema"])


def _gemini(body: Any) -> None:
    """The REST form: camel case, nothing unknown. The SDK's own models refuse what they do not know."""
    from google.genai import types as genai

    assert set(body) <= {"contents", "systemInstruction", "generationConfig"}, set(body)
    _is_camel(body)
    for content in [*body["contents"], body["systemInstruction"]]:
        genai.Content.model_validate(content)
    genai.GenerationConfig.model_validate(body["generationConfig"])


def _ollama(body: Any) -> None:
    jsonschema.validate(body, OLLAMA)
    if "format" in body:
        jsonschema.Draft202012Validator.check_schema(body["format"])


CHECKS = {
    "openai_chat": _openai_chat,
    "openai_responses": _openai_responses,
    "anthropic": _anthropic,
    "gemini": _gemini,
    "ollama": _ollama,
}

OLLAMA = {
    "type": "object",
    "required": ["model", "messages"],
    "additionalProperties": False,
    "properties": {
        "model": {"type": "string"},
        "messages": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["role", "content"],
                "additionalProperties": False,
                "properties": {
                    "role": {"enum": ["system", "user", "assistant", "tool"]},
                    "content": {"type": "string"},
                    "images": {"type": "array", "items": {"type": "string", "pattern": "^[A-Za-z0-9+/]+=*$"}},
                },
            },
        },
        "format": {"type": "object"},
        "stream": {"type": "boolean"},
        "options": {"type": "object", "properties": {"num_predict": {"type": "integer"}}, "additionalProperties": False},
    },
}


OLLAMA_ANSWER = {
    "type": "object",
    "required": ["model", "created_at", "message", "done", "done_reason"],
    "properties": {"message": {"type": "object", "required": ["role", "content"]}, "done": {"const": True}},
}


# The subset of JSON Schema that structured outputs take: developers.openai.com/api/docs/guides/structured-outputs
_KEYWORDS = {"type", "properties", "required", "additionalProperties", "items", "anyOf", "enum", "const", "description"}


def _is_strict(node: Any, place: str = "schema") -> None:
    assert set(node) <= _KEYWORDS, f"{place}: {set(node) - _KEYWORDS}"
    if node.get("type") == "object":
        assert node.get("additionalProperties") is False, f"{place}: additionalProperties must be false"
        assert set(node["required"]) == set(node["properties"]), f"{place}: every property must be required"
    for name, inner in node.get("properties", {}).items():
        _is_strict(inner, f"{place}.{name}")
    for inner in [*node.get("anyOf", ()), *([node["items"]] if "items" in node else ())]:
        _is_strict(inner, f"{place}[]")


def _is_camel(node: Any) -> None:
    if isinstance(node, dict):
        assert not [key for key in node if "_" in key], list(node)
        for inner in node.values():
            _is_camel(inner)
    elif isinstance(node, list):
        for inner in node:
            _is_camel(inner)


# A value against a type of an SDK -----------------------------------------------------------------------------------------


def _conforms(value: Any, kind: Any, place: str = "body") -> None:
    origin = get_origin(kind)
    if kind in (Any, object):
        return
    if origin in (Annotated, Required, NotRequired):
        _conforms(value, get_args(kind)[0], place)
    elif origin in (Union, types.UnionType):
        _conforms_to_one(value, get_args(kind), place)
    elif origin is Literal:
        assert value in get_args(kind), f"{place}: {value!r} is none of {get_args(kind)}"
    elif is_typeddict(kind):
        assert isinstance(value, Mapping), f"{place}: {value!r} is no object"
        hints = _hints(kind)
        assert set(value) <= set(hints), f"{place}: {kind.__name__} knows no {set(value) - set(hints)}"
        required = {name for name, hint in hints.items() if get_origin(hint) is Required}
        assert required <= set(value), f"{place}: {kind.__name__} lacks {required - set(value)}"
        for name, inner in value.items():
            _conforms(inner, hints[name], f"{place}.{name}")
    elif origin in (list, Sequence, Iterable) or (
        isinstance(origin, type) and issubclass(origin, Iterable) and origin is not dict
    ):
        assert isinstance(value, list), f"{place}: {value!r} is no list"
        for index, inner in enumerate(value):
            _conforms(inner, get_args(kind)[0], f"{place}[{index}]")
    elif origin in (dict, Mapping):
        assert isinstance(value, dict), f"{place}: {value!r} is no object"
    elif isinstance(kind, type):
        fits = isinstance(value, (int, float) if kind is float else kind) and not (kind is int and isinstance(value, bool))
        assert fits, f"{place}: {str(value)[:80]!r} is no {kind.__name__}"
    else:
        raise TypeError(f"{place}: {kind!r} is not understood")


def _conforms_to_one(value: Any, kinds: Sequence[Any], place: str) -> None:
    problems = []
    for kind in kinds:
        try:
            return _conforms(value, kind, place)
        except AssertionError as error:
            problems.append(str(error))
    raise AssertionError(max(problems, key=lambda said: (said.count("."), said)))


@cache
def _hints(kind: Any) -> dict[str, Any]:
    return dict(get_type_hints(kind, include_extras=True))
