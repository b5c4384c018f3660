"""Bedrock Converse: a format word in place of a MIME type, raw bytes in place of base64."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar

from pixlane.messages.wires import data_urls
from pixlane.messages.wires.wire import Found, Part, Path, Wire, mapping


class Bedrock(Wire):
    """`{"image": {"format": "png", "source": {"bytes": ...}}}`; `jpg` is refused. JSON histories hold base64 in `bytes`."""

    name: ClassVar[str] = "bedrock"
    takes_url: ClassVar[bool] = False
    tool_images: ClassVar[bool | None] = True
    tool_results_in_user: ClassVar[bool] = True

    def text_part(self, text: str) -> Part:
        return {"text": text}

    def image_part(self, mime: str, data: bytes) -> Part:
        return {"image": {"format": mime.removeprefix("image/"), "source": {"bytes": data}}}

    def with_image(self, part: Any, mime: str, data: bytes) -> Any:
        made = self.image_part(mime, data)
        if isinstance(mapping(part["image"].get("source")).get("bytes"), str):  # a history that is kept as JSON
            made["image"]["source"]["bytes"] = data_urls.encode(data)
        return {**part, **made}

    def read(self, part: Mapping[str, Any]) -> Found | None:
        image = part.get("image")
        if not isinstance(image, Mapping):
            return None
        source = mapping(image.get("source"))
        location = mapping(source.get("s3Location"))
        mime = f"image/{image['format']}" if image.get("format") else None
        if location:
            return Found(mime, ref=str(location.get("uri") or ""))
        return Found(mime, data=source.get("bytes") or "")

    def inner(self, part: Mapping[str, Any]) -> Iterator[tuple[Path, bool]]:
        if isinstance(part.get("toolResult"), Mapping):
            yield ("toolResult", "content"), True

    def tool_message(self, call_id: str, parts: Sequence[Part], name: str = "") -> dict[str, Any]:
        return self.user_message([{"toolResult": {"toolUseId": call_id, "content": list(parts)}}])


WIRE = Bedrock()
