"""The sizes of the ladder: the ceiling, then its halvings. Pure functions of the source's size and the recipe."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from pixlane import sizing
from pixlane.recipe import Recipe

Size = tuple[int, int]


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
    inside = _inside(recipe)
    top = sizing.largest(width, height, inside)
    counts = min if min(top) >= recipe.min_side else max
    found = [top]
    for step in range(1, recipe.max_halvings + 1):
        half = sizing.largest(width, height, _at_most(max(top) / 2**step, inside))
        if counts(half) < recipe.min_side or half == found[-1]:
            break
        found.append(half)
    return tuple(found)


def at_side(width: int, height: int, recipe: Recipe, side: int) -> Size:
    """The largest size with at most `side` px on the longer side that the recipe allows; for the fine search."""
    return sizing.largest(width, height, _at_most(side, _inside(recipe)))


def violation(size: Size, recipe: Recipe) -> Violation | None:
    """What keeps a size from meeting the recipe although it is small enough: a side too short, a shape too long."""
    longer, shorter = max(size), min(size)
    if recipe.min_accepted_side is not None and shorter < recipe.min_accepted_side:
        return Violation("min_accepted_side", recipe.min_accepted_side, shorter)
    if recipe.max_aspect is not None and longer > shorter * recipe.max_aspect:
        return Violation("max_aspect", recipe.max_aspect, longer / shorter)
    return None


def _inside(recipe: Recipe) -> Callable[[int, int], bool]:
    """Whether a size is small enough for the recipe."""
    fit = sizing.rule(recipe.size_rule) if recipe.size_rule is not None else None

    def inside(width: int, height: int) -> bool:
        return (
            max(width, height) <= recipe.max_side
            and (recipe.max_total_pixels is None or width * height <= recipe.max_total_pixels)
            and (fit is None or fit(width, height) == (width, height))
        )

    return inside


def _at_most(side: float, inside: Callable[[int, int], bool]) -> Callable[[int, int], bool]:
    # Half a pixel of grace: 1045 halves to 522 or 523, whichever keeps the aspect.
    return lambda width, height: max(width, height) < side + 0.5 and inside(width, height)
