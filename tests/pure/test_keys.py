"""The map of the Redis keys names each of them."""

from __future__ import annotations

import inspect

import pytest

from pixlane.store import keys
from pixlane.store.keys import Keys

OF_THE_BROKER = {"broker", "waiting"}
OURS = {name for name in vars(Keys) if not name.startswith("_") and name != "prefix"} - OF_THE_BROKER


def as_the_map_writes_it(name: str) -> str:
    found = getattr(Keys(), name)
    if not callable(found):
        return str(found)
    shown = {"fingerprint": "<recipe>"}
    return str(found(*(shown.get(each, f"<{each}>") for each in inspect.signature(found).parameters)))


@pytest.mark.parametrize("name", sorted(OURS | OF_THE_BROKER))
def test_every_key_stands_in_the_map(name: str) -> None:
    assert f"\n    {as_the_map_writes_it(name)}" in (keys.__doc__ or "")


@pytest.mark.parametrize("name", sorted(OURS))
def test_no_key_of_ours_is_one_of_the_broker_and_a_purge_finds_them_all(name: str) -> None:
    assert as_the_map_writes_it(name).startswith("pixlane:")
    assert not as_the_map_writes_it(name).startswith(Keys().broker)
