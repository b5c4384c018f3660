"""What a wire has to say of itself: the shape of its parts, and where images and texts stand in its messages.

A path is the keys from the list of messages down to a part: `(4, "content", 2, "content", 0)` is the block that Anthropic's
errors name `messages.4.content.2.tool_result.content.0`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from pixlane.messages.wires import data_urls
from pixlane.recipe import OUTPUT_TYPES

Path = tuple[int | str, ...]
Part = dict[str, Any]
Message = Mapping[str, Any]

MAX_KEYS = 100
"""Parts are looked for down to here: dozens of results inside of results, where every provider takes one."""


@dataclass(frozen=True)
class Found:
    """An image as a part holds it: one of `data` (base64 text, or raw bytes), `url` (remote) and `ref` (an uploaded file)."""

    mime: str | None = None  # as declared, which may be wrong; None where the wire has no place for it
    data: str | bytes | None = field(default=None, repr=False)
    url: str | None = None
    ref: str | None = None

    def __post_init__(self) -> None:
        # Histories come from anywhere; what is no type and no payload is none.
        if not isinstance(self.mime, str):
            object.__setattr__(self, "mime", None)
        if isinstance(self.data, (bytearray, memoryview)):
            object.__setattr__(self, "data", bytes(self.data))
        elif not isinstance(self.data, (str, bytes, type(None))):
            object.__setattr__(self, "data", "")

    @staticmethod
    def at_url(url: str, mime: str | None = None) -> Found:
        """What a data URL or a remote URL holds."""
        inline = data_urls.split(url)
        return Found(inline[0] or mime, data=inline[1]) if inline else Found(mime, url=url)


@dataclass(frozen=True)
class ImageAt(Found):
    """An image and where it stands.

    Attributes:
        path: keys from the list of messages to the part.
        role: "system", "user", "assistant" or "tool".
        in_tool_result: it belongs to what a tool returned.
        part: the part as it stands there.
    """

    path: Path = ()
    role: str = "user"
    in_tool_result: bool = False
    part: Any = field(default=None, repr=False)

    @property
    def message_index(self) -> int:
        return int(self.path[0])

    @property
    def content_index(self) -> int | None:
        """The place in the content of its message; of an image in a tool result, that of the result."""
        return next((key for key in self.path[1:] if isinstance(key, int)), None)

    @property
    def alone(self) -> bool:
        """The part is not in a list: nothing can be put beside it."""
        return isinstance(self.path[-1], str)

    def decode(self) -> bytes | None:
        """The bytes of an inline image; None where there are none or the base64 is broken."""
        return self.data if isinstance(self.data, bytes) else data_urls.decode(self.data) if self.data is not None else None


@dataclass(frozen=True)
class TextAt:
    """A text and where it stands.

    Attributes:
        path: keys to the string itself.
        part_path: keys to the part that holds it; equal to `path` where the string stands for itself.
        holder: where the paths of the images begin that it stands beside.
    """

    path: Path
    part_path: Path
    holder: Path
    role: str
    in_tool_result: bool
    text: str


class Wire(ABC):
    """The shapes of one wire.

    Attributes:
        name: stable; what a caller passes as `wire`.
        accepts: types that its usual receiver takes, where no profile says more.
        takes_url: an image part may name a remote URL.
        tool_images: whether its schema has a place for images in tool results; None where that is not known.
        tool_results_in_user: tool results are parts of a user message, so that an image can stand beside them.
        user_after_tool: a user message may follow the messages of tool results.
        max_tool_url_chars: the longest data URL of an image in a tool result.
    """

    name: ClassVar[str]
    accepts: ClassVar[tuple[str, ...]] = OUTPUT_TYPES
    takes_url: ClassVar[bool] = True
    tool_images: ClassVar[bool | None] = None
    tool_results_in_user: ClassVar[bool] = False
    user_after_tool: ClassVar[bool] = True
    max_tool_url_chars: ClassVar[int | None] = None

    # Making ------------------------------------------------------------------------------------------------------------

    def text_part(self, text: str) -> Part:
        return {"type": "text", "text": text}

    @abstractmethod
    def image_part(self, mime: str, data: bytes) -> Part:
        """An inline image."""

    def url_part(self, url: str) -> Part:
        """A remote image. Only where `takes_url`."""
        raise NotImplementedError(f"{self.name} takes no URL")

    def with_image(self, part: Any, mime: str, data: bytes) -> Any:
        """The part with another image in it; what else it says (`detail`, `cache_control` ...) stays."""
        return {**part, **self.image_part(mime, data)}

    def user_message(self, parts: Sequence[Part]) -> dict[str, Any]:
        return {"role": "user", "content": list(parts)}

    def append(self, message: Message, parts: Sequence[Part]) -> dict[str, Any]:
        """The message with parts after its own. Only where `tool_results_in_user`."""
        (key,) = self.user_message(()).keys() - {"role"}
        return {**message, key: [*listed(message.get(key)), *parts]}

    @abstractmethod
    def tool_message(self, call_id: str, parts: Sequence[Part], name: str = "") -> dict[str, Any]:
        """The message that answers a tool call with these parts."""

    # Reading -----------------------------------------------------------------------------------------------------------

    @abstractmethod
    def read(self, part: Mapping[str, Any]) -> Found | None:
        """The image of a part, None where it is something else."""

    def text_key(self, part: Mapping[str, Any]) -> str | None:
        """The key under which a part holds text that the model reads."""
        return "text" if isinstance(part.get("text"), str) else None

    def contents(self, message: Message) -> Iterator[tuple[Path, bool]]:
        """Where a message holds parts, and whether that is a tool's result."""
        yield ("content",), self.role(message) == "tool"

    def inner(self, part: Mapping[str, Any]) -> Iterator[tuple[Path, bool]]:
        """Where a part holds further parts, and whether they are a tool's result."""
        return iter(())

    def role(self, message: Message) -> str:
        return str(message.get("role") or "user")

    def is_tool_message(self, message: Message) -> bool:
        """Whether a message stands in the run of answers to tool calls that nothing may interrupt."""
        return any(in_tool for _, in_tool in self.contents(message))

    def walk(self, index: int, message: Message) -> Iterator[ImageAt | TextAt]:
        """Every image and every text of a message, in order."""
        role = self.role(message)
        for keys, in_tool in self.contents(message):
            yield from self._content(at(message, keys), (index, *keys), role, in_tool)

    def _content(self, content: Any, path: Path, role: str, in_tool: bool) -> Iterator[ImageAt | TextAt]:
        if len(path) > MAX_KEYS:
            return
        if isinstance(content, str):
            yield TextAt(path, path, path[:-1], role, in_tool, content)
        elif isinstance(content, Mapping):
            yield from self._part(content, path, role, in_tool)
        elif isinstance(content, Sequence) and not isinstance(content, (bytes, bytearray)):
            for place, part in enumerate(content):
                if isinstance(part, (str, Mapping)):
                    yield from self._content(part, (*path, place), role, in_tool)

    def _part(self, part: Mapping[str, Any], path: Path, role: str, in_tool: bool) -> Iterator[ImageAt | TextAt]:
        found = self.read(part)
        if found is not None:
            yield ImageAt(found.mime, found.data, found.url, found.ref, path, role, in_tool, part)
            return
        key = self.text_key(part)
        if key is not None:
            yield TextAt((*path, key), path, path[:-1], role, in_tool, part[key])
        for keys, inside_tool in self.inner(part):
            yield from self._content(at(part, keys), (*path, *keys), role, in_tool or inside_tool)

    def as_string(self, message: Message) -> Message:
        """A message of texts alone, with one string in their place; itself where the wire has no such spelling."""
        return message

    # Changing ------------------------------------------------------------------------------------------------------------

    def replace(self, message: Message, changes: Mapping[Path, Sequence[Any] | str]) -> dict[str, Any]:
        """The message with other parts, or another text, at the paths (which begin inside the message here)."""
        changed: dict[str, Any] = _edit(message, list(changes.items()))
        return changed


def mapping(value: Any) -> Mapping[str, Any]:
    """The value where it is a mapping, an empty one where it is anything else."""
    return value if isinstance(value, Mapping) else {}


def listed(value: Any) -> list[Any]:
    """The value where it is a list, an empty one where it is anything else."""
    return value if isinstance(value, list) else []


def at(node: Any, keys: Path) -> Any:
    """What stands at the end of the keys; None where a key is missing."""
    for key in keys:
        node = node.get(key) if isinstance(node, Mapping) else node[key] if isinstance(key, int) else None
    return node


def _edit(node: Any, changes: list[tuple[Path, Any]]) -> Any:
    """A copy of the node along the changed paths; the rest is shared."""
    here: dict[int | str, list[tuple[Path, Any]]] = {}
    for path, value in changes:
        here.setdefault(path[0], []).append((path[1:], value))
    if isinstance(node, Mapping):
        return {key: _value(child, here[key]) if key in here else child for key, child in node.items()}
    edited: list[Any] = []
    for place, child in enumerate(node):
        if place not in here:
            edited.append(child)
        elif here[place][0][0] == () and not isinstance(here[place][0][1], str):
            edited.extend(here[place][0][1])
        else:
            edited.append(_value(child, here[place]))
    return edited


def _value(child: Any, changes: list[tuple[Path, Any]]) -> Any:
    path, value = changes[0]
    if path:
        return _edit(child, changes)
    return value if isinstance(value, str) or len(value) != 1 else value[0]
