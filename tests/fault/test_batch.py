"""A batch whose embedded service is killed under it: every file is done in the end."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path

import pytest

from pixlane.cli import exits
from tests.embedded.test_batch import Shell, manifest, noise, put, service, shell

__all__ = ["service", "shell"]  # fixtures


@pytest.mark.parametrize("victim", ["supervisor", "server"])
def test_a_service_that_is_killed_in_the_middle_costs_a_moment_and_no_file(
    shell: Shell, service: Path, tmp_path: Path, victim: str
) -> None:
    put(tmp_path / "in", **{f"{number:03d}_png": noise(500, 400) for number in range(80)})
    process = shell.start("batch", "in", "--json", "--workers", "2")
    assert process.stdout is not None
    process.stdout.readline()
    os.kill(json.loads((service / "service.json").read_text())[victim], signal.SIGKILL)
    out, err = process.communicate(timeout=100)
    assert process.returncode == exits.DONE, err.decode()
    summary = json.loads(out.splitlines()[-1])["summary"]
    assert (summary["done"], summary["failed"]) == (80, 0)
    lines = manifest(tmp_path / "in-ready")
    assert len(lines) == 80
    assert all(
        (tmp_path / "in-ready" / f"{path}.{line['mime'].removeprefix('image/').replace('jpeg', 'jpg')}").exists()
        for path, line in lines.items()
    )
