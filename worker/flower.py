"""The application for Flower: `celery -A worker.flower:app flower`. Workers tell it of themselves with PIXLANE_CELERY_EVENTS."""

from __future__ import annotations

from typing import Any


def __getattr__(name: str) -> Any:
    """`app`, made when Celery asks for it and not at import."""
    if name != "app":
        raise AttributeError(name)
    from pixlane import settings
    from pixlane.queue import make_app
    from pixlane.store.servers import Servers

    return make_app(Servers.of(settings.current()), settings.current())
