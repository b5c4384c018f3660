"""Python, pixlane, and the packages that it asks for, without importing them."""

from __future__ import annotations

import platform
from collections.abc import Iterator
from importlib import metadata

import pixlane
from pixlane.doctor.check import Check

AREA = "versions"


def examine() -> Iterator[Check]:
    yield Check(AREA, "python", "ok", f"{platform.python_version()} on {platform.system()} {platform.machine()}")
    yield Check(AREA, "pixlane", "ok", pixlane.__version__)
    try:
        wanted = metadata.requires("pixlane") or []
    except metadata.PackageNotFoundError:
        yield Check(AREA, "packages", "warn", "pixlane is not installed, it runs from a folder", "install it: pip install .")
        return
    for line in wanted:
        check = _examine_one(line)
        if check is not None:
            yield check


def _examine_one(line: str) -> Check | None:
    from packaging.requirements import Requirement

    requirement = Requirement(line)
    if requirement.marker is not None and not requirement.marker.evaluate({"extra": ""}):
        return None  # another platform, or an extra
    try:
        version = metadata.version(requirement.name)
    except metadata.PackageNotFoundError:
        return Check(AREA, requirement.name, "fail", "not installed", f'pip install "{requirement}"')
    if not requirement.specifier.contains(version, prereleases=True):
        return Check(AREA, requirement.name, "fail", f"{version}, wanted {requirement.specifier}", f'pip install "{requirement}"')
    return Check(AREA, requirement.name, "ok", version)
