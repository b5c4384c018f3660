"""Ollama's own API: a message is one text and a list of base64 pictures; `format` takes a schema.

Source: ollama/ollama docs/api.md, POST /api/chat.
"""

from __future__ import annotations

from typing import Any, ClassVar

from pixlane.vision.apis.api import Api, Ask, Reply, joined, without


class Ollama(Api):
    wire: ClassVar[str] = "ollama"
    schema_words: ClassVar[tuple[str, ...]] = ("format", "grammar")

    def url(self, base_url: str, model: str) -> str:
        return joined(without(base_url, "/v1", "/api"), "api/chat")

    def body(self, ask: Ask) -> dict[str, Any]:
        messages = [{"role": "system", "content": ask.system}, self.opening(ask)]
        for turn in ask.turns:
            messages += [{"role": "assistant", "content": turn.reply}, {"role": "user", "content": turn.complaint}]
        body: dict[str, Any] = {"model": ask.model, "messages": messages, "stream": False}
        if ask.bounded:
            body["options"] = {"num_predict": self.max_tokens}
        if ask.schema is not None:
            body["format"] = ask.schema
        return body

    def read(self, answer: Any) -> Reply:
        return Reply(answer["message"].get("content") or "", "cut" if answer.get("done_reason") == "length" else "whole")


API = Ollama()
