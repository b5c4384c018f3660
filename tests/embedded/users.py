"""Users of the embedded service for the tests: real processes, and a folder of its own for each test."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest
import redis

from pixlane import settings

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
def service_folder(tmp_path: Path) -> Iterator[Path]:
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
def here(service_folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The folder in force for `attach` in this process."""
    for name, value in {"EMBEDDED_DIR": str(service_folder), "EMBEDDED_LINGER_S": str(LINGER_S), **QUICK}.items():
        monkeypatch.setenv(f"PIXLANE_{name}", value)
    settings.current.cache_clear()
    yield service_folder
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
