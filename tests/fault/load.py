"""A mixed load at saturation: what workers, producer and server hold, how long each queue takes, what the cores yield."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from pixlane import Client, settings
from pixlane.rendition import Rendition
from pixlane.settings import KIB, MIB
from tests.fault.scene import Scene, numbered, quantile, scene, screen
from tests.readme import ROOT

IN_PROCESS_S = 12.0
WARM_S = 10.0
"""The first seconds of the load do not count: the worker's processes load their engines, memory takes its shape."""

ASKS_EVERY_S = 0.5
SERVER_BYTES = 384 * MIB
GROWTH_OF_WORKERS, GROWTH_OF_PRODUCER = 160 * MIB, 64 * MIB
"""What resident memory may grow by from the first to the last tenth of the load, bytes (a worker with all its processes)."""

MEASURE = """
import itertools, sys, time
from tests.fault.load import kinds
from pixlane import normalize
from tests.fault.scene import numbered
pictures = kinds()
[normalize(one) for one in pictures]
began, count = time.perf_counter(), 0
while time.perf_counter() - began < float(sys.argv[1]):
    normalize(numbered(pictures[count % len(pictures)], count))
    count += 1
print(count / (time.perf_counter() - began))
"""


def run(lasts_s: float) -> dict[str, Any]:
    """Raises AssertionError where a bound is passed; the share of the in-process rate is reported, not judged."""
    cores = os.cpu_count() or 1
    before = in_process_rate()
    knobs = replace(settings.load({}), concurrency=cores)
    options = ("--maxmemory", str(SERVER_BYTES), "--maxmemory-policy", "volatile-lru")
    with scene(knobs, *options) as here:
        here.start_worker(wait=True)
        report = _load(here, lasts_s)
    after = in_process_rate()
    alone = (before + after) / 2
    report |= {
        "in_process_per_second_one_core": [round(before, 2), round(after, 2)],
        "share_of_cores_times_in_process": round(report["batch"]["per_second"] / (cores * alone), 3),
    }
    for what, limit in (("workers", GROWTH_OF_WORKERS), ("producer", GROWTH_OF_PRODUCER)):
        grown = report["memory_growth_bytes"][what]
        assert grown <= limit, f"{what} grew by {grown:,} bytes, {limit:,} are allowed: {report}"
    assert report["server_bytes"] <= SERVER_BYTES * 1.1, report
    assert report["errors"] == 0, report
    return report


def kinds() -> list[bytes]:
    """PNGs of three sizes: an icon, a part of a screen, a screen; 40 ms on average on one core."""
    return [screen(64, 48), screen(1280, 800), screen(640, 400), screen(800, 500)]


def in_process_rate() -> float:
    """Images per second of `normalize()` in one process that has nothing else to do."""
    environment = {**os.environ, "VIPS_CONCURRENCY": "1"}
    command = [sys.executable, "-c", MEASURE, str(IN_PROCESS_S)]
    return float(subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=True).stdout)


def _load(here: Scene, lasts_s: float) -> dict[str, Any]:
    pictures = kinds()
    numbers = itertools.count()
    over = threading.Event()
    began = time.monotonic()
    latencies: dict[str, list[float]] = {"interactive": [], "batch": []}
    errors: list[object] = []
    samples: list[tuple[float, int, int, int]] = []
    asked_at: dict[int, float] = {}

    def endless() -> Iterator[bytes]:
        while not over.is_set():
            number = next(numbers)
            data = numbered(pictures[number % len(pictures)], number)
            asked_at[hash(data)] = time.monotonic()
            yield data

    def ask() -> None:
        with Client(settings=here.settings) as client:
            for turn in itertools.count():
                if over.wait(ASKS_EVERY_S):
                    return
                at = time.monotonic()
                client.submit(numbered(pictures[2], 10_000_000 + turn)).result(60)
                latencies["interactive"].append(time.monotonic() - at)

    def sample() -> None:
        while not over.wait(1.0):
            pids = [here.workers[0].process.pid, *here.workers[0].children]
            used = int(here.valkey.redis.info("memory")["used_memory"])
            samples.append((time.monotonic() - began, sum(map(resident_bytes, pids)), resident_bytes(os.getpid()), used))

    threads = [threading.Thread(target=ask), threading.Thread(target=sample)]
    for thread in threads:
        thread.start()
    done = 0
    with Client(settings=here.settings) as client:
        for data, outcome in client.map(endless()):
            now = time.monotonic()
            taken = now - asked_at.pop(hash(data))
            if not isinstance(outcome, Rendition):
                errors.append(outcome)
            elif WARM_S <= now - began <= lasts_s + WARM_S:
                done += 1
                latencies["batch"].append(taken)
            if now - began > lasts_s + WARM_S:
                over.set()
    for thread in threads:
        thread.join()
    counted = [each for each in samples if each[0] >= WARM_S]
    tenth = max(1, len(counted) // 10)
    growth = [
        round(sum(row[column] for row in counted[-tenth:]) / tenth - sum(row[column] for row in counted[:tenth]) / tenth)
        for column in (1, 2, 3)
    ]
    return {
        "seconds": lasts_s,
        "errors": len(errors),
        "batch": {"per_second": round((done + len(latencies["interactive"])) / lasts_s, 2), **_times(latencies["batch"])},
        "interactive": {"asked": len(latencies["interactive"]), **_times(latencies["interactive"])},
        "memory_growth_bytes": dict(zip(("workers", "producer", "server"), growth, strict=True)),
        "server_bytes": max(row[3] for row in counted),
        "workers_bytes": max(row[1] for row in counted),
    }


def _times(values: list[float]) -> dict[str, float]:
    return {"p50_s": round(quantile(values, 0.5), 3), "p99_s": round(quantile(values, 0.99), 3)}


def resident_bytes(pid: int) -> int:
    """0 for a process that has just ended."""
    with suppress(OSError):
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * 4 * KIB
    return 0
