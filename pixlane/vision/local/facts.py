"""Plain facts about a picture that need no model: whether it looks drawn or photographed, and its main colours."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from pixlane.imaging.traits import DRAWN_FLAT_SHARE, ROW_STEP

if TYPE_CHECKING:
    import numpy

    Pixels = numpy.ndarray[Any, numpy.dtype[numpy.uint8]]

PHOTO_FLAT_SHARE: Final = 0.3  # of the pixels equal their left neighbour: below, it is hardly drawn
SAMPLED_SIDE: Final = 256  # px on a side that are looked at for colours
LEVELS: Final = 16  # per channel that are told apart
MAX_COLOURS: Final = 4
MIN_SHARE: Final = 0.05
ALIKE: Final = 48  # colours that differ by less, summed over the channels, are one

NAMES: Final[dict[str, tuple[int, int, int]]] = {
    "black": (0, 0, 0),
    "dark grey": (64, 64, 64),
    "grey": (128, 128, 128),
    "light grey": (211, 211, 211),
    "white": (255, 255, 255),
    "red": (220, 30, 30),
    "dark red": (120, 20, 20),
    "orange": (250, 150, 30),
    "brown": (130, 85, 45),
    "dark brown": (65, 42, 22),
    "light brown": (180, 168, 148),
    "beige": (235, 220, 185),
    "yellow": (250, 225, 50),
    "green": (40, 160, 60),
    "dark green": (20, 80, 35),
    "light green": (160, 220, 150),
    "turquoise": (40, 200, 195),
    "sky blue": (50, 165, 250),
    "light blue": (150, 195, 240),
    "blue": (40, 100, 220),
    "dark blue": (20, 35, 95),
    "purple": (130, 60, 180),
    "pink": (245, 150, 190),
}


@dataclass(frozen=True)
class Facts:
    """`kind`: "drawn", "photographed" or "unclear"; `colours`: name, #rrggbb and share, the largest first."""

    kind: str
    colours: tuple[tuple[str, str, float], ...]


def facts(pixels: Pixels) -> Facts:
    """Of a picture of shape (height, width, 3), red first."""
    return Facts(_kind(pixels), _colours(pixels))


def _kind(pixels: Pixels) -> str:
    rows = pixels[min(ROW_STEP, len(pixels)) // 2 :: ROW_STEP]
    if rows.shape[1] < 2:
        return "unclear"
    flat = float((rows[:, 1:] == rows[:, :-1]).all(axis=2).mean())
    return "drawn" if flat >= DRAWN_FLAT_SHARE else "photographed" if flat < PHOTO_FLAT_SHARE else "unclear"


def _colours(pixels: Pixels) -> tuple[tuple[str, str, float], ...]:
    import numpy

    steps = [max(1, side // SAMPLED_SIDE) for side in pixels.shape[:2]]
    sample = pixels[:: steps[0], :: steps[1]].reshape(-1, 3)
    coarse = (sample // (256 // LEVELS)).astype(numpy.int32)
    bins = (coarse[:, 0] * LEVELS + coarse[:, 1]) * LEVELS + coarse[:, 2]
    found, place, counts = numpy.unique(bins, return_inverse=True, return_counts=True)
    means = [numpy.bincount(place, sample[:, band], len(found)) / counts for band in range(3)]
    kept: list[tuple[tuple[int, int, int], int]] = []
    for one in numpy.argsort(-counts, kind="stable"):
        colour = (round(float(means[0][one])), round(float(means[1][one])), round(float(means[2][one])))
        near = next((at for at, (other, _) in enumerate(kept) if _apart(colour, other) < ALIKE), None)
        if near is not None:
            kept[near] = kept[near][0], kept[near][1] + int(counts[one])
        elif len(kept) < LEVELS:
            kept.append((colour, int(counts[one])))
    ranked = sorted(kept, key=lambda pair: -pair[1])[:MAX_COLOURS]
    shares = [(colour, count / len(sample)) for colour, count in ranked]
    return tuple(
        (_named(colour), "#{:02x}{:02x}{:02x}".format(*colour), round(share, 2)) for colour, share in shares if share >= MIN_SHARE
    )


def _named(colour: tuple[int, int, int]) -> str:
    return min(NAMES, key=lambda name: sum((a - b) ** 2 for a, b in zip(NAMES[name], colour, strict=True)))


def _apart(first: tuple[int, int, int], second: tuple[int, int, int]) -> int:
    return sum(abs(a - b) for a, b in zip(first, second, strict=True))
