"""Seeing by description: for a model that cannot see, and for questions about one picture.

from pixlane.vision import view_image

observation = view_image("screen.png", "What does the error say?")
observation.summary, observation.ocr, observation.elements      # boxes in px of the upright source

`describe_for_text_model` puts words in front of a message, `describer()` is the `describe=` of `pixlane.messages`; `analyze` and
`read_image` are what an agent's tools return, with the picture where the model sees.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pixlane.vision.analyzing import analyze as analyze
    from pixlane.vision.eyes import describer as describer
    from pixlane.vision.looking import view_image as view_image
    from pixlane.vision.observation import Observation as Observation
    from pixlane.vision.reading import read_image as read_image
    from pixlane.vision.reference import VisualReference as VisualReference
    from pixlane.vision.text_lane import describe_for_text_model as describe_for_text_model

_HOMES = {
    "analyze": "pixlane.vision.analyzing",
    "read_image": "pixlane.vision.reading",
    "describe_for_text_model": "pixlane.vision.text_lane",
    "describer": "pixlane.vision.eyes",
    "Observation": "pixlane.vision.observation",
    "view_image": "pixlane.vision.looking",
    "VisualReference": "pixlane.vision.reference",
}

__all__ = ["Observation", "VisualReference", "analyze", "describe_for_text_model", "describer", "read_image", "view_image"]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'pixlane.vision' has no attribute {name!r}")
