"""Seeing by description: for a model that cannot see, and for questions about one picture.

from pixlane.vision import view_image

observation = view_image("screen.png", "What does the error say?")
observation.summary, observation.ocr, observation.elements      # boxes in px of the upright source
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pixlane.vision.looking import view_image as view_image
    from pixlane.vision.observation import Observation as Observation
    from pixlane.vision.reference import VisualReference as VisualReference

_HOMES = {
    "Observation": "pixlane.vision.observation",
    "view_image": "pixlane.vision.looking",
    "VisualReference": "pixlane.vision.reference",
}

__all__ = ["Observation", "VisualReference", "view_image"]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'pixlane.vision' has no attribute {name!r}")
