"""SVG: sanitized, measured, and drawn at the wanted size in a process that may be killed; resvg first, then CairoSVG."""

from __future__ import annotations

import os
import re
import struct
from typing import TYPE_CHECKING, Any

from pixlane.errors import DeadlineExceeded, EngineMissing, PixlaneError, RenderFailed
from pixlane.imaging import fork_guard
from pixlane.imaging.decoders.vector import Vector
from pixlane.imaging.svg import bounds, size, tree
from pixlane.imaging.svg.draw_process import pool
from pixlane.imaging.svg.sanitize import Drawing, sanitize
from pixlane.imaging.work import Work

if TYPE_CHECKING:
    import pyvips

ENGINES = ("resvg", "cairosvg")
MIME = "image/svg+xml"

_NO_GLYPH = re.compile(r"No fonts with a (\S+?)/U\+[0-9A-F]+ character were found")
_NO_FONT = re.compile(r"No match for .* font-family|No fonts provided")


def open_svg(work: Work) -> Vector:
    """The drawing, sanitized and measured; nothing is drawn yet. `page` must be 0.

    Raises UnsafeSvg, SourceTooLarge, TooManyPixels, CorruptInput, InvalidDimensions, PageOutOfRange.
    """
    pool().warm()  # starts beside the parsing
    return SvgPicture(work, sanitize(work.data, work.limits, work.note, work.deadline))


class SvgPicture(Vector):
    """A sanitized SVG; see `Opened`."""

    def __init__(self, work: Work, drawing: Drawing) -> None:
        self.drawing = drawing
        self.refused: dict[str, PixlaneError] = {}  # engine to why it does not draw this one
        wanted = self._measured(work, *size.intrinsic_size(drawing.root))
        says, at_most_px = f"the SVG is {wanted[0]:g} x {wanted[1]:g} px", bounds.morphology_side(drawing.root)
        if at_most_px < min(max(*wanted, size.MIN_LONGER_SIDE_PX), work.recipe.max_side):
            says += ", and its feMorphology would take too long at the whole size"
        super().__init__(work, wanted, says, MIME, at_most_px=at_most_px)

    def render(self, width: int, height: int) -> pyvips.Image:
        """The whole drawing with its transparency, RGBA; drawn in at most `at_most_px`, and enlarged."""
        import pyvips

        coarser = min(1.0, self.at_most_px / max(width, height))
        across, down = max(1, int(width * coarser)), max(1, int(height * coarser))
        png = self._first_engine(_sized(self.drawing.root, self.document_size, across, down), across, down)
        fork_guard.enter()
        image = pyvips.Image.pngload_buffer(png)
        if image.bands < 3:
            image = image.colourspace("srgb")
        image = image if image.hasalpha() else image.addalpha()
        if coarser == 1:
            return image
        # Resized with its alpha in its colours: what cannot be seen gives no colour to its neighbours.
        larger = image.premultiply().resize(width / image.width, vscale=height / image.height)
        return larger.unpremultiply().cast("uchar").copy(interpretation="srgb")

    def _first_engine(self, markup: str, width: int, height: int) -> bytes:
        for engine in ENGINES:
            if engine in self.refused:
                continue
            try:
                log, png = _ask(self.work, engine, markup, self.drawing.has_text, width, height)
            except DeadlineExceeded:
                raise
            except PixlaneError as error:
                self.refused[engine] = error
                continue
            for before, refusal in self.refused.items():
                self.work.note("svg_engine_fallback", f"drawn by {engine}, as {before} could not: {refusal.message}")
            if self.drawing.has_text:
                self._look_for_lost_text(log)
            return png
        if all(isinstance(error, EngineMissing) for error in self.refused.values()):
            raise EngineMissing("neither resvg-py nor CairoSVG with the system's libcairo is installed; one of them draws SVG")
        reasons = "; ".join(f"{engine}: {error.message}" for engine, error in self.refused.items())
        raise RenderFailed(f"no engine could draw the SVG ({reasons})")

    def _look_for_lost_text(self, log: str) -> None:
        """resvg leaves out what no font has, and says so only in its log."""
        lost = "".join(dict.fromkeys(_NO_GLYPH.findall(log)))
        if lost:
            self.work.note("svg_text_not_drawn", f"no installed font has {lost[:40]!r}; that text is missing in the picture")
        elif _NO_FONT.search(log):
            self.work.note("svg_text_not_drawn", "no installed font could draw the text; it is missing in the picture")

    def _measured(self, work: Work, width: float | None, height: float | None) -> size.Size:
        """The size of the document; a side that only its content tells is measured by resvg."""
        if width and height:
            return width, height
        content = size.FALLBACK_SIZE
        root = tree.Node(self.drawing.root.namespace, "svg", dict(self.drawing.root.attributes), self.drawing.root.children)
        for name in ("width", "height", "viewBox"):
            root.attributes.pop(name, None)
        try:
            _, png = _ask(work, "resvg", tree.markup(root), self.drawing.has_text, 0, 0)
            content = struct.unpack(">II", png[16:24])
        except DeadlineExceeded:
            raise
        except PixlaneError as error:
            work.note("vector_size_assumed", f"the SVG names no size and its content could not be measured: {error.message}")
        found = float(width or content[0]), float(height or content[1])
        work.note("vector_size_assumed", f"the SVG names no size; {found[0]:g} x {found[1]:g} px were taken from its content")
        return found


def _sized(root: tree.Node, document: size.Size, width: int, height: int) -> str:
    """The document, told to fill exactly that many px."""
    attributes = {**root.attributes, "width": str(width), "height": str(height)}
    if size.view_box(root) is None:
        attributes["viewBox"] = f"0 0 {document[0]:.9g} {document[1]:.9g}"
        attributes["preserveAspectRatio"] = "none"
    return tree.markup(tree.Node(root.namespace, root.name, attributes, root.children))


def _ask(work: Work, engine: str, markup: str, text: bool, width: int, height: int) -> tuple[str, bytes]:
    seconds = min(work.limits.svg_timeout_s, work.deadline.remaining)
    work.deadline.check()
    header: dict[str, Any] = {
        "op": "svg",
        "engine": engine,
        "width": width,
        "height": height,
        "text": text,
        "font_dirs": [folder for folder in work.limits.svg_font_dirs.split(os.pathsep) if folder],
    }
    answer, png = pool().ask(header, markup.encode("utf-8"), seconds)
    return answer["log"], png
