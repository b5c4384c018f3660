"""EXIF orientation: sizes, rectangles and pixels between the stored picture and the upright one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pixlane.recipe import Region

if TYPE_CHECKING:
    import pyvips

TURNED = (5, 6, 7, 8)  # width and height change places

WORDS = {
    2: "mirrored left to right",
    3: "upside down",
    4: "mirrored top to bottom",
    5: "mirrored and turned by a quarter to the left",
    6: "turned by a quarter to the left",
    7: "mirrored and turned by a quarter to the right",
    8: "turned by a quarter to the right",
}
"""How the stored picture lies, by EXIF value."""


def valid(value: object) -> int:
    """An EXIF value 1 .. 8; whatever else stands in a file means upright, as in browsers."""
    return value if isinstance(value, int) and 1 <= value <= 8 else 1


def turn_size(width: int, height: int, orientation: int) -> tuple[int, int]:
    """The size after turning; its own inverse."""
    return (height, width) if orientation in TURNED else (width, height)


def to_stored(region: Region, orientation: int, width: int, height: int) -> Region:
    """The rectangle of the stored picture (width x height px) that shows the region of the upright one."""
    x, y, w, h = region.x, region.y, region.width, region.height
    if orientation in TURNED:
        x, y, w, h = y, x, h, w
    if orientation in (2, 3, 7, 8):
        x = width - x - w
    if orientation in (3, 4, 6, 7):
        y = height - y - h
    return Region(x, y, w, h)


def upright(image: pyvips.Image, orientation: int) -> pyvips.Image:
    """The image turned and mirrored as the EXIF value says. Needs random access for all but 1 and 2."""
    if orientation in (5, 6):
        image = image.rot90()
    elif orientation in (7, 8):
        image = image.rot270()
    elif orientation == 3:
        image = image.rot180()
    elif orientation == 4:
        image = image.flipver()
    return image.fliphor() if orientation in (2, 5, 7) else image
