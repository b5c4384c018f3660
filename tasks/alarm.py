"""The last limit of a run: a signal that ends the process, whatever it is doing and whoever else has stopped."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def alarm(seconds: float) -> Iterator[None]:
    """Ends this process by SIGALRM when the block takes longer.

    The default action of the signal: a Python handler would not run while C code does. The hard limit of the queue lives in the
    parent process, and a parent that is stopped enforces nothing.
    """
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
