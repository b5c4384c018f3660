"""libvips that has run once hangs every later fork for ever; this turns the hang into a sentence.

Importing pyvips and opening headers are harmless; what counts is the first operation that starts libvips threads.
"""

from __future__ import annotations

import os

from pixlane.errors import EngineAfterFork


class _Guard:
    """Whether the engine ran in this process, and whether it had run in the parent when this process was forked."""

    ran = False
    forked_after = False
    registered = False

    def enter(self) -> None:
        if self.forked_after:
            raise EngineAfterFork(
                "libvips ran before this process was forked and would hang here; "
                "fork before the first image, or start processes with the spawn method"
            )
        if not self.ran:
            self.ran = True
            if not self.registered and hasattr(os, "register_at_fork"):
                os.register_at_fork(after_in_child=self._after_fork)
                self.registered = True

    def _after_fork(self) -> None:
        self.forked_after = self.forked_after or self.ran


enter = _Guard().enter
"""Call before an operation of libvips that computes pixels. Raises EngineAfterFork where it could only hang."""
