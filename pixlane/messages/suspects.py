"""Which images a fault is about: those that it names, else those that can be seen to be at fault, else the newest, else all."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pixlane import formats, probe
from pixlane.messages import request_paths
from pixlane.messages.faults import ImageFault
from pixlane.messages.history import History, Item
from pixlane.rendition import data_url_length

URL_CHARS = 150  # of a URL tell which it is: what was said is shortened
LIKELY_SHARE = 0.5  # of the largest: what is that large may be meant as well

Tried = frozenset[tuple[str, str]]
"""(SHA-256 of what is sent, kind of fault) of every image that has had its one attempt."""


@dataclass(frozen=True)
class Suspects:
    """The images, whether there is evidence against each of them, and whether there is or was, so that they go in turn."""

    items: list[Item]
    evidence: bool
    in_turn: bool


def find(history: History, fault: ImageFault, tried: Tried, guessed: Tried) -> Suspects:
    """Nothing is touched without evidence while there is an image with evidence against it."""
    shown = history.shown
    if fault.kind == "no_vision":
        return Suspects(shown, True, False)
    named = _named(history, fault)
    if fault.kind == "tool_images":
        in_results = [item for item in shown if item.at.in_tool_result]
        return Suspects(named or in_results or shown, True, False)
    if fault.many:  # what is named is only the first of them
        named = []
    for items in (named, _identified(shown, fault), _measured(history, fault), _at_fault(history, fault)):
        if items:
            return Suspects(items, True, True)
    if not fault.sure:
        return Suspects([], False, False)
    again = [item for item in shown if (item.sha256, fault.kind) in tried]
    if again:
        return Suspects(again, False, not any((item.sha256, fault.kind) in guessed for item in again))
    missed = any(kind == fault.kind for _, kind in guessed)  # the newest turn was not it
    return Suspects(_likely(shown if missed else newest(history), fault), False, False)


def newest(history: History) -> list[Item]:
    """The images of the newest turn that has any: what came before was taken in an earlier request."""
    turns: list[list[Item]] = [[]]
    by_message: dict[int, list[Item]] = {}
    for item in history.shown:
        by_message.setdefault(item.at.message_index, []).append(item)
    for index, message in enumerate(history.messages):
        if index in by_message:
            turns[-1] += by_message[index]
        if isinstance(message, Mapping) and history.wire.role(message) == "assistant":
            turns.append([])
    return next((turn for turn in reversed(turns) if turn), [])


def _likely(items: list[Item], fault: ImageFault) -> list[Item]:
    """Of images that are refused for their size, but over no limit that is known, the largest, and those that are elsewhere."""
    measure = {"bytes": lambda item: len(item.source), "pixels": lambda item: sides(item)[1]}.get(fault.kind)
    if measure is None or fault.at_least:
        return items
    most = max((measure(item) for item in items), default=0)
    return [item for item in items if not item.source or measure(item) >= most * LIKELY_SHARE]


def _named(history: History, fault: ImageFault) -> list[Item]:
    if not fault.place or history.wire.name not in request_paths.wires(fault.path):
        return []  # a gateway counts the messages of another shape
    return [item for item in history.shown if _order(item)[: len(fault.place)] == fault.place]


def _order(item: Item) -> tuple[int, ...]:
    return tuple(key for key in item.at.path if isinstance(key, int))


def _identified(items: list[Item], fault: ImageFault) -> list[Item]:
    """Images of exactly the size that was said, and the one whose URL was said."""
    if fault.urls:
        remote = [item for item in items if item.at.url is not None]
        return [item for item in remote if item.at.url and item.at.url[:URL_CHARS] in fault.text] or remote
    if fault.kind != "bytes" or fault.actual is None:
        return []
    return [item for item in items if item.source and fault.actual in (len(item.source), *_characters(item))]


def _measured(history: History, fault: ImageFault) -> list[Item]:
    """Images over the limit that was said, or over the profile's where none was said."""
    if fault.basis == "request":
        return [item for item in history.shown if item.source]
    if fault.kind == "bytes":
        limit, basis = fault.limit, fault.basis
        if limit is None:
            limit, basis = history.profile.max_image_bytes, history.profile.bytes_basis
        return [item for item in history.shown if item.source and limit is not None and size(item, basis) > limit]
    if fault.kind == "pixels":
        side = fault.limit if fault.limit is not None else history.profile.max_side_px
        if side is None:
            return []
        sizes = [(item, sides(item)) for item in history.shown if item.source]
        return [item for item, (low, high) in sizes if (0 < low <= side if fault.at_least else high > side)]
    return []


def _at_fault(history: History, fault: ImageFault) -> list[Item]:
    """Images whose bytes, or their part, show what the fault says; where none does, what else is wrong with one."""
    shown = history.shown
    if fault.field is not None:
        return [item for item in shown if has_field(item.at.part, fault.field)]
    if fault.kind not in ("type", "mismatch", "undecodable"):
        return []
    odd = [item for item in shown if _oddly_put(history, item)]
    broken = [item for item in shown if item.at.data is not None and not _whole(history, item)]
    return (broken or odd) if fault.kind == "undecodable" else (odd or broken)


def has_field(part: Any, name: str) -> bool:
    """Whether a part has that field, or the record of the image in it."""
    return isinstance(part, Mapping) and (name in part or any(isinstance(one, Mapping) and name in one for one in part.values()))


def _oddly_put(history: History, item: Item) -> bool:
    """Whether the type is not taken, or the part would be spelled otherwise: another label, another shape."""
    if not item.source:
        return False
    mime = formats.detect(item.source, declared_type=item.at.mime).format.mime
    return mime not in history.accept or history.wire.with_image(item.at.part, mime, item.source) != item.at.part


def _whole(history: History, item: Item) -> bool:
    proof = history.pictures.prove(item.sha256, item.source) if item.source else None
    return bool(getattr(proof, "whole", False))


def size(item: Item, basis: str | None) -> int:
    """What a receiver counts of an image; base64 characters where that is not known."""
    base64, data_url = _characters(item)
    return {"raw": len(item.source), "data_url": data_url}.get(basis or "", base64)


def sides(item: Item) -> tuple[int, int]:
    """The shorter and the longer side, px, by the header; 0 where it does not say."""
    found = probe.probe(item.source)
    both = found.width or 0, found.height or 0
    return min(both), max(both)


def _characters(item: Item) -> tuple[int, int]:
    return 4 * -(-len(item.source) // 3), data_url_length(item.at.mime or "image/png", len(item.source))
