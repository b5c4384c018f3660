"""The embedded service: who it runs for, when it ends, what it survives. Every process here is a real one."""

from __future__ import annotations

import json
import os
import shutil
import signal
import time
from pathlib import Path

import psutil
import pytest

from pixlane import embedded
from tests.embedded.users import LINGER_S, UserProcess, eventually, gone, now, processes, store


@pytest.mark.slow
def test_the_one_that_started_it_may_leave_first_and_the_last_one_ends_it(service_folder: Path) -> None:
    first = UserProcess(service_folder)
    started = first.said()
    second = UserProcess(service_folder)
    assert second.said()["supervisor"] == started["supervisor"]

    first.leave()
    time.sleep(4 * LINGER_S)
    assert store(started["url"]).ping()

    all_of_it = processes(started)
    assert len(all_of_it) >= 3
    second.leave()
    eventually(lambda: all(gone(pid) for pid in all_of_it))
    assert not (service_folder / "service.json").exists()
    assert json.loads((service_folder / "roots.json").read_text()) == []


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_it_ends_when_its_last_user_is_ended_by_a_signal(service_folder: Path, number: int) -> None:
    user = UserProcess(service_folder)
    all_of_it = processes(user.said())
    user.end_by(number)
    eventually(lambda: all(gone(pid) for pid in all_of_it))


@pytest.mark.slow
def test_eight_that_start_at_once_share_one(service_folder: Path) -> None:
    users = [UserProcess(service_folder) for _ in range(8)]
    said = [user.said() for user in users]
    assert len({record["supervisor"] for record in said}) == 1
    assert len({record["url"] for record in said}) == 1
    all_of_it = processes(said[0])
    for user in users:
        user.leave()
    eventually(lambda: all(gone(pid) for pid in all_of_it))


@pytest.mark.slow
def test_a_command_that_follows_at_once_finds_it_running(service_folder: Path) -> None:
    first = UserProcess(service_folder, PIXLANE_EMBEDDED_LINGER_S="20")
    supervisor = first.said()["supervisor"]
    first.leave()
    second = UserProcess(service_folder)
    assert second.said()["supervisor"] == supervisor
    second.leave()
    os.kill(supervisor, signal.SIGTERM)
    eventually(lambda: gone(supervisor))


@pytest.mark.slow
def test_users_that_come_while_it_ends_get_a_running_one(service_folder: Path) -> None:
    for delay_s in (0.0, 0.1, 0.2, 0.3, 0.4):
        user = UserProcess(service_folder, PIXLANE_EMBEDDED_LINGER_S="0")
        record = user.said()
        assert store(record["url"]).ping()
        user.leave()
        time.sleep(delay_s)
    eventually(lambda: gone(record["supervisor"]))


@pytest.mark.slow
def test_what_was_kept_is_served_again_after_a_restart(service_folder: Path) -> None:
    user = UserProcess(service_folder)
    record = user.said()
    store(record["url"]).set("kept", "yes")
    user.leave()
    eventually(lambda: gone(record["supervisor"]))

    again = UserProcess(service_folder)
    renewed = again.said()
    assert renewed["supervisor"] != record["supervisor"]
    assert store(renewed["url"]).get("kept") == b"yes"
    again.leave()


@pytest.mark.slow
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


@pytest.mark.slow
def test_the_children_of_a_killed_supervisor_end(here: Path) -> None:
    with embedded.attach():
        all_of_it = processes(now(here))
        os.kill(all_of_it[0], signal.SIGKILL)
        eventually(lambda: all(gone(pid) for pid in all_of_it))


@pytest.mark.slow
def test_ensure_starts_it_again_under_the_same_url_and_for_the_same_roots(here: Path, tmp_path: Path) -> None:
    with embedded.attach(paths_root=str(tmp_path)) as service:
        store(service.url).set("kept", "yes")
        killed = now(here)["supervisor"]
        os.kill(killed, signal.SIGKILL)
        eventually(lambda: gone(killed))
        service.ensure()
        assert store(service.url).get("kept") == b"yes"
        assert json.loads((here / "roots.json").read_text()) == [str(tmp_path)]


@pytest.mark.slow
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


@pytest.mark.slow
def test_it_ends_when_its_folder_is_removed_and_ensure_makes_it_anew(here: Path, tmp_path: Path) -> None:
    with embedded.attach(paths_root=str(tmp_path)) as service:
        all_of_it = processes(now(here))
        shutil.rmtree(here)
        eventually(lambda: all(gone(pid) for pid in all_of_it))
        service.ensure()
        assert store(service.url).ping()
        assert json.loads((here / "roots.json").read_text()) == [str(tmp_path)]
    eventually(lambda: embedded.running() is None)
