"""A private store and worker for one machine, for whoever names no Redis; shared by all of a user's commands at once.

    with attach(paths_root="screenshots") as service:
        Client(service.url)

The first user starts it, it ends a moment after the last one has left, ended or been killed, and what it kept is there again
at the next start. See `folder.py` for what lies on the disk and `supervise.py` for the process that looks after it.
"""

from __future__ import annotations

import json
import os
import select
import subprocess
import threading
import time
from pathlib import Path
from types import TracebackType
from typing import Any

from pixlane.embedded.address import Address
from pixlane.embedded.children import open_log
from pixlane.embedded.folder import Folder, folder_of
from pixlane.embedded.locks import is_held, locked
from pixlane.embedded.python import module_command, module_environment
from pixlane.embedded.users import User, enter, present, publish_roots
from pixlane.errors import InvalidArgument, PixlaneError, ServiceUnavailable
from pixlane.machine import cores
from pixlane.settings import current

__all__ = ["Attachment", "attach", "check", "running"]

# A little longer than a supervisor gives a large store to read its data.
START_TIMEOUT_S = 130.0
POLL_S = 0.02


class Attachment:
    """One user of the service: it runs at least until `close()`, the end of the block, or the end of this process.

    Attributes:
        url: what redis-py connects to; the same for as long as the folder is.
        dir: the folder of the service.
        concurrency: the worker processes that it runs; whoever started it chose.
    """

    def __init__(self, folder: Folder, root: str | None, concurrency: int) -> None:
        self._folder = folder
        self._root = root
        self._wanted = concurrency
        self._closing = threading.Lock()
        self._user, record = self._join()
        self.dir: Path = folder.path
        self.url: str = record["url"]
        self.concurrency: int = record["concurrency"]

    def check(self) -> None:
        """As the function `check`, of this service."""
        check(self.url)

    def ensure(self) -> None:
        """Starts the service again when its supervisor was killed or its folder removed, under the same URL where that can be.

        Raises ServiceUnavailable.
        """
        with self._closing:
            before = self._user
            self._user, record = self._join()
            before.leave()
        self.url, self.concurrency = record["url"], record["concurrency"]

    def close(self) -> None:
        """Leaves; the service ends soon when this was its last user. Again does nothing."""
        with self._closing:
            self._user.leave()

    def _join(self) -> tuple[User, dict[str, Any]]:
        """Comes in through the door; while it is held nobody else starts the service, and it does not end."""
        self._folder.create()
        try:
            with locked(self._folder.door, START_TIMEOUT_S):
                user = enter(self._folder, self._root)
                try:
                    record = _running_or_started(self._folder, self._wanted)
                    publish_roots(self._folder, present(self._folder))
                except BaseException:
                    user.leave()
                    raise
        except OSError as error:
            raise self._folder.unwritable(error) from error
        return user, record

    def __enter__(self) -> Attachment:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()


def attach(*, paths_root: str | None = None, concurrency: int | None = None) -> Attachment:
    """Joins the embedded service of this user, or starts it.

    `paths_root` is a folder whose files the workers may read by path while this user is there. `concurrency` is the number of
    worker processes (default: the setting `concurrency`, else one per core); it counts for whoever starts the service.

    Raises ServiceUnavailable with what was tried: no program for the store, a folder that cannot be written, a start that
    failed; InvalidArgument for a root that is not a folder or a concurrency below 1.
    """
    settings = current()
    if os.name == "nt":
        raise ServiceUnavailable(
            "the embedded service runs on Linux and macOS; start a Redis and a worker there, or in WSL, "
            "and name the Redis in PIXLANE_REDIS_URL"
        )
    if paths_root is not None and not os.path.isdir(paths_root):
        raise InvalidArgument(f"paths_root must name a folder, got {paths_root!r}", actual=paths_root)
    if concurrency is not None and concurrency < 1:
        raise InvalidArgument(f"concurrency must be at least 1, got {concurrency}", limit=1, actual=concurrency)
    return Attachment(folder_of(settings), paths_root, concurrency or settings.concurrency or cores())


def running() -> dict[str, Any] | None:
    """The service record (url, concurrency, trouble, process ids) of a service that answers now, else None; starts nothing."""
    record = folder_of(current()).read_service()
    if record is None:
        return None
    try:
        Address.of_url(record["url"]).ping()
    except OSError:  # left behind by a supervisor that was killed
        return None
    return record


def check(url: str) -> None:
    """Raises ServiceUnavailable, with its last log lines, when a part of the embedded service under `url` dies again and again.

    Whoever waits asks now and then, as it might wait for ever: one small file is read. Of any other service it says nothing.
    """
    folder = folder_of(current())
    record = folder.read_service()
    if record is not None and record["url"] == url and record["trouble"]:
        raise ServiceUnavailable(f"the embedded service is in trouble: {record['trouble']}; its logs are in {folder.path}")


def _running_or_started(folder: Folder, concurrency: int) -> dict[str, Any]:
    """The service record; called with the door held."""
    end = time.monotonic() + START_TIMEOUT_S
    while is_held(folder.service_lock):
        record = folder.read_service()
        if record is not None:
            return record
        # Whoever was starting it left before it was ready.
        if time.monotonic() > end:
            raise ServiceUnavailable(
                f"the embedded service has been starting for more than {START_TIMEOUT_S:g} s: {folder.log_tail('server')}",
                limit=START_TIMEOUT_S,
            )
        time.sleep(POLL_S)
    return _start(folder, concurrency)


def _start(folder: Folder, concurrency: int) -> dict[str, Any]:
    reader, writer = os.pipe()
    with os.fdopen(reader, "rb") as report:
        try:
            with open_log(folder, "supervisor") as log:
                command = module_command("pixlane.embedded.supervise", str(folder.path), str(writer), str(concurrency))
                launcher = subprocess.Popen(
                    command,
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=subprocess.STDOUT,
                    cwd=folder.path,
                    env=module_environment(os.environ),
                    pass_fds=[writer],
                    start_new_session=True,
                )
        except OSError as error:
            raise ServiceUnavailable(f"the embedded service does not start: {error}") from error
        finally:
            os.close(writer)
        launcher.wait()  # it forks and ends
        if not select.select([report], [], [], START_TIMEOUT_S)[0]:
            raise ServiceUnavailable(
                f"the embedded service did not start within {START_TIMEOUT_S:g} s: {folder.log_tail('server')}",
                limit=START_TIMEOUT_S,
            )
        line = report.read()
    if not line:
        raise ServiceUnavailable(f"the embedded service died at its start: {folder.log_tail('supervisor')}")
    record: dict[str, Any] = json.loads(line)
    if "error" in record:
        raise PixlaneError.from_dict(record["error"])
    return record
