"""Whether the service answers: a ping to each role, the workers that were alive just now, the jobs that are open.

Asks the stores only: Celery's remote control takes seconds and does not reach a busy worker.
"""

from __future__ import annotations

import socket
import time
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from pixlane.errors import PixlaneError, ServiceUnavailable, StoreUnavailable
from pixlane.settings import Settings
from pixlane.store.connect import Command, Server
from pixlane.store.keys import Keys
from pixlane.store.servers import Servers, addresses, is_redis, redis_url, shown

# A worker is alive when it was seen within that many of its sweeps, at least within so many seconds.
ALIVE_SWEEPS = 5
ALIVE_AT_LEAST_S = 10.0

_BROKER_PORTS = {"amqp": 5672, "pyamqp": 5672, "amqps": 5671}


@dataclass(frozen=True)
class Role:
    """One of ledger, broker and cache; `ms` is the time of its answer, `error` says why there was none."""

    name: str
    server: str
    ms: float | None = None
    error: PixlaneError | None = None

    def to_dict(self) -> dict[str, Any]:
        answer = {"server": self.server, "ok": self.error is None, "ms": self.ms}
        return answer if self.error is None else answer | {"error": self.error.to_dict()}


@dataclass(frozen=True)
class Health:
    """`workers` and `open_jobs` are None when the ledger did not say."""

    roles: tuple[Role, ...]
    workers: int | None = None
    open_jobs: int | None = None
    trouble: str | None = None

    @property
    def reachable(self) -> bool:
        return all(role.error is None for role in self.roles)

    @property
    def healthy(self) -> bool:
        return self.reachable and bool(self.workers) and self.trouble is None

    def to_dict(self) -> dict[str, Any]:
        return {
            "healthy": self.healthy,
            "roles": {role.name: role.to_dict() for role in self.roles},
            "workers": self.workers,
            "open_jobs": self.open_jobs,
            "trouble": self.trouble,
        }


@dataclass(frozen=True)
class Found:
    """The service that is in force; `trouble` is what an embedded one says of itself."""

    servers: Servers
    origin: str
    trouble: str | None = None


def find(settings: Settings, url: str | None = None) -> Found:
    """The service named by `url` or the settings, else an embedded one that runs. Raises ServiceUnavailable; starts nothing."""
    if url or settings.redis_url:
        return Found(Servers.of(settings, url), "argument" if url else "PIXLANE_REDIS_URL")
    from pixlane import embedded

    record = embedded.running()
    if record is None:
        raise ServiceUnavailable(
            "no service: PIXLANE_REDIS_URL names none and no embedded one runs; "
            "`pixlane up` runs one, `pixlane batch` starts one for as long as it needs it"
        )
    url = record["url"]
    return Found(Servers(url, url, url), "embedded service", record["trouble"])


def look(found: Found, settings: Settings, host: str | None = None) -> Health:
    """Asks every server once, each within `store_timeout_s`. Raises nothing: what does not answer is in the roles.

    `host`: only workers that run there count.
    """
    asked: dict[str, Role] = {}
    roles = []
    for name in ("ledger", "broker", "cache"):
        url = getattr(found.servers, name)
        if url not in asked:
            asked[url] = _ping(name, url, settings.store_timeout_s)
        seen = asked[url]
        roles.append(Role(name, seen.server, seen.ms, seen.error))
    if roles[0].error is not None:
        return Health(tuple(roles), trouble=found.trouble)
    try:
        workers, open_jobs = _count(found.servers.ledger, settings, host)
    except PixlaneError as error:
        return Health((Role("ledger", roles[0].server, None, error), *roles[1:]), trouble=found.trouble)
    return Health(tuple(roles), workers, open_jobs, found.trouble)


def _ping(name: str, url: str, timeout_s: float) -> Role:
    begin = time.perf_counter()
    try:
        if name == "cache":
            for each in addresses(url):
                _run(each, timeout_s, [("PING",)])
        elif is_redis(url):
            _run(redis_url(url), timeout_s, [("PING",)])
        else:
            _connect(url, timeout_s)
    except PixlaneError as error:
        return Role(name, shown(url), None, error)
    return Role(name, shown(url), round((time.perf_counter() - begin) * 1000, 2))


def _connect(url: str, timeout_s: float) -> None:
    """A broker that is no Redis: whether something listens there."""
    parts = urlsplit(url)
    try:
        with socket.create_connection((parts.hostname, parts.port or _BROKER_PORTS.get(parts.scheme, 0)), timeout_s):
            return
    except (OSError, ValueError) as error:  # a port that is no number is a ValueError
        raise StoreUnavailable(f"the broker at {shown(url)} cannot be reached: {error}", server=shown(url)) from error


def alive(keys: Keys, settings: Settings, server_time: Any) -> Command:
    """Asks for the names of the workers that are alive; `server_time` is the server's answer to TIME."""
    seconds, micros = server_time
    age_s = max(ALIVE_AT_LEAST_S, ALIVE_SWEEPS * settings.sweep_interval_s)
    return "ZRANGEBYSCORE", keys.workers, int(seconds) * 1000 + int(micros) // 1000 - int(age_s * 1000), "+inf"


def _count(url: str, settings: Settings, host: str | None) -> tuple[int, int]:
    keys = Keys(settings.key_prefix)
    (server_time,) = _run(url, settings.store_timeout_s, [("TIME",)])
    names, open_jobs = _run(url, settings.store_timeout_s, [alive(keys, settings, server_time), ("ZCARD", keys.open)])
    # A worker's name is HOST:PID.
    hosts = [name.decode().rpartition(":")[0] for name in names]
    return len(hosts) if host is None else hosts.count(host), int(open_jobs)


def _run(url: str, timeout_s: float, commands: list[Any]) -> list[Any]:
    server = Server(url, timeout_s)
    try:
        return server.run(commands)
    finally:
        server.close()
