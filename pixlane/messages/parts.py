"""Attaching: a user's text, files and URLs as the parts of a message, exactly as the wire wants them.

Sizing is reactive: without a recipe an image goes at full size, and the bytes of the file as they are where the receiver takes
its format and sees in it what is meant. But nothing is attached that was not decoded to its last pixel.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from pixlane import settings, sources
from pixlane.errors import PixlaneError
from pixlane.messages import wires
from pixlane.messages.pictures import Memory, Pictures, full_size, is_untouched, sha256_of
from pixlane.messages.sentences import DEFAULT, Sentences
from pixlane.messages.wires import data_urls
from pixlane.recipe import Recipe

if TYPE_CHECKING:
    from pixlane.client import Client
    from pixlane.rendition import Rendition

SHOWN_URL_CHARS = 200  # of a data URL, where it has to be named


@dataclass(frozen=True)
class About:
    """A code and a sentence about one path or URL."""

    source: str
    code: str
    text: str


@dataclass(frozen=True)
class Attached:
    """What came of it.

    Attributes:
        parts: the text part, the images of the paths in their order, those of the URLs.
        skipped: each path or URL that is not attached; `code` is that of the error, or `wire_takes_no_url`,
            `unsupported_scheme`.
        notes: what was done to an image that is attached; codes of `NOTE_CODES`, and `same_content`.
        wire: whose shapes these are.
    """

    parts: list[dict[str, Any]] = field(repr=False)
    skipped: tuple[About, ...] = ()
    notes: tuple[About, ...] = ()
    wire: str = "openai_chat"

    @property
    def message(self) -> dict[str, Any]:
        """The user message of these parts."""
        return wires.get(self.wire).user_message(self.parts)


def build_parts(
    text: str,
    paths: Iterable[str | os.PathLike[str]] = (),
    urls: Iterable[str] = (),
    wire: str | wires.Wire = "openai_chat",
    recipe: Recipe | None = None,
    *,
    client: Client | None = None,
    memory: Memory | None = None,
    sentences: Sentences = DEFAULT,
) -> Attached:
    """The parts of a user message.

    Args:
        text: what the user said; empty: a default question, where something is attached.
        paths: files, in order; `~` is expanded. The same content under several paths is sent once, with a handle for each.
        urls: passed verbatim and never fetched, on wires that take URLs.
        wire: a name of `wires.NAMES`.
        recipe: shrinks ahead (`Recipe()`, `Recipe.for_profile(...)`); None: full size.
        client: renditions come from its cache and workers; None: in this process.
        memory: what is known of images from earlier calls.
        sentences: what the model reads.

    Raises InvalidArgument for an unknown wire; what is wrong with an image stands in `skipped`.
    """
    spoken = wires.get(wire)
    desk = _Desk(spoken, recipe, Pictures(memory, client), sentences)
    read = [(path, desk.read(path)) for path in dict.fromkeys(os.fspath(path) for path in paths)]
    for path, data in read:
        if data is not None:
            desk.attach_file(path, data)
    for url in dict.fromkeys(url.strip() for url in urls):
        desk.attach_url(url)
    said = text.strip() or (sentences.default_question if desk.images else "")
    lines = [line for line in (*desk.handles, *desk.lines) if line]
    whole = "\n\n".join(filter(None, (said, "\n".join(lines))))
    parts = [spoken.text_part(whole), *desk.images] if whole else desk.images
    return Attached(parts, tuple(desk.skipped), tuple(desk.notes), spoken.name)


class _Desk:
    """Where one message is put together."""

    def __init__(self, wire: wires.Wire, recipe: Recipe | None, pictures: Pictures, sentences: Sentences) -> None:
        self.wire = wire
        self.recipe = recipe
        self.pictures = pictures
        self.sentences = sentences
        self.handles: list[str] = []
        self.lines: list[str] = []  # what else is to be said: scales, what is missing
        self.images: list[dict[str, Any]] = []
        self.skipped: list[About] = []
        self.notes: list[About] = []
        self.first: dict[str, str] = {}  # SHA-256 to the path that brought it

    def read(self, path: str) -> bytes | None:
        """The bytes of the file, and the workers know of it; None where there are none to attach."""
        try:
            data = b"".join(sources.blocks(os.path.expanduser(path), settings.current().max_source_bytes))
        except PixlaneError as error:
            self._skip(path, error.code, error.message)
            return None
        except ValueError as error:  # a NUL in the name
            self._skip(path, "source_unreadable", str(error))
            return None
        self.pictures.begin(sha256_of(data), data, self._recipe(data))
        return data

    def attach_file(self, path: str, data: bytes) -> None:
        if self._attach(path, data, os.path.basename(path)):
            self.handles.append(self.sentences.handle.format(path=one_line(path)))

    def _recipe(self, data: bytes) -> Recipe:
        return self.recipe or full_size(data, self.wire.accepts)

    def attach_url(self, url: str) -> None:
        inline = data_urls.split(url)
        if inline is not None:
            data = inline[1] if isinstance(inline[1], bytes) else data_urls.decode(inline[1])
            named = url[:SHOWN_URL_CHARS]
            if data is None:
                self._skip(named, "corrupt_input", "the base64 of the data URL is broken")
            else:
                self._attach(named, data, None)
        elif not url:
            return
        elif url.partition("://")[0].lower() not in ("http", "https"):
            self._skip(url, "unsupported_scheme", "only http and https URLs can be attached")
        elif not self.wire.takes_url:
            self._skip(url, "wire_takes_no_url", f"{self.wire.name} takes no URLs; fetch it and attach the file")
        else:
            self.images.append(self.wire.url_part(url))
            self.handles.append(self.sentences.handle_url.format(url=one_line(url)))

    def _attach(self, source: str, data: bytes, name: str | None) -> bool:
        sha256 = sha256_of(data)
        if sha256 in self.first:
            self.notes.append(About(source, "same_content", f"the same content as {self.first[sha256]}; sent once"))
            return True
        rendition = self.pictures.draw(sha256, data, self._recipe(data))
        if isinstance(rendition, PixlaneError):
            self._skip(source, rendition.code, rendition.message)
            return False
        self.first[sha256] = source
        as_it_is = self.recipe is None and is_untouched(rendition)
        self.images.append(self.wire.image_part(rendition.mime, data if as_it_is else rendition.data))
        if not as_it_is:
            self.notes += [About(source, note.code, note.text) for note in rendition.notes]
            self.lines.append(scale_line(source, rendition, self.sentences))
        self._note_name(source, name, rendition)
        return True

    def _note_name(self, source: str, name: str | None, rendition: Rendition) -> None:
        from pixlane import formats

        said = formats.said_by_name(name)
        if said is not None and said.mime != rendition.source.mime:
            text = f"the name says {said.mime}, the bytes are {rendition.source.mime}"
            self.notes.append(About(source, "declared_type_wrong", text))

    def _skip(self, source: str, code: str, text: str) -> None:
        self.skipped.append(About(source, code, text))
        self.lines.append(self.sentences.not_attached.format(path=one_line(source), reason=code.replace("_", " ")))


def scale_line(source: str, rendition: Rendition, sentences: Sentences) -> str:
    """How points of the picture as it is shown become points of the file; "" where it was not resized."""
    shown = rendition.region or rendition.source
    if (rendition.width, rendition.height) == (shown.width, shown.height):
        return ""
    across, down = (1 / scale for scale in rendition.scale)
    return sentences.scale.format(
        path=one_line(source),
        width=rendition.width,
        height=rendition.height,
        source_width=shown.width,
        source_height=shown.height,
        factor_x=f"{across:.4g}",
        factor_y=f"{down:.4g}",
    )


def one_line(source: str) -> str:
    """A path or URL that cannot end the line that it stands on: a file's name is not a place for instructions."""
    return "".join(character if character.isprintable() else "\N{REPLACEMENT CHARACTER}" for character in source)
