"""The supervisor: the process that keeps the store and the worker of the embedded service running until nobody uses it.

`python -P -m pixlane.embedded.supervise FOLDER REPORT_FD CONCURRENCY`. It leaves the process that started it at once, and
writes one line of JSON into REPORT_FD: what `service.json` holds, or the error that kept it from starting.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO

from pixlane.embedded import address as addresses
from pixlane.embedded.address import Address
from pixlane.embedded.children import Child, Warden, bound_log, end_leftover
from pixlane.embedded.folder import Folder, write_whole
from pixlane.embedded.locks import release, try_lock
from pixlane.embedded.python import module_command, module_environment
from pixlane.embedded.server import find_server, max_store_bytes, write_configuration
from pixlane.embedded.users import present, publish_roots
from pixlane.errors import PixlaneError, ServiceUnavailable
from pixlane.settings import Settings, current

TICK_S = 0.2
READY_TIMEOUT_S = 120.0  # a store of 2 GiB reads its data within that
READY_POLL_S = 0.01
LOOPBACK_ATTEMPTS = 3  # somebody may take the free port first


def main(arguments: list[str]) -> None:
    folder, report_fd, concurrency = Folder(Path(arguments[0])), int(arguments[1]), int(arguments[2])
    if os.fork():
        os._exit(0)
    service_lock = try_lock(folder.service_lock)
    if service_lock is None:
        _report(report_fd, {"error": ServiceUnavailable("another supervisor holds the folder").to_dict()})
        return
    supervisor = Supervisor(folder, service_lock, concurrency)
    try:
        record = supervisor.start()
    except (PixlaneError, OSError) as error:
        supervisor.end()
        typed = error if isinstance(error, PixlaneError) else ServiceUnavailable(f"the embedded service does not start: {error}")
        _report(report_fd, {"error": typed.to_dict()})
        return
    _report(report_fd, record)
    try:
        supervisor.run()
    finally:
        supervisor.end()


def _report(descriptor: int, record: dict[str, Any]) -> None:
    # Whoever started this may be gone; the users that came after it are not.
    with suppress(BrokenPipeError), os.fdopen(descriptor, "w") as report:
        report.write(json.dumps(record))


class Supervisor:
    def __init__(self, folder: Folder, service_lock: BinaryIO, concurrency: int) -> None:
        self.folder = folder
        self.service_lock = service_lock
        self.concurrency = concurrency
        self.settings: Settings = current()
        self.warden = Warden()
        self.children: list[Child] = []
        self.url = ""
        self.users: dict[str, str | None] = {}
        self.door: BinaryIO | None = None
        self.told_to_end = False
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._note_signal)

    def start(self) -> dict[str, Any]:
        """Store, then worker. Returns the service record. Raises PixlaneError with what was tried and the last log lines."""
        previous = self.folder.read_service()
        self.folder.service.unlink(missing_ok=True)
        for name in ("worker", "server"):
            end_leftover(self.folder, name)
        self.url = self._start_server(previous).url
        worker = Child("worker", module_command("worker"), self._worker_environment(), self.folder, self.warden)
        self.children.append(worker)
        worker.start()
        return self._publish()

    def run(self) -> None:
        """Until it is told to end, its folder is removed, or there has been no user for the linger time."""
        last_used = time.monotonic()
        while self._owns_folder():
            try:
                self._tick()
                if self.users:
                    last_used = time.monotonic()
                unused = time.monotonic() - last_used >= self.settings.embedded_linger_s
                if (self.told_to_end or unused) and self._may_end():
                    return
            except OSError as error:  # a full disk, for example: what runs goes on running
                print(f"supervisor: {error}", flush=True)
            time.sleep(TICK_S)

    def end(self) -> None:
        """Worker first, so that it can put down what it holds."""
        if self._owns_folder():
            self.folder.service.unlink(missing_ok=True)
        for child in reversed(self.children):
            child.end()
        if self._owns_folder():
            publish_roots(self.folder, {})
            addresses.forget(self.folder)

    def _owns_folder(self) -> bool:
        """False when the folder was removed, also when somebody has made it anew since."""
        try:
            return os.path.samestat(os.fstat(self.service_lock.fileno()), self.folder.service_lock.stat())
        except FileNotFoundError:
            return False

    def _tick(self) -> None:
        self._look_for_users()
        # A list, not a generator: each child is tended, whatever became of the first.
        if any([child.tend() for child in self.children]):
            self._publish()
        for name in ("supervisor", *(child.name for child in self.children)):
            bound_log(self.folder, name)

    def _look_for_users(self) -> None:
        """Unless somebody stands in the door: whoever does publishes the roots."""
        door = try_lock(self.folder.door)
        if door is None:
            return
        try:
            users = present(self.folder)
            if users != self.users:
                publish_roots(self.folder, users)
                self.users = users
        finally:
            release(door)

    def _may_end(self) -> bool:
        """Closes the door for as long as this process lives; False when somebody is coming in."""
        door = try_lock(self.folder.door)
        if door is None:
            return False
        if present(self.folder) and not self.told_to_end:
            release(door)
            return False
        self.door = door
        return True

    def _start_server(self, previous: dict[str, Any] | None) -> Address:
        program, max_bytes = find_server(), max_store_bytes(self.settings)
        known = Address.of_url(previous["url"]) if previous else None
        for _ in range(LOOPBACK_ATTEMPTS):
            if known is not None and known.port:  # the same URL as before, for the users who still have it
                where, known = known, None
            else:
                where = addresses.choose(self.folder, loopback=self.settings.embedded_loopback)
            configuration = write_configuration(self.folder, where, max_bytes)
            server = Child("server", [program.path, str(configuration)], dict(os.environ), self.folder, self.warden)
            self.children = [server]
            server.start()
            if self._becomes_ready(server, where):
                return where
            if where.port is None:
                break
        raise ServiceUnavailable(
            f"the embedded store does not start ({program.path}): {self.folder.log_tail('server')}; "
            f"its data is in {self.folder.data}",
            program=program.version,
        )

    def _becomes_ready(self, server: Child, where: Address) -> bool:
        end = time.monotonic() + READY_TIMEOUT_S
        while server.is_alive and time.monotonic() < end and not self.told_to_end:
            with suppress(OSError):
                if where.ping() == "+PONG":
                    return True
            time.sleep(READY_POLL_S)
        server.end()
        return False

    def _worker_environment(self) -> dict[str, str]:
        return module_environment(
            os.environ,
            PIXLANE_REDIS_URL=self.url,
            PIXLANE_BROKER_URL="",
            PIXLANE_CACHE_URL="",
            PIXLANE_ALLOWED_ROOTS="",
            PIXLANE_ALLOWED_ROOTS_FILE=str(self.folder.roots),
            PIXLANE_CONCURRENCY=str(self.concurrency),
        )

    def _publish(self) -> dict[str, Any]:
        record = {
            "url": self.url,
            "supervisor": os.getpid(),
            "concurrency": self.concurrency,
            "trouble": self._trouble(),
        }
        record |= {child.name: child.pid for child in self.children}
        record["restarts"] = {child.name: child.restarts for child in self.children}
        write_whole(self.folder.service, json.dumps(record))
        return record

    def _trouble(self) -> str | None:
        sentences = [
            f"the {child.name} died {child.failures} times in a row: {child.last_words}"
            for child in self.children
            if child.in_trouble
        ]
        return "; ".join(sentences) or None

    def _note_signal(self, number: int, frame: Any) -> None:
        self.told_to_end = True


if __name__ == "__main__":
    main(sys.argv[1:])
