"""Processes that draw vectors: warm, killed at their deadline, replaced at once when they die.

An engine may hold the interpreter for seconds, abort, or overflow its stack; in a process of its own that costs one picture.
Plain subprocesses, as a daemonic worker child may start them and multiprocessing may not. Each forked process keeps its own.
"""

from __future__ import annotations

import atexit
import json
import os
import struct
import subprocess
import sys
import tempfile
import threading
import time
import weakref
from pathlib import Path
from typing import IO, Any

from pixlane.errors import BY_CODE, DeadlineExceeded, RenderFailed, ServiceUnavailable

CHILD = Path(__file__).with_name("draw_child.py")
MAX_DRAWS = 200  # of one process, against what engines leak
MAX_IDLE = 4  # warm processes kept; there are as many at work as there are threads that draw
DIAGNOSIS_CHARACTERS = 300  # of what a dead process had printed

SIGKILL = 9  # not in `signal` on Windows


class ProcessDied(RenderFailed):
    """The process ended in the middle; `details["signal"]` names the signal where there was one."""


class DrawProcess:
    """One child. Used by one thread at a time."""

    def __init__(self) -> None:
        self.log = _unnamed_file()
        self.draws = 0
        self.printed = ""  # known once it is closed
        try:
            # By path and -P: whatever lies in the current folder is not imported.
            self.process = subprocess.Popen(
                [sys.executable, "-P", str(CHILD)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.log, bufsize=0
            )
        except OSError as error:
            self.log.close()
            raise ServiceUnavailable(f"the process that draws vectors could not be started: {error}") from error

    @property
    def alive(self) -> bool:
        return self.process.poll() is None

    def ask(self, header: dict[str, Any], payload: bytes, seconds: float) -> tuple[dict[str, Any], bytes]:
        """One question, one answer. Raises DeadlineExceeded when it took longer (the process is dead then), ProcessDied."""
        late = threading.Event()

        def end() -> None:
            late.set()
            self.process.kill()

        watch = threading.Timer(seconds, end)
        watch.daemon = True
        watch.start()
        self.draws += 1
        began = time.monotonic()
        try:
            answer = self._exchange({**header, "seconds": seconds}, payload)
        except (OSError, EOFError):
            self.close()
            if late.is_set():
                raise DeadlineExceeded(
                    f"drawing took longer than {seconds:.3g} s",
                    limit=round(seconds, 3),
                    actual=round(time.monotonic() - began, 3),
                ) from None
            raise self._death() from None
        except BaseException:  # a signal handler's: the answer that is still to come would be taken for the next one's
            self.close()
            raise
        finally:
            watch.cancel()
        return answer

    def close(self) -> None:
        """End it now."""
        self.process.kill()
        self.process.wait()
        self.printed = _read_log(self.log)
        self._let_go()

    def abandon(self) -> None:
        """In a forked child: let go of what the parent owns, without ending it. A pipe held here would keep it alive."""
        self.process.returncode = 0
        self._let_go()

    def _let_go(self) -> None:
        for stream in (self.process.stdin, self.process.stdout, self.log):
            if stream is not None:
                stream.close()

    def _exchange(self, header: dict[str, Any], payload: bytes) -> tuple[dict[str, Any], bytes]:
        asked, answered = self.process.stdin, self.process.stdout
        assert asked is not None
        assert answered is not None
        line = json.dumps({**header, "payload_bytes": len(payload)}).encode("utf-8")
        _write(asked, struct.pack(">I", len(line)) + line)
        _write(asked, payload)
        length = struct.unpack(">I", _read(answered, 4))[0]
        answer: dict[str, Any] = json.loads(_read(answered, length))
        return answer, bytes(_read(answered, answer["payload_bytes"]))

    def _death(self) -> ProcessDied:
        status = self.process.returncode
        how = f"by signal {-status}" if status < 0 else f"with status {status}"
        printed = " ".join(self.printed.split())[-DIAGNOSIS_CHARACTERS:]
        return ProcessDied(
            f"the process that drew it was ended {how}{': ' if printed else ''}{printed}", signal=-status if status < 0 else None
        )


class Pool:
    """Idle processes; a thread takes one or starts one, so any number of threads may draw."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.idle: list[DrawProcess] = []
        self.all: weakref.WeakSet[DrawProcess] = weakref.WeakSet()

    def ask(self, header: dict[str, Any], payload: bytes, seconds: float) -> tuple[dict[str, Any], bytes]:
        """The answer of any process. One that was killed from outside is replaced and asked again once.

        Raises DeadlineExceeded, ProcessDied, or the typed error that the child named.
        """
        began = time.monotonic()
        try:
            answer, content = self._ask_one(header, payload, seconds)
        except ProcessDied as death:
            left = seconds - (time.monotonic() - began)
            if death.details.get("signal") != SIGKILL or left <= 0:
                raise
            answer, content = self._ask_one(header, payload, left)
        if not answer["ok"]:
            raise BY_CODE.get(answer["code"], RenderFailed)(answer["message"])
        return answer, content

    def warm(self) -> None:
        """Make sure that a process waits; it starts beside the caller's work."""
        with self.lock:
            self.idle = [process for process in self.idle if process.alive]
            if not self.idle:
                self.idle.append(self._start())

    def close(self) -> None:
        with self.lock:
            idle, self.idle = self.idle, []
        for process in idle:
            process.close()

    def _ask_one(self, header: dict[str, Any], payload: bytes, seconds: float) -> tuple[dict[str, Any], bytes]:
        process = self._take()
        try:
            answer = process.ask(header, payload, seconds)
        except (DeadlineExceeded, ProcessDied):
            self.warm()
            raise
        self._give_back(process)
        return answer

    def _take(self) -> DrawProcess:
        with self.lock:
            while self.idle:
                process = self.idle.pop()
                if process.alive:
                    return process
                process.close()
            return self._start()

    def _start(self) -> DrawProcess:
        process = DrawProcess()
        self.all.add(process)
        return process

    def _give_back(self, process: DrawProcess) -> None:
        with self.lock:
            if process.draws < MAX_DRAWS and len(self.idle) < MAX_IDLE:
                self.idle.append(process)
                return
        process.close()
        self.warm()


class _PerProcess:
    """The pool of this process; a forked child lets go of its parent's and makes its own."""

    def __init__(self) -> None:
        self.pool: Pool | None = None
        self.registered = False

    def __call__(self) -> Pool:
        if not self.registered:
            self.registered = True
            if hasattr(os, "register_at_fork"):
                os.register_at_fork(after_in_child=self._after_fork)
            atexit.register(self._at_exit)
        if self.pool is None:
            self.pool = Pool()
        return self.pool

    def _at_exit(self) -> None:
        if self.pool is not None:
            self.pool.close()

    def _after_fork(self) -> None:
        inherited, self.pool = self.pool, None
        if inherited is not None:
            for process in list(inherited.all):
                process.abandon()


pool = _PerProcess()
"""`pool()` is the one pool of this process."""


def _write(pipe: Any, content: bytes) -> None:
    rest = memoryview(content)
    while rest:
        rest = rest[pipe.write(rest) :]


def _read(pipe: Any, count: int) -> bytearray:
    """Exactly so many bytes. Raises EOFError where the other side ended before."""
    content = bytearray(count)
    rest = memoryview(content)
    while rest:
        got = pipe.readinto(rest)
        if not got:
            raise EOFError
        rest = rest[got:]
    return content


def _unnamed_file() -> IO[bytes]:
    """A file without a name: in memory where the system can, as the disk of a container may be read-only."""
    if hasattr(os, "memfd_create"):
        return os.fdopen(os.memfd_create("pixlane-draw", os.MFD_CLOEXEC), "w+b", buffering=0)
    return tempfile.TemporaryFile(buffering=0)


def _read_log(file: IO[bytes]) -> str:
    try:
        file.seek(0)
        return file.read(65_536).decode("utf-8", "replace")
    except (OSError, ValueError):
        return ""
