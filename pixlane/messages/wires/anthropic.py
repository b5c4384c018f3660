"""Anthropic Messages, also on Vertex and in Bedrock's InvokeModel: tool results are blocks of a user message."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar

from pixlane.messages.wires import data_urls
from pixlane.messages.wires.wire import Found, Part, Path, Wire


class Anthropic(Wire):
    """`{"type": "image", "source": {"type": "base64", "media_type": ..., "data": ...}}`."""

    name: ClassVar[str] = "anthropic"
    tool_images: ClassVar[bool | None] = True
    tool_results_in_user: ClassVar[bool] = True

    def image_part(self, mime: str, data: bytes) -> Part:
        return {"type": "image", "source": {"type": "base64", "media_type": mime, "data": data_urls.encode(data)}}

    def url_part(self, url: str) -> Part:
        return {"type": "image", "source": {"type": "url", "url": url}}

    def read(self, part: Mapping[str, Any]) -> Found | None:
        source = part.get("source")
        if part.get("type") != "image" or not isinstance(source, Mapping):
            return None
        if source.get("type") == "url":
            return Found.at_url(str(source.get("url") or ""))
        if source.get("file_id"):
            return Found(ref=str(source["file_id"]))
        return Found(source.get("media_type"), data=source.get("data") or "")

    def inner(self, part: Mapping[str, Any]) -> Iterator[tuple[Path, bool]]:
        if part.get("type") == "tool_result":
            yield ("content",), True
        elif part.get("type") == "document":
            yield ("source", "content"), False

    def tool_message(self, call_id: str, parts: Sequence[Part], name: str = "") -> dict[str, Any]:
        return self.user_message([{"type": "tool_result", "tool_use_id": call_id, "content": list(parts)}])


WIRE = Anthropic()
