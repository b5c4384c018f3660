"""The wires: how each carries images, one file a wire, and what can be asked of a list of messages on any of them.

for image in images(messages, "anthropic"):
    image.path, image.role, image.in_tool_result, image.mime, image.decode()
replace(messages, "anthropic", {image.path: [wire.text_part("...")]})
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from importlib import import_module
from typing import Any

from pixlane.errors import InvalidArgument
from pixlane.messages.wires.wire import Found, ImageAt, Message, Part, Path, TextAt, Wire

__all__ = ["NAMES", "Found", "ImageAt", "Message", "Part", "Path", "TextAt", "Wire", "get", "images", "replace", "texts", "walk"]

NAMES = (
    "openai_chat",
    "openai_responses",
    "anthropic",
    "bedrock",
    "gemini",
    "mistral",
    "ollama",
    "mcp",
    "langchain",
    "vercel",
    "litellm",
)


def get(wire: str | Wire) -> Wire:
    """The wire of that name. Raises InvalidArgument that names the known ones."""
    if isinstance(wire, Wire):
        return wire
    if wire not in NAMES:
        raise InvalidArgument(f"unknown wire {wire!r}; known are {', '.join(NAMES)}", actual=str(wire))
    found: Wire = import_module(f"{__name__}.{wire}").WIRE
    return found


def walk(messages: Sequence[Message], wire: str | Wire) -> Iterator[ImageAt | TextAt]:
    """Every image and every text of the messages, in order."""
    spoken = get(wire)
    for index, message in enumerate(messages):
        if isinstance(message, Mapping):
            yield from spoken.walk(index, message)


def images(messages: Sequence[Message], wire: str | Wire) -> list[ImageAt]:
    """Every image of the messages, in order, inside tool results too."""
    return [found for found in walk(messages, wire) if isinstance(found, ImageAt)]


def texts(messages: Sequence[Message], wire: str | Wire) -> list[TextAt]:
    """Every text that the model reads, in order."""
    return [found for found in walk(messages, wire) if isinstance(found, TextAt)]


def replace(messages: Sequence[Message], wire: str | Wire, changes: Mapping[Path, Sequence[Any] | str]) -> list[Any]:
    """The messages with other parts (a list, maybe empty) or another text (a string) at the paths; all paths of the original.

    The input is untouched; what is not changed is shared with it.
    """
    spoken = get(wire)
    by_message: dict[int, dict[Path, Sequence[Any] | str]] = {}
    for path, value in changes.items():
        by_message.setdefault(int(path[0]), {})[path[1:]] = value
    return [
        spoken.replace(message, by_message[index]) if index in by_message else message for index, message in enumerate(messages)
    ]
