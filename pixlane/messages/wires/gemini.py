"""Gemini generateContent: contents with parts; both spellings of its keys are read, the REST one is written."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar

from pixlane.messages.wires import data_urls
from pixlane.messages.wires.wire import Found, ImageAt, Message, Part, Path, TextAt, Wire, listed, mapping

IMAGE_NOTES = "images"  # field of a function's response


class Gemini(Wire):
    """`{"inlineData": {"mimeType": ..., "data": ...}}`; `fileData` names uploaded files, not pages of the web."""

    name: ClassVar[str] = "gemini"
    accepts: ClassVar[tuple[str, ...]] = ("image/png", "image/jpeg", "image/webp")
    takes_url: ClassVar[bool] = False
    tool_images: ClassVar[bool | None] = None  # Gemini 3 has a place for them, 2.x answers 400
    tool_results_in_user: ClassVar[bool] = True

    def text_part(self, text: str) -> Part:
        return {"text": text}

    def image_part(self, mime: str, data: bytes) -> Part:
        return {"inlineData": {"mimeType": mime, "data": data_urls.encode(data)}}

    def with_image(self, part: Any, mime: str, data: bytes) -> Any:
        key = _spelled(part, "inlineData", "inline_data")
        if key is None:
            return self.image_part(mime, data)
        old = mapping(part[key])
        payload = data if isinstance(old.get("data"), bytes) else data_urls.encode(data)
        type_key = _spelled(old, "mimeType", "mime_type") or "mimeType"
        return {**part, key: {**old, type_key: mime, "data": payload}}

    def read(self, part: Mapping[str, Any]) -> Found | None:
        key = _spelled(part, "inlineData", "inline_data")
        if key is not None:
            blob = mapping(part[key])
            mime = blob.get("mimeType") or blob.get("mime_type")
            is_image = mime is None or str(mime).startswith("image/")
            return Found(mime, data=blob.get("data") or "") if is_image else None
        key = _spelled(part, "fileData", "file_data")
        if key is not None:
            file = mapping(part[key])
            mime = str(file.get("mimeType") or file.get("mime_type") or "")
            return Found(mime, ref=str(file.get("fileUri") or file.get("file_uri"))) if mime.startswith("image/") else None
        return None

    def replace(self, message: Message, changes: Mapping[Path, Sequence[Any] | str]) -> dict[str, Any]:
        changed = super().replace(message, changes)
        parts = changed.get("parts")
        return {**changed, "parts": [_words_into_response(part) for part in parts]} if isinstance(parts, list) else changed

    def contents(self, message: Message) -> Iterator[tuple[Path, bool]]:
        yield ("parts",), False

    def inner(self, part: Mapping[str, Any]) -> Iterator[tuple[Path, bool]]:
        key = _spelled(part, "functionResponse", "function_response")
        if key is not None:
            yield (key, "parts"), True

    def _part(self, part: Mapping[str, Any], path: Path, role: str, in_tool: bool) -> Iterator[ImageAt | TextAt]:
        key = _spelled(part, "functionResponse", "function_response")
        answer = mapping(mapping(part[key]).get("response")) if key is not None else {}
        for name, text in answer.items():
            if key is not None and isinstance(text, str):
                here = (*path, key, "response", name)
                yield TextAt(here, here, here[:-2], role, True, text)
        yield from super()._part(part, path, role, in_tool)

    def role(self, message: Message) -> str:
        return {"model": "assistant", "function": "tool"}.get(str(message.get("role")), "user")

    def user_message(self, parts: Sequence[Part]) -> dict[str, Any]:
        return {"role": "user", "parts": list(parts)}

    def tool_message(self, call_id: str, parts: Sequence[Part], name: str = "") -> dict[str, Any]:
        texts = [part["text"] for part in parts if "text" in part]
        images = [part for part in parts if "text" not in part]
        response: Part = {"name": name, "response": {"result": "\n".join(texts)}}
        if call_id:
            response["id"] = call_id
        if images:
            response["parts"] = images
        return self.user_message([{"functionResponse": response}])


def _words_into_response(part: Any) -> Any:
    """The parts of a function's response take no text: words that took the place of an image go into the response itself."""
    key = _spelled(part, "functionResponse", "function_response") if isinstance(part, Mapping) else None
    inside = listed(mapping(part[key]).get("parts")) if key is not None else []
    if key is None or not any(_is_text(inner) for inner in inside):
        return part
    answer = {name: value for name, value in part[key].items() if name != "parts"}
    words = [inner["text"] for inner in inside if _is_text(inner)]
    images = [inner for inner in inside if not _is_text(inner)]
    response = mapping(answer.get("response"))
    said = [str(response[IMAGE_NOTES])] if IMAGE_NOTES in response else []
    answer["response"] = {**response, IMAGE_NOTES: "\n".join([*said, *words])}
    return {**part, key: {**answer, "parts": images} if images else answer}


def _is_text(part: Any) -> bool:
    return isinstance(mapping(part).get("text"), str)


def _spelled(record: Mapping[str, Any], *keys: str) -> str | None:
    return next((key for key in keys if record.get(key) is not None), None)


WIRE = Gemini()
