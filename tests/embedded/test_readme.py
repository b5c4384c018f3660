"""Every example of the pages runs as it stands there, against the embedded service."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from tests.readme import Example, examples, first_commands, needs_redis
from tests.running import clean_environment, folder_with_examples, run

PYTHON = examples("python")
SHELL = [example for example in examples("sh")[1:] if not needs_redis(example)]


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return folder_with_examples(tmp_path_factory.mktemp("place"))


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    return clean_environment(tmp_path_factory.mktemp("home"))


@pytest.mark.slow
@pytest.mark.parametrize("example", PYTHON, ids=str)
def test_an_example_in_python_runs(example: Example, place: Path, environment: dict[str, str]) -> None:
    run([sys.executable, "-c", example.text], place, environment)


@pytest.mark.slow
@pytest.mark.parametrize("example", SHELL, ids=str)
def test_an_example_for_the_shell_runs(example: Example, place: Path, environment: dict[str, str]) -> None:
    run(["bash", "-euo", "pipefail", "-c", example.text], place, environment)


def test_the_first_command_makes_every_example_picture_ready(place: Path, environment: dict[str, str]) -> None:
    main_job = first_commands()[0].rpartition("&& ")[2].removeprefix(".venv/bin/")
    run(["bash", "-c", main_job], place, environment)
    lines = [json.loads(line) for line in (place / "ready" / "manifest.jsonl").read_text().splitlines()]
    assert [line["path"] for line in lines] == sorted(path.name for path in (place / "examples" / "images").iterdir())
    assert [line for line in lines if "error" in line] == []
    assert all(list((place / "ready").glob(f"{line['path']}.*")) for line in lines)
    assert max(line["bytes_after"] for line in lines) * 4 / 3 < 262_144
