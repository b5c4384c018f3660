"""What an MCP server returned, as the model gets it.

The server is not trusted: its words are cleaned, its pictures taken from this call's own content and encoded for the receiver,
and no path that it writes is ever opened.
"""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from pixlane.messages import mcp_blocks
from pixlane.messages.budgets import CallBudget
from pixlane.messages.describing import Describe
from pixlane.messages.invisible import Cleaned, clean
from pixlane.messages.mcp_blocks import Block
from pixlane.messages.mcp_meta import of_vendor
from pixlane.messages.media import MediaFolder
from pixlane.messages.pictures import Memory, Pictures, sha256_of
from pixlane.messages.presenting import Gate, Presenter, Shot, disarmed
from pixlane.messages.sentences import DEFAULT, Sentences
from pixlane.messages.tool_results import AnyDescribe, ToolResult, extension_of, on_this_loop, shown, tool_recipe
from pixlane.recipe import Recipe

if TYPE_CHECKING:
    from pixlane.client import Client

MAX_IMAGES = 4  # of one result that the model sees
CEILING_PX = 1568  # longer side: each image rides along in every later request
MAX_TEXT_CHARS = 2_000_000  # of one result


def from_mcp(
    result: Any,
    gate: Gate,
    recipe: Recipe | None = None,
    describe: Describe | None = None,
    *,
    max_images: int = MAX_IMAGES,
    max_side_px: int = CEILING_PX,
    client: Client | None = None,
    memory: Memory | None = None,
    media: MediaFolder | None = None,
    budget: CallBudget | None = None,
    sentences: Sentences = DEFAULT,
) -> ToolResult:
    """The result of an MCP tool call. `str()` of it is the text with a `MEDIA:` line for each file.

    Every picture and every other binary content is kept as a private file and named, in error results too. Gate open: the first
    `max_images` pictures are shown; closed: they are described; without a describer the true reason stands there.

    Args:
        result: the SDK's `CallToolResult`, or the same as plain JSON; also a list of content blocks.
        gate: whether pixels in tool results reach the model on this route.
        recipe: the receiver's; None: `tool_recipe()`. Its byte budget is kept, its side is cut at `max_side_px`.
        describe: bytes to words, asked only where the gate is closed; called from several threads at once.
        max_images: most pictures that the model sees.
        max_side_px: longer side of each.
        client: new encodings come from its cache and workers; None: in this process.
        memory: keeps encodings and descriptions from one call to the next.
        media: None: the usual folder.
        budget: how often the same picture may be loaded in the conversation; None: no limit.
        sentences: what the model reads.

    Never raises for what a server sent. It decodes and encodes: on an event loop use `from_mcp_async`.
    """
    wanted = recipe or tool_recipe()
    if wanted.max_side > max_side_px:
        wanted = replace(wanted, max_side=max_side_px)
    presenter = Presenter(gate, wanted, describe, Pictures(memory, client), media or MediaFolder(), budget, sentences)
    return _Reading(presenter, max_images).of(mcp_blocks.plain(result))


async def from_mcp_async(
    result: Any, gate: Gate, recipe: Recipe | None = None, describe: AnyDescribe | None = None, **options: Any
) -> ToolResult:
    """The same beside the caller's event loop, in a thread. `describe` may be a coroutine function; it runs on that loop."""
    return await asyncio.to_thread(from_mcp, result, gate, recipe, on_this_loop(describe), **options)


class _Reading:
    """One result, block by block."""

    def __init__(self, presenter: Presenter, max_images: int) -> None:
        self.presenter = presenter
        self.sentences = presenter.sentences
        self.max_images = max_images
        self.room = MAX_TEXT_CHARS
        self.files: list[str] = []

    def of(self, record: dict[str, Any]) -> ToolResult:
        cleaned = clean(record)
        self._note_cleaned(cleaned)
        record = cleaned.value
        self.presenter.sweep()
        blocks = mcp_blocks.blocks(record, self.sentences)
        pieces = [piece for block in blocks for piece in self._pieces(block)]
        shots = [piece for piece in pieces if isinstance(piece, Shot)]
        self.presenter.present(shots, self.max_images)
        structured = mcp_blocks.value(record, "structuredContent", "structured_content")
        meta = self._meta(record)
        lines = [line for piece in pieces for line in self._lines(piece)]
        if structured is not None and not mcp_blocks.says_the_same([block.text for block in blocks], structured):
            lines.append(self._words(self.sentences.structured.format(json=mcp_blocks.as_json(structured))))
        if meta:
            lines.append(self._words(self.sentences.vendor_meta.format(json=mcp_blocks.as_json(meta))))
        images, claim = shown(shots, self.sentences)
        return ToolResult(
            "\n".join(line for line in lines if line),
            images,
            claim=claim,
            files=tuple(dict.fromkeys(self.files)),
            structured=structured,
            meta=meta,
            is_error=mcp_blocks.value(record, "isError", "is_error") is True,
            notes=tuple(self.presenter.notes),
        )

    def _pieces(self, block: Block) -> list[str | Shot]:
        if block.problem:
            self.presenter.note("content", "content_not_read", block.problem)
            return [self.sentences.not_read.format(what=self._named(block.problem))]
        if not block.data:
            return [self._words(block.text)]
        sha256 = sha256_of(block.data)
        path = self.presenter.keep(block.data, sha256, extension_of(block.data), block.mime)
        if path is not None:
            self.files.append(path)
        if block.picture:
            return [Shot(block.data, f"{block.mime} {sha256[:8]}", path)]
        self.presenter.note(path or block.mime, "content_not_read", f"{block.mime}, {len(block.data):,} bytes")
        what = f"{block.mime}, {len(block.data):,} bytes"
        return [self._media(path), self.sentences.not_read.format(what=what)]

    def _lines(self, piece: str | Shot) -> list[str]:
        return [self._media(piece.path), *piece.lines] if isinstance(piece, Shot) else [piece]

    def _media(self, path: str | None) -> str:
        return self.sentences.media.format(path=path) if path is not None else ""

    def _words(self, text: str) -> str:
        """The server's words within the room that is left, and without media lines of its own."""
        short = mcp_blocks.shortened(text, self.room, self.sentences)
        if short is not text:
            self.presenter.note("text", "text_cut", f"{len(text):,} characters; {MAX_TEXT_CHARS:,} of a result are read")
        self.room = max(0, self.room - len(text))
        return self._named(short)

    def _named(self, text: str) -> str:
        text, count = disarmed(text, self.sentences)
        if count:
            self.presenter.note("text", "media_line_foreign", f"{count} media lines of the server were made plain text")
        return text

    def _meta(self, record: dict[str, Any]) -> dict[str, Any]:
        meta, dropped = of_vendor(mcp_blocks.value(record, "_meta", "meta"))
        if dropped:
            self.presenter.note("_meta", "meta_dropped", ", ".join(dropped)[: mcp_blocks.NAMED_CHARS])
        return meta

    def _note_cleaned(self, cleaned: Cleaned) -> None:
        if cleaned.tags or cleaned.surrogates or cleaned.merged:
            removed = f"{cleaned.tags} TAG characters removed, {cleaned.surrogates} lone surrogates replaced"
            self.presenter.note("text", "invisible_removed", f"{removed}, {cleaned.merged} equal keys left out")
        if cleaned.cut:
            self.presenter.note("structured", "structure_cut", f"{cleaned.cut} places were nested too deep")
