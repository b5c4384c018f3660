"""Broker, ledger and cache: whether they answer, and whether they keep what they must keep."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pixlane import health
from pixlane.doctor.check import Check
from pixlane.errors import PixlaneError, ServiceUnavailable, StoreUnavailable
from pixlane.settings import Settings
from pixlane.store.connect import Server

AREA = "service"
MIN_REDIS = (6, 2)  # the lower bound of Celery 5.7; GETEX came with it


def examine(settings: Settings, url: str | None) -> Iterator[Check]:
    try:
        found = health.find(settings, url)
    except ServiceUnavailable:
        yield _embedded_could_start()
        return
    except PixlaneError as error:
        yield Check(AREA, "address", "fail", error.message, "correct PIXLANE_REDIS_URL, PIXLANE_BROKER_URL, PIXLANE_CACHE_URL")
        return
    state = health.look(found, settings)
    for role in state.roles:
        if role.error is not None:
            yield Check(AREA, role.name, "fail", role.error.message, "start it, or correct its address")
        else:
            yield Check(AREA, role.name, "ok", f"{role.server} answers in {role.ms:g} ms ({found.origin})")
    if state.trouble is not None:
        yield Check(AREA, "embedded service", "fail", state.trouble, "see the logs in its folder")
    if state.workers is not None:
        advice = "" if state.workers else "start one: pixlane worker"
        yield Check(AREA, "workers", "ok" if state.workers else "warn", f"{state.workers} alive", advice)
    if state.roles[0].error is None:
        yield from _keeping(Server(found.servers.ledger, settings.store_timeout_s))


def _embedded_could_start() -> Check:
    from pixlane.embedded.server import find_server

    try:
        program = find_server()
    except ServiceUnavailable as error:
        return Check(AREA, "store", "fail", error.message, "see above")
    return Check(AREA, "store", "ok", f"no Redis is named; the embedded service would run {program.path} ({program.version})")


def _keeping(ledger: Server) -> Iterator[Check]:
    """What the ledger's server is told to keep; a hosted one may not say."""
    try:
        info = _lines(ledger.run([("INFO", "server")])[0])
        version = tuple(int(part) for part in info.get("redis_version", "0").split(".")[:2])
        wanted = ".".join(map(str, MIN_REDIS))
        recent = version >= MIN_REDIS
        advice = "" if recent else f"use Redis {wanted} or later, or Valkey"
        yield Check(AREA, "store version", "ok" if recent else "fail", info.get("redis_version", "unknown"), advice)
        policy = _setting(ledger, "maxmemory-policy")
        if policy.startswith("allkeys-"):
            yield Check(AREA, "store eviction", "fail", f"{policy} throws away open jobs", "set maxmemory-policy volatile-lru")
        else:
            yield Check(AREA, "store eviction", "ok", policy)
        if _setting(ledger, "appendonly") == "yes":
            yield Check(AREA, "store durability", "ok", "appends every write to a file")
        else:
            advice = "set appendonly yes, appendfsync everysec"
            yield Check(AREA, "store durability", "warn", "open jobs are gone when the server restarts", advice)
    except StoreUnavailable as error:
        yield Check(
            AREA, "store settings", "warn", f"not told: {error.message}", "check eviction and durability where it is hosted"
        )
    finally:
        ledger.close()


def _setting(server: Server, name: str) -> str:
    answer: list[Any] = server.run([("CONFIG", "GET", name)])[0]
    return answer[1].decode() if len(answer) > 1 else "unknown"


def _lines(info: bytes) -> dict[str, str]:
    return dict(line.split(":", 1) for line in info.decode().splitlines() if ":" in line)
