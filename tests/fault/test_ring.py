"""The fault ring in its short form; `python -m tests.fault.run` is the long one."""

from __future__ import annotations

import pytest

from tests.fault import scenarios

pytestmark = pytest.mark.timeout(150)


@pytest.mark.parametrize("name", scenarios.SCENARIOS)
def test_every_promise_is_kept_under(name: str) -> None:
    report = scenarios.SCENARIOS[name](scenarios.short())
    print(name, report)
