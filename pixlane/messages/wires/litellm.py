"""LiteLLM: the shape of OpenAI Chat, and `file` parts; the type that a data URL declares goes on to the provider unchecked."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from pixlane.messages.wires import data_urls
from pixlane.messages.wires.openai_chat import OpenAIChat
from pixlane.messages.wires.wire import Found


class LiteLLM(OpenAIChat):
    """What a tool message may hold depends on the provider behind it."""

    name: ClassVar[str] = "litellm"
    tool_images: ClassVar[bool | None] = None

    def read(self, part: Mapping[str, Any]) -> Found | None:
        file = part.get("file")
        if part.get("type") == "file" and isinstance(file, Mapping):
            found = Found.at_url(str(file.get("file_data") or ""), file.get("format"))
            return found if (found.mime or "").startswith("image/") else None
        return super().read(part)

    def with_image(self, part: Any, mime: str, data: bytes) -> Any:
        if part.get("type") != "file":
            return super().with_image(part, mime, data)
        types = {"format": mime} if "format" in part["file"] else {}
        return {**part, "file": {**part["file"], **types, "file_data": data_urls.build(mime, data)}}


WIRE = LiteLLM()
