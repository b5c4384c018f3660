"""A picture whose text would die in one rendition, as several readable ones that overlap."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from pixlane.errors import TargetUnreachable
from pixlane.imaging import ladder, pipeline, plan, untouched
from pixlane.imaging.picture import resize
from pixlane.imaging.reading import COMFORTABLE_SCALE, READABLE_SCALE, scale
from pixlane.imaging.work import Encoded, Facts, Opened, Work
from pixlane.recipe import Recipe, Region
from pixlane.rendition import Rendition
from pixlane.settings import Limits

if TYPE_CHECKING:
    import pyvips

OVERLAP_PX = 96  # source px that neighbours share: three lines of common text, so that each line is whole in one of them
MIN_TILE_PX = 256  # a tile is not cut further below this, source px
MAX_TILES = 400


def tiles(
    data: bytes,
    recipe: Recipe | None = None,
    *,
    name: str | None = None,
    declared_type: str | None = None,
    limits: Limits | None = None,
) -> list[Rendition]:
    """The source as renditions in which text of common size can be read, row by row from the top left.

    One rendition where that suffices. Else each shows a `region` of the upright source at 0.7 of its size or more, neighbours
    share 96 source px, and a tile that the budget would make smaller is cut in two. `to_source` of each gives
    points in the whole source. The picture is decoded once and held at its full size while the tiles are made.

    Args:
        data, name, declared_type, limits: as for `normalize`; the time limit holds for each tile.
        recipe: what each tile must satisfy; its `region` is what is split.

    Raises:
        TargetUnreachable: a tile cannot meet the recipe, or more than 400 tiles would be needed.
        PixlaneError: as `normalize` does.
    """
    began = time.perf_counter()
    work = pipeline.start(data, recipe, name=name, declared_type=declared_type, limits=limits)
    for step in pipeline.STEPS:
        step(work)
        work.deadline.check()
    assert work.opened is not None
    facts = work.opened.facts
    shown = work.region or Region(0, 0, facts.width, facts.height)
    regions = layout(shown, work.recipe)
    if len(regions) == 1:
        encoded = untouched.keep(work) or ladder.climb(work)
        regions = _halves(shown)
        if not regions or _shown_at(shown, encoded) >= READABLE_SCALE:
            return [pipeline.seal(work, encoded, began)]
    whole = _Drawn(facts, shown, work.opened.draw(shown, shown.width, shown.height))
    return [tile for region in regions for tile in _readable(work, whole, region)]


def layout(shown: Region, recipe: Recipe) -> list[Region]:
    """The regions of the tiles, row by row; the one region where it can be read in one rendition."""
    if _scale(shown.width, shown.height, recipe) >= READABLE_SCALE:
        return [shown]
    tile_width = _largest_square(recipe, COMFORTABLE_SCALE)
    columns = list(spans(shown.width, tile_width))
    tile_height = max(columns[0][1], _largest_square(recipe, 1.0))
    rows = list(spans(shown.height, tile_height))
    if len(columns) * len(rows) > MAX_TILES:
        raise TargetUnreachable(
            f"{len(columns)} x {len(rows)} tiles would be needed, allowed are {MAX_TILES}",
            limit=MAX_TILES,
            actual=len(columns) * len(rows),
        )
    return [Region(shown.x + x, shown.y + y, width, height) for y, height in rows for x, width in columns]


def spans(length: int, longest: int, overlap: int = OVERLAP_PX) -> Iterator[tuple[int, int]]:
    """(start, length) of the fewest spans of at most `longest` that cover `length` and share at least `overlap`; nearly equal."""
    overlap = min(overlap, longest // 2)
    count = max(1, -(-(length - overlap) // (longest - overlap)))
    size = -(-(length + (count - 1) * overlap) // count)
    for number in range(count):
        yield (length - size) * number // max(1, count - 1), size


@dataclass
class _Drawn:
    """The part of a source that is already in memory at its full size."""

    facts: Facts
    shown: Region
    picture: pyvips.Image

    def draw(self, region: Region, width: int, height: int) -> pyvips.Image:
        part = self.picture.crop(region.x - self.shown.x, region.y - self.shown.y, region.width, region.height)
        return resize(part, width, height).copy_memory()

    def prove(self) -> bool:
        return False


def _readable(work: Work, whole: Opened, region: Region) -> Iterator[Rendition]:
    """The region as a rendition, or as two where the budget leaves too little of one."""
    began = time.perf_counter()
    tile = replace(
        work,
        recipe=replace(work.recipe, region=region),
        deadline=type(work.deadline)(work.deadline.seconds),
        opened=whole,
        region=region,
        notes=list(work.notes),
        attempts=[],
    )
    halves = _halves(region)
    try:
        encoded = ladder.climb(tile)
    except TargetUnreachable:
        if not halves:
            raise
    else:
        if not halves or _shown_at(region, encoded) >= COMFORTABLE_SCALE:
            yield pipeline.seal(tile, encoded, began)
            return
    for half in halves:
        yield from _readable(work, whole, half)


def _halves(region: Region) -> list[Region]:
    """The region cut in two across its longer side; none where it is small already."""
    length = max(region.width, region.height)
    if length < 2 * MIN_TILE_PX:
        return []
    parts = spans(length, -(-(length + OVERLAP_PX) // 2))
    if region.width >= region.height:
        return [replace(region, x=region.x + start, width=size) for start, size in parts]
    return [replace(region, y=region.y + start, height=size) for start, size in parts]


def _shown_at(region: Region, encoded: Encoded) -> float:
    return scale(region.width, region.height, encoded.width, encoded.height)


def _scale(width: int, height: int, recipe: Recipe) -> float:
    return scale(width, height, *plan.sizes(width, height, recipe)[0])


def _largest_square(recipe: Recipe, least: float) -> int:
    """The longest side of a square, px, that the recipe shows at that scale or more."""
    enough: Callable[[int], bool] = lambda side: _scale(side, side, recipe) >= least  # noqa: E731
    low, high = 1, 1 << 17
    while low + 1 < high:
        middle = (low + high) // 2
        low, high = (middle, high) if enough(middle) else (low, middle)
    return low
