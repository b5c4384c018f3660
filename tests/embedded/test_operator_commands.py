"""`pixlane up`, `worker`, `health` and `doctor`, run as a person runs them, against real servers and workers."""

from __future__ import annotations

import json
import os
import pty
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from pixlane.doctor import pictures, places, probe
from pixlane.formats import FORMATS
from pixlane.settings import Settings
from tests.embedded.conftest import Valkey, Worker, wait_until

Began = Callable[..., subprocess.Popen[str]]

NOBODY = "redis://127.0.0.1:1/0"


def environment(folder: Path, **more: str) -> dict[str, str]:
    plain = {name: value for name, value in os.environ.items() if not name.startswith("PIXLANE_")}
    return plain | {"PIXLANE_EMBEDDED_DIR": str(folder / "service"), "PIXLANE_EMBEDDED_LINGER_S": "0"} | more


def pixlane(folder: Path, *arguments: str, **more: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-P", "-m", "pixlane", *arguments]
    return subprocess.run(command, cwd=folder, env=environment(folder, **more), capture_output=True, text=True, timeout=60)


@pytest.fixture
def began(tmp_path: Path) -> Iterator[Callable[..., subprocess.Popen[str]]]:
    """Starts a command that goes on until it is told to end, at the latest with the test."""
    started: list[subprocess.Popen[str]] = []

    def begin(*arguments: str, **options: Any) -> subprocess.Popen[str]:
        told = options.pop("env", environment(tmp_path))
        process = subprocess.Popen(
            [sys.executable, "-P", "-m", "pixlane", *arguments], cwd=tmp_path, env=told, text=True, **options
        )
        started.append(process)
        return process

    yield begin
    for process in started:
        if process.poll() is None:
            process.kill()
        process.communicate()
    record = tmp_path / "service" / "service.json"
    wait_until(lambda: not record.exists(), "the service has ended")


# health ----------------------------------------------------------------------------------------------------------------


def test_health_without_any_service_says_how_to_get_one(tmp_path: Path) -> None:
    run = pixlane(tmp_path, "health")
    assert run.returncode == 4
    assert "pixlane up" in run.stderr
    assert not (tmp_path / "service").exists()


def test_health_names_the_server_that_refuses(tmp_path: Path) -> None:
    run = pixlane(tmp_path, "health", "--redis", NOBODY, "--json")
    answer = json.loads(run.stdout)
    assert run.returncode == 4
    assert answer["healthy"] is False
    assert answer["roles"]["ledger"]["error"]["code"] == "store_unavailable"


def test_health_asks_each_role(tmp_path: Path, valkey: Valkey) -> None:
    run = pixlane(tmp_path, "health", "--json", PIXLANE_REDIS_URL=valkey.url, PIXLANE_BROKER_URL="amqp://127.0.0.1:1//")
    roles = json.loads(run.stdout)["roles"]
    assert {name: role["ok"] for name, role in roles.items()} == {"ledger": True, "broker": False, "cache": True}
    assert run.returncode == 4


def test_health_without_a_worker_is_one(tmp_path: Path, valkey: Valkey) -> None:
    run = pixlane(tmp_path, "health", "--redis", valkey.url)
    assert run.returncode == 1
    assert "0 alive" in run.stdout


@pytest.mark.slow
def test_health_with_a_worker_is_well_and_counts_open_jobs(
    tmp_path: Path, valkey: Valkey, start_worker: Callable[..., Worker]
) -> None:
    start_worker()
    run = pixlane(tmp_path, "health", "--redis", valkey.url, "--json")
    answer = json.loads(run.stdout)
    assert (run.returncode, answer["healthy"], answer["workers"], answer["open_jobs"]) == (0, True, 1, 0)


def test_a_worker_that_has_not_been_seen_for_a_while_is_not_alive(tmp_path: Path, valkey: Valkey) -> None:
    seconds, _ = valkey.redis.time()
    valkey.redis.zadd("pixlane:workers", {"gone": (seconds - 60) * 1000})
    assert json.loads(pixlane(tmp_path, "health", "--redis", valkey.url, "--json").stdout)["workers"] == 0


@pytest.mark.slow
def test_health_here_counts_the_workers_of_this_host_alone(tmp_path: Path, valkey: Valkey) -> None:
    now_ms = valkey.redis.time()[0] * 1000
    valkey.redis.zadd("pixlane:workers", {"elsewhere:7": now_ms})
    assert pixlane(tmp_path, "health", "--redis", valkey.url).returncode == 0
    assert pixlane(tmp_path, "health", "--here", "--redis", valkey.url).returncode == 1
    valkey.redis.zadd("pixlane:workers", {f"{socket.gethostname()}:7": now_ms})
    assert pixlane(tmp_path, "health", "--here", "--redis", valkey.url).returncode == 0


def test_health_imports_neither_celery_nor_an_engine(tmp_path: Path, valkey: Valkey) -> None:
    unwanted = {"celery", "kombu", "pyvips", "PIL"}
    script = f"import sys; from pixlane.cli import run; run(['health']); print(sorted({unwanted} & set(sys.modules)))"
    command = [sys.executable, "-P", "-c", script]
    told = environment(tmp_path, PIXLANE_REDIS_URL=valkey.url)
    run = subprocess.run(command, env=told, capture_output=True, text=True, timeout=60)
    assert run.stdout.splitlines()[-1] == "[]"


# up --------------------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_up_prints_one_line_when_it_is_ready_and_ends_with_ctrl_c(tmp_path: Path, began: Began) -> None:
    up = began("up", "--json", "--concurrency", "1", "--root", str(tmp_path), stdout=subprocess.PIPE)
    assert up.stdout is not None
    ready = json.loads(up.stdout.readline())
    assert (ready["concurrency"], ready["root"]) == (1, str(tmp_path))

    wait_until(lambda: pixlane(tmp_path, "health").returncode == 0, "its worker is alive")
    up.send_signal(signal.SIGINT)
    assert up.wait(20) == 0
    assert up.stdout.read() == ""
    wait_until(lambda: pixlane(tmp_path, "health").returncode == 4, "the service has ended")


@pytest.mark.slow
def test_up_tells_a_second_one_that_its_concurrency_has_no_effect(tmp_path: Path, began: Began) -> None:
    first = began("up", "--json", "--concurrency", "1", stdout=subprocess.PIPE)
    assert first.stdout is not None
    assert json.loads(first.stdout.readline())["concurrency"] == 1
    second = began("up", "--json", "--concurrency", "3", stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert second.stdout is not None
    assert second.stderr is not None
    assert json.loads(second.stdout.readline())["concurrency"] == 1
    assert "has no effect" in second.stderr.readline()
    for up in (first, second):
        up.send_signal(signal.SIGTERM)
        up.communicate(timeout=20)
        assert up.returncode == 0


@pytest.mark.slow
def test_up_starts_the_service_again_when_its_supervisor_is_killed(tmp_path: Path, began: Began) -> None:
    up = began("up", "--json", stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    assert up.stdout is not None
    url = json.loads(up.stdout.readline())["url"]
    record = tmp_path / "service" / "service.json"
    killed = json.loads(record.read_text())["supervisor"]
    os.kill(killed, signal.SIGKILL)
    wait_until(lambda: record.exists() and json.loads(record.read_text())["supervisor"] != killed, "another supervisor runs")
    assert json.loads(record.read_text())["url"] == url
    up.send_signal(signal.SIGINT)
    up.communicate(timeout=20)


def test_up_is_for_those_who_name_no_redis(tmp_path: Path) -> None:
    run = pixlane(tmp_path, "up", PIXLANE_REDIS_URL="redis://user:secret@example.invalid/0")
    assert run.returncode == 2
    assert "pixlane worker" in run.stderr
    assert "secret" not in run.stderr


@pytest.mark.slow
def test_up_shows_its_state_on_a_terminal(tmp_path: Path, began: Began) -> None:
    ours, theirs = pty.openpty()
    up = began("up", stdout=theirs, stderr=theirs)
    os.close(theirs)
    seen: list[bytes] = []

    def read() -> None:
        try:
            while piece := os.read(ours, 4096):
                seen.append(piece)
        except OSError:  # Linux says so when the other side is closed
            return

    reader = threading.Thread(target=read)
    reader.start()
    wait_until(lambda: b"1 worker alive" in b"".join(seen), "the line of status says so")
    up.send_signal(signal.SIGINT)
    assert up.wait(20) == 0
    reader.join()
    os.close(ours)
    text = b"".join(seen).decode()
    assert "from pixlane import Client" in text
    assert "0 open jobs" in text


# worker ----------------------------------------------------------------------------------------------------------------


def test_a_worker_needs_a_redis(tmp_path: Path) -> None:
    run = pixlane(tmp_path, "worker")
    assert run.returncode == 2
    assert "PIXLANE_REDIS_URL" in run.stderr


def test_a_worker_without_its_redis_is_four_in_one_line(tmp_path: Path) -> None:
    run = pixlane(tmp_path, "worker", "--redis", NOBODY)
    assert run.returncode == 4
    assert len(run.stderr.splitlines()) == 1


@pytest.mark.slow
def test_a_worker_works_where_somebody_else_has_a_worker_py_and_ends_with_sigterm(
    tmp_path: Path, valkey: Valkey, began: Began
) -> None:
    for name in ("tasks.py", "worker.py"):
        (tmp_path / name).write_text("raise SystemExit('the module of somebody else was imported')\n")
    told = environment(tmp_path, PYTHONPATH=str(tmp_path))
    line = ["worker", "--redis", valkey.url, "--concurrency", "1", "--queues", "interactive"]
    worker = began(*line, env=told, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    wait_until(lambda: valkey.redis.zcard("pixlane:workers"), "it has said that it is alive")
    worker.send_signal(signal.SIGTERM)
    assert worker.wait(20) == 0


# doctor ----------------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_doctor_finds_nothing_wrong_with_a_full_installation(tmp_path: Path) -> None:
    run = pixlane(tmp_path, "doctor", "--json")
    answer = json.loads(run.stdout)
    failed = [check for check in answer["checks"] if check["verdict"] == "fail"]
    assert (failed, run.returncode, answer["ok"]) == ([], 0, True)
    assert {check["area"] for check in answer["checks"]} >= {"versions", "engines", "codecs", "fonts", "places", "service"}
    assert not (tmp_path / "service").exists()
    (reading,) = (check for check in answer["checks"] if check["name"] == "ocr")
    assert "rapidocr" in reading["found"]


def test_doctor_tries_every_format_that_is_decoded() -> None:
    assert set(probe.samples()) == {row.name for row in FORMATS.values() if row.engines}


def test_doctor_goes_on_after_a_codec_that_kills_its_process() -> None:
    script = """
import json, os, signal, sys
for name in ("one", "two", "three"):
    print("\\nan engine says hello", flush=True)
    if name not in sys.argv[1:]:
        print(json.dumps({"area": "codecs", "name": name}), flush=True)
        if name == "two":
            os.kill(os.getpid(), signal.SIGSEGV)
        print(json.dumps({"area": "codecs", "name": name, "ok": True, "found": "decoded"}), flush=True)
"""
    found = [(each["name"], each["ok"], each["found"]) for each in pictures.answers([sys.executable, "-c", script])]
    assert found == [("one", True, "decoded"), ("two", False, "the process ended with signal 11"), ("three", True, "decoded")]


def test_doctor_gives_up_on_a_codec_that_hangs() -> None:
    script = """
import json, sys, time
if "slow" not in sys.argv[1:]:
    print(json.dumps({"area": "codecs", "name": "slow"}), flush=True)
    time.sleep(600)
"""
    (slow,) = pictures.answers([sys.executable, "-c", script], timeout_s=0.5)
    assert (slow["name"], slow["ok"], slow["found"]) == ("slow", False, "no picture within 0.5 s")


@pytest.mark.slow
def test_doctor_says_that_text_will_be_blank_where_there_is_no_font(tmp_path: Path) -> None:
    nothing = tmp_path / "nothing"
    nothing.mkdir()
    (tmp_path / "fonts.conf").write_text(f"<fontconfig><dir>{nothing}</dir></fontconfig>")
    run = pixlane(tmp_path, "doctor", "--json", FONTCONFIG_FILE=str(tmp_path / "fonts.conf"))
    text = next(check for check in json.loads(run.stdout)["checks"] if check["area"] == "fonts")
    assert text["verdict"] == "warn"
    assert "blank" in text["found"]
    assert "fonts-dejavu-core" in text["advice"]


@pytest.mark.parametrize(
    ("name", "value", "check", "verdict"),
    [
        ("maxmemory-policy", "allkeys-lru", "store eviction", "fail"),
        ("maxmemory-policy", "volatile-lru", "store eviction", "ok"),
        ("appendonly", "no", "store durability", "warn"),
        ("appendonly", "yes", "store durability", "ok"),
    ],
)
def test_doctor_knows_what_a_store_must_keep(
    tmp_path: Path, valkey: Valkey, name: str, value: str, check: str, verdict: str
) -> None:
    from pixlane.doctor import service

    valkey.redis.config_set(name, value)
    found = {row.name: row for row in service.examine(Settings(), valkey.url)}
    assert found[check].verdict == verdict
    assert bool(found[check].advice) == (verdict != "ok")


@pytest.mark.slow
def test_doctor_names_a_bad_setting_and_a_folder_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    rows = {row.name: row for row in places.examine(Settings(embedded_dir=str(tmp_path / "file" / "service")))}
    assert rows["embedded service"].verdict == "fail"
    assert "PIXLANE_EMBEDDED_DIR" in rows["embedded service"].advice

    run = pixlane(tmp_path, "doctor", "--json", PIXLANE_CONCURRENCY="-1")
    row = next(check for check in json.loads(run.stdout)["checks"] if check["name"] == "environment")
    assert run.returncode == 1
    assert row["verdict"] == "fail"
    assert "PIXLANE_CONCURRENCY" in row["found"]
