"""What is done to an image that was refused: one attempt to keep the picture, and what takes its place."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from pixlane import formats
from pixlane.errors import PixlaneError
from pixlane.messages import request_limits, suspects
from pixlane.messages.faults import ImageFault
from pixlane.messages.history import History, Item, is_vector
from pixlane.messages.pictures import FULL_SIDE_PX, full_size
from pixlane.profiles import DEFAULT_CEILING_PX
from pixlane.recipe import OUTPUT_TYPES, Recipe
from pixlane.rendition import data_url_prefix

HEADER_CHARS = len(data_url_prefix("image/png"))  # the shortest
SMALL_CHARS = 64 * 1024  # fewer pixels may take more bytes up to here: a flat picture in a strange PNG
HALVINGS, FLOOR_PX = 4, 64
REQUEST_SHARE = 0.5  # of a request whose limit is not known: there is one attempt

REASONS = {
    "bytes": "the provider refused it as too large",
    "pixels": "the provider refused its dimensions",
    "count": "the provider refused so many images",
    "type": "the provider refused its format",
    "mismatch": "the provider refused its declared type",
    "undecodable": "the provider could not read it",
    "no_vision": "this model is given no images",
    "tool_images": "this provider takes no images in tool results",
}

_WORDS = "words in its place"
STEPS = {
    "bytes": ("shrunk below the limit; a whole request: the largest images", _WORDS),
    "pixels": ("shrunk to the limit; one that is too small: words in its place", _WORDS),
    "count": ("the newest stay, the others give way to words", "fewer stay"),
    "type": ("relabelled, spelled anew or encoded as another type; a URL: named in words", _WORDS),
    "mismatch": ("relabelled; encoded anew where the label is right", _WORDS),
    "undecodable": ("encoded anew where it can be drawn here, else words in its place; a URL: named in words", _WORDS),
    "no_vision": ("words in place of every image; never sent again with pixels", ""),
    "tool_images": ("words in place of the images of tool results, or of the message that is named", ""),
}
"""What is done about each kind, for `docs/errors.md`."""


def attempt(history: History, item: Item, fault: ImageFault) -> None:
    """The one attempt at an inline image: it stays with fewer pixels or bytes, another type or label, or gives way."""
    before = item.at.part
    detected = formats.detect(item.source, declared_type=item.at.mime).format
    item.vector, item.mime = is_vector(detected.engines), detected.mime if detected.image else ""
    if fault.field is not None:
        _drop_field(history, item, fault.field)
    elif fault.kind in ("bytes", "pixels"):
        _shrink(history, item, fault)
    elif item.mime in history.accept and _sound(history, item) and _respelled(history, item) != before:
        item.data, item.rewritten = item.source, True
        labelled = item.at.mime not in (None, item.mime)
        told = f"declared as {item.at.mime}, the bytes are {item.mime}" if labelled else "the part was spelled anew"
        history.note("relabelled" if labelled else "respelled", item, told)
    else:
        history.redraw(item, "transcoded", reason(fault))
    if item.shown and history.part(item) == before:  # an attempt that changed nothing is none
        item.data, item.rewritten = None, False
        history.changes = [change for change in history.changes if change.path != item.at.path]


def give_way(history: History, items: Sequence[Item], fault: ImageFault) -> None:
    """Descriptions, or placeholders with the reason; of images that are elsewhere, their URLs."""
    if history.describe is not None:
        for item in items:
            if item.source and item.data is None:
                look(history, item)
        history.describe_ahead(items)
    for item in items:
        if item.at.url is not None:
            history.omit(item, reason(fault), words=history.sentences.handle_url_unseen.format(url=item.at.url))
        else:
            history.give_way(item, reason(fault))


def reason(fault: ImageFault) -> str:
    """Why an image was touched, with the limit that was named."""
    named = f" (it takes {fault.limit:,} {fault.unit})" if fault.limit is not None and fault.unit and not fault.at_least else ""
    return REASONS[fault.kind] + named


def look(history: History, item: Item) -> None:
    """The picture in a type that every describer reads; none where it cannot be drawn."""
    drawn = history.pictures.draw(item.sha256, item.source, full_size(item.source, OUTPUT_TYPES))
    item.data = getattr(drawn, "data", None)


def keep_newest(history: History, fault: ImageFault) -> None:
    """As many images as the limit says, else half of them: the newest, and those of the user's last message."""
    shown = len(history.shown)
    limit = fault.limit if fault.limit is not None else history.profile.max_images
    if limit is None or limit >= shown:
        limit = shown // 2 if fault.limit is None else shown - 1
    if history.describe is not None:
        for item in history.shown:
            if item.source:
                look(history, item)
    history.profile = replace(history.profile, max_images=limit)
    request_limits.count(history)


def lighten(history: History, fault: ImageFault) -> None:
    """The whole request below its limit: the largest images are pressed, the oldest give way where that is not enough."""
    for item in history.shown:
        if item.source and not isinstance(proof := history.pictures.prove(item.sha256, item.source), PixlaneError):
            item.data, item.mime, item.size = item.source, proof.mime, (proof.width, proof.height)
    present = request_limits.total(history)
    limit = fault.limit if fault.limit is not None else history.profile.max_request_bytes
    if limit is None or limit >= present:
        limit = int(present * REQUEST_SHARE)
    history.profile = replace(history.profile, max_request_bytes=limit)
    request_limits.weigh(history, SMALL_CHARS)


def _shrink(history: History, item: Item, fault: ImageFault) -> None:
    limits = {"chars": _target(item, fault)} if fault.kind == "bytes" else {"side_px": _side(history, item, fault)}
    recipe = _shrunk(history, item, **limits)
    if fault.at_least or isinstance(history.pictures.draw(item.sha256, item.source, recipe), PixlaneError):
        give_way(history, [item], fault)  # a picture never grows
    else:
        history.draw(item, recipe, "shrunk", reason(fault))


def _shrunk(history: History, item: Item, *, chars: int | None = None, side_px: int | None = None) -> Recipe:
    """Halvings and the ladder of qualities, below a limit; never larger than it is."""
    profile = history.profile
    own = suspects.size(item, "data_url")
    targets = (chars if chars is not None else max(own, SMALL_CHARS), profile.max_data_url_chars)
    sides = (FULL_SIDE_PX, side_px, profile.max_side_px, (profile.ceiling_px or DEFAULT_CEILING_PX) if item.vector else None)
    return Recipe(
        target_bytes=max(1, min(target for target in targets if target is not None)),
        embed=False,
        max_side=min(side for side in sides if side is not None),
        accept=tuple(mime for mime in OUTPUT_TYPES if mime in history.accept),
        max_halvings=HALVINGS,
        min_side=FLOOR_PX,
        min_accepted_side=profile.min_side_px,
        max_aspect=profile.max_aspect,
        allow_truncated=True,
    )


def _target(item: Item, fault: ImageFault) -> int:
    """The longest data URL that is below the limit that was said, characters; half of what it has where none was."""
    limit, has = fault.limit, suspects.size(item, fault.basis)
    if limit is None or has < limit:
        return suspects.size(item, "data_url") // 2
    if fault.basis == "raw":
        return HEADER_CHARS + 4 * ((limit - 1) // 3)
    return limit - 1 + (HEADER_CHARS if fault.basis == "base64" else 0)


def _side(history: History, item: Item, fault: ImageFault) -> int:
    longer = suspects.sides(item)[1] or FULL_SIDE_PX
    known = (fault.limit, history.profile.max_side_px)
    return next((side for side in known if side is not None and side < longer), max(1, longer // 2))


def _drop_field(history: History, item: Item, name: str) -> None:
    def without(record: Mapping[str, Any]) -> dict[str, Any]:
        return {key: value for key, value in record.items() if key != name}

    part = {key: without(value) if isinstance(value, Mapping) else value for key, value in without(item.at.part).items()}
    item.at, item.rewritten = replace(item.at, part=part), True
    history.note("respelled", item, f"without `{name}`, which the provider refused")


def _respelled(history: History, item: Item) -> Any:
    return history.wire.with_image(item.at.part, item.mime, item.source)


def _sound(history: History, item: Item) -> bool:
    return bool(getattr(history.pictures.prove(item.sha256, item.source), "whole", False))
