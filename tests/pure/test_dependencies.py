"""What is declared is what is imported, with bounds that the pins meet."""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
REQUIRED = {canonicalize_name(each.name): each for each in map(Requirement, PROJECT["dependencies"])}
EXTRAS = [Requirement(line) for lines in PROJECT["optional-dependencies"].values() for line in lines]
PINS = {
    canonicalize_name(name): version
    for name, version in re.findall(r"^([A-Za-z0-9._-]+)==(\S+)$", (ROOT / "constraints.txt").read_text(), re.MULTILINE)
}
OWN = {"pixlane", "tasks", "worker"}


@pytest.mark.parametrize("name", ["celery", "redis", "pillow", "pillow-heif", "pillow-avif-plugin", "cairosvg", "numpy"])
def test_a_package_that_was_asked_for_is_always_installed(name: str) -> None:
    assert name in REQUIRED
    assert REQUIRED[name].marker is None


@pytest.mark.parametrize("required", [*REQUIRED.values(), *EXTRAS], ids=lambda required: required.name)
def test_the_pin_meets_the_lower_bound(required: Requirement) -> None:
    assert required.specifier.contains(PINS[canonicalize_name(required.name)], prereleases=True)


@pytest.mark.parametrize("required", REQUIRED.values(), ids=lambda required: required.name)
def test_a_dependency_has_a_lower_bound(required: Requirement) -> None:
    assert any(clause.operator in (">=", "~=", "==") for clause in required.specifier)


def test_the_constraints_are_plain_pins() -> None:
    lines = [line for line in (ROOT / "constraints.txt").read_text().splitlines() if line and not line.startswith("#")]
    assert len(lines) == len(PINS)


@pytest.mark.slow
def test_every_module_that_is_imported_belongs_to_a_declared_package() -> None:
    homes = packages_distributions()
    undeclared = {}
    for module, file in sorted(imported().items()):
        distributions = {canonicalize_name(name) for name in homes.get(module, [module])}
        if not distributions & set(REQUIRED | {canonicalize_name(each.name): each for each in EXTRAS}):
            undeclared[module] = file
    assert undeclared == {}


def imported() -> dict[str, str]:
    """Every third-party module that the code names, with a file that does."""
    found = {}
    for room in sorted(OWN):
        for path in (ROOT / room).rglob("*.py"):
            for node in ast.walk(ast.parse(path.read_text())):
                names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
                if isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
                    names = [node.module]
                for name in names:
                    found[name.split(".")[0]] = str(path.relative_to(ROOT))
    return {name: file for name, file in found.items() if name not in sys.stdlib_module_names | OWN}
