"""OpenAI Responses. Nothing is stored at the provider.

Source: openai/openai-openapi, CreateResponse; developers.openai.com, Structured Outputs.
"""

from __future__ import annotations

from typing import Any, ClassVar

from pixlane.vision.apis.api import Api, Ask, Reply, joined
from pixlane.vision.findings import SCHEMA


class OpenAIResponses(Api):
    wire: ClassVar[str] = "openai_responses"
    schema_words: ClassVar[tuple[str, ...]] = ("text.format", "json_schema", "structured output")

    def url(self, base_url: str, model: str) -> str:
        return joined(base_url, "responses")

    def body(self, ask: Ask) -> dict[str, Any]:
        items = [self.opening(ask)]
        for turn in ask.turns:
            items += [{"role": "assistant", "content": turn.reply}, {"role": "user", "content": turn.complaint}]
        body: dict[str, Any] = {
            "model": ask.model,
            "instructions": ask.system,
            "input": items,
            "max_output_tokens": self.max_tokens,
            "store": False,
        }
        if ask.schema is not None:
            named = {"type": "json_schema", "name": SCHEMA.replace(".", "_"), "strict": True, "schema": ask.schema}
            body["text"] = {"format": named}
        return body

    def read(self, answer: Any) -> Reply:
        parts = [part for item in answer["output"] if item.get("type") == "message" for part in item["content"]]
        refusals = [part.get("refusal") or "" for part in parts if part.get("type") == "refusal"]
        why = (answer.get("incomplete_details") or {}).get("reason")
        if refusals or why == "content_filter":
            return Reply("", "refused", " ".join(refusals) or "a content filter stopped it")
        if answer.get("status") == "failed":
            raise ValueError(f"the response failed: {(answer.get('error') or {}).get('message')}")
        text = "".join(part.get("text") or "" for part in parts if part.get("type") == "output_text")
        return Reply(text, "cut" if answer.get("status") == "incomplete" else "whole")


API = OpenAIResponses()
