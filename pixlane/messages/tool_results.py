"""What a tool returned, as the model gets it: words, and beside them the pixels where the gate is open."""

from __future__ import annotations

import asyncio
import inspect
import os
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from pixlane import formats, profiles
from pixlane.messages import wires
from pixlane.messages.budgets import CallBudget
from pixlane.messages.config import number
from pixlane.messages.describing import Describe
from pixlane.messages.media import MediaFolder
from pixlane.messages.parts import About, one_line
from pixlane.messages.pictures import Memory, Pictures
from pixlane.messages.presenting import Gate, Presenter, Shot, ToolImage
from pixlane.messages.sentences import DEFAULT, Sentences
from pixlane.recipe import Recipe

if TYPE_CHECKING:
    from pixlane.client import Client

__all__ = ["RESULT_CODES", "Gate", "ToolImage", "ToolResult", "from_capture", "from_capture_async"]

RESULT_CODES: dict[str, str] = {
    "not_shown": "the gate is closed and nobody described the image; the text says why",
    "described": "the gate is closed; words took the place of the pixels",
    "too_many_images": "more images than one result shows; the file is named",
    "same_content": "the same content came before in this result",
    "calls_spent": "the image was loaded as often as the conversation allows",
    "budget_unknown": "the count of loads could not be asked; the image was shown",
    "not_kept": "no file could be written; the text names none",
    "invisible_removed": "characters that no screen shows were removed from the text",
    "media_line_foreign": "the tool's words hold a media line that names no file of this result; it was made plain text",
    "meta_dropped": "keys of `_meta` that the protocol keeps for itself, or that are no JSON, are not shown",
    "structure_cut": "structured content is nested deeper than is read; the rest is cut off",
    "text_cut": "the text is longer than a result may be; its middle is left out",
    "content_not_read": "content of a kind that cannot be shown is named only",
}
"""Codes of a result's notes, beside those of `pixlane.errors` (an image that could not be drawn) and of `NOTE_CODES`."""

AnyDescribe = Callable[[bytes], "str | Awaitable[str]"]


@dataclass(frozen=True)
class ToolResult:
    """A tool's result. `str(result)` is `text`.

    Attributes:
        text: what is said where no pixels arrive, so that it makes no claim of any.
        images: what the model sees; empty where the gate is closed.
        seen_text: what is said beside the pixels in place of `text`; "": the same.
        claim: said beside the pixels after it, and only there.
        files: paths of what was kept, in order; all of them that `text` names as `MEDIA:` lines.
        structured: the structured content of an MCP result, cleaned; None: there is none.
        meta: what the vendor says beside the result; empty: nothing that is for the model.
        is_error: the tool failed, and this says how.
        notes: what was done and what was not, with codes of RESULT_CODES.
    """

    text: str
    images: tuple[ToolImage, ...] = ()
    seen_text: str = ""
    claim: str = ""
    files: tuple[str, ...] = ()
    structured: Any = None
    meta: dict[str, Any] = field(default_factory=dict)
    is_error: bool = False
    notes: tuple[About, ...] = ()

    def __str__(self) -> str:
        return self.text

    def parts(self, wire: str | wires.Wire = "openai_chat") -> list[dict[str, Any]]:
        """The content of the tool's answer on that wire: the text, and the images with their claim."""
        spoken = wires.get(wire)
        words = [self.seen_text or self.text, self.claim] if self.images else [self.text]
        shown = [spoken.image_part(image.mime, image.data) for image in self.images]
        return [*(spoken.text_part(text) for text in words if text), *shown]

    def message(self, call_id: str, wire: str | wires.Wire = "openai_chat", name: str = "") -> dict[str, Any]:
        """The message that answers the tool call."""
        return wires.get(wire).tool_message(call_id, self.parts(wire), name)

    def envelope(self, wire: str | wires.Wire = "openai_chat") -> dict[str, Any]:
        """`_multimodal`, `content` (the parts), `text_summary` (for a receiver that takes only text) and `meta`."""
        about = {"images": [image.to_dict() for image in self.images], "notes": [note.code for note in self.notes]}
        return {
            "_multimodal": bool(self.images),
            "content": self.parts(wire),
            "text_summary": self.text,
            "meta": {**about, "files": list(self.files), "is_error": self.is_error},
        }

    def to_dict(self) -> dict[str, Any]:
        """As JSON values, without the pixels. `structured` and `_meta` are left out where there is nothing in them."""
        record: dict[str, Any] = {
            "text": self.text,
            "images": [image.to_dict() for image in self.images],
            "files": list(self.files),
            "is_error": self.is_error,
            "notes": [vars(note) for note in self.notes],
        }
        if self.structured is not None:
            record["structured"] = self.structured
        if self.meta:
            record["_meta"] = self.meta
        return record


def from_capture(
    data: bytes,
    gate: Gate,
    recipe: Recipe | None = None,
    describe: Describe | None = None,
    *,
    text: str = "",
    path: str | os.PathLike[str] | None = None,
    client: Client | None = None,
    memory: Memory | None = None,
    media: MediaFolder | None = None,
    budget: CallBudget | None = None,
    sentences: Sentences = DEFAULT,
) -> ToolResult:
    """The result of a tool that took a picture of a browser or a desktop.

    Gate open: the picture, in the recipe. Closed: the description; without one, the handle and the true reason. Never pixels to a
    model that cannot see them.

    Args:
        data: the picture, of any format.
        gate: whether pixels reach the model on this route.
        recipe: None: `tool_recipe()`.
        describe: bytes to words; asked only where the gate is closed.
        text: what the tool says of it: a title, an address. Cleaned.
        path: where the picture lies already; None: it is kept in `media`.
        client: new encodings come from its cache and workers; None: in this process.
        memory: keeps encodings and descriptions from one call to the next.
        media: None: the usual folder.
        budget: how often the same picture may be loaded; None: no limit.
        sentences: what the model reads.

    Never raises for what is in the picture. Takes the time of a decode and an encode: see `from_capture_async`.
    """
    presenter = Presenter(
        gate, recipe or tool_recipe(), describe, Pictures(memory, client), media or MediaFolder(), budget, sentences
    )
    shot = Shot(bytes(data), "capture")
    words = presenter.plain(text)
    if path is not None:
        shot.path = os.fspath(path)
    else:
        presenter.sweep()
        shot.path = presenter.keep(shot.data, shot.sha256, extension_of(shot.data), shot.name)
    presenter.present([shot], 1)
    images, claim = shown([shot], sentences)

    def said(handle: str) -> str:
        return "\n".join(filter(None, (words, handle.format(path=one_line(shot.path)) if shot.path else "", *shot.lines)))

    return ToolResult(
        said(sentences.handle_unseen),
        images,
        seen_text=said(sentences.handle) if images else "",
        claim=claim,
        files=(shot.path,) if shot.path and path is None else (),
        notes=tuple(presenter.notes),
    )


async def from_capture_async(
    data: bytes, gate: Gate, recipe: Recipe | None = None, describe: AnyDescribe | None = None, **options: Any
) -> ToolResult:
    """The same beside the caller's event loop, in a thread. `describe` may be a coroutine function; it runs on that loop."""
    return await asyncio.to_thread(from_capture, data, gate, recipe, on_this_loop(describe), **options)


def tool_recipe(config: Mapping[str, Any] | None = None, profile: str | None = None) -> Recipe:
    """What a tool's image has to satisfy: the embed budget and the usual ceiling, since it rides along in every later request.

    Args:
        config: an agent's; its `vision.embed_target_bytes` is the budget. None: the setting.
        profile: of the receiver, whose own limits narrow it.

    Raises UnknownProfile.
    """
    target = number(config, "vision.embed_target_bytes")
    if profile is None:
        return Recipe(target_bytes=target, shrink="fine")
    own = profiles.get(profile).max_data_url_chars
    return Recipe.for_profile(profile, target_bytes=target if own is None else min(target, own), shrink="fine")


def shown(shots: list[Shot], sentences: Sentences) -> tuple[tuple[ToolImage, ...], str]:
    """The images that the model sees, and what is said beside them."""
    images = tuple(shot.image for shot in shots if shot.image is not None)
    if not images:
        return (), ""
    scales = [line for shot in shots for line in shot.beside]
    return images, "\n".join((sentences.image_loaded if len(images) == 1 else sentences.images_loaded, *scales))


def extension_of(data: bytes) -> str:
    """By the bytes, "bin" where they say nothing."""
    known = formats.detect(data, tail=data[-26:]).format.extensions
    return known[0] if known else "bin"


def on_this_loop(describe: AnyDescribe | None) -> Describe | None:
    """A describer for another thread, whose coroutines run on the loop of the caller."""
    if describe is None:
        return None
    loop = asyncio.get_running_loop()

    async def finish(words: Awaitable[str]) -> str:
        return await words

    def call(data: bytes) -> str:
        words = describe(data)
        return asyncio.run_coroutine_threadsafe(finish(words), loop).result() if inspect.isawaitable(words) else words

    return call
