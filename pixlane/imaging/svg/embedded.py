"""Pictures inside an SVG: decoded by pixlane within its limits and handed to the engine as plain PNG."""

from __future__ import annotations

import base64
import binascii
import hashlib
import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote_to_bytes

from pixlane import formats
from pixlane.errors import DeadlineExceeded, EngineAfterFork, PixlaneError, TooManyPixels
from pixlane.imaging.work import Work
from pixlane.recipe import Recipe, Region
from pixlane.settings import Limits

if TYPE_CHECKING:
    import pyvips

    from pixlane.imaging.deadline import Deadline

MAX_SIDE_PX = 4096  # of a picture inside; it is drawn into at most `max_side` px
PNG_COMPRESSION = 1  # read once by the engine and thrown away

_DATA = re.compile(r"data:([^,]*),(.*)", re.IGNORECASE | re.DOTALL)
_EXPECTED_NOTES = frozenset({"alpha_flattened", "background_dark", "resized"})


class Rasters:
    """The pictures of one document and of those inside it; their pixels count together."""

    def __init__(self, limits: Limits, note: Callable[[str, str], None], deadline: Deadline) -> None:
        self.limits = limits
        self.note = note
        self.deadline = deadline
        self.pixels = 0
        self.done: dict[bytes, str | None] = {}

    def picture(self, reference: str, sanitized: Callable[[bytes], bytes]) -> str | None:
        """The `data:` reference to put in place of this one; None, with a note, where nothing could be drawn.

        `sanitized` cleans an SVG inside the SVG. Raises TooManyPixels when the pictures together pass `max_pixels`.
        """
        self.deadline.check()
        key = hashlib.sha256(reference.encode("utf-8")).digest()
        if key not in self.done:
            self.done[key] = self._picture(reference, sanitized)
        return self.done[key]

    def _picture(self, reference: str, sanitized: Callable[[bytes], bytes]) -> str | None:
        try:
            data = content(reference)
            found = formats.detect(data, tail=data[-26:]).format
            if found.name == "svg":
                return _reference("image/svg+xml", sanitized(data))
            if not found.image or found.name == "pdf":
                raise ValueError(f"it is {found.mime}")
            return _reference("image/png", self._png(data, found))
        except (TooManyPixels, DeadlineExceeded, EngineAfterFork):
            raise
        except (PixlaneError, ValueError) as error:
            if isinstance(error, PixlaneError) and error.code == "unsafe_svg":
                raise
            self.note("svg_image_unreadable", f"a picture inside the SVG cannot be drawn: {error}")
            return None

    def _png(self, data: bytes, found: formats.Format) -> bytes:
        from pixlane.imaging import decoders

        work = Work(data, Recipe(allow_truncated=True), self.limits, self.deadline, source_bytes=len(data), detected=found)
        facts = (opened := decoders.open_source(work)).facts
        self.pixels += facts.width * facts.height
        if self.pixels > self.limits.max_pixels:
            raise TooManyPixels(
                f"the pictures inside the SVG have {self.pixels:,} px together, allowed are {self.limits.max_pixels:,}",
                limit=self.limits.max_pixels,
                actual=self.pixels,
            )
        scale = min(1.0, MAX_SIDE_PX / max(facts.width, facts.height))
        size = max(1, round(facts.width * scale)), max(1, round(facts.height * scale))
        image = _with_alpha(work, opened.draw, Region(0, 0, facts.width, facts.height), size) if facts.alpha else None
        if image is None:
            image = opened.draw(Region(0, 0, facts.width, facts.height), *size)
        for note in work.notes:
            if note.code not in _EXPECTED_NOTES:
                self.note(note.code, f"a picture inside the SVG: {note.text}")
        return bytes(image.pngsave_buffer(compression=PNG_COMPRESSION, keep="none"))


def content(reference: str) -> bytes:
    """The bytes of a `data:` URL (RFC 2397). Raises ValueError where it is none."""
    match = _DATA.fullmatch(reference)
    if match is None:
        raise ValueError("the data: reference has no comma")
    raw = unquote_to_bytes(match[2])
    if not match[1].lower().rstrip().endswith("base64"):
        return raw
    packed = b"".join(raw.split()).rstrip(b"=")
    try:
        return base64.b64decode(packed + b"=" * (-len(packed) % 4))
    except binascii.Error as error:
        raise ValueError(f"the data: reference is not base64 ({error})") from None


def _reference(mime: str, data: bytes) -> str:
    return f"data:{mime};base64," + base64.b64encode(data).decode("ascii")


def _with_alpha(work: Work, draw: Callable[..., pyvips.Image], whole: Region, size: tuple[int, int]) -> pyvips.Image:
    """Colour with alpha, from the picture on white and on black: openers hand out flattened pictures only."""
    import numpy as np
    import pyvips

    def on(background: str) -> Any:
        work.recipe = Recipe(allow_truncated=True, background=background)
        pixels = np.asarray(draw(whole, *size)).astype(np.float32)
        return np.repeat(pixels, 3, axis=2) if pixels.shape[2] == 1 else pixels

    black, white = on("#000000"), on("#ffffff")
    alpha = 255 - np.clip(white - black, 0, 255).max(axis=2, keepdims=True)
    colour = np.where(alpha > 0, black * 255 / np.maximum(alpha, 1), 0)
    pixels = np.concatenate([np.clip(np.rint(colour), 0, 255), alpha], axis=2).astype(np.uint8)
    return pyvips.Image.new_from_array(pixels, interpretation="srgb")
