"""pixlane makes any image ready for a model to look at.

    from pixlane import normalize, Recipe

    rendition = normalize(data, Recipe())
    rendition.data_url

Importing this module loads no engine, no Redis and no Celery; each is loaded when it is first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pixlane.async_client import AsyncClient as AsyncClient
    from pixlane.async_client import AsyncJob as AsyncJob
    from pixlane.client import Client as Client
    from pixlane.client import Job as Job
    from pixlane.errors import PixlaneError as PixlaneError
    from pixlane.imaging import normalize as normalize
    from pixlane.imaging import tiles as tiles
    from pixlane.recipe import Recipe as Recipe
    from pixlane.recipe import Region as Region
    from pixlane.rendition import Note as Note
    from pixlane.rendition import Rendition as Rendition
    from pixlane.rendition import Source as Source

__version__ = "0.1.0"

_HOMES = {
    "AsyncClient": "pixlane.async_client",
    "AsyncJob": "pixlane.async_client",
    "Client": "pixlane.client",
    "Job": "pixlane.client",
    "Note": "pixlane.rendition",
    "PixlaneError": "pixlane.errors",
    "Recipe": "pixlane.recipe",
    "Region": "pixlane.recipe",
    "Rendition": "pixlane.rendition",
    "Source": "pixlane.rendition",
    "normalize": "pixlane.imaging",
    "tiles": "pixlane.imaging",
}

__all__ = [
    "AsyncClient",
    "AsyncJob",
    "Client",
    "Job",
    "Note",
    "PixlaneError",
    "Recipe",
    "Region",
    "Rendition",
    "Source",
    "normalize",
    "tiles",
]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'pixlane' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOMES])
