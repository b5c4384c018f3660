"""The two processes of the service: started, started again when they die, ended, and never left behind."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from contextlib import suppress
from dataclasses import dataclass, field
from typing import IO, BinaryIO

from pixlane.embedded.folder import Folder
from pixlane.embedded.locks import is_held, try_lock, wait_until_free
from pixlane.errors import ServiceUnavailable

END_GRACE_S = 5.0  # from the polite signal to the hard one
HARD_END_S = 5.0  # what the kernel may take for the hard one
FIRST_DELAY_S = 0.25  # before the second start in a row; doubles with each
MAX_DELAY_S = 10.0
SETTLED_S = 10.0  # alive for so long = the failures before are forgotten
TROUBLE_AFTER = 4  # failures in a row that users are told of
MAX_LOG_BYTES = 4 * 1024 * 1024


@dataclass
class Child:
    """A process that holds `<name>.lock` as long as it or a fork of it lives."""

    name: str
    command: list[str]
    environment: dict[str, str]
    folder: Folder
    warden: Warden
    process: subprocess.Popen[bytes] | None = None
    restarts: int = 0
    failures: int = 0
    last_words: str = ""
    started_at: float = 0.0
    start_again_at: float = 0.0

    def start(self) -> None:
        lock = try_lock(self.folder.lock(self.name))
        if lock is None:
            raise ServiceUnavailable(f"a process of an earlier service still holds {self.folder.lock(self.name)}")
        with lock, open_log(self.folder, self.name) as log:
            # Empty until the new id is known: nobody may signal the id of the process before.
            lock.truncate(0)
            self.process = subprocess.Popen(
                self.command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                cwd=self.folder.path,
                env=self.environment,
                pass_fds=[lock.fileno()],
                start_new_session=True,
            )
            lock.write(str(self.process.pid).encode())
        self.started_at = time.monotonic()
        self.warden.watch(self.process.pid)

    @property
    def pid(self) -> int | None:
        return None if self.process is None else self.process.pid

    @property
    def is_alive(self) -> bool:
        return self.process is not None and self.process.poll() is None

    @property
    def in_trouble(self) -> bool:
        return self.failures >= TROUBLE_AFTER

    def tend(self) -> bool:
        """Starts it again when it has died and its delay is over; True when something changed."""
        now = time.monotonic()
        if self.process is None:
            if now < self.start_again_at or is_held(self.folder.lock(self.name)):
                return False
            self.restarts += 1
            try:
                self.start()
            except OSError as error:  # no memory, no process ids, the program is gone
                self.folder.log(self.name).write_text(f"{self.command[0]} does not start: {error}\n")
                self._count_failure(now)
            return True
        if self.process.poll() is None:
            if self.failures and now - self.started_at > SETTLED_S:
                self.failures = 0
                return True
            return False
        if is_held(self.folder.lock(self.name)):  # forks that outlived it
            _signal_group(self.process.pid, signal.SIGKILL)
        self.warden.release(self.process.pid)
        self.process = None
        self._count_failure(now)
        return True

    def end(self) -> None:
        """Asks the process to end, and after END_GRACE_S seconds ends it with all its forks."""
        if self.process is None:
            return
        if self.process.poll() is None:
            self.process.terminate()
            with suppress(subprocess.TimeoutExpired):
                self.process.wait(END_GRACE_S)
        if self.process.poll() is None or is_held(self.folder.lock(self.name)):
            _signal_group(self.process.pid, signal.SIGKILL)
            self.process.wait()
        self.warden.release(self.process.pid)
        self.process = None

    def _count_failure(self, now: float) -> None:
        self.failures += 1
        self.last_words = self.folder.log_tail(self.name)
        self.start_again_at = now + (0.0 if self.failures == 1 else min(MAX_DELAY_S, FIRST_DELAY_S * 2.0 ** (self.failures - 2)))


def open_log(folder: Folder, name: str) -> BinaryIO:
    """An empty log. Open for appending, so that who writes it goes on at the start after `bound_log`."""
    path = folder.log(name)
    path.write_bytes(b"")
    return open(path, "ab")


def bound_log(folder: Folder, name: str) -> None:
    if folder.log(name).stat().st_size > MAX_LOG_BYTES:
        os.truncate(folder.log(name), 0)


def end_leftover(folder: Folder, name: str) -> None:
    """Ends what a killed supervisor left behind. Raises ServiceUnavailable when it does not end.

    While the lock is held some process of the group lives, and so the kernel gives its number to nobody else.
    """
    lock = folder.lock(name)
    if not is_held(lock):
        return
    text = lock.read_text()
    if text.isdigit():
        _signal(int(text), signal.SIGTERM)
        if not wait_until_free(lock, END_GRACE_S):
            _signal_group(int(text), signal.SIGKILL)
    if not wait_until_free(lock, HARD_END_S):
        raise ServiceUnavailable(
            f"a process of an earlier service still holds {lock} (process {text or 'unknown'}); end it by hand",
            actual=text or None,
        )


def _signal(pid: int, number: signal.Signals) -> None:
    with suppress(ProcessLookupError):
        os.kill(pid, number)


def _signal_group(pid: int, number: signal.Signals) -> None:
    with suppress(ProcessLookupError, PermissionError):  # macOS says the second of a group of zombies
        os.killpg(pid, number)


@dataclass
class Warden:
    """A fork that outlives the supervisor by a moment and ends its children when it was killed.

    A pipe tells it: it closes with the supervisor. Works on every Unix, where a parent-death signal is Linux only.
    """

    pipe: IO[str] = field(init=False)

    def __post_init__(self) -> None:
        reader, writer = os.pipe()
        if os.fork() == 0:
            os.setsid()
            _close_all_but(reader)
            _guard(reader)
            os._exit(0)
        os.close(reader)
        self.pipe = os.fdopen(writer, "w", buffering=1)

    def watch(self, pid: int) -> None:
        self._tell({"watch": pid})

    def release(self, pid: int) -> None:
        self._tell({"release": pid})

    def _tell(self, message: dict[str, int]) -> None:
        with suppress(BrokenPipeError):  # somebody killed it; the next start finds leftovers by their locks
            self.pipe.write(json.dumps(message) + "\n")


def _guard(reader: int) -> None:
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    watched: set[int] = set()
    with os.fdopen(reader) as messages:
        for line in messages:
            message = json.loads(line)
            if "watch" in message:
                watched.add(message["watch"])
            else:
                watched.discard(message["release"])
    for pid in watched:
        _signal(pid, signal.SIGTERM)
    end = time.monotonic() + END_GRACE_S
    while watched and time.monotonic() < end:
        watched = {pid for pid in watched if _group_lives(pid)}
        time.sleep(0.05)
    for pid in watched:
        _signal_group(pid, signal.SIGKILL)


def _group_lives(pid: int) -> bool:
    try:
        os.killpg(pid, 0)
    except (ProcessLookupError, PermissionError):
        return False
    return True


def _close_all_but(kept: int) -> None:
    limit = os.sysconf("SC_OPEN_MAX")
    os.closerange(0, kept)
    os.closerange(kept + 1, min(limit, 4096))
