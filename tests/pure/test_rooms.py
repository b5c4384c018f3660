"""Which room may use which: the code stays in one direction, and importing it stays cheap."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

# What imaging may use besides itself: bytes and a recipe in, a rendition out, and no service anywhere.
IMAGING_MAY_USE = {"errors", "settings", "formats", "probe", "sizing", "recipe", "rendition"}
HEAVY = ("pyvips", "PIL", "numpy", "redis", "celery", "kombu", "pydantic", "typer", "rich", "pypdfium2", "cairosvg", "resvg_py")


def imports(room: str) -> Iterator[tuple[str, str]]:
    """(file, module) for every module that a room names, in functions too; `from a import b` counts as both."""
    for path in sorted((ROOT / room).rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom):
                assert node.level == 0, f"{path} imports relatively"
                names = [f"{node.module}.{alias.name}" for alias in node.names]
            else:
                continue
            for name in names:
                yield str(path.relative_to(ROOT)), name


def uses(name: str, module: str) -> bool:
    return name == module or name.startswith(f"{module}.")


def test_imaging_knows_no_service() -> None:
    allowed = {*IMAGING_MAY_USE, "imaging"}
    strangers = [
        (file, name)
        for file, name in imports("pixlane/imaging")
        if name.startswith("pixlane.") and name.split(".")[1] not in allowed
    ]
    assert strangers == []
    assert [
        (file, name) for file, name in imports("pixlane/imaging") for m in ("redis", "celery", "httpx") if uses(name, m)
    ] == []


def test_the_library_never_imports_tasks_or_worker() -> None:
    assert [(file, name) for file, name in imports("pixlane") for room in ("tasks", "worker") if uses(name, room)] == []


def test_tasks_never_import_the_worker() -> None:
    assert [(file, name) for file, name in imports("tasks") if uses(name, "worker")] == []


def test_nothing_imports_the_command_line() -> None:
    own = ("pixlane/cli/", "pixlane/__main__.py")
    found = [(file, name) for room in ("pixlane", "tasks", "worker") for file, name in imports(room) if uses(name, "pixlane.cli")]
    assert [(file, name) for file, name in found if not file.startswith(own)] == []


def test_messages_take_descriptions_as_a_callable() -> None:
    assert [(file, name) for file, name in imports("pixlane/messages") if uses(name, "pixlane.vision")] == []


def test_there_is_something_to_hold_the_rules_for() -> None:
    for room in ("pixlane/imaging", "pixlane", "tasks", "worker"):
        assert any(name.startswith("pixlane") for _, name in imports(room)), room


@pytest.mark.parametrize(
    "module",
    [
        "pixlane",
        "pixlane.errors",
        "pixlane.messages",
        "pixlane.recipe",
        "pixlane.rendition",
        "pixlane.settings",
        "pixlane.vision",
        "pixlane.vision.looking",
    ],
)
def test_importing_loads_no_engine_and_no_service(module: str) -> None:
    script = f"import sys, {module}; print(*(name for name in {HEAVY!r} if name in sys.modules))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []
