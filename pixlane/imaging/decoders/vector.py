"""What SVG and PDF share: no pixels of their own, so each size is drawn anew; a region is cut from the drawing."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

from pixlane.imaging import flatten, fork_guard
from pixlane.imaging.svg import size
from pixlane.imaging.work import Facts, Work
from pixlane.recipe import Region

if TYPE_CHECKING:
    import pyvips


class Vector(ABC):
    """An opened vector source. Engines say how it is drawn; size, region and background are done here.

    Args:
        work: the job; takes the notes.
        document_size: what it is to be drawn at, px, before the bounds on a drawing.
        says: what the document itself says of its size, for the note.
        mime: its type.
        frames: pages.
        alpha: the drawing has transparency.
        at_most_px: the longer side of a drawing, for what costs too much when it is larger.
    """

    def __init__(
        self,
        work: Work,
        document_size: size.Size,
        says: str,
        mime: str,
        frames: int = 1,
        *,
        alpha: bool = True,
        at_most_px: float = math.inf,
    ) -> None:
        self.work = work
        self.document_size = document_size
        self.at_most_px = at_most_px
        longer = int(min(work.recipe.max_side, at_most_px))
        width, height = size.drawn_size(document_size, longer, min(work.limits.max_pixels, size.MAX_DRAWN_PIXELS))
        self.facts = Facts(mime, width, height, frames=frames, alpha=alpha, vector=True)
        if (width, height) != tuple(map(round, document_size)):
            work.note("vector_scaled", f"{says}; drawn at {width} x {height} px")

    @abstractmethod
    def render(self, width: int, height: int) -> pyvips.Image:
        """The whole document at that size: 8-bit sRGB, with alpha where `facts.alpha`."""

    def draw(self, region: Region, width: int, height: int) -> pyvips.Image:
        """See `Opened.draw`. A region is drawn with all around it, in at most `MAX_DRAWN_PIXELS`."""
        whole = Region(0, 0, self.facts.width, self.facts.height)
        image = self.render(width, height) if region == whole else self._part(region, width, height)
        fork_guard.enter()
        if self.facts.alpha:
            image, least = flatten.take(image)
            if least < flatten.OPAQUE:
                image = flatten.flatten(image, flatten.choose_background(self.work, image, least))
        return self.work.deadline.attach(image.copy()).copy_memory()

    def prove(self) -> bool:
        """See `Opened.prove`: there are no pixels to keep."""
        return False

    def _part(self, region: Region, width: int, height: int) -> pyvips.Image:
        across, down = width / region.width, height / region.height
        size_px = max(1, round(self.facts.width * across)), max(1, round(self.facts.height * down))
        excess = (size_px[0] * size_px[1] / size.MAX_DRAWN_PIXELS) ** 0.5
        if excess > 1:
            size_px = max(1, int(size_px[0] / excess)), max(1, int(size_px[1] / excess))
        image = self.render(*size_px)
        across, down = image.width / self.facts.width, image.height / self.facts.height
        left, top = min(round(region.x * across), image.width - 1), min(round(region.y * down), image.height - 1)
        part = image.crop(
            left,
            top,
            max(1, min(round(region.width * across), image.width - left)),
            max(1, min(round(region.height * down), image.height - top)),
        )
        if (part.width, part.height) == (width, height):
            return part
        return part.resize(width / part.width, vscale=height / part.height)
