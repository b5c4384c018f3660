"""Python, pixlane, and the packages that it asks for, without importing them."""

from __future__ import annotations

import platform
from collections.abc import Iterator
from importlib import metadata
from typing import TYPE_CHECKING

import pixlane
from pixlane.doctor.check import Check

if TYPE_CHECKING:
    from packaging.requirements import Requirement

AREA = "versions"

EXTRAS = {"ocr": "nothing here reads the text of a picture for a model that cannot see"}
"""What is missing without an extra that a user may miss."""


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
    for extra, loss in EXTRAS.items():
        yield _examine_extra(extra, loss, wanted)


def _examine_extra(extra: str, loss: str, wanted: list[str]) -> Check:
    from packaging.requirements import Requirement

    asked = [requirement for requirement in map(Requirement, wanted) if _is_of(requirement, extra)]
    missing = [requirement.name for requirement in asked if not _version_of(requirement.name)]
    if missing:
        return Check(AREA, extra, "warn", f"{', '.join(missing)} not installed: {loss}", f'pip install "pixlane[{extra}]"')
    return Check(AREA, extra, "ok", ", ".join(f"{requirement.name} {_version_of(requirement.name)}" for requirement in asked))


def _is_of(requirement: Requirement, extra: str) -> bool:
    marker = requirement.marker
    return marker is not None and marker.evaluate({"extra": extra}) and not marker.evaluate({"extra": ""})


def _version_of(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def _examine_one(line: str) -> Check | None:
    from packaging.requirements import Requirement

    requirement = Requirement(line)
    if requirement.marker is not None and not requirement.marker.evaluate({"extra": ""}):
        return None  # another platform, or an extra
    version = _version_of(requirement.name)
    if version is None:
        return Check(AREA, requirement.name, "fail", "not installed", f'pip install "{requirement}"')
    if not requirement.specifier.contains(version, prereleases=True):
        return Check(AREA, requirement.name, "fail", f"{version}, wanted {requirement.specifier}", f'pip install "{requirement}"')
    return Check(AREA, requirement.name, "ok", version)
