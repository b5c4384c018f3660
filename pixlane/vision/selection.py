"""Which eye looks: what was chosen and why, and every candidate that was thought of with its reason."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from pixlane.vision.findings import known

REASONS: dict[str, str] = {
    "requested_model": "the call named it",
    "vision_default": "`vision.default` names it",
    "auxiliary_vision": "`auxiliary.vision` names it",
    "primary_model": "it is the agent's own model, and it sees",
    "auto_discovered": "the first candidate that can look",
    "no_model": "no candidate can look",
}
"""Why an eye was chosen, or none was."""

CANDIDATE_REASONS: dict[str, str] = {
    "usable": "it can look",
    "unknown_provider": "no provider of that name is known or configured",
    "endpoint_not_configured": "the provider has no such endpoint",
    "no_model_named": "nobody names a model of this provider",
    "no_credentials": "its key is neither in the environment nor in a file",
    "model_lacks_image_input": "its model takes no images",
    "image_input_not_attested": "nobody attests that its model takes images, and nobody asked for it by name",
    "transport_unsupported": "its wire is not one of those that can be asked for an observation",
    "server_not_reachable": "nothing answers at its address",
    "engine_missing": "a package that it needs is not installed",
}
"""What is said of a candidate."""


@dataclass(frozen=True)
class Candidate:
    """One that was thought of.

    Attributes:
        image_input: whether its model takes images; None: nobody knows.
        reason: a key of CANDIDATE_REASONS.
        said: the particulars, in words.
    """

    provider: str
    endpoint: str
    model: str
    image_input: bool | None
    reason: str
    said: str = ""

    @property
    def ref(self) -> str:
        """`provider@endpoint/model`."""
        return f"{self.provider}@{self.endpoint}/{self.model}"

    def to_dict(self) -> dict[str, Any]:
        return {"ref": self.ref, **asdict(self)}


@dataclass(frozen=True)
class Selection:
    """The choice. `reason` is a key of REASONS; `chosen` None: nobody can look."""

    reason: str
    chosen: Candidate | None
    candidates: tuple[Candidate, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        return {
            "reason": self.reason,
            "chosen": self.chosen.ref if self.chosen else None,
            "candidates": [candidate.to_dict() for candidate in self.candidates],
        }

    @classmethod
    def from_dict(cls, record: Mapping[str, Any]) -> Selection:
        candidates = tuple(known(Candidate, candidate) for candidate in record["candidates"])
        return cls(record["reason"], next((one for one in candidates if one.ref == record["chosen"]), None), candidates)
