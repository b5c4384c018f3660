"""The time one image may take: checked between steps, and inside libvips through its progress signals.

A deadline that arrives as an exception inside a libvips call is swallowed there, so the image is marked to be killed instead
and the error is raised on the way out. What libvips decodes in one go (progressive JPEG, WebP, AVIF) ends before it looks.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from pixlane.errors import DeadlineExceeded

if TYPE_CHECKING:
    import pyvips


class Deadline:
    """A point in time, `seconds` after it was made."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self._end = time.monotonic() + seconds

    @property
    def remaining(self) -> float:
        """Seconds left; negative when it has passed."""
        return self._end - time.monotonic()

    def check(self) -> None:
        """Raise DeadlineExceeded when the time has passed."""
        over = -self.remaining
        if over >= 0:
            raise DeadlineExceeded(
                f"the image took longer than {self.seconds:g} s", limit=self.seconds, actual=round(self.seconds + over, 3)
            )

    def attach(self, image: pyvips.Image) -> pyvips.Image:
        """Make the evaluation of the image stop when the time has passed; it then fails and `check` says why."""
        self.check()

        def look(watched: pyvips.Image, progress: Any) -> None:
            if self.remaining <= 0:
                watched.set_kill(True)

        image.set_progress(True)
        image.signal_connect("eval", look)
        return image
