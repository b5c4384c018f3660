"""The local eye as an adapter: what stands written in a picture, and what it is like; no model of vision looks."""

from __future__ import annotations

import io
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from pixlane.recipe import Recipe, Region
from pixlane.rendition import Rendition
from pixlane.vision.adapter import Deadline
from pixlane.vision.findings import Findings
from pixlane.vision.local import engine
from pixlane.vision.observation import GeneratedBy
from pixlane.vision.route import LOCAL

if TYPE_CHECKING:
    from pixlane.vision.local.facts import Facts

FULL_SIDE_PX: Final = 65_500
SMALL_SCALE: Final = 0.4  # below, small text may not be found
QUALITIES: Final = (95,)

KINDS: Final = {
    "drawn": "looks like a screenshot, a document or a drawing",
    "photographed": "looks like a photograph or a scan",
    "unclear": "may be a screenshot or a photograph",
}
NO_MODEL: Final = "No model looked at the picture: only its text was read; what else it shows is not known."


@dataclass(frozen=True)
class LocalEye:
    """Text recognition on this machine. Raises EngineMissing without the extra `ocr`."""

    @property
    def route(self) -> str:
        return f"{LOCAL} {engine.route()}"

    @property
    def heeds_prompt(self) -> bool:
        return False

    def recipe(self, region: Region | None) -> Recipe:
        """Every pixel of it: text is read at full size."""
        accept = ("image/png", "image/jpeg")
        return Recipe(embed=False, max_side=FULL_SIDE_PX, accept=accept, jpeg_qualities=QUALITIES, region=region)

    def observe(self, picture: Rendition, prompt: str, deadline: Deadline) -> tuple[Findings, GeneratedBy]:
        import numpy
        from PIL import Image

        from pixlane.vision.local.facts import facts
        from pixlane.vision.local.lines import lines

        began = time.monotonic()
        with Image.open(io.BytesIO(picture.data), formats=("PNG", "JPEG")) as image:
            pixels = numpy.asarray(image.convert("RGB"))
        read = engine.engine().read(numpy.ascontiguousarray(pixels[:, :, ::-1]), deadline)
        text = lines(read.pieces)
        findings = Findings(_summary(picture, len(text), facts(pixels)), text, uncertainties=_uncertainties(read))
        took_ms = (time.monotonic() - began) * 1000
        return findings, GeneratedBy("local_ocr", LOCAL, engine.route(), attempts=0, elapsed_ms=took_ms)


def _summary(picture: Rendition, count: int, found: Facts) -> str:
    shown = picture.region or picture.source
    colours = ", ".join(f"{name} {code} {share:.0%}" for name, code, share in found.colours)
    said = f"{count} lines of text" if count != 1 else "1 line of text"
    return (
        f"{shown.width} x {shown.height} px; it {KINDS[found.kind]}"
        f"{f'; main colours: {colours}' if colours else ''}; {said if count else 'no text was found'}."
    )


def _uncertainties(read: engine.Read) -> tuple[str, ...]:
    said = [NO_MODEL]
    if read.faint:
        said.append(f"{read.faint} marks that are hardly text were left out.")
    if read.scale < SMALL_SCALE:
        said.append(f"Text was looked for at {read.scale:.0%} of the size: small text may be missing; ask for a region.")
    return tuple(said)
