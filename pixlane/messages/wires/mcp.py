"""The Model Context Protocol: content blocks of tool results, prompts and sampling messages (2025-06-18 and 2025-11-25)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar

from pixlane.messages.wires import data_urls
from pixlane.messages.wires.wire import Found, Message, Part, Path, Wire


class MCP(Wire):
    """`{"type": "image", "data": ..., "mimeType": ...}`; the type is free text, so only the bytes count.

    A "message" is a `CallToolResult` (no role) or a prompt's or sampling message. An embedded resource that is an image counts.
    """

    name: ClassVar[str] = "mcp"
    takes_url: ClassVar[bool] = False
    tool_images: ClassVar[bool | None] = True
    user_after_tool: ClassVar[bool] = False

    def image_part(self, mime: str, data: bytes) -> Part:
        return {"type": "image", "data": data_urls.encode(data), "mimeType": mime}

    def with_image(self, part: Any, mime: str, data: bytes) -> Any:
        if part.get("type") == "resource":
            return {**part, "resource": {**part["resource"], "blob": data_urls.encode(data), "mimeType": mime}}
        return super().with_image(part, mime, data)

    def read(self, part: Mapping[str, Any]) -> Found | None:
        if part.get("type") == "image":
            return Found(part.get("mimeType"), data=part.get("data") or "")
        resource = part.get("resource")
        if part.get("type") == "resource" and isinstance(resource, Mapping) and isinstance(resource.get("blob"), str):
            mime = str(resource.get("mimeType") or "")
            return Found(mime, data=resource["blob"]) if mime.startswith("image/") else None
        return None

    def contents(self, message: Message) -> Iterator[tuple[Path, bool]]:
        yield ("content",), "role" not in message

    def inner(self, part: Mapping[str, Any]) -> Iterator[tuple[Path, bool]]:
        if part.get("type") == "tool_result":
            yield ("content",), True

    def role(self, message: Message) -> str:
        return str(message.get("role") or "tool")

    def tool_message(self, call_id: str, parts: Sequence[Part], name: str = "") -> dict[str, Any]:
        return {"content": list(parts)}


WIRE = MCP()
