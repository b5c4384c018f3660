"""The sizes of the ladder: the ceiling, then its halvings. Pure functions of the source's size and the recipe."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import inf

from pixlane import sizing
from pixlane.recipe import Recipe

Size = tuple[int, int]

HALF_PIXEL = 0.5  # of grace: 1045 halves to 522 or 523, whichever keeps the aspect


@dataclass(frozen=True)
class Violation:
    """A limit of the recipe that a size does not meet, whatever it is encoded to."""

    name: str
    limit: float
    actual: float

    def __str__(self) -> str:
        return f"{self.name} is {self.limit:g}, this picture has {self.actual:.4g}"


def sizes(width: int, height: int, recipe: Recipe) -> tuple[Size, ...]:
    """The ceiling and its halvings, largest first, px, for a source (or region) of width x height.

    Never larger than the source; the aspect of the source is kept within 1 px at every size; each side is at least 1 px. A
    halving that would take the shorter side below `min_side` is not made; where it is below that at the ceiling already, the
    longer side counts.
    """
    top = _largest(width, height, recipe)
    counts = min if min(top) >= recipe.min_side else max
    found = [top]
    for step in range(1, recipe.max_halvings + 1):
        half = _largest(width, height, recipe, max(top) / 2**step)
        if counts(half) < recipe.min_side or half == found[-1]:
            break
        found.append(half)
    return tuple(found)


def at_side(width: int, height: int, recipe: Recipe, side: int) -> Size:
    """The largest size with at most `side` px on the longer side that the recipe allows; for the fine search."""
    return _largest(width, height, recipe, side)


def fits(width: int, height: int, recipe: Recipe) -> bool:
    """Whether a source of that size, px, may keep it."""
    return _inside(recipe, inf)(width, height)


def meets(width: int, height: int, recipe: Recipe) -> bool:
    """Whether that size, px, is within every limit of the recipe: small enough, no side too short, no shape too long."""
    return fits(width, height, recipe) and violation((width, height), recipe) is None


def violation(size: Size, recipe: Recipe) -> Violation | None:
    """What keeps a size from meeting the recipe although it is small enough: a side too short, a shape too long."""
    longer, shorter = max(size), min(size)
    if recipe.min_accepted_side is not None and shorter < recipe.min_accepted_side:
        return Violation("min_accepted_side", recipe.min_accepted_side, shorter)
    if recipe.max_aspect is not None and longer > shorter * recipe.max_aspect:
        return Violation("max_aspect", recipe.max_aspect, longer / shorter)
    return None


def _largest(width: int, height: int, recipe: Recipe, side: float = inf) -> Size:
    """The largest size that the recipe allows with at most `side` px on the longer side.

    Where the rule alone decides, its own answer counts: of two sizes that a provider keeps, a search might find the one that is
    a pixel longer and costs a row of tiles more.
    """
    inside = _inside(recipe, side)
    if recipe.size_rule is not None:
        ruled = sizing.rule(recipe.size_rule)(width, height)
        if inside(*ruled):
            return ruled
    return sizing.largest(width, height, inside)


def _inside(recipe: Recipe, side: float) -> Callable[[int, int], bool]:
    """Whether a size is small enough for the recipe, and for `side`."""
    fit = sizing.rule(recipe.size_rule) if recipe.size_rule is not None else None

    def inside(width: int, height: int) -> bool:
        return (
            max(width, height) <= recipe.max_side
            and max(width, height) < side + HALF_PIXEL
            and (recipe.max_total_pixels is None or width * height <= recipe.max_total_pixels)
            and (fit is None or fit(width, height) == (width, height))
        )

    return inside
