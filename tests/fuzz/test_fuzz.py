"""The short form of the fuzz ring; `python -m tests.fuzz.run` is the long one."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fuzz import run
from tests.fuzz.cases import case
from tests.fuzz.child import outcome
from tests.fuzz.seeds import seeds

CASES = 3_000


@pytest.mark.timeout(600)
def test_mutated_files_give_renditions_or_typed_errors_and_nothing_else() -> None:
    report = run.run(0, CASES)
    assert report.failures == []
    assert report.outcomes.total() == CASES
    assert report.outcomes["rendition"] > CASES // 20  # else the mutations only break headers
    assert report.growth_bytes <= run.MAX_GROWTH_BYTES


def test_every_seed_is_a_whole_file() -> None:
    for number, (name, data) in enumerate(sorted(seeds().items())):
        found = case(number)
        assert found.seed == name
        assert outcome(found, data)["outcome"] in ("rendition", "page_out_of_range"), name


def test_a_number_gives_the_same_input_in_every_process() -> None:
    assert case(77).data() == case(77).data()
    assert case(77).data() != case(77).data([])


def test_a_crash_and_an_exception_would_be_seen(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    broken = tmp_path / "sitecustomize.py"
    broken.write_text(
        "import os\n"
        "import pixlane\n"
        "def normalize(data, *rest, **more):\n"
        "    os.kill(os.getpid(), 11) if len(data) % 2 else 1 / 0\n"
        "pixlane.normalize = normalize\n"
    )
    monkeypatch.setenv("PYTHONPATH", f"{tmp_path}:{run.ROOT}")
    report = run.run(0, 12)
    assert report.outcomes.total() == 12
    assert set(report.outcomes) == {"crash", "untyped"}
    assert not report.good
