"""Anthropic Messages.

Source: platform.claude.com, Messages API and Structured outputs (`output_config.format`).
"""

from __future__ import annotations

from typing import Any, ClassVar

from pixlane.vision.apis.api import Api, Ask, Reply, joined, without
from pixlane.vision.credentials import Secret

VERSION = "2023-06-01"


class Anthropic(Api):
    wire: ClassVar[str] = "anthropic"
    schema_words: ClassVar[tuple[str, ...]] = ("output_config", "output_format", "json_schema", "structured output")

    def url(self, base_url: str, model: str) -> str:
        return joined(without(base_url, "/v1"), "v1/messages")

    def headers(self, key: Secret | None) -> dict[str, str]:
        return {"anthropic-version": VERSION, **({"x-api-key": key.reveal()} if key else {})}

    def body(self, ask: Ask) -> dict[str, Any]:
        messages = [self.opening(ask)]
        for turn in ask.turns:
            # An empty block is refused; a reply without words is said as such.
            messages += [
                {"role": "assistant", "content": turn.reply.strip() or "(no text)"},
                {"role": "user", "content": turn.complaint},
            ]
        body: dict[str, Any] = {"model": ask.model, "max_tokens": self.max_tokens, "system": ask.system, "messages": messages}
        if ask.schema is not None:
            body["output_config"] = {"format": {"type": "json_schema", "schema": ask.schema}}
        return body

    def read(self, answer: Any) -> Reply:
        ended = answer.get("stop_reason")
        if ended == "refusal":
            return Reply("", "refused", "the model refused")
        text = "".join(block["text"] for block in answer["content"] if block.get("type") == "text")
        return Reply(text, "cut" if ended == "max_tokens" else "whole")


API = Anthropic()
