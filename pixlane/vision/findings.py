"""What an eye finds in a picture: the part of an observation that is asked for, and the schema that a reply must have.

Plain data; pydantic, which checks a reply against it, is loaded on use (`pixlane.vision.reply`). Names of kinds (`role`, `type`)
are open words, the usual ones stand beside them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, TypeVar

SCHEMA = "visual_observation.v1"
"""Version of the schema; part of the cache's key."""

_T = TypeVar("_T")

STRICT: dict[str, Any] = {"extra": "forbid", "strict": True, "allow_inf_nan": False}
"""How pydantic reads a reply: no further keys, no other types."""


@dataclass(frozen=True)
class Box:
    """A rectangle, px from the top left corner: of the picture that was shown, and in an Observation of the upright source."""

    __pydantic_config__: ClassVar[dict[str, Any]] = STRICT

    x: float
    y: float
    width: float
    height: float


@dataclass(frozen=True)
class Text:
    """Text that can be read, as a rule one line. `confidence` 0..1; None where it is not known."""

    __pydantic_config__: ClassVar[dict[str, Any]] = STRICT

    text: str
    box: Box | None = None
    confidence: float | None = None


@dataclass(frozen=True)
class Element:
    """A thing that is there. `role`: button, input, text, heading, image, icon, table, chart, axis, cell, container ..."""

    __pydantic_config__: ClassVar[dict[str, Any]] = STRICT

    id: str
    role: str
    text: str | None = None
    description: str | None = None
    box: Box | None = None
    confidence: float | None = None


@dataclass(frozen=True)
class Relation:
    """How two elements, named by their ids, stand to each other: above, below, left_of, right_of, contains, overlaps, near ..."""

    __pydantic_config__: ClassVar[dict[str, Any]] = STRICT

    type: str
    a: str
    b: str
    confidence: float | None = None


@dataclass(frozen=True)
class Issue:
    """Something wrong: possible_overlap, possible_clipping, low_contrast, unreadable_text, misalignment, blurred ..."""

    __pydantic_config__: ClassVar[dict[str, Any]] = STRICT

    type: str
    description: str
    box: Box | None = None
    confidence: float | None = None


@dataclass(frozen=True)
class Findings:
    """What an eye answers. Boxes in px of the picture that it was shown."""

    __pydantic_config__: ClassVar[dict[str, Any]] = STRICT

    summary: str
    ocr: tuple[Text, ...] = ()
    elements: tuple[Element, ...] = ()
    relations: tuple[Relation, ...] = ()
    issues: tuple[Issue, ...] = ()
    uncertainties: tuple[str, ...] = ()


KINDS: dict[str, type] = {"ocr": Text, "elements": Element, "relations": Relation, "issues": Issue}


def findings_from(record: Mapping[str, Any]) -> Findings:
    """Findings from the JSON values of our own record; fields of a newer version are left out."""
    listed: dict[str, Any] = {
        name: tuple(_with_box(known(kind, entry)) for entry in record.get(name, ())) for name, kind in KINDS.items()
    }
    return Findings(record["summary"], uncertainties=tuple(record.get("uncertainties", ())), **listed)


def known(kind: type[_T], record: Mapping[str, Any]) -> _T:
    """An instance from a record that may have more fields than this version knows."""
    names = kind.__dataclass_fields__  # type: ignore[attr-defined]
    return kind(**{name: value for name, value in record.items() if name in names})


def _with_box(entry: Any) -> Any:
    box = getattr(entry, "box", None)
    return replace(entry, box=known(Box, box)) if isinstance(box, Mapping) else entry
