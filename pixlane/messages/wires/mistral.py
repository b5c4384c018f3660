"""Mistral chat completions: as OpenAI Chat, with the URL as a plain string."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from pixlane.messages.wires import data_urls
from pixlane.messages.wires.openai_chat import OpenAIChat
from pixlane.messages.wires.wire import Part


class Mistral(OpenAIChat):
    """`{"type": "image_url", "image_url": "..."}`; a user message right after tool messages is refused."""

    name: ClassVar[str] = "mistral"
    tool_images: ClassVar[bool | None] = None
    user_after_tool: ClassVar[bool] = False

    def url_part(self, url: str) -> Part:
        return {"type": "image_url", "image_url": url}

    def with_image(self, part: Any, mime: str, data: bytes) -> Any:
        if isinstance(part["image_url"], str):
            return {**part, "image_url": data_urls.build(mime, data)}
        return super().with_image(part, mime, data)

    def tool_message(self, call_id: str, parts: Sequence[Part], name: str = "") -> dict[str, Any]:
        return {**super().tool_message(call_id, parts, name), "name": name}


WIRE = Mistral()
