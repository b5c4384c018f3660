"""The folders that pixlane writes to."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

from pixlane.doctor.check import Check
from pixlane.embedded.folder import folder_of
from pixlane.settings import GIB, MIB, Settings

AREA = "places"
SCARCE_BYTES = 1 * GIB
TOO_FEW_BYTES = 64 * MIB


def examine(settings: Settings) -> Iterator[Check]:
    yield _place("embedded service", folder_of(settings).path, "name another folder in PIXLANE_EMBEDDED_DIR")
    yield _place("temporary files", Path(tempfile.gettempdir()), "name another folder in TMPDIR")


def _place(name: str, path: Path, advice: str) -> Check:
    # The service makes its folder when it starts; until then what counts is where it would be made.
    existing = next(folder for folder in (path, *path.parents) if folder.exists())
    try:
        with tempfile.TemporaryFile(dir=existing) as file:
            file.write(b"\0")
    except OSError as error:
        return Check(AREA, name, "fail", f"{existing} cannot be written: {error.strerror}", advice)
    free = shutil.disk_usage(existing).free
    found = f"{path}, {free / GIB:.1f} GiB free"
    if free < TOO_FEW_BYTES:
        return Check(AREA, name, "fail", found, f"free some space, or {advice}")
    if free < SCARCE_BYTES:
        return Check(AREA, name, "warn", found, f"free some space, or {advice}")
    return Check(AREA, name, "ok", found)
