"""File locks of the operating system: they end with the process that holds them, however it ends.

`flock` belongs to the open file and not to the process. So a lock on a file that a started process inherited stays held until
that process and all its forks are gone: a sure sign of life that no reused process id can forge.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from pixlane.errors import ServiceUnavailable

POLL_S = 0.02


def try_lock(path: Path, *, create: bool = True) -> BinaryIO | None:
    """The open, locked file; None when somebody else holds it. Raises FileNotFoundError where it is missing and not created."""
    import fcntl

    file = open(path, "a+b" if create else "r+b")  # noqa: SIM115 - the open file is the lock
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        file.close()
        return None
    return file


def release(file: BinaryIO) -> None:
    """Unlocks for forks of this process too: closing alone would leave their copies holding it."""
    import fcntl

    if not file.closed:
        fcntl.flock(file, fcntl.LOCK_UN)
        file.close()


def is_held(path: Path) -> bool:
    """True while some process holds the lock of this file; False when there is no such file."""
    try:
        file = try_lock(path, create=False)
    except FileNotFoundError:
        return False
    if file is None:
        return True
    release(file)
    return False


def wait_until_free(path: Path, timeout_s: float) -> bool:
    """False when it was still held after `timeout_s` seconds."""
    end = time.monotonic() + timeout_s
    while is_held(path):
        if time.monotonic() > end:
            return False
        time.sleep(POLL_S)
    return True


@contextmanager
def locked(path: Path, timeout_s: float) -> Iterator[None]:
    """Holds the lock for a block. Raises ServiceUnavailable when it was not to be had within `timeout_s` seconds."""
    end = time.monotonic() + timeout_s
    while (file := try_lock(path)) is None:
        if time.monotonic() > end:
            raise ServiceUnavailable(
                f"another process has been starting or ending the embedded service for more than {timeout_s:g} s (lock {path})",
                limit=timeout_s,
                actual=str(path),
            )
        time.sleep(POLL_S)
    try:
        yield
    finally:
        release(file)
