"""The eye: what every adapter offers, be it a model behind an API or text recognition on this machine."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from typing import Protocol

from pixlane.errors import InvalidArgument
from pixlane.recipe import Recipe, Region
from pixlane.rendition import Rendition
from pixlane.vision.findings import Findings
from pixlane.vision.observation import GeneratedBy


@dataclass(frozen=True)
class Deadline:
    """When an observation must be there; by the monotonic clock."""

    seconds: float
    ends: float

    @classmethod
    def after(cls, seconds: float) -> Deadline:
        """Raises InvalidArgument for what is no number of seconds."""
        if not math.isfinite(seconds):
            raise InvalidArgument(f"a deadline is a number of seconds, got {seconds}", actual=str(seconds))
        return cls(seconds, time.monotonic() + seconds)

    @property
    def left_s(self) -> float:
        return self.ends - time.monotonic()


class Adapter(Protocol):
    """An eye."""

    @property
    def route(self) -> str:
        """Names it and everything that changes what it would answer; part of the cache's key."""

    @property
    def heeds_prompt(self) -> bool:
        """False: it finds the same whatever it is asked."""

    def recipe(self, region: Region | None) -> Recipe:
        """What the picture must satisfy that it is shown."""

    def observe(self, picture: Rendition, prompt: str, deadline: Deadline) -> tuple[Findings, GeneratedBy]:
        """What it finds, with boxes in px of `picture` (the caller takes them to the source, clips and checks them).

        Raises VisionObservationFailed, EngineMissing, DeadlineExceeded.
        """
