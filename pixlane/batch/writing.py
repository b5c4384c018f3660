"""Writing a result: the whole file or nothing."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from pixlane.errors import OutputUnwritable


def write_whole(path: Path, data: bytes, part_name: str) -> None:
    """A temporary file of that name in the same folder, then a rename; makes the folder where it is missing.

    Two that write at a time under one `part_name` would take each other's bytes.
    Raises OutputUnwritable; what was there before is then still there.
    """
    part = path.parent / part_name
    try:
        try:
            part.write_bytes(data)
        except FileNotFoundError:
            path.parent.mkdir(parents=True, exist_ok=True)
            part.write_bytes(data)
        os.replace(part, path)
    except BaseException as error:  # also where the user ends it
        with suppress(OSError):
            part.unlink(missing_ok=True)
        if isinstance(error, OSError):
            raise unwritable(path, error) from None
        raise


def unwritable(path: Path, error: OSError) -> OutputUnwritable:
    return OutputUnwritable(f"{path} cannot be written: {error.strerror}", actual=error.strerror)
