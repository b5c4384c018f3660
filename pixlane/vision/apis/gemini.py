"""Gemini generateContent: inline data, the order of picture and text as it is given, and a schema in its subset of OpenAPI.

Source: ai.google.dev, GenerateContent, Schema, and Image understanding (boxes in thousandths).
"""

from __future__ import annotations

from typing import Any, ClassVar, Literal
from urllib.parse import quote

from pixlane.vision.apis.api import Api, Ask, Reply, joined
from pixlane.vision.credentials import Secret

REFUSALS = ("SAFETY", "RECITATION", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "IMAGE_SAFETY", "LANGUAGE")


class Gemini(Api):
    wire: ClassVar[str] = "gemini"
    units: ClassVar[Literal["pixels", "thousandths"]] = "thousandths"
    schema_words: ClassVar[tuple[str, ...]] = ("responseSchema", "response_schema", "JSON mode", "responseMimeType")

    def url(self, base_url: str, model: str) -> str:
        return joined(base_url, f"models/{quote(model.removeprefix('models/'), safe='')}:generateContent")

    def headers(self, key: Secret | None) -> dict[str, str]:
        return {"x-goog-api-key": key.reveal()} if key else {}  # not in the URL, which is logged

    def body(self, ask: Ask) -> dict[str, Any]:
        contents = [self.opening(ask)]
        for turn in ask.turns:
            contents += [
                {"role": "model", "parts": [{"text": turn.reply}]},
                {"role": "user", "parts": [{"text": turn.complaint}]},
            ]
        config: dict[str, Any] = {"maxOutputTokens": self.max_tokens}
        if ask.schema is not None:
            config |= {"responseMimeType": "application/json", "responseSchema": lowered(ask.schema)}
        return {"systemInstruction": {"parts": [{"text": ask.system}]}, "contents": contents, "generationConfig": config}

    def read(self, answer: Any) -> Reply:
        blocked = (answer.get("promptFeedback") or {}).get("blockReason")
        if blocked:
            return Reply("", "refused", f"the request was blocked: {blocked}")
        candidate = answer["candidates"][0]
        ended = candidate.get("finishReason")
        if ended in REFUSALS:
            return Reply("", "refused", f"the reply was stopped: {ended}")
        parts = (candidate.get("content") or {}).get("parts") or ()
        text = "".join(part.get("text") or "" for part in parts if not part.get("thought"))
        return Reply(text, "cut" if ended == "MAX_TOKENS" else "whole")


def lowered(schema: dict[str, Any]) -> dict[str, Any]:
    """A JSON Schema in Gemini's own form: types in capitals, `nullable` for a choice with null, `const` as an enum of one,
    the order of keys said; `additionalProperties` has no place there."""
    choices = schema.get("anyOf")
    if choices is not None:
        others = [choice for choice in choices if choice.get("type") != "null"]
        inner = lowered(others[0]) if len(others) == 1 else {"anyOf": [lowered(choice) for choice in others]}
        return {**inner, "nullable": True} if len(others) < len(choices) else inner
    made: dict[str, Any] = {"type": schema["type"].upper()}
    if "description" in schema:
        made["description"] = schema["description"]
    if "const" in schema or "enum" in schema:
        made["enum"] = list(schema.get("enum") or [schema["const"]])
        made["format"] = "enum"
    if "items" in schema:
        made["items"] = lowered(schema["items"])
    if "properties" in schema:
        made["properties"] = {name: lowered(inner) for name, inner in schema["properties"].items()}
        made["required"] = list(schema.get("required", ()))
        made["propertyOrdering"] = list(schema["properties"])
    return made


API = Gemini()
