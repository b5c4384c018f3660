"""A mixed load at saturation: what workers, producer and server hold, how long each queue takes, what the cores yield."""

from __future__ import annotations

import itertools
import os
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import psutil

from pixlane import Client, settings
from pixlane.rendition import Rendition
from pixlane.settings import KIB, MIB
from tests.fault.scene import Scene, numbered, quantile, scene, screen
from tests.readme import ROOT

IN_PROCESS_S = 5.0
ROUND_S = 60.0
"""The machine is not equally fast all the time: load and in-process rate are measured in turns, each round this long."""

WARM_S = 10.0
"""The first seconds of a round do not count: the worker's processes load their engines, memory takes its shape."""

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


def run(lasts_s: float, *, apart: bool = False) -> dict[str, Any]:
    """Raises AssertionError where a bound is passed; the share of the in-process rate is reported, not judged.

    `apart`: the worker has one core for itself, as on a machine of its own; server and producer have the others.
    """
    every = sorted(os.sched_getaffinity(0))
    workers, others = (every[:1], every[1:]) if apart else (every, every)
    if not others:
        raise SystemExit("the load apart wants two cores")
    cores = len(workers)
    knobs = replace(settings.load({}), concurrency=cores)
    options = ("--maxmemory", str(SERVER_BYTES), "--maxmemory-policy", "volatile-lru")
    rounds: list[Round] = []
    numbers = itertools.count()
    with scene(knobs, *options) as here, on(every):
        with on(workers):
            here.start_worker(wait=True)
        os.sched_setaffinity(here.valkey.process.pid, others)
        os.sched_setaffinity(0, others)
        alone = [in_process_rate(workers)]
        for _ in range(max(1, round(lasts_s / ROUND_S))):
            rounds.append(_load(here, min(lasts_s, ROUND_S), numbers))
            alone.append(in_process_rate(workers))
    report = _report(rounds)
    shares = [each.per_second * 2 / (before + after) for each, before, after in zip(rounds, alone, alone[1:], strict=False)]
    report |= {
        "in_process_per_second": round(statistics.median(alone), 2),
        "share_of_in_process": {"median": round(statistics.median(shares), 3), "least": round(min(shares), 3)},
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


@contextmanager
def on(cores: list[int]) -> Iterator[None]:
    """What is started meanwhile runs on these cores; afterwards those of before."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, cores)
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def in_process_rate(cores: list[int]) -> float:
    """Images per second of `normalize()` in as many processes as there are cores, which have nothing else to do."""
    environment = {**os.environ, "VIPS_CONCURRENCY": "1"}
    command = [sys.executable, "-c", MEASURE, str(IN_PROCESS_S)]
    with on(cores):
        each = [subprocess.Popen(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True) for _ in cores]
    return sum(float(one.communicate(timeout=120)[0]) for one in each)


@dataclass
class Round:
    """What was counted while the load lasted; `samples`: seconds, bytes of workers, producer and server."""

    seconds: float
    latencies: dict[str, list[float]] = field(default_factory=lambda: {"interactive": [], "batch": []})
    errors: int = 0
    samples: list[tuple[float, int, int, int]] = field(default_factory=list)
    cpu_s: dict[str, float] = field(default_factory=dict)

    @property
    def done(self) -> int:
        return sum(map(len, self.latencies.values()))

    @property
    def per_second(self) -> float:
        return self.done / self.seconds


def _load(here: Scene, lasts_s: float, numbers: Iterator[int]) -> Round:
    pictures = kinds()
    over = threading.Event()
    began = time.monotonic()
    counted = Round(lasts_s)
    spent: list[dict[str, float]] = []
    asked_at: dict[int, float] = {}

    def endless() -> Iterator[bytes]:
        while not over.is_set():
            number = next(numbers)
            data = numbered(pictures[number % len(pictures)], number)
            asked_at[hash(data)] = time.monotonic()
            yield data

    def counts(now: float) -> bool:
        return WARM_S <= now - began <= lasts_s + WARM_S

    def ask() -> None:
        with Client(settings=here.settings) as client:
            while not over.wait(ASKS_EVERY_S):
                at = time.monotonic()
                client.submit(numbered(pictures[2], next(numbers))).result(60)
                if counts(time.monotonic()):
                    counted.latencies["interactive"].append(time.monotonic() - at)

    def sample() -> None:
        while not over.wait(1.0):
            if counts(time.monotonic()):
                pids = [here.workers[0].process.pid, *here.workers[0].children]
                used = int(here.valkey.redis.info("memory")["used_memory"])
                counted.samples.append((time.monotonic(), sum(map(resident_bytes, pids)), resident_bytes(os.getpid()), used))
                spent.append(_cpu_s(here))

    threads = [threading.Thread(target=ask), threading.Thread(target=sample)]
    for thread in threads:
        thread.start()
    with Client(settings=here.settings) as client:
        for data, outcome in client.map(endless()):
            now = time.monotonic()
            taken = now - asked_at.pop(hash(data))
            if not isinstance(outcome, Rendition):
                counted.errors += 1
            elif counts(now):
                counted.latencies["batch"].append(taken)
            if now - began > lasts_s + WARM_S:
                over.set()
    for thread in threads:
        thread.join()
    counted.cpu_s = {who: spent[-1][who] - spent[0][who] for who in spent[0]}
    return counted


def _report(rounds: Sequence[Round]) -> dict[str, Any]:
    seconds, done = sum(each.seconds for each in rounds), sum(each.done for each in rounds)
    samples = [sample for each in rounds for sample in each.samples]
    tenth = max(1, len(samples) // 10)
    growth = [
        round(sum(row[column] for row in samples[-tenth:]) / tenth - sum(row[column] for row in samples[:tenth]) / tenth)
        for column in (1, 2, 3)
    ]
    latencies = {queue: [one for each in rounds for one in each.latencies[queue]] for queue in ("batch", "interactive")}
    return {
        "seconds": seconds,
        "errors": sum(each.errors for each in rounds),
        "per_second": round(done / seconds, 2),
        **{queue: {"count": len(each), **_times(each)} for queue, each in latencies.items()},
        "cpu_ms_per_image": {who: round(sum(each.cpu_s[who] for each in rounds) * 1000 / done, 1) for who in rounds[0].cpu_s},
        "memory_growth_bytes": dict(zip(("workers", "producer", "server"), growth, strict=True)),
        "server_bytes": max(row[3] for row in samples),
        "workers_bytes": max(row[1] for row in samples),
    }


def _times(values: list[float]) -> dict[str, float]:
    return {"p50_s": round(quantile(values, 0.5), 3), "p99_s": round(quantile(values, 0.99), 3)}


def _cpu_s(here: Scene) -> dict[str, float]:
    """Seconds of processor time so far; of the server with its forks, of the worker's parent without its processes."""
    parent, server = psutil.Process(here.workers[0].process.pid).cpu_times(), psutil.Process(here.valkey.process.pid).cpu_times()
    children = parent.children_user + parent.children_system
    for pid in here.workers[0].children:
        with suppress(psutil.NoSuchProcess):
            times = psutil.Process(pid).cpu_times()
            children += times.user + times.system
    return {
        "processes": children,
        "parent": parent.user + parent.system,
        "server": sum(server[:4]),
        "producer": time.process_time(),
    }


def resident_bytes(pid: int) -> int:
    """0 for a process that has just ended."""
    with suppress(OSError):
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * 4 * KIB
    return 0
