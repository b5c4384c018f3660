"""The folder of the embedded service: where it is, what lies in it, and that nobody else can enter it.

door.lock      held by whoever starts, joins or ends the service, for that moment only
service.lock   held by the supervisor for its life
server.lock    held by the store's process (inherited), holds its process id
worker.lock    held by the worker's processes (inherited), holds the process id of their parent
users/         one locked file for each user: `{"pid": ..., "root": ...}`
service.json   URL, process ids, number of worker processes; there while the service can be used
roots.json     the folders that the users of this moment named
data/          what the store appended
server.conf    what the store was started with
*.log          supervisor, server, worker; emptied at each start and when they grow too long
run            link to a short folder for the socket, where this one's path is too long for a socket
"""

from __future__ import annotations

import json
import os
import stat
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pixlane.errors import ServiceUnavailable
from pixlane.settings import Settings

PRIVATE = 0o700
LOG_TAIL_BYTES = 4096
LOG_TAIL_LINES = 5


@dataclass(frozen=True)
class Folder:
    path: Path

    @property
    def door(self) -> Path:
        return self.path / "door.lock"

    @property
    def service_lock(self) -> Path:
        return self.path / "service.lock"

    @property
    def users(self) -> Path:
        return self.path / "users"

    @property
    def service(self) -> Path:
        return self.path / "service.json"

    @property
    def roots(self) -> Path:
        return self.path / "roots.json"

    @property
    def data(self) -> Path:
        return self.path / "data"

    @property
    def short_link(self) -> Path:
        return self.path / "run"

    def lock(self, name: str) -> Path:
        return self.path / f"{name}.lock"

    def log(self, name: str) -> Path:
        return self.path / f"{name}.log"

    def create(self) -> None:
        """Makes the folder and its sub-folders, mode 0700. Raises ServiceUnavailable where that cannot be."""
        try:
            self.path.mkdir(parents=True, exist_ok=True, mode=PRIVATE)
            self._require_private()
            for sub in (self.users, self.data):
                sub.mkdir(exist_ok=True, mode=PRIVATE)
        except OSError as error:
            raise self.unwritable(error) from error

    def unwritable(self, error: OSError) -> ServiceUnavailable:
        return ServiceUnavailable(
            f"the embedded service cannot write its folder {self.path}: {error.strerror}; "
            "name another one in PIXLANE_EMBEDDED_DIR, or a Redis in PIXLANE_REDIS_URL",
            actual=str(self.path),
        )

    def _require_private(self) -> None:
        status = self.path.stat()
        if status.st_uid != os.geteuid():
            raise ServiceUnavailable(
                f"the folder of the embedded service, {self.path}, belongs to user {status.st_uid}, not to {os.geteuid()}; "
                "name another one in PIXLANE_EMBEDDED_DIR",
                limit=os.geteuid(),
                actual=status.st_uid,
            )
        mode = stat.S_IMODE(status.st_mode)
        if mode == PRIVATE:
            return
        # A folder that already holds other things was not made for this; closing it could lock others out.
        if any(self.path.iterdir()) and not self.door.exists():
            raise ServiceUnavailable(
                f"the folder of the embedded service, {self.path}, has mode {mode:04o} and holds other files; "
                "name a new one in PIXLANE_EMBEDDED_DIR",
                limit=f"{PRIVATE:04o}",
                actual=f"{mode:04o}",
            )
        self.path.chmod(PRIVATE)

    def read_service(self) -> dict[str, Any] | None:
        """What `service.json` says, None when it is not there."""
        try:
            record: dict[str, Any] = json.loads(self.service.read_text())
        except FileNotFoundError:
            return None
        return record

    def log_tail(self, name: str) -> str:
        """The last lines of a log in one line, for an error message."""
        try:
            text = self.log(name).read_bytes()[-LOG_TAIL_BYTES:].decode(errors="replace")
        except FileNotFoundError:
            return "no log"
        lines = [line.strip() for line in text.splitlines() if line.strip()]
        return " | ".join(lines[-LOG_TAIL_LINES:]) or "empty log"


def folder_of(settings: Settings) -> Folder:
    """The folder in force: the setting `embedded_dir`, or `pixlane/service` in the user's cache folder."""
    if settings.embedded_dir:
        return Folder(Path(os.path.abspath(os.path.expanduser(settings.embedded_dir))))
    return Folder(user_cache() / "pixlane" / "service")


def user_cache() -> Path:
    """The user's cache folder by the custom of the platform (XDG Base Directory: a relative XDG_CACHE_HOME is ignored)."""
    if sys.platform == "darwin":
        return Path(os.path.expanduser("~/Library/Caches"))
    named = os.environ.get("XDG_CACHE_HOME", "")
    return Path(named) if os.path.isabs(named) else Path(os.path.expanduser("~/.cache"))


def write_whole(path: Path, text: str) -> None:
    """Writes a private file so that a reader sees either the old one or the new one."""
    handle, temporary = tempfile.mkstemp(prefix=f".{path.name}-", dir=path.parent)
    try:
        with open(handle, "w") as file:
            file.write(text)
        os.replace(temporary, path)
    except OSError:
        os.unlink(temporary)
        raise
