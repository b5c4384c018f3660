"""How large a vector source is: what its root says, and the size at which it is drawn.

A vector has no pixels of its own. It is drawn at the size that the document names, at least 512 px and at most `max_side` on the
longer side, in the document's proportions.

| the root has | size |
|---|---|
| width and height with units | those, at 96 px to the inch (CSS Values 4, section 6.2) |
| a percentage, or one side only, with a viewBox | the percentage of the viewBox; the other side from its proportions |
| a viewBox only | the viewBox |
| neither | what its content covers from (0, 0), measured by the engine; 300 x 150 where that is nothing |
| a side or a viewBox of zero or less | `invalid_dimensions` |
"""

from __future__ import annotations

import math
import re

from pixlane.errors import InvalidDimensions
from pixlane.imaging.svg.tree import Node

MIN_LONGER_SIDE_PX = 512
MAX_DRAWN_PIXELS = 16_000_000  # of one drawing, whatever `max_side` allows
FALLBACK_SIZE = (300.0, 150.0)  # CSS 2.2, section 10.3.2: a replaced element that says nothing

_PX = {
    "": 1.0,
    "px": 1.0,
    "in": 96.0,
    "cm": 96 / 2.54,
    "mm": 9.6 / 2.54,
    "q": 2.4 / 2.54,
    "pt": 96 / 72,
    "pc": 16.0,
    "em": 16.0,
    "ex": 8.0,
}
_LENGTH = re.compile(r"\s*([-+]?(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?)\s*([a-z%]*)\s*", re.IGNORECASE)

Size = tuple[float, float]


def intrinsic_size(root: Node) -> tuple[float | None, float | None]:
    """Width and height in px that the root says; None for a side that only its content can tell.

    Raises InvalidDimensions for a side or a viewBox that is zero, negative or not finite.
    """
    box = view_box(root)
    if box is not None and not (box[2] > 0 and box[3] > 0):
        raise InvalidDimensions(f"the SVG's viewBox is {box[2]:g} x {box[3]:g}", limit=0, actual=min(box[2:]))
    sides = [_side(root, name, box[2 + axis] if box else None) for axis, name in enumerate(("width", "height"))]
    if box is not None:
        proportion = box[2] / box[3]
        width, height = sides
        if width is None and height is None:
            return box[2], box[3]
        return width or (height or 0.0) * proportion, height or (width or 0.0) / proportion
    return sides[0], sides[1]


def drawn_size(size: Size, max_side: int, max_pixels: int) -> tuple[int, int]:
    """Whole px at which a document of that size is drawn; each side at least 1 px."""
    longer = max(size)
    wanted = min(max(longer, MIN_LONGER_SIDE_PX), max_side)
    scale = wanted / longer
    pixels = size[0] * scale * size[1] * scale
    if pixels > max_pixels:
        scale *= math.sqrt(max_pixels / pixels)
    return max(1, math.floor(size[0] * scale + 0.5)), max(1, math.floor(size[1] * scale + 0.5))


def view_box(root: Node) -> tuple[float, float, float, float] | None:
    """The root's viewBox, None where it has none that can be read."""
    parts = re.split(r"[\s,]+", root.attributes.get("viewBox", "").strip())
    try:
        numbers = [float(part) for part in parts]
    except ValueError:
        return None
    if len(numbers) != 4 or not all(map(math.isfinite, numbers)):
        return None
    return numbers[0], numbers[1], numbers[2], numbers[3]


def viewport_side(root: Node) -> float:
    """The longer side of the root's user space, user units; what blurs and filter regions are measured against."""
    box = view_box(root)
    sides = box[2:] if box else [_side(root, name, None) or 0.0 for name in ("width", "height")]
    longer = max(sides)
    return longer if longer > 0 else max(FALLBACK_SIZE)


def _side(root: Node, name: str, box_side: float | None) -> float | None:
    match = _LENGTH.fullmatch(root.attributes.get(name, ""))
    if match is None:
        return None  # missing, "auto", or not a length: as if it were not there
    number, unit = float(match[1]), match[2].lower()
    if not number > 0 or not math.isfinite(number):
        raise InvalidDimensions(f"the SVG's {name} is {match[0].strip()}", limit=0, actual=match[0].strip())
    if unit == "%":
        return None if box_side is None else box_side * number / 100
    return number * _PX[unit] if unit in _PX else None
