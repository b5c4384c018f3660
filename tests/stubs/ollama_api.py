"""Ollama's own /api/chat and its OpenAI endpoint as far as images go."""

from __future__ import annotations

from typing import Any

from tests.stubs import pictures
from tests.stubs.http import Request
from tests.stubs.openai_api import OpenAIChat
from tests.stubs.pictures import Picture
from tests.stubs.provider import Provider, Refused, Turn, limits_published


class OllamaChat(Provider):
    """POST /api/chat. Refusals are `{"error": "..."}`.

    Args:
        one_image: the model takes a single image in a message.
    """

    name = "Ollama"
    limits_of = "llama_cpp"

    def __init__(self, *args: Any, one_image: bool = False, **options: Any) -> None:
        super().__init__(*args, **options)
        self.one_image = one_image

    def read(self, request: Request) -> Turn:
        assert request.path == "/api/chat", request.path
        seen: list[Picture] = []
        texts: list[str] = []
        for message in request.json["messages"]:
            assert isinstance(message["content"], str)
            texts.append(message["content"])
            if self.one_image and len(message.get("images") or ()) > 1:
                raise self.refuse("one_image")
            seen += [self._picture(image) for image in message.get("images") or ()]
        return Turn(tuple(seen), tuple(texts))

    def _picture(self, text: Any) -> Picture:
        data = pictures.from_base64(text) if isinstance(text, str) else None
        if data is None:
            broken = next((place for place, one in enumerate(str(text)) if not (one.isalnum() or one in "+/=")), len(str(text)))
            raise self.refuse("base64", actual=broken)
        picture = pictures.look(data)
        taken = (
            *self.limits["accepted_mime"],
            *limits_published("ollama_openai_compat")["accepted_mime"],
        )  # WebP becomes PNG before
        if picture.mime not in taken or not picture.whole:
            raise self.refuse("decode")
        return picture

    def success(self, request: Request, text: str) -> Any:
        message = {"role": "assistant", "content": text}
        return {"model": request.json["model"], "created_at": "2026-11-30T00:00:00Z", "message": message, "done": True}

    def error(self, refused: Refused) -> Any:
        return {"error": refused.text}


class OllamaOpenAI(OpenAIChat):
    """POST /v1/chat/completions: base64 of four types, no URLs."""

    name = "Ollama"
    limits_of = "ollama_openai_compat"

    def picture(self, url: str) -> Picture | None:
        if url.startswith(("http://", "https://")):
            raise self.refuse("url")
        inline = pictures.from_data_url(url)
        if inline is None or inline[0] not in self.limits["accepted_mime"] or inline[1] is None:
            raise self.refuse("invalid")
        picture = pictures.look(inline[1])
        if not picture.whole:
            raise self.refuse("type", "llama.cpp")
        return picture


class OllamaAnthropic(Provider):
    """POST /v1/messages: base64 sources alone."""

    name = "Ollama"
    limits_of = "ollama_openai_compat"

    def read(self, request: Request) -> Turn:
        seen = []
        for message in request.json["messages"]:
            for block in message["content"]:
                if block["type"] == "image":
                    if block["source"]["type"] != "base64":
                        raise self.refuse("source", type=block["source"]["type"])
                    seen.append(pictures.look(pictures.from_base64(block["source"]["data"]) or b""))
        return Turn(tuple(seen), ())

    def error(self, refused: Refused) -> Any:
        return {"type": "error", "error": {"type": "invalid_request_error", "message": refused.text}}
