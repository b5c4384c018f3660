"""PDF: one page through PDFium, in the process that draws vectors."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from pixlane.errors import InvalidDimensions
from pixlane.imaging import fork_guard, guard
from pixlane.imaging.decoders.vector import Vector
from pixlane.imaging.svg.draw_process import pool
from pixlane.imaging.work import Work

if TYPE_CHECKING:
    import pyvips

MIME = "application/pdf"
POINTS_PER_INCH = 72
MAX_DPI = 300  # a small page is not blown up beyond what a scanner would give
MAX_PAGE_POINTS = 14_400  # PDF 1.7, annex C; PDFium takes no notice of UserUnit


def open_pdf(work: Work) -> Vector:
    """The page `recipe.page`, measured; nothing is drawn yet.

    Its size is what fits `max_side`, at most 300 dpi, at least 512 px on the longer side.
    Raises EncryptedInput, CorruptInput, InvalidDimensions, PageOutOfRange, TooManyFrames, EngineMissing.
    """
    page = work.recipe.page
    answer, _ = pool().ask({"op": "pdf_open", "page": page}, work.data, _seconds(work))
    pages = answer["pages"]
    guard.check_frames(work.limits, pages)
    if pages == 0:
        raise InvalidDimensions("the PDF has no pages", limit=1, actual=0)
    guard.check_page(page, pages)
    points = answer["width"], answer["height"]
    if not all(math.isfinite(side) and 0 < side <= MAX_PAGE_POINTS for side in points):
        raise InvalidDimensions(
            f"page {page} of the PDF is {points[0]:g} x {points[1]:g} points", limit=MAX_PAGE_POINTS, actual=max(points)
        )
    return PdfPage(work, points, pages)


class PdfPage(Vector):
    """A page of a PDF; see `Opened`."""

    def __init__(self, work: Work, points: tuple[float, float], pages: int) -> None:
        at_most = points[0] * MAX_DPI / POINTS_PER_INCH, points[1] * MAX_DPI / POINTS_PER_INCH
        super().__init__(work, at_most, f"the page is {points[0]:g} x {points[1]:g} points", MIME, pages, alpha=False)

    def render(self, width: int, height: int) -> pyvips.Image:
        """The page on white, RGB."""
        import pyvips

        header = {"op": "pdf", "page": self.work.recipe.page, "width": width, "height": height}
        answer, pixels = pool().ask(header, self.work.data, _seconds(self.work))
        fork_guard.enter()
        image = pyvips.Image.new_from_memory(pixels, answer["width"], answer["height"], answer["bands"], "uchar")
        return image.copy(interpretation="srgb" if answer["bands"] >= 3 else "b-w")


def _seconds(work: Work) -> float:
    work.deadline.check()
    return min(work.limits.svg_timeout_s, work.deadline.remaining)
