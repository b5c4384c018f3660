"""What an eye finds in a picture: the part of an observation that is asked for, and the schema that a reply must have.

Plain data; pydantic, which checks a reply against it, is loaded on use (`pixlane.vision.reply`). Names of kinds (`role`, `type`)
are open words, the usual ones stand beside them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

SCHEMA = "visual_observation.v1"
"""Version of the schema; part of the cache's key."""

STRICT: dict[str, Any] = {"extra": "forbid", "strict": True}


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
