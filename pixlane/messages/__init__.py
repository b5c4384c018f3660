"""An agent's side of images: which lane they take, how they are attached, and what happens when they are refused.

Functions over plain message structures; no framework, no engine until pixels are touched. The input is never changed.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pixlane.messages.sentences import Sentences as Sentences

_HOMES = {
    "Sentences": "pixlane.messages.sentences",
}
"""Public name to the module that has it, imported on first use."""

__all__ = ["Sentences"]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = getattr(import_module(_HOMES[name]), name)
    globals()[name] = found  # a name may also be that of a module, which an import would put here
    return found


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOMES])
