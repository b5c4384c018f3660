"""Parts of the embedded service that need no process."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from pixlane.embedded.address import Address
from pixlane.embedded.folder import folder_of, user_cache
from pixlane.embedded.python import PACKAGE_ROOT, module_environment
from pixlane.embedded.server import max_store_bytes
from pixlane.machine import cores, memory_bytes
from pixlane.settings import GIB, Settings


def test_the_folder_of_somebody_else_is_not_on_the_path_of_a_worker() -> None:
    given = {"PYTHONPATH": os.pathsep.join(["/home/me/project", "", PACKAGE_ROOT]), "HOME": "/home/me"}
    told = module_environment(given)
    assert told == {"PYTHONPATH": PACKAGE_ROOT, "HOME": "/home/me", "PYTHONSAFEPATH": "1"}
    assert "PYTHONPATH" not in module_environment({"PYTHONPATH": "/home/me/project"})


def test_a_worker_does_not_see_the_broker_of_another_application() -> None:
    told = module_environment({"CELERY_BROKER_URL": "redis://elsewhere/0", "PIXLANE_BROKER_URL": "x"}, PIXLANE_BROKER_URL="")
    assert told == {"PYTHONSAFEPATH": "1"}


@pytest.mark.parametrize("address", [Address(socket_path="/run/me/store.sock"), Address(port=7000, password="a-b_c")])
def test_an_address_is_read_back_from_its_url(address: Address) -> None:
    assert Address.of_url(address.url) == address


def test_the_store_takes_a_quarter_of_the_memory_and_at_most_two_gib() -> None:
    assert max_store_bytes(Settings()) == min(memory_bytes() // 4, 2 * GIB)
    assert max_store_bytes(Settings(embedded_max_bytes=1000)) == 1000


def test_there_is_at_least_one_core() -> None:
    assert 1 <= cores() <= (os.cpu_count() or 1)


def test_a_relative_cache_folder_is_ignored_as_the_specification_says(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("sys.platform", "linux")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    assert user_cache() == tmp_path / ".cache"
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    assert folder_of(Settings()).path == tmp_path / "cache" / "pixlane" / "service"
    monkeypatch.setattr("sys.platform", "darwin")
    assert user_cache() == tmp_path / "Library" / "Caches"
