"""LangChain messages as dictionaries: the standard content blocks of v1, the older ones, and OpenAI's shape among them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar

from pixlane.messages.wires import data_urls
from pixlane.messages.wires.openai_chat import WIRE as CHAT
from pixlane.messages.wires.wire import Found, Message, Part, Path, Wire

_ROLES = {"human": "user", "ai": "assistant"}


class LangChain(Wire):
    """`{"type": "image", "base64": ..., "mime_type": ...}` or `url` or `file_id`; what a tool may return the provider decides."""

    name: ClassVar[str] = "langchain"

    def image_part(self, mime: str, data: bytes) -> Part:
        return {"type": "image", "base64": data_urls.encode(data), "mime_type": mime}

    def url_part(self, url: str) -> Part:
        return {"type": "image", "url": url}

    def with_image(self, part: Any, mime: str, data: bytes) -> Any:
        if part.get("type") == "image_url":
            return CHAT.with_image(part, mime, data)
        if "source_type" in part:
            kept = {key: value for key, value in part.items() if key not in ("url", "id")}
            return {**kept, "source_type": "base64", "data": data_urls.encode(data), "mime_type": mime}
        kept = {key: value for key, value in part.items() if key not in ("url", "file_id")}
        return {**kept, **self.image_part(mime, data)}

    def read(self, part: Mapping[str, Any]) -> Found | None:
        if part.get("type") == "image_url":
            return CHAT.read(part)
        if part.get("type") != "image":
            return None
        mime = part.get("mime_type")
        if part.get("url"):
            return Found.at_url(str(part["url"]), mime)
        ref = part.get("file_id") or (part.get("id") if part.get("source_type") == "id" else None)
        return Found(mime, ref=str(ref)) if ref else Found(mime, data=part.get("base64") or part.get("data") or "")

    def contents(self, message: Message) -> Iterator[tuple[Path, bool]]:
        keys: Path = ("data", "content") if isinstance(message.get("data"), Mapping) else ("content",)
        yield keys, self.role(message) == "tool"

    def role(self, message: Message) -> str:
        said = str(message.get("role") or message.get("type") or "user")
        return _ROLES.get(said, said)

    def tool_message(self, call_id: str, parts: Sequence[Part], name: str = "") -> dict[str, Any]:
        return {"role": "tool", "tool_call_id": call_id, "content": list(parts)}

    def as_string(self, message: Message) -> Message:
        return CHAT.as_string(message)


WIRE = LangChain()
