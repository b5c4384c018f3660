"""The same real parts as in the embedded ring."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pixlane import settings
from pixlane.settings import Settings
from tests.embedded.conftest import start_worker as start_worker
from tests.embedded.conftest import valkey as valkey


@pytest.fixture
def quick() -> Settings:
    """Limits so short that a test sees the end of them."""
    return replace(
        settings.load({}), hard_timeout_s=2.0, soft_timeout_s=1.8, lease_margin_s=0.5, resend_after_s=1.0, sweep_interval_s=0.3
    )
