"""An agent's side of images: which lane they take, how they are attached, and what happens when they are refused.

Functions over plain message structures; no framework, no engine until pixels are touched. The input is never changed.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pixlane.messages.admission import Admission as Admission
    from pixlane.messages.admission import AdmissionLimits as AdmissionLimits
    from pixlane.messages.admission import Candidate as Candidate
    from pixlane.messages.admission import admit as admit
    from pixlane.messages.budgets import CallBudget as CallBudget
    from pixlane.messages.call_counts import MemoryCounts as MemoryCounts
    from pixlane.messages.call_counts import RedisCounts as RedisCounts
    from pixlane.messages.changes import Change as Change
    from pixlane.messages.parts import Attached as Attached
    from pixlane.messages.parts import build_parts as build_parts
    from pixlane.messages.pictures import Memory as Memory
    from pixlane.messages.repairs import Repaired as Repaired
    from pixlane.messages.repairs import repair as repair
    from pixlane.messages.routes import Route as Route
    from pixlane.messages.routes import dispatchable as dispatchable
    from pixlane.messages.sentences import Sentences as Sentences

_HOMES = {
    "Attached": "pixlane.messages.parts",
    "Change": "pixlane.messages.changes",
    "Memory": "pixlane.messages.pictures",
    "build_parts": "pixlane.messages.parts",
    "repair": "pixlane.messages.repairs",
    "Repaired": "pixlane.messages.repairs",
    "Sentences": "pixlane.messages.sentences",
    "CallBudget": "pixlane.messages.budgets",
    "MemoryCounts": "pixlane.messages.call_counts",
    "RedisCounts": "pixlane.messages.call_counts",
    "Admission": "pixlane.messages.admission",
    "AdmissionLimits": "pixlane.messages.admission",
    "Candidate": "pixlane.messages.admission",
    "admit": "pixlane.messages.admission",
    "Route": "pixlane.messages.routes",
    "dispatchable": "pixlane.messages.routes",
}
"""Public name to the module that has it, imported on first use."""

__all__ = [
    "Admission",
    "AdmissionLimits",
    "Attached",
    "CallBudget",
    "Candidate",
    "Change",
    "Memory",
    "MemoryCounts",
    "RedisCounts",
    "Repaired",
    "Route",
    "Sentences",
    "admit",
    "build_parts",
    "dispatchable",
    "repair",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = getattr(import_module(_HOMES[name]), name)
    globals()[name] = found  # a name may also be that of a module, which an import would put here
    return found


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOMES])
