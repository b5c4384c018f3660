"""How it goes, at a glance: what waits, for how long, who works, what came of it, and how full the store is.

Asks the stores only, in two round trips; Celery's remote control takes seconds and does not reach a busy worker.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from pixlane.health import alive
from pixlane.settings import Settings
from pixlane.store.connect import Command, Server
from pixlane.store.keys import Keys
from pixlane.store.ledger import QUEUES
from pixlane.store.servers import Servers, is_redis, redis_url


@dataclass(frozen=True)
class Waiting:
    """One queue: messages that wait (a chunk is one), None where the broker does not say; and the age of the oldest, seconds.

    Of a broker that does not show its messages the age is that of the oldest open job, one that runs included.
    """

    queue: str
    depth: int | None
    age_s: float | None


@dataclass(frozen=True)
class Stats:
    """`at`: seconds of the ledger's clock. `totals`: runs by outcome since the beginning. `memory_limit_bytes` 0: no limit."""

    at: float
    waiting: tuple[Waiting, ...]
    open_jobs: int
    workers: tuple[str, ...]
    totals: dict[str, int]
    memory_bytes: int
    memory_limit_bytes: int
    evicted_keys: int

    def to_dict(self) -> dict[str, Any]:
        return {
            "at": self.at,
            "queues": {each.queue: {"depth": each.depth, "age_s": each.age_s} for each in self.waiting},
            "open_jobs": self.open_jobs,
            "workers": list(self.workers),
            "totals": self.totals,
            "memory_bytes": self.memory_bytes,
            "memory_limit_bytes": self.memory_limit_bytes,
            "evicted_keys": self.evicted_keys,
        }


class Observer:
    """Looks at one service, as often as it is asked; keeps its connections."""

    def __init__(self, servers: Servers, settings: Settings) -> None:
        self._settings = settings
        self._servers = servers
        self._keys = Keys(settings.key_prefix)
        self._ledger = Server(servers.ledger, settings.store_timeout_s)
        self._broker = None if not is_redis(servers.broker) else self._ledger
        if self._broker is not None and not servers.one_for_messages:
            self._broker = Server(redis_url(servers.broker), settings.store_timeout_s)

    def look(self) -> Stats:
        """Raises StoreUnavailable when ledger or broker do not answer in time."""
        keys = self._keys
        asked: list[Command] = [("TIME",), ("ZCARD", keys.open), ("HGETALL", keys.totals), ("INFO", "memory"), ("INFO", "stats")]
        server_time, open_jobs, totals, memory, stats = self._ledger.run(asked)
        (names,) = self._ledger.run([alive(keys, self._settings, server_time)])
        at = int(server_time[0]) + int(server_time[1]) / 1e6
        facts = _facts(memory) | _facts(stats)
        return Stats(
            at=at,
            waiting=self._waiting(at),
            open_jobs=int(open_jobs),
            workers=tuple(sorted(name.decode() for name in names)),
            totals={name.decode(): int(value) for name, value in zip(totals[::2], totals[1::2], strict=True)},
            memory_bytes=int(facts.get("used_memory", 0)),
            memory_limit_bytes=int(facts.get("maxmemory", 0)),
            evicted_keys=int(facts.get("evicted_keys", 0)),
        )

    def _waiting(self, at: float) -> tuple[Waiting, ...]:
        if self._broker is None:
            oldest = self._ledger.run([("ZRANGE", self._keys.line(queue), 0, 0, "WITHSCORES") for queue in QUEUES])
            return tuple(
                Waiting(
                    queue,
                    _depth_elsewhere(self._servers.broker, queue, self._settings),
                    max(0.0, round(at - float(first[1]) / 1000, 3)) if first else None,
                )
                for queue, first in zip(QUEUES, oldest, strict=True)
            )
        names = [self._keys.waiting(queue) for queue in QUEUES]
        replies = self._broker.run([command for name in names for command in (("LLEN", name), ("LINDEX", name, -1))])
        return tuple(
            Waiting(queue, int(depth), None if oldest is None else _age_s(oldest, at))
            for queue, depth, oldest in zip(QUEUES, replies[::2], replies[1::2], strict=True)
        )

    def close(self) -> None:
        for server in {self._ledger, self._broker} - {None}:
            server.close()  # type: ignore[union-attr]


def _facts(info: bytes) -> dict[str, str]:
    """The reply to INFO as a dict."""
    return dict(line.split(":", 1) for line in info.decode(errors="replace").splitlines() if ":" in line)


def _age_s(envelope: bytes, at: float) -> float | None:
    """How long a message has waited; None for one that is none of ours."""
    try:
        arguments = json.loads(json.loads(envelope)["body"])[1]
        first: dict[str, Any] = arguments["jobs"][0] if "jobs" in arguments else arguments["job"]
        return max(0.0, round(at - int(first["sent_at"]) / 1000, 3))
    except (ValueError, KeyError, IndexError, TypeError):
        return None


def _depth_elsewhere(broker: str, queue: str, settings: Settings) -> int | None:
    """Asks a broker that is no Redis; None where it does not say."""
    from kombu import Connection
    from kombu.exceptions import OperationalError

    connection: Any = Connection(broker, connect_timeout=settings.store_timeout_s)
    try:
        return int(connection.default_channel.queue_declare(queue, passive=True).message_count)
    except (OperationalError, OSError, *connection.connection_errors, *connection.channel_errors):
        return None
    finally:
        connection.collect(settings.store_timeout_s)


def rates(before: Stats, now: Stats) -> dict[str, float]:
    """Runs per second by outcome between two looks."""
    passed_s = max(now.at - before.at, 0.001)
    return {name: (total - before.totals.get(name, 0)) / passed_s for name, total in now.totals.items()}
