"""Vercel AI SDK model messages: file parts, and tool results whose output is content."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar

from pixlane.messages.wires import data_urls
from pixlane.messages.wires.wire import Found, Part, Path, Wire

_INLINE = ("media", "image-data", "file-data")  # parts of tool outputs before specification 4
_REMOTE = ("image-url", "file-url")


class Vercel(Wire):
    """`{"type": "file", "mediaType": ..., "data": {"type": "data", "data": ...}}`; older image and media parts are read."""

    name: ClassVar[str] = "vercel"

    def image_part(self, mime: str, data: bytes) -> Part:
        return {"type": "file", "mediaType": mime, "data": {"type": "data", "data": data_urls.encode(data)}}

    def url_part(self, url: str) -> Part:
        return {"type": "file", "mediaType": "image/*", "data": {"type": "url", "url": url}}

    def with_image(self, part: Any, mime: str, data: bytes) -> Any:
        if part["type"] in _INLINE:
            return {**part, "data": data_urls.encode(data), "mediaType": mime}
        if part["type"] == "image":
            return {**part, "image": data_urls.encode(data), "mediaType": mime}
        return super().with_image(part, mime, data)

    def read(self, part: Mapping[str, Any]) -> Found | None:
        kind, mime = part.get("type"), part.get("mediaType") or part.get("mimeType")
        if kind == "image":
            return _found(part.get("image"), mime)
        if kind == "image-file-id":
            return Found(ref=str(part.get("fileId")))
        if kind in _REMOTE and (kind == "image-url" or _is_image(mime)):
            return Found.at_url(str(part.get("url") or ""), mime)
        if (kind == "file" and _is_image(mime)) or (kind in _INLINE and (kind == "image-data" or _is_image(mime))):
            return _found(part.get("data"), mime)
        return None

    def inner(self, part: Mapping[str, Any]) -> Iterator[tuple[Path, bool]]:
        output = part.get("output")
        if part.get("type") == "tool-result" and isinstance(output, Mapping) and output.get("type") == "content":
            yield ("output", "value"), True

    def tool_message(self, call_id: str, parts: Sequence[Part], name: str = "") -> dict[str, Any]:
        output = {"type": "content", "value": list(parts)}
        return {"role": "tool", "content": [{"type": "tool-result", "toolCallId": call_id, "toolName": name, "output": output}]}


def _is_image(mime: Any) -> bool:
    return str(mime or "").startswith("image")


def _found(value: Any, mime: str | None) -> Found:
    if isinstance(value, Mapping):
        if value.get("type") == "url":
            return Found.at_url(str(value.get("url") or ""), mime)
        if value.get("type") == "reference":
            return Found(mime, ref=str(value.get("reference") or ""))
        value = value.get("data")
    if isinstance(value, (bytes, bytearray)):
        return Found(mime, data=bytes(value))
    text = str(value or "")
    return Found.at_url(text, mime) if text[:5].lower() in ("data:", "http:", "https") else Found(mime, data=text)


WIRE = Vercel()
