"""What a whole request may hold: how many images, how large where they are many, how many bytes and pixels together."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from pixlane import settings
from pixlane.errors import InvalidArgument
from pixlane.messages.history import History, Item, reference_pattern

WORST_CHARS = 256 * settings.KIB  # rather than press an image below this, the oldest gives way
WORST_PIXELS = 512 * 512
FULL_SHARE = 0.98  # of the bytes of a request: beyond it room is made ...
AIM_SHARE = 0.96  # ... down to this, so that the words that came in do not ask for more the next time


def count(history: History) -> None:
    """The newest and the required images stay."""
    limit = history.profile.max_images
    if limit is None:
        return
    shown = history.shown
    for item in _expendable(history)[: max(0, len(shown) - limit)]:
        history.give_way(item, f"{history.profile.name} takes {limit} images in a request, there were {len(shown)}")


def shrink_many(history: History) -> None:
    """A request of many images takes only smaller ones."""
    rule = history.profile.many_images
    if rule is None:
        return
    present = len(history.shown) + (_documents(history.messages) if rule.documents_count else 0)
    if present <= rule.above:
        return
    for item in history.shown:
        if item.size is not None and max(item.size) > rule.max_side_px:
            taken = f"{history.profile.name} takes {rule.max_side_px} px in a request of more than {rule.above} images"
            why = f"{taken}, this has {max(item.size)}"
            history.redraw(item, "shrunk", why, side_px=rule.max_side_px)


def weigh(history: History, worst_chars: int = WORST_CHARS) -> None:
    """All bytes and all pixels of the request: the largest are pressed, the oldest give way where that is not enough.

    No image is pressed below `worst_chars` to make room.
    """
    profile = history.profile
    if profile.max_pixels is not None:
        room = profile.max_pixels
        _make_room(history, lambda: room, room, _pixels, WORST_PIXELS, "pixels")
    limit = profile.max_request_bytes
    if limit is not None and total(history) > limit * FULL_SHARE:
        _make_room(history, lambda: int(limit * AIM_SHARE) - _rest(history), limit, lambda item: item.chars, worst_chars, "chars")


def total(history: History) -> int:
    """Bytes of the request as JSON, about."""
    return sum(item.chars for item in history.shown) + _rest(history)


def _make_room(
    history: History, room: Callable[[], int], limit: int, weight: Callable[[Item], int], worst: int, unit: str
) -> None:
    def heavy() -> list[Item]:
        return [item for item in history.shown if item.data is not None]

    what = {"chars": "bytes", "pixels": "px"}[unit]
    for item in [item for item in _expendable(history) if item.data is not None]:
        if level([weight(one) for one in heavy()], room()) >= worst or len(heavy()) == 1:
            break
        history.give_way(item, f"{history.profile.name} takes {limit:,} {what} in a request")
    highest = level([weight(item) for item in heavy()], room())
    for item in heavy():
        if weight(item) > highest:
            why = f"{history.profile.name} takes {limit:,} {what} in a request"
            history.redraw(item, "shrunk", why, **{unit: max(1, int(highest))})


def level(weights: list[int], room: int) -> float:
    """The highest bound such that the weights, each cut at it, fit in the room; infinite where they fit as they are."""
    if sum(weights) <= room:
        return float("inf")
    left, count = room, len(weights)
    for weight in sorted(weights):
        if weight * count > left:
            return max(0, left // count)
        left, count = left - weight, count - 1
    return float("inf")


def _expendable(history: History) -> list[Item]:
    """The shown images in the order in which they give way: oldest first, the required ones last.

    A picture is as new as the last reference to it; the images of the user's last message are required.
    """
    last = max((item.at.path[:1] for item in history.items if item.at.role == "user" and not item.at.in_tool_result), default=())
    newest = {item.reference: item.at.path for item in history.items if item.sha256}
    pattern = reference_pattern(history.sentences)
    for text in history.texts:
        for found in pattern.findall(text.text):
            if found in newest:
                newest[found] = max(newest[found], text.path, key=_order)

    def order(item: Item) -> tuple[bool, tuple[int, ...]]:
        path = newest.get(item.reference, item.at.path)
        return item.at.path in history.required or path[:1] == last, _order(path)

    return sorted(history.shown, key=order)


def _order(path: tuple[int | str, ...]) -> tuple[int, ...]:
    return tuple(key for key in path if isinstance(key, int))


def _pixels(item: Item) -> int:
    return item.size[0] * item.size[1] if item.size else 0


def _rest(history: History) -> int:
    """Bytes of the request besides its images, as JSON."""
    try:
        written = json.dumps(history.assembled(without_images=True), default=str, ensure_ascii=False)
    except RecursionError:
        raise InvalidArgument("the messages are nested so deeply that they cannot be written as JSON") from None
    return len(written.encode("utf-8", "replace"))


def _documents(node: Any) -> int:
    """Parts that are documents, anywhere."""
    if isinstance(node, Mapping):
        own = node.get("type") == "document" or isinstance(node.get("document"), Mapping)
        return own + sum(_documents(child) for child in node.values())
    return sum(_documents(child) for child in node) if isinstance(node, (list, tuple)) else 0
