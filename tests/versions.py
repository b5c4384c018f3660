"""Another version of the project beside this one: a copy of its packages in which some lines read differently."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path

from tests.readme import ROOT

PACKAGES = ("pixlane", "tasks", "worker")


def other_version(folder: Path, changes: Mapping[str, tuple[str, str]]) -> Path:
    """A folder for PYTHONPATH. `changes`: by file, what stands there and what stands there in the other version."""
    for package in PACKAGES:
        shutil.copytree(ROOT / package, folder / package, ignore=shutil.ignore_patterns("__pycache__"))
    for name, (before, after) in changes.items():
        path = folder / name
        text = path.read_text()
        assert text.count(before) == 1, f"{name} has {text.count(before)} times {before!r}"
        path.write_text(text.replace(before, after))
    return folder


def next_pipeline(folder: Path, version: str = "next") -> Path:
    """The same with another version of the pipeline, so with other fingerprints."""
    return other_version(folder, {"pixlane/recipe.py": ('PIPELINE_VERSION = "1"', f'PIPELINE_VERSION = "{version}"')})
