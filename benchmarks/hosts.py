"""Hosts on one machine: network namespaces that share a bridge. Where the kernel or the user may not, everything is one host."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

NETWORK = "10.213.7"


@dataclass(frozen=True)
class Host:
    """A name, an address, and what comes before a command that runs there."""

    name: str
    address: str
    prefix: tuple[str, ...] = ()


@contextmanager
def hosts(names: Sequence[str]) -> Iterator[dict[str, Host]]:
    """Hosts of those names; they are gone afterwards."""
    mark = f"px{os.getpid() % 10_000}"
    if not _may():
        yield {name: Host(name, "127.0.0.1") for name in names}
        return
    made = []
    before = signal.signal(signal.SIGTERM, _leave)  # a namespace outlives its maker
    try:
        _ip("netns", "add", f"{mark}-bridge")
        made.append(f"{mark}-bridge")
        _ip("-n", made[0], "link", "add", "bridge", "type", "bridge")
        _ip("-n", made[0], "link", "set", "bridge", "up")
        found = {}
        for number, name in enumerate(names, 1):
            space = f"{mark}-{name}"
            _ip("netns", "add", space)
            made.append(space)
            _ip("-n", space, "link", "add", "eth0", "type", "veth", "peer", "name", f"port{number}", "netns", made[0])
            _ip("-n", made[0], "link", "set", f"port{number}", "master", "bridge", "up")
            _ip("-n", space, "addr", "add", f"{NETWORK}.{number}/24", "dev", "eth0")
            for device in ("lo", "eth0"):
                _ip("-n", space, "link", "set", device, "up")
            found[name] = Host(name, f"{NETWORK}.{number}", ("ip", "netns", "exec", space))
        yield found
    finally:
        signal.signal(signal.SIGTERM, before)
        for space in reversed(made):
            subprocess.run(["ip", "netns", "del", space], check=False)


def _leave(number: int, frame: object) -> None:
    raise SystemExit(128 + number)


def _may() -> bool:
    """Namespaces need root and iproute2; a test of making one is the surest."""
    if shutil.which("ip") is None or os.geteuid() != 0:
        return False
    return subprocess.run(["unshare", "--net", "ip", "link"], capture_output=True).returncode == 0


def _ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True, capture_output=True)
