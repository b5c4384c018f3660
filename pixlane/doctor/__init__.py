"""What this machine has of all that pixlane uses: each with a verdict and with what to do. Changes nothing."""

from __future__ import annotations

from collections.abc import Iterator

from pixlane.doctor.check import Check
from pixlane.errors import PixlaneError
from pixlane.settings import Settings, current

__all__ = ["Check", "examine"]


def examine(url: str | None = None) -> Iterator[Check]:
    """Every check, as it is made. `url` names a Redis in place of the settings. Raises nothing for what it finds."""
    from pixlane.doctor import packages, pictures, places, service

    yield from packages.examine()
    try:
        settings = current()
    except PixlaneError as error:
        yield Check("settings", "environment", "fail", error.message, "correct or unset the variable")
        settings = Settings()
    else:
        yield Check("settings", "environment", "ok", "every PIXLANE_* variable is within its bounds")
    yield from pictures.examine()
    yield from places.examine(settings)
    yield from service.examine(settings, url)
