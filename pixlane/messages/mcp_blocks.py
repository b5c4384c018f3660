"""The content of an MCP result taken apart: words, pictures, other bytes. Each block that a server sent becomes something."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pixlane import formats, settings
from pixlane.messages.sentences import Sentences
from pixlane.messages.wires import data_urls

HEAD_SHARE = 0.4  # of a text that is too long; the rest of the room is for its end
NAMED_CHARS = 200  # of a value that a server wrote, where it has to be named


@dataclass(frozen=True)
class Block:
    """One block: `text`, or `data` with the name of its format, or neither, and then `problem` says what it is.

    Attributes:
        picture: the data is an image that can be drawn.
    """

    text: str = ""
    data: bytes = field(default=b"", repr=False)
    picture: bool = False
    mime: str = ""
    problem: str = ""


def plain(result: Any) -> dict[str, Any]:
    """The result as a mapping: the SDK's object, a mapping, a list of blocks, one block, or a text."""
    result = _dumped(result)
    if result is None:
        return {"content": []}
    if isinstance(result, Mapping):
        record = dict(result) if "content" in result or "type" not in result else {"content": result}
    else:
        record = {"content": result if isinstance(result, (str, list, tuple)) else str(result)}
    content = record.get("content")
    if isinstance(content, (str, Mapping)):
        content = [content]
    return {**record, "content": [_dumped(block) for block in content] if isinstance(content, (list, tuple)) else []}


def _dumped(value: Any) -> Any:
    """Objects of the SDK as mappings, under the names that the protocol writes."""
    return value.model_dump(by_alias=True) if hasattr(value, "model_dump") else value


def value(record: Mapping[str, Any], *names: str) -> Any:
    """Of the first name that is there: the protocol writes `mimeType`, its Python objects `mime_type`."""
    return next((record[name] for name in names if record.get(name) is not None), None)


def blocks(record: Mapping[str, Any], sentences: Sentences) -> list[Block]:
    """The blocks of a result that is plain and cleaned, in their order."""
    return [_block(block, sentences) for block in record["content"]]


def _block(block: Any, sentences: Sentences) -> Block:
    if isinstance(block, str):
        return Block(text=block)
    if not isinstance(block, Mapping):
        return Block(problem=type(block).__name__)
    kind = block.get("type")
    if isinstance(block.get("text"), str):
        return Block(text=block["text"])
    if kind == "resource_link":
        return Block(text=sentences.linked.format(what=named(block, "name", "uri", "mimeType")))
    resource = block.get("resource")
    if kind == "resource" and isinstance(resource, Mapping):
        if isinstance(resource.get("text"), str):
            return Block(text=resource["text"])
        return _bytes(resource, resource.get("blob"))
    if block.get("data") is not None:
        return _bytes(block, block["data"])
    return Block(problem=named(block, "type", "mimeType", "mime_type", "uri", "name", "size"))


def _bytes(holder: Mapping[str, Any], payload: Any) -> Block:
    declared = str(value(holder, "mimeType", "mime_type") or "")
    what = named(holder, "type", "mimeType", "mime_type", "uri", "name")
    limit = settings.current().max_source_bytes
    if isinstance(payload, str):
        if len(payload) > 4 * -(-limit // 3) + NAMED_CHARS:
            return Block(mime=declared, problem=f"{what}, more than {limit:,} bytes")
        inline = data_urls.split(payload)
        payload = inline[1] if inline else payload
    data = data_urls.decode(payload) if isinstance(payload, str) else payload
    if not isinstance(data, bytes) or not data:
        return Block(mime=declared, problem=f"{what}, its base64 is empty or broken")
    if len(data) > limit:
        return Block(mime=declared, problem=f"{what}, {len(data):,} bytes, allowed are {limit:,}")
    # Bytes before the declared type: an image may be declared as anything, and anything as an image.
    found = formats.detect(data, tail=data[-26:], declared_type=declared).format
    return Block(data=data, picture=found.image and "pdf" not in found.engines, mime=found.mime)


def named(record: Mapping[str, Any], *names: str) -> str:
    """What a server says of something, in one short line."""
    said = [str(record[name])[:NAMED_CHARS] for name in names if record.get(name) not in (None, "")]
    return "".join(character if character.isprintable() else "\N{REPLACEMENT CHARACTER}" for character in ", ".join(said)) or "?"


def shortened(text: str, room: int, sentences: Sentences) -> str:
    """At most `room` characters of the text: its beginning, what is left out, its end."""
    if len(text) <= room:
        return text
    head = int(room * HEAD_SHARE)
    tail = room - head
    return f"{text[:head]}{sentences.text_cut.format(count=len(text) - room)}{text[len(text) - tail :]}"


def as_json(structure: Any) -> str:
    return json.dumps(structure, ensure_ascii=False, default=str)


def says_the_same(texts: Sequence[str], structure: Any) -> bool:
    """Whether one of the texts is this structure as JSON, as the protocol asks servers to send it."""
    for text in texts:
        if text.lstrip()[:1] in ("{", "["):
            try:
                if json.loads(text) == structure:
                    return True
            except (ValueError, RecursionError):
                continue
    return False
