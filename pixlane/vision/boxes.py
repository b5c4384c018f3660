"""Boxes on their way from the picture that was shown to the upright source: rescaled, clipped, checked."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from typing import TypeVar

from pixlane.recipe import Region
from pixlane.rendition import Note, Rendition
from pixlane.vision.findings import Box, Element, Findings, Issue, Text

THOUSAND = 1000
TOLERANCE_PX = 1.0
"""A box that stands out by less is not worth a note."""

_Boxed = TypeVar("_Boxed", Text, Element, Issue)


def to_source(findings: Findings, picture: Rendition) -> tuple[Findings, tuple[Note, ...]]:
    """The findings with their boxes in px of the upright source, inside the part of it that was shown.

    A box without an area there is left out, its entry stays; a relation to an element that is not in the list, or there
    more than once, is left out.
    """
    shown = picture.region or Region(0, 0, picture.source.width, picture.source.height)
    happened: Counter[str] = Counter()

    def placed(box: Box) -> Box | None:
        left, top = picture.to_source(box.x, box.y)
        right, bottom = picture.to_source(box.x + box.width, box.y + box.height)
        inside = (
            max(left, shown.x),
            max(top, shown.y),
            min(right, shown.x + shown.width),
            min(bottom, shown.y + shown.height),
        )
        rounded = [round(edge, 1) for edge in inside]
        if rounded[2] <= rounded[0] or rounded[3] <= rounded[1]:
            happened["box_dropped"] += 1
            return None
        if any(abs(was - now) > TOLERANCE_PX for was, now in zip((left, top, right, bottom), inside, strict=True)):
            happened["box_clipped"] += 1
        width, height = rounded[2] - rounded[0], rounded[3] - rounded[1]
        return Box(rounded[0], rounded[1], round(width, 1), round(height, 1))

    placed_findings = _with_boxes(findings, placed)
    named = Counter(element.id for element in findings.elements)
    known = {name for name, count in named.items() if count == 1}
    relations = tuple(relation for relation in findings.relations if {relation.a, relation.b} <= known)
    happened["relation_dropped"] += len(findings.relations) - len(relations)
    notes = tuple(Note(code, SAID[code].format(count=happened[code])) for code in SAID if happened[code])
    return replace(placed_findings, relations=relations), notes


SAID = {
    "box_clipped": "{count} boxes stood out of the picture and were cut off at its edge",
    "box_dropped": "{count} boxes had no area inside the picture and were left out",
    "relation_dropped": "{count} relations named an element that is not there, or several, and were left out",
}


def from_thousandths(findings: Findings, width: int, height: int) -> Findings:
    """The findings with boxes in px, of a model that gives thousandths of the picture's sides."""
    x, y = width / THOUSAND, height / THOUSAND
    return _with_boxes(findings, lambda box: Box(box.x * x, box.y * y, box.width * x, box.height * y))


def in_fractions(findings: Findings) -> bool:
    """Whether all boxes lie between 0 and 1: some models give shares of the sides whatever they are asked for."""
    boxes = [one.box for kind in (findings.ocr, findings.elements, findings.issues) for one in kind if one.box is not None]
    return bool(boxes) and all(max(box.x + box.width, box.y + box.height) <= 1 for box in boxes)


def _with_boxes(findings: Findings, change: Callable[[Box], Box | None]) -> Findings:
    def changed(items: tuple[_Boxed, ...]) -> tuple[_Boxed, ...]:
        return tuple(replace(item, box=change(item.box)) if item.box is not None else item for item in items)

    return replace(findings, ocr=changed(findings.ocr), elements=changed(findings.elements), issues=changed(findings.issues))
