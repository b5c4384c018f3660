"""The ladder: at each size all candidates, best first, then a smaller size, until the whole data URL fits the budget.

What is chosen is the first that fits in that order. Three things make it cheap without changing it:
- an encoder is stopped when it has written more than fits;
- every size is made from the picture that was drawn at the ceiling, which stays in memory;
- in a row of falling JPEG qualities the first one tried is the one that a sample of the picture points at. Where it fits, the
  better ones are tried until one does not; where it does not, the better ones cannot either: each coefficient is divided by
  more and rounded to no larger number, so a lower quality has no more bytes. (Of two rows, with colour at full and at half
  resolution, this holds for each.)
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from pixlane.errors import TargetUnreachable
from pixlane.imaging import encode, plan, reading
from pixlane.imaging.plan import Size
from pixlane.imaging.rungs import Group, Rung, Stage, reach, stages
from pixlane.imaging.traits import Traits
from pixlane.imaging.work import Encoded, Opened, Work
from pixlane.recipe import Region
from pixlane.rendition import Attempt, data_url_length, data_url_prefix

if TYPE_CHECKING:
    import pyvips

SAMPLED_SHARE = 0.25  # bytes per pixel beyond which hardly a JPEG goes: where that fits there is nothing to predict
WATCHED_PIXELS = 4_000_000  # from this size on an encoder looks at the deadline while it works


def climb(work: Work) -> Encoded:
    """The first candidate of the ladder that fits; notes and attempts of the work are filled.

    Raises TargetUnreachable where none fits and the recipe does not ask for the smallest.
    """
    assert work.opened is not None
    shown = work.region or Region(0, 0, work.opened.facts.width, work.opened.facts.height)
    sizes = plan.sizes(shown.width, shown.height, work.recipe)
    usable = tuple(size for size in sizes if plan.violation(size, work.recipe) is None)
    if not usable and work.recipe.on_miss == "error":
        violation = plan.violation(sizes[0], work.recipe)
        assert violation is not None
        raise TargetUnreachable(f"no size meets every limit: {violation}", limit=violation.limit, actual=violation.actual)
    ladder = _Ladder(work, work.opened, shown, usable or sizes)
    found = ladder.fine() if work.recipe.shrink == "fine" else ladder.halve()
    if found is None:
        found = ladder.smallest()
        if work.recipe.on_miss == "error":
            raise _unreachable(work, found)
    _note(work, shown, found, ladder)
    return found


def bytes_that_fit(budget: int | None, mime: str) -> int | None:
    """The most bytes whose data URL has at most `budget` characters; None where nothing limits them."""
    return None if budget is None else max(0, (budget - len(data_url_prefix(mime))) // 4 * 3)


class _Ladder:
    """The search over the sizes of one picture."""

    def __init__(self, work: Work, opened: Opened, shown: Region, sizes: tuple[Size, ...]) -> None:
        self.work = work
        self.recipe = work.recipe
        self.shown = shown
        self.sizes = sizes
        self.missed: dict[Rung, tuple[int, int]] = {}  # the smallest longer side at which a rung did not fit, px; its bytes
        self.limits = {mime: bytes_that_fit(work.recipe.budget, mime) for mime in encode.MIME.values()}
        self.top = _lone_grey(opened.draw(shown, *sizes[0]))

    def halve(self) -> Encoded | None:
        """The first that fits, size after size."""
        return _first(self.at(size) for size in self.sizes)

    def fine(self) -> Encoded | None:
        """The first that fits at the largest size at which any does; the longer side is found to the pixel.

        The bytes of a rung are taken to grow with the side: the result fits and one pixel more does not.
        """
        found = self.at(self.sizes[0])
        fails, fits = max(self.sizes[0]), max(self.sizes[-1])
        if found is not None or fits == fails:
            return found
        found = self.at(self.sizes[-1])
        while found is not None and fits + 1 < fails:
            side = (fits + fails) // 2
            size = plan.at_side(self.shown.width, self.shown.height, self.recipe, side)
            better = None if plan.violation(size, self.recipe) else self.at(size)
            if better is None:
                fails = side
            else:
                found, fits = better, side
        return found

    def smallest(self) -> Encoded:
        """The candidate with the shortest data URL of all sizes; later sizes first, so that most encoders stop early."""
        best: Encoded | None = None
        for size in reversed(self.sizes):
            traits = self.traits(size)
            for stage in stages(traits, self.recipe, self.limits):
                for group in stage:
                    for rung in group:
                        self.work.deadline.check()
                        if not rung.offered(traits, None):
                            continue
                        outcome = rung.encode(traits, len(best.data) - 1 if best else None)
                        if outcome is not None and outcome.done:
                            best = _encoded(traits, rung, outcome.data)
        if best is None:  # the only type that is accepted has a smaller largest side
            raise TargetUnreachable(
                f"no accepted type can hold {max(self.sizes[-1])} px on a side",
                limit=max(encode.MAX_SIDE_PX.values()),
                actual=max(self.sizes[-1]),
            )
        return best

    def at(self, size: Size) -> Encoded | None:
        """The first candidate of one size that fits."""
        step = _Step(self, self.traits(size))
        return _first(step.first_of(stage) for stage in stages(step.traits, self.recipe, self.limits))

    def traits(self, size: Size) -> Traits:
        """The picture at that size, from the one at the ceiling."""
        top = self.top
        if size == (top.width, top.height):
            return top
        smaller = top.picture.resize(size[0] / top.width, vscale=size[1] / top.height, kernel="lanczos3")
        return Traits(smaller.copy_memory())


class _Step:
    """The search at one size."""

    def __init__(self, ladder: _Ladder, traits: Traits) -> None:
        self.ladder = ladder
        self.traits = traits
        self.tried: dict[Rung, int] = {}
        if traits.pixels > WATCHED_PIXELS:
            ladder.work.deadline.attach(traits.picture)

    def first_of(self, stage: Stage) -> Encoded | None:
        """The first that fits. From where it probably is it goes on to a fit, then back through those that may fit as well."""
        start = self._likely(stage)
        found: Encoded | None = None
        missed: list[Rung] = []
        for group in stage[start:]:
            found = self.first_in(group)
            if found is not None:
                break
            missed.append(group[0])
        for group in reversed(stage[:start]):
            if any(group[0].tops(rung) for rung in missed):
                continue
            better = self.first_in(group)
            if better is None:
                missed.append(group[0])
            found = better or found
        return found

    def first_in(self, group: Group) -> Encoded | None:
        """The first that fits of rungs that are ever smaller."""
        return _first(self._try(rung) for rung in group)

    def _try(self, rung: Rung) -> Encoded | None:
        self.ladder.work.deadline.check()
        limit, side = self.ladder.limits[rung.mime], self.traits.side
        if limit is not None and rung.after is not None and self.tried[rung.after] > limit * rung.within:
            return None
        if not rung.offered(self.traits, limit):
            return None
        smallest, byte_count = self.ladder.missed.get(rung, (side + 1, 0))
        if side >= smallest:  # in the fine search, and where the recipe names a quality twice
            self.tried[rung] = byte_count
            return None
        bound = None if limit is None else int(limit * reach(rung, self.ladder.recipe, self.traits))
        outcome = rung.encode(self.traits, bound)
        if outcome is None:
            return None
        self.tried[rung] = outcome.byte_count
        attempt = Attempt(self.traits.width, self.traits.height, rung.name, rung.quality, outcome.byte_count)
        self.ladder.work.attempts.append(attempt)
        if not outcome.done or (limit is not None and outcome.byte_count > limit):
            self.ladder.missed[rung] = side, outcome.byte_count
            return None
        return _encoded(self.traits, rung, outcome.data)

    def _likely(self, stage: Stage) -> int:
        """Where in a stage to begin: at the first quality of which a sample promises that it fits."""
        limit = self.ladder.limits[stage[0][0].mime]
        qualities = [group[0].quality for group in stage]
        if len(set(qualities)) == 1 or stage[0][0].encoder != "jpeg" or limit is None:
            return 0
        if self.traits.pixels * SAMPLED_SHARE <= limit:
            return 0
        for plain, *_ in stage:
            assert plain.quality is not None
            if plain.quality == qualities[-1] or self.traits.jpeg_bytes(plain.quality, plain.full_chroma) <= limit:
                return qualities.index(plain.quality)
        return 0


def _first(candidates: Iterable[Encoded | None]) -> Encoded | None:
    return next((found for found in candidates if found is not None), None)


def _encoded(traits: Traits, rung: Rung, data: bytes) -> Encoded:
    return Encoded(data, rung.mime, traits.width, traits.height, rung.name, rung.quality)


def _lone_grey(picture: pyvips.Image) -> Traits:
    """One band where three are equal: a third of the work, and no colour to smear."""
    traits = Traits(picture)
    if traits.bands != 3 or not traits.grey:
        return traits
    pixels = bytes(picture.write_to_memory())
    if not pixels[0::3] == pixels[1::3] == pixels[2::3]:
        return traits
    return Traits(picture[0].copy(interpretation="b-w").copy_memory())


def _unreachable(work: Work, found: Encoded) -> TargetUnreachable:
    length = data_url_length(found.mime, len(found.data))
    return TargetUnreachable(
        f"no candidate has a data URL of at most {work.recipe.budget:,} characters; the smallest, "
        f"{found.width} x {found.height} px as {found.encoder}, has {length:,}",
        limit=work.recipe.budget,
        actual=length,
        smallest_bytes=len(found.data),
        width=found.width,
        height=found.height,
    )


def _note(work: Work, shown: Region, found: Encoded, ladder: _Ladder) -> None:
    """What a user would otherwise not see of the choice."""
    length, budget = data_url_length(found.mime, len(found.data)), work.recipe.budget
    if budget is not None and length > budget:
        work.note("target_missed", f"the data URL has {length:,} characters, {budget:,} were asked for")
    violation = plan.violation((found.width, found.height), work.recipe)
    if violation is not None:
        work.note("target_missed", str(violation))
    if found.encoder == "palette":
        work.note("palette_reduced", "the colours were reduced to 256")
    reading.note(work, shown, found, ladder.top)
