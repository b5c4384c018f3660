"""OpenAI Responses: a list of items; messages, and outputs of tools that may hold images."""

from __future__ import annotations

import base64
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar

from pixlane.messages.wires import data_urls
from pixlane.messages.wires.wire import Found, Message, Part, Path, Wire

DETAIL = "auto"  # the schema wants it said, though it is the default: openai-openapi, InputImageContent
# 64 x 64 px, white: stands for a screenshot that cannot be sent
BLANK = base64.b64decode("iVBORw0KGgoAAAANSUhEUgAAAEAAAABAAQAAAACCEkxzAAAAEklEQVR42mP4DwUMo4xRBukMAOPT/hAC2mzjAAAAAElFTkSuQmCC")


class OpenAIResponses(Wire):
    """`{"type": "input_image", "detail": "auto", "image_url": "..."}`; a screenshot stands alone as the `output` of its item."""

    name: ClassVar[str] = "openai_responses"
    tool_images: ClassVar[bool | None] = True
    max_tool_url_chars: ClassVar[int | None] = 20_971_520  # `maxLength` in openai-openapi, FunctionCallOutputItemParam

    def text_part(self, text: str) -> Part:
        return {"type": "input_text", "text": text}

    def image_part(self, mime: str, data: bytes) -> Part:
        return self.url_part(data_urls.build(mime, data))

    def url_part(self, url: str) -> Part:
        return {"type": "input_image", "detail": DETAIL, "image_url": url}

    def with_image(self, part: Any, mime: str, data: bytes) -> Any:
        kept = {key: value for key, value in part.items() if key != "file_id"}
        if part.get("type") == "image_url":
            old = part["image_url"] if isinstance(part["image_url"], Mapping) else {}
            kept |= {"type": "input_image", "detail": old.get("detail", DETAIL)}
        return {**kept, "image_url": data_urls.build(mime, data)}

    def read(self, part: Mapping[str, Any]) -> Found | None:
        if part.get("type") not in ("input_image", "computer_screenshot", "image_url"):  # the last is Chat's, and refused here
            return None
        image = part.get("image_url")
        url = image.get("url") if isinstance(image, Mapping) else image
        if url:
            return Found.at_url(str(url))
        return Found(ref=str(part["file_id"])) if part.get("file_id") else Found(data="")

    def replace(self, message: Message, changes: Mapping[Path, Sequence[Any] | str]) -> dict[str, Any]:
        output: Any = message.get("output")
        new: Any = changes.get(("output",))
        # An item with a screenshot takes nothing else.
        if isinstance(output, Mapping) and new and not isinstance(new, str) and new[0].get("type") == "input_text":
            changes = {**changes, ("output",): [self.with_image(output, "image/png", BLANK)]}
        return super().replace(message, changes)

    def contents(self, message: Message) -> Iterator[tuple[Path, bool]]:
        if str(message.get("type") or "").endswith("_output"):
            yield ("output",), True
        else:
            yield ("content",), False

    def role(self, message: Message) -> str:
        is_output = str(message.get("type") or "").endswith("_output")
        return "tool" if is_output else str(message.get("role") or "assistant")

    def tool_message(self, call_id: str, parts: Sequence[Part], name: str = "") -> dict[str, Any]:
        return {"type": "function_call_output", "call_id": call_id, "output": list(parts)}


WIRE = OpenAIResponses()
