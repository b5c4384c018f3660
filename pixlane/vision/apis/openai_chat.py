"""OpenAI Chat Completions, and the many servers that speak it.

Source: openai/openai-openapi, CreateChatCompletionRequest; developers.openai.com, Structured Outputs.
"""

from __future__ import annotations

from typing import Any, ClassVar

from pixlane.vision.apis.api import Api, Ask, Reply, joined
from pixlane.vision.findings import SCHEMA

OWN_LIMIT = ("openai", "azure")
"""Providers whose newer models refuse `max_tokens`; the others know only that."""


class OpenAIChat(Api):
    wire: ClassVar[str] = "openai_chat"
    max_tokens: ClassVar[int] = 8192  # many of the models behind it have no more
    schema_words: ClassVar[tuple[str, ...]] = ("response_format", "json_schema", "structured output")

    def url(self, base_url: str, model: str) -> str:
        return joined(base_url, "chat/completions")

    def body(self, ask: Ask) -> dict[str, Any]:
        messages = [{"role": "system", "content": ask.system}, self.opening(ask)]
        for turn in ask.turns:
            messages += [{"role": "assistant", "content": turn.reply}, {"role": "user", "content": turn.complaint}]
        body: dict[str, Any] = {"model": ask.model, "messages": messages}
        if ask.bounded:
            body["max_completion_tokens" if ask.provider in OWN_LIMIT else "max_tokens"] = self.max_tokens
        if ask.schema is not None:
            named = {"name": SCHEMA.replace(".", "_"), "strict": True, "schema": ask.schema}
            body["response_format"] = {"type": "json_schema", "json_schema": named}
        return body

    def read(self, answer: Any) -> Reply:
        choice = answer["choices"][0]
        message = choice["message"]
        if message.get("refusal"):
            return Reply("", "refused", str(message["refusal"]))
        if choice.get("finish_reason") == "content_filter":
            return Reply("", "refused", "a content filter stopped it")
        return Reply(_text(message.get("content")), "cut" if choice.get("finish_reason") == "length" else "whole")


def _text(content: Any) -> str:
    """A string, or with some servers a list of parts."""
    if isinstance(content, list):
        return "".join(part.get("text") or "" for part in content if isinstance(part, dict))
    return content or ""


API = OpenAIChat()
