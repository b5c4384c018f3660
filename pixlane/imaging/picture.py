"""What all raster engines share: stored pixels to an upright 8-bit sRGB picture of the wanted size, in few passes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

from pixlane.errors import CorruptInput
from pixlane.imaging import colour, flatten, fork_guard, guard, orient
from pixlane.imaging.colour import Colour
from pixlane.imaging.work import Facts, Work
from pixlane.recipe import Region

if TYPE_CHECKING:
    import pyvips

    Step = Callable[[pyvips.Image], pyvips.Image]

Taken = TypeVar("Taken")

WATCHED_PIXELS = 4_000_000  # a step on more pixels looks at the deadline on its way
KEPT_PIXELS = 4_000_000  # a proved picture up to this size stays decoded for the draw that may follow


class Picture(ABC):
    """An opened raster. Engines say how stored pixels are loaded; turning, colour, background and size are done here.

    Args:
        work: the job; takes the notes.
        facts: what the header says.
        cost: what decoding costs, a row of `guard.BYTES_PER_PIXEL`.
        colour: how its numbers become sRGB.
        metadata: kinds of metadata that the source carries, in the words of the note.
        damage: what is wrong around the pixels, in the words of the note.
    """

    def __init__(
        self,
        work: Work,
        facts: Facts,
        colour: Colour,
        *,
        cost: str,
        metadata: tuple[str, ...] = (),
        damage: tuple[str, ...] = (),
    ) -> None:
        self.work = work
        self.facts = facts
        self.colour = colour
        self.width, self.height = orient.turn_size(facts.width, facts.height, facts.orientation)  # as stored
        self._kept: pyvips.Image | None = None
        self._mended = bool(damage)
        guard.check_size(work.limits, self.width, self.height)
        guard.check_memory(work.limits, self.width, self.height, cost)
        guard.check_frames(work.limits, facts.frames)
        guard.check_page(work.recipe.page, facts.frames)
        if damage:
            work.note("repaired", "; ".join(damage))
        turned = facts.orientation if facts.orientation != 1 else facts.turned
        if turned != 1:
            work.note("turned_upright", f"stored {orient.WORDS[turned]} (EXIF value {turned})")
        if metadata:
            work.note("metadata_removed", f"{', '.join(metadata)} cut away")
        if facts.trailing_bytes:
            work.note("trailing_data_dropped", f"{facts.trailing_bytes:,} bytes after the end of the picture")
        if facts.bits > 8:
            work.note("depth_reduced", f"{facts.bits} bits per channel became 8")
        if colour.broken:
            work.note("profile_broken", "the embedded profile cannot be used; the numbers were taken as they are")

    @abstractmethod
    def load(self, shrink: float) -> pyvips.Image:
        """The stored picture for one pass, divided by `shrink` on both axes, sides rounded down or to the nearest.

        Any depth and space that `colour` knows, an alpha band last where `facts.alpha` says so.
        """

    def shrink_on_load(self, factor: float) -> float:
        """What `load` is asked to divide by where the picture is to get smaller by at least `factor` on both axes."""
        return 1.0

    def failed(self, error: Exception) -> None:
        """Called when pixels could not be decoded: make the next `load` give something, or raise what is wrong."""
        raise CorruptInput(f"the picture data is damaged: {sentence(error)}") from error

    def mended(self, code: str, text: str) -> None:
        """Note that the picture is shown although something was wrong with it."""
        self._mended = True
        self.work.note(code, text)

    def draw(self, region: Region, width: int, height: int) -> pyvips.Image:
        """See `Opened.draw`."""
        fork_guard.enter()
        stored = orient.to_stored(region, self.facts.orientation, self.width, self.height)
        size = orient.turn_size(width, height, self.facts.orientation)
        image = self._on_background(stored, size) if self.facts.alpha else self._opaque(stored, size)
        if self.facts.orientation != 1:
            image = self._memory(orient.upright(image, self.facts.orientation))
        return image

    def prove(self) -> bool:
        """See `Opened.prove`."""
        import pyvips

        fork_guard.enter()
        try:
            image = _into_memory(self._watched(self.load(1)))
        except (pyvips.Error, UnicodeDecodeError) as error:
            self.work.deadline.check()
            self.failed(error)
            return False
        if self.width * self.height <= KEPT_PIXELS:
            self._kept = image
        return not self._mended and (not self.facts.alpha or flatten.take(image)[1] == flatten.OPAQUE)

    def _opaque(self, stored: Region, size: tuple[int, int]) -> pyvips.Image:
        return self._then(self._srgb, self._pass(stored, size, _as_it_is, _into_memory))

    def _on_background(self, stored: Region, size: tuple[int, int]) -> pyvips.Image:
        """Most pictures with an alpha channel do not use it: look at the finished one, and go again where it does."""
        early, late = (self._srgb, _as_it_is) if self.colour.needs_depth else (_as_it_is, self._srgb)
        image, least = self._pass(stored, size, early, flatten.take)
        if least == flatten.OPAQUE:
            return self._then(late, image)
        background = flatten.choose_background(self.work, late(image), least)
        if least >= flatten.NEARLY_OPAQUE and image.bands == 4:
            return flatten.fill_traces(late(image), background)
        return self._pass(stored, size, lambda image: flatten.flatten(self._srgb(image), background), _into_memory)

    def _then(self, prepare: Step, image: pyvips.Image) -> pyvips.Image:
        """A picture in memory, prepared; the same one where there was nothing to do."""
        prepared = prepare(image)
        return image if prepared is image else self._memory(prepared)

    def _pass(self, stored: Region, size: tuple[int, int], prepare: Step, take: Callable[[pyvips.Image], Taken]) -> Taken:
        """One pass over the stored pixels: load, crop, 8 bits, prepare, resize, and what takes the result into memory."""
        import pyvips

        while True:
            try:
                return take(self._watched(resize(prepare(self._loaded(stored, size)), *size)))
            except (pyvips.Error, UnicodeDecodeError) as error:
                self.work.deadline.check()
                self.failed(error)

    def _loaded(self, stored: Region, size: tuple[int, int]) -> pyvips.Image:
        whole = stored == Region(0, 0, self.width, self.height)
        factor = min(self.width / size[0], self.height / size[1]) if whole else 1.0
        image = self._kept if self._kept is not None else self.load(self.shrink_on_load(factor))
        if not whole:
            image = image.crop(stored.x, stored.y, stored.width, stored.height)
        return colour.to_8bit(image, self.colour)

    def _srgb(self, image: pyvips.Image) -> pyvips.Image:
        return colour.to_srgb(self.work, image, self.colour)

    def _memory(self, image: pyvips.Image) -> pyvips.Image:
        """What is left to do once the source was passed over; of a usual rendition it takes less than looking at the time."""
        return (self._watched(image) if image.width * image.height > WATCHED_PIXELS else image.copy()).copy_memory()

    def _watched(self, image: pyvips.Image) -> pyvips.Image:
        # `copy_memory` of an image that wraps an array gives the same memory and forgets whose it is; `copy` makes it write.
        return self.work.deadline.attach(image.copy())


def resize(image: pyvips.Image, width: int, height: int) -> pyvips.Image:
    """Exactly width x height by Lanczos3, a scale per axis; libvips first averages whole pixels where a factor of 2 is left."""
    if (image.width, image.height) == (width, height):
        return image
    return image.resize(width / image.width, vscale=height / image.height, kernel="lanczos3")


def _as_it_is(image: pyvips.Image) -> pyvips.Image:
    return image


def _into_memory(image: pyvips.Image) -> pyvips.Image:
    return image.copy_memory()


def sentence(error: Exception) -> str:
    """The engine's own words, one line."""
    return " ".join(str(getattr(error, "detail", "") or error).split())[:200]
