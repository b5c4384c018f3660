"""What a sanitized SVG would cost to draw: references multiplied out, filters measured, loops of `use` cut."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass

from pixlane.errors import UnsafeSvg
from pixlane.imaging.svg import size
from pixlane.imaging.svg.tree import MAX_DEPTH, Node

MAX_DRAWN_ELEMENTS = 200_000  # every reference counted as often as it draws
MAX_PATTERN_NESTING = 4  # each level is drawn into pictures of its own, and those into others
MAX_FILTER_REGION = 20.0  # sides of what is filtered, or of the viewport in user units
MAX_BLUR = 5.0  # standard deviation in longer sides of the viewport
MAX_OCTAVES = 10  # the eleventh octave of noise adds less than one level of 256
MAX_KERNEL_SIDE = 64  # of feConvolveMatrix, cells
MORPHOLOGY_NS = 6.0  # of resvg, for a pixel of feMorphology's radius squared at a pixel of the picture
MAX_MORPHOLOGY_S = 2.0  # of all feMorphology together; what would take longer is drawn smaller
MIN_MORPHOLOGY_PX = 64  # an SVG that would have to be smaller still is refused

_URL = re.compile(r"url\(\s*['\"]?#([^'\")\s]+)")
_NUMBER = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?")
_DRAWING_ATTRIBUTES = (
    "fill",
    "stroke",
    "clip-path",
    "mask",
    "filter",
    "marker",
    "marker-start",
    "marker-mid",
    "marker-end",
    "style",
)
_DRAWING_TARGETS = frozenset({"pattern", "clipPath", "mask", "filter", "marker"})


def check(root: Node, note: Callable[[str, str], None]) -> None:
    """Raises UnsafeSvg, with limit and actual, for what no engine should be asked to draw; limits noise with a note."""
    _Expansion(root).check()
    _check_filters(root, note)


@dataclass(frozen=True)
class _Weight:
    """What one element comes to with all that is below it or referred to from it."""

    elements: int
    height: int
    patterns: int


class _Expansion:
    """How many elements are drawn, how deep, once each reference is followed."""

    def __init__(self, root: Node) -> None:
        self.root = root
        self.targets: dict[str, Node] = {}
        for node in root.walk():
            if identity := node.attributes.get("id"):
                self.targets.setdefault(identity, node)
        self.weights: dict[int, _Weight] = {}
        self.path: set[int] = set()

    def check(self) -> None:
        self._weigh(self.root)

    def _weigh(self, node: Node) -> _Weight:
        key = id(node)
        if key in self.weights:
            return self.weights[key]
        _bound("nested elements through references", len(self.path) + 1, MAX_DEPTH)
        self.path.add(key)
        parts = [(self._weigh(child), 1) for child in node.elements]
        parts += [(self._weigh(target), times) for target, times in self._references(node)]
        self.path.discard(key)
        weight = _Weight(
            1 + sum(part.elements * times for part, times in parts),
            1 + max((part.height for part, _ in parts), default=0),
            (node.name == "pattern") + max((part.patterns for part, _ in parts), default=0),
        )
        _bound("elements drawn through references", weight.elements, MAX_DRAWN_ELEMENTS)
        _bound("nested elements through references", weight.height, MAX_DEPTH)
        _bound("nested patterns", weight.patterns, MAX_PATTERN_NESTING)
        self.weights[key] = weight
        return weight

    def _references(self, node: Node) -> list[tuple[Node, int]]:
        found = []
        if node.name in ("use", "feImage", "pattern", "tref"):
            for name in ("href", "xlink:href"):
                target = self.targets.get(node.attributes.get(name, "").removeprefix("#"))
                if target is not None and id(target) in self.path and node.name == "use":
                    del node.attributes[name]  # a loop draws nothing (SVG 2, 5.6)
                elif target is not None and id(target) not in self.path:
                    found.append((target, 1))
        for name in _DRAWING_ATTRIBUTES:
            for identity in _URL.findall(node.attributes.get(name, "")):
                target = self.targets.get(identity)
                if target is not None and target.name in _DRAWING_TARGETS and id(target) not in self.path:
                    found.append((target, _corners(node) if target.name == "marker" else 1))
        return found


def _corners(node: Node) -> int:
    """About how many vertices a shape has: a marker is drawn at each."""
    return 1 + len(_NUMBER.findall(node.attributes.get("d", "") + " " + node.attributes.get("points", ""))) // 2


def _check_filters(root: Node, note: Callable[[str, str], None]) -> None:
    viewport = size.viewport_side(root)
    for node in root.walk():
        if node.name == "filter":
            in_user_units = node.attributes.get("filterUnits") == "userSpaceOnUse"
            for name in ("width", "height"):
                sides = _sides(node.attributes.get(name, ""), viewport if in_user_units else 1.0)
                _bound("sides of what it filters in a filter region", sides, MAX_FILTER_REGION)
        elif node.name in ("feGaussianBlur", "feDropShadow"):
            relative = node.attributes.get("primitiveUnits") == "objectBoundingBox"
            for number in _NUMBER.findall(node.attributes.get("stdDeviation", "")):
                _bound("sides of the picture in the radius of a blur", float(number) / (1.0 if relative else viewport), MAX_BLUR)
        elif node.name == "feConvolveMatrix":
            for number in _NUMBER.findall(node.attributes.get("order", "")):
                _bound("cells on a side of a convolution", float(number), MAX_KERNEL_SIDE)
        elif node.name == "feTurbulence":
            octaves = _NUMBER.match(node.attributes.get("numOctaves", "").strip())
            if octaves and float(octaves[0]) > MAX_OCTAVES:
                node.attributes["numOctaves"] = str(MAX_OCTAVES)
                note("svg_filter_limited", f"noise of {octaves[0]} octaves drawn with {MAX_OCTAVES}; finer ones cannot be seen")


def morphology_side(root: Node) -> float:
    """The longer side, px, up to which the SVG's feMorphology is drawn in `MAX_MORPHOLOGY_S`; infinite without one.

    resvg looks at the whole window for each pixel, so the cost grows with the fourth power of the side. Raises UnsafeSvg.
    """
    viewport = size.viewport_side(root)
    squares = 0.0
    for node in root.walk():
        if node.name == "feMorphology":
            radii = [
                min(max(float(number) / viewport, 0.0), 1.0) for number in _NUMBER.findall(node.attributes.get("radius", ""))[:2]
            ]
            if radii:  # where one of two is zero resvg takes as long as with the other in both directions
                squares += max(radii) * (min(radii) or max(radii))
    if squares == 0:
        return math.inf
    side: float = (MAX_MORPHOLOGY_S * 1e9 / (MORPHOLOGY_NS * squares)) ** 0.25
    if side < MIN_MORPHOLOGY_PX:
        limit = MAX_MORPHOLOGY_S * 1e9 / (MORPHOLOGY_NS * MIN_MORPHOLOGY_PX**4)
        _bound("squared sides of the picture in the radii of feMorphology", squares, limit)
    return side


def _sides(value: str, unit: float) -> float:
    number = _NUMBER.match(value.strip())
    if number is None:
        return 0.0
    return float(number[0]) / 100 if value.rstrip().endswith("%") else float(number[0]) / unit


def _bound(what: str, actual: float, limit: float) -> None:
    if actual > limit:
        raise UnsafeSvg(f"the SVG has {actual:.9g} {what}, allowed are {limit:g}", limit=limit, actual=round(actual, 3))
