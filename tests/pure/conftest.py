"""What the tests of this ring share."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from pixlane import settings
from tests.pure.tools import media, read  # noqa: F401 - fixtures

Limit = Callable[..., None]
"""limit(max_source_bytes=1000): settings as another environment would have them, to the end of the test."""


@pytest.fixture
def limit(monkeypatch: pytest.MonkeyPatch) -> Iterator[Limit]:
    def put(**values: object) -> None:
        for name, value in values.items():
            monkeypatch.setenv(settings.environment_name(name), str(value))
        settings.current.cache_clear()

    yield put
    settings.current.cache_clear()
