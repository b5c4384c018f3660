"""OpenAI Chat Completions, and everybody who speaks it. Images in tool messages are lost on the way to the model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from pixlane.messages.wires import data_urls
from pixlane.messages.wires.wire import Found, Message, Part, Wire, listed, mapping


class OpenAIChat(Wire):
    """`{"type": "image_url", "image_url": {"url": ...}}`; a bare string in its place is read too."""

    name: ClassVar[str] = "openai_chat"
    tool_images: ClassVar[bool | None] = False

    def image_part(self, mime: str, data: bytes) -> Part:
        return self.url_part(data_urls.build(mime, data))

    def url_part(self, url: str) -> Part:
        return {"type": "image_url", "image_url": {"url": url}}

    def with_image(self, part: Any, mime: str, data: bytes) -> Any:
        old = part["image_url"] if isinstance(part["image_url"], Mapping) else {}
        types = {key: mime for key in ("media_type", "format") if key in old}  # Copilot's and LiteLLM's own
        return {**part, "image_url": {**old, **types, "url": data_urls.build(mime, data)}}

    def read(self, part: Mapping[str, Any]) -> Found | None:
        if part.get("type") != "image_url":
            return None
        image = part.get("image_url")
        if isinstance(image, Mapping):
            return Found.at_url(str(image.get("url") or ""), image.get("media_type") or image.get("format"))
        return Found.at_url(str(image or ""))

    def tool_message(self, call_id: str, parts: Sequence[Part], name: str = "") -> dict[str, Any]:
        return {"role": "tool", "tool_call_id": call_id, "content": list(parts)}

    def as_string(self, message: Message) -> Message:
        parts = listed(message.get("content"))
        texts = [mapping(part).get("text") for part in parts if mapping(part).get("type") == "text"]
        plain = [text for text in texts if isinstance(text, str)]
        return {**message, "content": "\n\n".join(plain)} if parts and len(plain) == len(parts) else message


WIRE = OpenAIChat()
