"""Bytes and a recipe in, a rendition out. Knows no Redis, no Celery and no HTTP; loads an engine when it is first needed."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pixlane.imaging.pipeline import normalize as normalize
    from pixlane.imaging.tiles import tiles as tiles

_HOMES = {"normalize": "pixlane.imaging.pipeline", "tiles": "pixlane.imaging.tiles"}

__all__ = ["normalize", "tiles"]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = getattr(import_module(_HOMES[name]), name)
    globals()[name] = found  # `tiles` is also the name of a module, which an import would put here
    return found
