"""How a module of this project is run as a process of its own, never somebody else's module of the same name."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path

import pixlane

PACKAGE_ROOT = str(Path(pixlane.__file__).resolve().parent.parent)


def module_command(module: str, *arguments: str) -> list[str]:
    """`-P`: the current folder, which may hold a `worker.py` of the user, stays off the path."""
    return [sys.executable, "-P", "-m", module, *arguments]


def module_environment(environ: Mapping[str, str], **changes: str) -> dict[str, str]:
    """The environment for it; an empty change removes a name.

    A PYTHONPATH keeps at most the entry that holds this package. Celery's variables, meant for another application, go: they
    would win over what ours says (`CELERY_BROKER_URL`).
    """
    kept = {
        name: value
        for name, value in environ.items()
        if name != "PYTHONPATH" and not name.startswith("CELERY_") and name not in changes
    }
    entries = [os.path.realpath(entry) for entry in environ.get("PYTHONPATH", "").split(os.pathsep) if entry]
    if PACKAGE_ROOT in entries:
        kept["PYTHONPATH"] = PACKAGE_ROOT
    return kept | {name: value for name, value in changes.items() if value} | {"PYTHONSAFEPATH": "1"}
