"""The fault ring in its short form; `python -m tests.fault.run` is the long one."""

from __future__ import annotations

import pytest

from tests.fault import load, scenarios, tiny

pytestmark = pytest.mark.timeout(150)


@pytest.mark.parametrize("name", scenarios.SCENARIOS)
def test_every_promise_is_kept_under(name: str) -> None:
    report = scenarios.SCENARIOS[name](scenarios.short())
    print(name, report)


def test_a_mixed_load_at_saturation_passes_no_bound() -> None:
    report = load.run(5.0)
    print(report)
    assert report["batch"]["count"] > 20
    assert report["interactive"]["count"] > 2
    assert all(report["cpu_ms_per_image"][who] > 0 for who in ("processes", "server", "producer"))


def test_tiny_images_all_come_back() -> None:
    report = tiny.run(300)
    print(report)
    assert min(report["images_per_second"], report["empty_tasks_per_second"]) > 0
