"""Where the private store listens: a Unix socket in a folder of its own, or 127.0.0.1 with a random password."""

from __future__ import annotations

import os
import re
import secrets
import socket
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from pixlane.embedded.folder import PRIVATE, Folder

SOCKET_NAME = "store.sock"
PING_TIMEOUT_S = 1.0

# What no URL parser quotes, unquotes or splits at.
_PLAIN_PATH = re.compile(r"/[A-Za-z0-9/._-]*")


@dataclass(frozen=True)
class Address:
    """Exactly one of `socket_path` and `port` is set; `password` belongs to the port."""

    socket_path: str | None = None
    port: int | None = None
    password: str = ""

    @property
    def url(self) -> str:
        """The URL that redis-py reads."""
        if self.socket_path is not None:
            return f"unix://{self.socket_path}?db=0"
        return f"redis://:{self.password}@127.0.0.1:{self.port}/0"

    @classmethod
    def of_url(cls, url: str) -> Address:
        parts = urlsplit(url)
        if parts.scheme == "unix":
            return cls(socket_path=parts.path)
        return cls(port=parts.port, password=parts.password or "")

    def ping(self) -> str:
        """The first line of the store's answer: `+PONG`, or `-LOADING ...` while it reads its data. Raises OSError."""
        family: Any = socket.AF_INET if self.socket_path is None else socket.AF_UNIX
        target: Any = ("127.0.0.1", self.port) if self.socket_path is None else self.socket_path
        with socket.socket(family, socket.SOCK_STREAM) as connection:
            connection.settimeout(PING_TIMEOUT_S)
            connection.connect(target)
            greeting = f"AUTH {self.password}\r\n" if self.password else ""
            connection.sendall(f"{greeting}PING\r\n".encode())
            with connection.makefile("rb") as answers:
                if self.password:
                    answers.readline()
                return answers.readline().decode(errors="replace").strip()


def choose(folder: Folder, *, loopback: bool) -> Address:
    """An address on which the store of this folder can listen; the socket is the same each time.

    A socket needs a short path of plain characters and a file system that holds sockets; where the folder offers neither, a
    short private folder in the temp folder does, and where there is none, 127.0.0.1.
    """
    if not loopback and hasattr(socket, "AF_UNIX"):
        if _can_listen(folder.path / SOCKET_NAME):
            return Address(socket_path=str(folder.path / SOCKET_NAME))
        short = _short_folder(folder)
        if short is not None:
            return Address(socket_path=str(short / SOCKET_NAME))
    return _loopback()


def forget(folder: Folder) -> None:
    """Removes the short folder of the socket, if there is one."""
    if folder.short_link.is_symlink():
        target = folder.short_link.readlink()
        if _is_private(target):
            (target / SOCKET_NAME).unlink(missing_ok=True)
            target.rmdir()
        folder.short_link.unlink()


def _can_listen(path: Path) -> bool:
    if not _PLAIN_PATH.fullmatch(str(path)):
        return False
    # A trial beside the real one, which a living store may still hold; its length is the same, and the kernel has a limit
    # for that: 107 bytes on Linux, 103 on macOS.
    trial = path.with_name(f"{SOCKET_NAME[:-1]}t")
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
            listener.bind(str(trial))
    except OSError:
        return False
    finally:
        trial.unlink(missing_ok=True)
    return True


def _short_folder(folder: Folder) -> Path | None:
    """The short folder that the link names, else a new one; mode 0700 and of this user in both cases."""
    if folder.short_link.is_symlink():
        target = folder.short_link.readlink()
        if _is_private(target) and _can_listen(target / SOCKET_NAME):
            return target
        folder.short_link.unlink()
    for base in dict.fromkeys((tempfile.gettempdir(), "/tmp")):
        try:
            target = Path(tempfile.mkdtemp(prefix="pixlane-", dir=base))
        except OSError:
            continue
        if _can_listen(target / SOCKET_NAME):
            folder.short_link.symlink_to(target)
            return target
        target.rmdir()
    return None


def _is_private(path: Path) -> bool:
    """True for a real folder, not a link, that only this user can enter."""
    try:
        status = path.lstat()
    except OSError:
        return False
    return status.st_mode == 0o040000 | PRIVATE and status.st_uid == os.geteuid()


def _loopback() -> Address:
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as listener:
        listener.bind(("127.0.0.1", 0))
        port: int = listener.getsockname()[1]
    return Address(port=port, password=secrets.token_urlsafe(32))
