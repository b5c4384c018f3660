"""Rendition: the finished image, where it came from, and the truth about what was done to it."""

from __future__ import annotations

import base64
from dataclasses import asdict, dataclass, field
from functools import cached_property
from typing import Any, TypeVar

from pixlane.recipe import Region

_T = TypeVar("_T")

NOTE_CODES: dict[str, str] = {
    "target_clamped": "target_bytes lay outside 65,536 .. 4,194,304 and was moved to the nearer bound",
    "target_missed": "no candidate met every limit; this is the smallest",
    "declared_type_wrong": "the declared type or the file name contradicts the bytes",
    "resized": "the picture has fewer pixels than the source",
    "turned_upright": "the picture is stored turned or mirrored and is shown as its orientation says",
    "beyond_reading": "the picture is so much smaller than the source that text of common size cannot be read",
    "palette_reduced": "the colours were reduced to the 256 that suit best",
    "frames_dropped": "the source has more frames, pages or pictures than the one that is shown",
    "alpha_flattened": "transparency was laid onto a background",
    "background_dark": "the background is dark because what is visible would vanish on white",
    "depth_reduced": "the source has more than 8 bits per channel, or numbers that had to be scaled",
    "cmyk_converted": "ink colours were converted to sRGB",
    "profile_converted": "colours were converted from another colour space to sRGB",
    "profile_broken": "the colour profile cannot be used; the numbers were taken as sRGB",
    "tone_mapped": "high dynamic range was compressed to what sRGB can show",
    "metadata_removed": "EXIF, XMP, profile or text was cut away",
    "trailing_data_dropped": "bytes after the end of the picture were cut away",
    "repaired": "the file is damaged, the picture is shown as a browser would show it",
    "truncated": "picture data is missing at the end; the rest was drawn because the recipe allows it",
    "svg_repaired": "the SVG lacks something that browsers insist on; it was drawn all the same",
    "svg_reference_removed": "the SVG named something outside of itself; that was removed before drawing",
    "svg_script_removed": "scripts or event handlers were removed from the SVG",
    "svg_foreign_removed": "HTML or media inside the SVG cannot be drawn and is missing",
    "svg_animation_ignored": "the SVG is animated; the picture shows the state before any animation",
    "svg_font_replaced": "the SVG brings fonts of its own; its text was drawn in installed ones",
    "svg_text_not_drawn": "no installed font has some of the SVG's text; it is missing in the picture",
    "svg_image_unreadable": "a picture inside the SVG could not be decoded and is missing",
    "svg_filter_limited": "a filter of the SVG was drawn with less work than it asks for; the difference cannot be seen",
    "svg_engine_fallback": "the preferred engine could not draw the SVG; another one did",
    "vector_size_assumed": "a vector source names no size; one was taken from its content",
    "vector_scaled": "a vector source was drawn at another size than its own",
}
"""Every note code and what it says. One registry: a test holds an input for each, and no code is written elsewhere."""


@dataclass(frozen=True)
class Note:
    """Something that a user would otherwise not see. `code` is stable, `text` is one sentence with the values."""

    code: str
    text: str


@dataclass(frozen=True)
class Attempt:
    """One rung that was encoded: size in px, encoder ("jpeg", "png", "palette", "webp", "untouched"), quality or None, bytes.

    An encoder is stopped once it has written more than can be of use: then the bytes are those up to there. `chosen` marks the
    one that became the result.
    """

    width: int
    height: int
    encoder: str
    quality: int | None
    byte_count: int
    chosen: bool = False


@dataclass(frozen=True)
class Source:
    """What came in. Sizes are upright, px; `frames` is None where counting would need the whole file."""

    sha256: str
    mime: str
    width: int
    height: int
    byte_count: int
    frames: int | None = 1


@dataclass(frozen=True)
class Rendition:
    """The finished image.

    Attributes:
        data: the encoded bytes.
        mime: their type.
        width, height: px.
        source: what came in.
        region: the part of the upright source that is shown; None: all of it.
        fits: True when every limit of the recipe is met.
        notes: what a user would otherwise not see, in the order in which it happened.
        attempts: the rungs that were encoded, in order; exactly one is `chosen`. It need not be the last: the ladder begins where
            a sample points, and then looks whether a better rung fits too.
        pipeline: version of the pipeline that made it.
        recipe: fingerprint of the recipe.
        cached: True when it came from the store without work.
        elapsed_ms: time spent making it (not fetching it), milliseconds.
    """

    data: bytes = field(repr=False)
    mime: str
    width: int
    height: int
    source: Source
    region: Region | None = None
    fits: bool = True
    notes: tuple[Note, ...] = ()
    attempts: tuple[Attempt, ...] = ()
    pipeline: str = ""
    recipe: str = ""
    cached: bool = field(default=False, compare=False)
    elapsed_ms: float = 0.0

    @cached_property
    def data_url(self) -> str:
        """`data:<mime>;base64,<data>`."""
        return data_url_prefix(self.mime) + base64.b64encode(self.data).decode("ascii")

    @property
    def scale(self) -> tuple[float, float]:
        """Rendition px per source px on each axis; 1.0 where nothing was resized."""
        shown = self._shown
        return self.width / shown.width, self.height / shown.height

    def to_source(self, x: float, y: float) -> tuple[float, float]:
        """The point of the upright source that is shown at (x, y); continuous coordinates, (0, 0) is the top left corner."""
        shown = self._shown
        return shown.x + x * shown.width / self.width, shown.y + y * shown.height / self.height

    @property
    def _shown(self) -> Region:
        return self.region or Region(0, 0, self.source.width, self.source.height)

    def to_meta(self) -> dict[str, Any]:
        """Everything but the bytes, as JSON values; what `pixlane:{<sha256>}:meta:<recipe>` holds."""
        record = asdict(self)
        for name in ("data", "cached"):
            del record[name]
        return record

    @classmethod
    def from_meta(cls, record: dict[str, Any], data_url: str, *, cached: bool = True) -> Rendition:
        """The rendition that `to_meta` described, with the bytes of its data URL; fields of a newer version are left out."""
        region = record["region"]
        given = {
            **record,
            "data": b"",
            "source": _known(Source, record["source"]),
            "region": _known(Region, region) if region else None,
            "notes": tuple(_known(Note, note) for note in record["notes"]),
            "attempts": tuple(_known(Attempt, attempt) for attempt in record["attempts"]),
            "cached": cached,
        }
        rendition = _known(cls, given)
        rendition.__dict__["data_url"] = data_url
        del rendition.__dict__["data"]  # see _DataOfUrl
        return rendition


def _known(kind: type[_T], record: dict[str, Any]) -> _T:
    """An instance from a record that may have more fields than this version knows."""
    names = kind.__dataclass_fields__  # type: ignore[attr-defined]
    return kind(**{name: value for name, value in record.items() if name in names})


class _DataOfUrl:
    """`data` of a rendition from the store: decoded when it is first asked for, as that takes longer than the fetch itself."""

    def __get__(self, rendition: Rendition | None, _: type[Rendition]) -> Any:
        if rendition is None:
            return self
        data = base64.b64decode(rendition.data_url.partition(",")[2], validate=True)
        rendition.__dict__["data"] = data
        return data


Rendition.data = _DataOfUrl()  # type: ignore[assignment]  # found only where an instance has no `data` of its own


def data_url_prefix(mime: str) -> str:
    return f"data:{mime};base64,"


def data_url_length(mime: str, byte_count: int) -> int:
    """Characters of the data URL for that many bytes."""
    return len(data_url_prefix(mime)) + 4 * -(-byte_count // 3)
