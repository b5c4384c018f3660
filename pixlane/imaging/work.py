"""What the steps of the pipeline hand on: the work on one source, the opened source, a drawn picture, an encoded one."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from pixlane.recipe import Recipe, Region
from pixlane.rendition import Attempt, Note
from pixlane.settings import Limits

if TYPE_CHECKING:
    import pyvips

    from pixlane.imaging.deadline import Deadline


@dataclass(frozen=True)
class Facts:
    """What the header says and what decides whether the pixels may stay untouched."""

    mime: str
    width: int  # upright, px, of the page that was chosen
    height: int
    frames: int | None = 1  # frames, pages or images in the source; None where counting would need the whole file
    bits: int = 8  # per channel as stored
    alpha: bool = False  # has transparency of any kind: channel, palette, colour key
    srgb: bool = True  # sRGB or untagged RGB or grey; False where a conversion is needed
    orientation: int = 1  # EXIF value that still has to be applied, 1 .. 8
    turned: int = 1  # EXIF value of what the engine itself applies
    vector: bool = False  # has no pixels of its own
    lossless: bool = True  # PNG-like coding: edges in it are meant
    trailing_bytes: int = 0  # after the end of the picture


class Opened(Protocol):
    """A source whose header is known and whose pixels are drawn on demand, at the size that is wanted."""

    facts: Facts

    def draw(self, region: Region, width: int, height: int) -> pyvips.Image:
        """That part of the upright source at exactly width x height.

        8-bit sRGB (3 bands) or grey (1 band), no alpha, upright, on the background, in memory. Uses shrink on load. The region is
        in upright source px. Appends to the notes of the work what had to be done; a second call repeats no note.
        Raises TruncatedInput, CorruptInput, DeadlineExceeded ...
        """
        ...

    def prove(self) -> bool:
        """Decode every pixel once; True when the whole picture is there without repair and without a transparent pixel."""
        ...


@dataclass(frozen=True)
class Encoded:
    """A candidate that was encoded."""

    data: bytes
    mime: str
    width: int
    height: int
    encoder: str
    quality: int | None


@dataclass
class Work:
    """One source on its way through the pipeline. Steps read it, fill the later fields and append notes."""

    data: bytes
    recipe: Recipe
    limits: Limits
    deadline: Deadline
    name: str | None = None  # file name, for the contradiction note only
    declared_type: str | None = None
    sha256: str = ""
    source_bytes: int = 0  # as it came in; `data` may have lost what stood before the picture
    detected: Any = None  # formats.Format
    opened: Opened | None = None
    region: Region | None = None  # None: all of the source
    notes: list[Note] = field(default_factory=list)
    attempts: list[Attempt] = field(default_factory=list)

    def note(self, code: str, text: str) -> None:
        """Append a note once; a code may come again with another text."""
        note = Note(code, text)
        if note not in self.notes:
            self.notes.append(note)
