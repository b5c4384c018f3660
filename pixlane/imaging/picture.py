"""What all raster engines share: from stored pixels to an upright 8-bit sRGB picture of the wanted size, in as few passes as can be."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import TYPE_CHECKING

from pixlane.errors import CorruptInput
from pixlane.imaging import colour, flatten, fork_guard, orient
from pixlane.imaging.colour import Colour
from pixlane.imaging.work import Facts, Work
from pixlane.recipe import Region

if TYPE_CHECKING:
    import pyvips

KEPT_PIXELS = 4_000_000  # a proved picture up to this size stays decoded for the draw that may follow


class Picture(ABC):
    """An opened raster. Engines say how stored pixels are loaded; turning, colour, background and size are done here.

    Args:
        work: the job; takes the notes.
        facts: what the header says.
        colour: how its numbers become sRGB.
    """

    def __init__(self, work: Work, facts: Facts, colour: Colour) -> None:
        self.work = work
        self.facts = facts
        self.colour = colour
        self.width, self.height = orient.turn_size(facts.width, facts.height, facts.orientation)  # as stored
        self._kept: pyvips.Image | None = None

    @abstractmethod
    def load(self, shrink: int) -> pyvips.Image:
        """The stored picture for one pass, divided by `shrink` on both axes, sides rounded down or to the nearest."""

    def shrink_on_load(self, factor: float) -> int:
        """What `load` is asked to divide by where the picture is to get smaller by at least `factor` on both axes."""
        return 1

    def failed(self, error: Exception) -> None:
        """Called when pixels could not be decoded: make the next `load` give something, or raise what is wrong."""
        raise CorruptInput(f"the picture data is damaged: {_sentence(error)}")

    def draw(self, region: Region, width: int, height: int) -> pyvips.Image:
        """See `Opened.draw`."""
        fork_guard.enter()
        stored = orient.to_stored(region, self.facts.orientation, self.width, self.height)
        size = orient.turn_size(width, height, self.facts.orientation)
        if self.facts.alpha:
            image = self._on_background(stored, size)
        else:
            image = self._pass(stored, size, lambda image: image)
            image = self._srgb(image)
        if self.facts.orientation != 1:
            image = self._memory(orient.upright(image, self.facts.orientation))
        return image

    def prove(self) -> bool:
        """See `Opened.prove`."""
        fork_guard.enter()
        before = len(self.work.notes)
        image = self._memory(self.load(1))
        whole = len(self.work.notes) == before
        if self.width * self.height <= KEPT_PIXELS:
            self._kept = image
        return whole and (not self.facts.alpha or flatten.is_opaque(image))

    def _on_background(self, stored: Region, size: tuple[int, int]) -> pyvips.Image:
        """Most pictures with an alpha channel do not use it: look at the finished one, and go again where it does."""
        image = self._pass(stored, size, lambda image: image)
        if flatten.is_opaque(image):
            return self._srgb(self._memory(flatten.without_alpha(image)))
        background = flatten.choose_background(self.work, self._srgb(image))
        return self._pass(stored, size, lambda image: flatten.flatten(self._srgb(image), background, self.colour.premultiplied))

    def _pass(self, stored: Region, size: tuple[int, int], prepare: Callable[[pyvips.Image], pyvips.Image]) -> pyvips.Image:
        """One pass over the stored pixels: load, crop, 8 bits, prepare, resize. A picture in memory."""
        import pyvips

        try:
            return self._memory(resize(prepare(self._cropped(stored, size)), *size))
        except pyvips.Error as error:
            self.work.deadline.check()
            self.failed(error)
            return self._pass(stored, size, prepare)

    def _cropped(self, stored: Region, size: tuple[int, int]) -> pyvips.Image:
        whole = stored == Region(0, 0, self.width, self.height)
        shrink = self.shrink_on_load(min(self.width / size[0], self.height / size[1])) if whole else 1
        image = self._kept if self._kept is not None else self.load(shrink)
        if not whole:
            image = image.crop(stored.x, stored.y, stored.width, stored.height)
        return colour.to_8bit(image)

    def _srgb(self, image: pyvips.Image) -> pyvips.Image:
        return colour.to_srgb(self.work, image, self.colour)

    def _memory(self, image: pyvips.Image) -> pyvips.Image:
        return self.work.deadline.attach(image).copy_memory()


def resize(image: pyvips.Image, width: int, height: int) -> pyvips.Image:
    """Exactly width x height by Lanczos3, a scale per axis; libvips first averages whole pixels where a factor of 2 is left."""
    if (image.width, image.height) == (width, height):
        return image
    return image.resize(width / image.width, vscale=height / image.height, kernel="lanczos3")


def _sentence(error: Exception) -> str:
    """The engine's own words, one line."""
    return " ".join(str(getattr(error, "detail", "") or error).split())[:200]
