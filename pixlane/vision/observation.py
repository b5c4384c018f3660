"""The observation: what an eye found in a picture, who it was, what it was asked, and what it was shown."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal

from pixlane.recipe import Region
from pixlane.rendition import Note
from pixlane.vision.findings import SCHEMA, Element, Issue, Relation, Text, findings_from, known
from pixlane.vision.reference import VisualReference
from pixlane.vision.selection import Selection

Mode = Literal["vision_adapter", "local_ocr"]


@dataclass(frozen=True)
class GeneratedBy:
    """Who looked.

    Attributes:
        mode: `vision_adapter` a model; `local_ocr` text recognition on this machine, which sees no pictures.
        provider, endpoint, model: the route that was used.
        structured: how the form of the reply was asked for: `schema` by the API, `prompt` in words only, `none` no model.
        repaired: the first reply was not valid and was asked for again.
        attempts: requests that were sent.
        elapsed_ms: time that it took, milliseconds.
    """

    mode: Mode
    provider: str
    model: str
    endpoint: str = "default"
    structured: Literal["schema", "prompt", "none"] = "none"
    repaired: bool = False
    attempts: int = 1
    elapsed_ms: float = 0.0


@dataclass(frozen=True)
class Observation:
    """What was seen. Boxes in px of the upright source, inside of it.

    Attributes:
        reference: the file, at this call.
        generated_by: who looked.
        prompt: the question.
        summary: in words, never empty.
        ocr, elements, relations, issues, uncertainties: what was found, may be empty.
        selection: why this one looked, and who else could have.
        region: the part of the upright source that was shown; None: all of it.
        shown: width and height of the picture that was shown, px.
        notes: what a reader would otherwise not see: how the picture was changed, boxes that were clipped.
        reused: it was made for an earlier call with the same picture, question and model.
    """

    reference: VisualReference
    generated_by: GeneratedBy
    prompt: str
    summary: str
    ocr: tuple[Text, ...] = ()
    elements: tuple[Element, ...] = ()
    relations: tuple[Relation, ...] = ()
    issues: tuple[Issue, ...] = ()
    uncertainties: tuple[str, ...] = ()
    selection: Selection | None = None
    region: Region | None = None
    shown: tuple[int, int] | None = None
    notes: tuple[Note, ...] = ()
    reused: bool = False

    def to_dict(self) -> dict[str, Any]:
        """JSON values, with `schema`."""
        record = {"schema": SCHEMA, **asdict(self)}
        record["reference"] = self.reference.to_dict()
        record["selection"] = self.selection.to_dict() if self.selection else None
        return record

    @classmethod
    def from_dict(cls, record: Mapping[str, Any]) -> Observation:
        """The observation that `to_dict` described; fields of a newer version are left out."""
        given: dict[str, Any] = {name: record[name] for name in cls.__dataclass_fields__ if name in record}
        given["reference"] = VisualReference.from_dict(record["reference"])
        given["generated_by"] = known(GeneratedBy, record["generated_by"])
        given["selection"] = Selection.from_dict(record["selection"]) if record.get("selection") else None
        given["region"] = known(Region, record["region"]) if record.get("region") else None
        given["shown"] = tuple(record["shown"]) if record.get("shown") else None
        given["notes"] = tuple(known(Note, note) for note in record.get("notes", ()))
        return cls(**{**given, **vars(findings_from(record))})


NOTE_CODES: dict[str, str] = {
    "box_clipped": "a box stood out of the picture and was cut off at its edge",
    "box_dropped": "a box had no area inside the picture and was left out; its entry stayed",
    "relation_dropped": "a relation named an element that is not there, or several, and was left out",
    "not_remembered": "the store did not answer: the observation is made anew each time",
}
"""Codes of the notes on an observation, besides those of the rendition that was shown."""
