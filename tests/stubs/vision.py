"""Stub providers that look at pictures: the real protocol of each API on loopback, the request checked against what is published.

with Provider("anthropic", [GOOD]) as provider:
    view_image(data, "?", model="anthropic/any", config=provider.config, environ=provider.environ)

A script is a list of what each request is answered with, the last for all further ones: a `Said` (what the model says), a `Reply`
(an error of the provider), or a function of the request's body that gives one.
"""

from __future__ import annotations

import base64
import json
import re
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from tests.stubs import published
from tests.stubs.http import Reply, Request, Server

KEY = "sk-test-0123456789abcdef"
AT = "2026-11-30T00:00:00Z"

FINDINGS: dict[str, Any] = {
    "summary": "A red field with a word.",
    "ocr": [{"text": "STOP", "box": {"x": 10, "y": 20, "width": 30, "height": 10}, "confidence": 0.9}],
    "elements": [
        {"id": "a", "role": "text", "text": "STOP", "description": None, "box": None, "confidence": None},
        {"id": "b", "role": "image", "text": None, "description": "a field", "box": None, "confidence": 1},
    ],
    "relations": [{"type": "inside", "a": "a", "b": "b", "confidence": None}],
    "issues": [],
    "uncertainties": ["the shade"],
}


@dataclass(frozen=True)
class Said:
    """What the model says: `ended` whole, cut or refused; `after_s` makes the server slow."""

    text: str
    ended: str = "whole"
    after_s: float = 0.0


def said(**changes: Any) -> Said:
    """A valid answer with these changes."""
    return Said(json.dumps({**FINDINGS, **changes}))


GOOD = said()
FENCED = Said(f"```json\n{GOOD.text}\n```")
WRAPPED = Said(f"Here is what I see:\n\n{GOOD.text}\n\nI hope that helps.")
TRUNCATED = Said(GOOD.text[: len(GOOD.text) // 2], ended="cut")
WRONG_SCHEMA = Said(json.dumps({"schema": "v0", "summary": "x", "ocr": "STOP"}))
TWO_OBJECTS = Said(f"{GOOD.text}\n{GOOD.text}")
REFUSING = Said("I cannot look at this.", ended="refused")
CLOSED = Reply(closes=True)


Step = Said | Reply | Callable[[Any], Said | Reply]


@dataclass
class Provider:
    """A provider on loopback.

    Attributes:
        asked: the bodies of the requests, in order.
        pictures: (type, bytes) of the picture in each.
    """

    wire: str
    script: Sequence[Step]
    name: str = ""
    asked: list[Any] = field(default_factory=list)
    pictures: list[tuple[str | None, bytes]] = field(default_factory=list)
    takes_schema: bool = True
    key: str = KEY

    def __post_init__(self) -> None:
        self.name = self.name or (NAMES[self.wire] if self.key else "own")
        self.server = Server(self._answer)
        self._lock = threading.Lock()

    def __enter__(self) -> Provider:
        published.check_answer(self.wire, ANSWERS[self.wire](GOOD))  # loading an SDK is not a part of anybody's deadline
        self.server.__enter__()
        return self

    def __exit__(self, *reason: Any) -> None:
        self.server.__exit__(*reason)

    @property
    def base_url(self) -> str:
        return self.server.url + PREFIXES[self.wire]

    @property
    def config(self) -> dict[str, Any]:
        """An agent's configuration that names this server for the provider."""
        about = {"base_url": self.base_url, "wire": self.wire}
        return {"providers": {self.name: {**about, "api_key_env": "STUB_KEY"} if self.key else about}}

    @property
    def environ(self) -> dict[str, str]:
        return {"STUB_KEY": self.key} if self.key else {}

    @property
    def model(self) -> str:
        return f"{self.name}/stub-vlm"

    def _answer(self, request: Request) -> Reply:
        if request.method == "GET" or request.path == "/api/show":
            return Reply({}, 404)
        assert PATHS[self.wire].fullmatch(request.path), request.path
        _check_headers(self.wire, request, self.key)
        body = request.json
        published.check(self.wire, body)
        picture = PICTURES[self.wire](body)
        with self._lock:
            step = self.script[min(len(self.asked), len(self.script) - 1)]
            self.asked.append(body)
            self.pictures.append(picture)
        if not self.takes_schema and SCHEMA_OF[self.wire](body):
            return Reply({"error": {"message": f"{SCHEMA_WORD[self.wire]} is not supported by this model"}}, 400)
        if callable(step):
            step = step(body)
        if isinstance(step, Reply):
            return step
        time.sleep(step.after_s)
        answer = ANSWERS[self.wire](step)
        published.check_answer(self.wire, answer)
        return Reply(answer)


NAMES = {
    "openai_chat": "openrouter",
    "openai_responses": "openai",
    "anthropic": "anthropic",
    "gemini": "gemini",
    "ollama": "ollama",
}
PREFIXES = {"openai_chat": "/v1", "openai_responses": "/v1", "anthropic": "", "gemini": "/v1beta", "ollama": ""}
PATHS = {
    "openai_chat": re.compile(r"/v1/chat/completions"),
    "openai_responses": re.compile(r"/v1/responses"),
    "anthropic": re.compile(r"/v1/messages"),
    "gemini": re.compile(r"/v1beta/models/[^/]+:generateContent"),
    "ollama": re.compile(r"/api/chat"),
}
SCHEMA_OF = {
    "openai_chat": lambda body: body.get("response_format"),
    "openai_responses": lambda body: body.get("text"),
    "anthropic": lambda body: body.get("output_config"),
    "gemini": lambda body: body["generationConfig"].get("responseSchema"),
    "ollama": lambda body: body.get("format"),
}
SCHEMA_WORD = {
    "openai_chat": "response_format",
    "openai_responses": "text.format",
    "anthropic": "output_config.format",
    "gemini": "responseSchema",
    "ollama": "format",
}


def _check_headers(wire: str, request: Request, key: str) -> None:
    assert request.headers["content-type"] == "application/json"
    name = {"anthropic": "x-api-key", "gemini": "x-goog-api-key"}.get(wire, "authorization")
    assert request.headers.get(name, "").removeprefix("Bearer ") == key, f"{name} is {request.headers.get(name)!r}"
    assert KEY not in request.path
    assert KEY not in str(request.query)
    if wire == "anthropic":
        assert request.headers["anthropic-version"] == "2023-06-01"


# What the pictures are ------------------------------------------------------------------------------------------------------


def _of_url(url: str) -> tuple[str, bytes]:
    head, _, data = url.partition(";base64,")
    return head.removeprefix("data:"), base64.b64decode(data, validate=True)


def _first(items: Any, key: str) -> Any:
    return next(item[key] for item in items if key in item)


PICTURES = {
    "openai_chat": lambda body: _of_url(_first(body["messages"][1]["content"], "image_url")["url"]),
    "openai_responses": lambda body: _of_url(_first(body["input"][0]["content"], "image_url")),
    "anthropic": lambda body: (lambda source: (source["media_type"], base64.b64decode(source["data"], validate=True)))(
        _first(body["messages"][0]["content"], "source")
    ),
    "gemini": lambda body: (lambda blob: (blob["mimeType"], base64.b64decode(blob["data"], validate=True)))(
        _first(body["contents"][0]["parts"], "inlineData")
    ),
    "ollama": lambda body: (None, base64.b64decode(body["messages"][1]["images"][0], validate=True)),
}


# What a model's words look like on each wire --------------------------------------------------------------------------------


def _chat(step: Said) -> dict[str, Any]:
    refusal = step.text if step.ended == "refused" else None
    message = {"role": "assistant", "content": None if refusal else step.text, "refusal": refusal}
    reason = {"cut": "length"}.get(step.ended, "stop")
    choice = {"index": 0, "message": message, "finish_reason": reason, "logprobs": None}
    return {"id": "c1", "object": "chat.completion", "created": 1, "model": "stub-vlm", "choices": [choice]}


def _responses(step: Said) -> dict[str, Any]:
    part: dict[str, Any] = {"type": "output_text", "text": step.text, "annotations": []}
    if step.ended == "refused":
        part = {"type": "refusal", "refusal": step.text}
    items = [
        {"type": "reasoning", "id": "r1", "summary": []},
        {"type": "message", "id": "m1", "role": "assistant", "status": "completed", "content": [part]},
    ]
    cut = step.ended == "cut"
    return {
        "id": "resp_1",
        "object": "response",
        "created_at": 1,
        "model": "stub-vlm",
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
        "status": "incomplete" if cut else "completed",
        "incomplete_details": {"reason": "max_output_tokens"} if cut else None,
        "error": None,
        "output": items,
    }


def _anthropic(step: Said) -> dict[str, Any]:
    reason = {"cut": "max_tokens", "refused": "refusal"}.get(step.ended, "end_turn")
    content = [] if step.ended == "refused" else [{"type": "text", "text": step.text}]
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "stub-vlm",
        "content": content,
        "stop_reason": reason,
        "stop_sequence": None,
        "usage": {"input_tokens": 1, "output_tokens": 1},
    }


def _gemini(step: Said) -> dict[str, Any]:
    if step.ended == "refused":
        return {"promptFeedback": {"blockReason": "PROHIBITED_CONTENT"}}
    parts = [{"text": '{"summary": "a thought"}', "thought": True}, {"text": step.text}]
    reason = {"cut": "MAX_TOKENS"}.get(step.ended, "STOP")
    return {"candidates": [{"content": {"role": "model", "parts": parts}, "finishReason": reason, "index": 0}]}


def _ollama(step: Said) -> dict[str, Any]:
    reason = {"cut": "length"}.get(step.ended, "stop")
    message = {"role": "assistant", "content": step.text}
    return {"model": "stub-vlm", "created_at": AT, "message": message, "done": True, "done_reason": reason}


ANSWERS = {
    "openai_chat": _chat,
    "openai_responses": _responses,
    "anthropic": _anthropic,
    "gemini": _gemini,
    "ollama": _ollama,
}
