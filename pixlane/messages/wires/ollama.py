"""Ollama's own API: a message is one text and a list of base64 pictures without types.

Its parts are pieces of such a message: `{"content": "..."}` and `{"images": ["..."]}`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar

from pixlane.messages.wires import data_urls
from pixlane.messages.wires.wire import Found, ImageAt, Message, Part, Path, TextAt, Wire, listed


class Ollama(Wire):
    """A picture has no place among words; what replaces one by words adds them to the text."""

    name: ClassVar[str] = "ollama"
    accepts: ClassVar[tuple[str, ...]] = ("image/png", "image/jpeg")  # stb_image drops WebP without an error
    takes_url: ClassVar[bool] = False
    tool_images: ClassVar[bool | None] = True

    def text_part(self, text: str) -> Part:
        return {"content": text}

    def image_part(self, mime: str, data: bytes) -> Part:
        return {"images": [data_urls.encode(data)]}

    def with_image(self, part: Any, mime: str, data: bytes) -> Any:
        return self.image_part(mime, data)

    def read(self, part: Mapping[str, Any]) -> Found | None:
        images = part.get("images")
        return _found(images[0]) if isinstance(images, list) and images else None

    def text_key(self, part: Mapping[str, Any]) -> str | None:
        return "content" if isinstance(part.get("content"), str) else None

    def walk(self, index: int, message: Message) -> Iterator[ImageAt | TextAt]:
        role = self.role(message)
        in_tool = role == "tool"
        text = message.get("content")
        if isinstance(text, str):
            yield TextAt((index, "content"), (index, "content"), (index,), role, in_tool, text)
        for place, image in enumerate(listed(message.get("images"))):
            found = _found(image)
            yield ImageAt(found.mime, found.data, found.url, None, (index, "images", place), role, in_tool, {"images": [image]})

    def replace(self, message: Message, changes: Mapping[Path, Sequence[Any] | str]) -> dict[str, Any]:
        said: Any = changes.get(("content",), message.get("content"))
        texts = [said if isinstance(said, str) else ""]
        images: list[Any] = []
        for place, image in enumerate(listed(message.get("images"))):
            for part in changes.get(("images", place), ({"images": [image]},)):
                assert isinstance(part, Mapping)
                images += part.get("images", ())
                texts += [part["content"]] if "content" in part else []
        rest = {key: value for key, value in message.items() if key != "images"}
        changed = {**rest, "content": "\n\n".join(filter(None, texts))}
        return {**changed, "images": images} if images else changed

    def user_message(self, parts: Sequence[Part]) -> dict[str, Any]:
        return self._message({"role": "user"}, parts)

    def tool_message(self, call_id: str, parts: Sequence[Part], name: str = "") -> dict[str, Any]:
        return self._message({"role": "tool", "tool_name": name}, parts)

    def _message(self, head: dict[str, Any], parts: Sequence[Part]) -> dict[str, Any]:
        message = {**head, "content": "\n\n".join(part["content"] for part in parts if "content" in part)}
        images = [image for part in parts for image in part.get("images", ())]
        return {**message, "images": images} if images else message


def _found(image: Any) -> Found:
    if isinstance(image, bytes):
        return Found(data=image)
    text = str(image)
    if text.startswith(("http://", "https://")):
        return Found(url=text)
    inline = data_urls.split(text)
    return Found(inline[0], data=inline[1]) if inline else Found(data=text)


WIRE = Ollama()
