"""A worker that is told to end finishes what it has in hand, for so long; then it hands the rest back and ends all the same."""

from __future__ import annotations

import logging
import os
import signal
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

from celery.worker import state

from pixlane.store.ledger import Message
from tasks import messages_of

log = logging.getLogger("pixlane.worker")

HandBack = Callable[[Sequence[Message], str], None]
"""(messages in hand, token of their run)"""


class Leaving:
    """Listens to Celery's `worker_shutting_down`.

    Args:
        grace_s: how long running jobs may go on after that, seconds.
        hand_back: makes the jobs of a message due for others.
        children: the process ids of the worker's children.
        leave: says that the worker is gone.
    """

    def __init__(
        self, grace_s: float, hand_back: HandBack, children: Callable[[], Sequence[int]], leave: Callable[[], None]
    ) -> None:
        self._grace_s = grace_s
        self._hand_back = hand_back
        self._children = children
        self._leave = leave

    def told(self, **_: Any) -> None:
        timer = threading.Timer(self._grace_s, self._end)
        timer.daemon = True  # a worker that is done before does not wait for it
        timer.start()

    def _end(self) -> None:
        """Jobs first, so that no death is charged to them; then the processes, wherever they hang."""
        requests = list(state.active_requests)
        for request in requests:
            try:
                self._hand_back(messages_of(request.kwargs), request.id)
            except Exception:
                # The leases end by themselves; the end must not wait for the store.
                log.exception("could not hand back what runs")
        log.warning("not done %g s after the end was asked for: %d messages handed back", self._grace_s, len(requests))
        for pid in self._children():
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self._leave()
        os._exit(0)
