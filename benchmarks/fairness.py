"""Whether an interactive caller waits behind a batch: the latency of one small image, idle and with the batch queue saturated.

What is promised: the median beside a saturated batch queue is at most twice the idle one plus one job, which may have begun just
before.
"""

from __future__ import annotations

import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from typing import Any

from PIL import Image

from benchmarks.queue import TIMEOUT_S, service
from benchmarks.tables import table
from pixlane import Client, Recipe, normalize

WORKERS = 2
ASKED = 40
SCREEN_PX = (1920, 1080)
SMALL_PX = (320, 200)
SETTLE_S = 2.0


def run() -> dict[str, Any]:
    """Medians and the longest of ASKED latencies each, ms; the median of one job of the batch in process, ms."""
    with tempfile.TemporaryDirectory() as home:
        folder = Path(home)
        screen, small = folder / "screen.png", folder / "small.png"
        Image.effect_noise(SCREEN_PX, 12).convert("RGB").save(screen)
        Image.effect_noise(SMALL_PX, 60).convert("RGB").save(small)
        job_ms = _timed(lambda turn: normalize(screen.read_bytes(), _batch_recipe(turn)), 5)
        with service(folder, WORKERS) as client:
            _ask(client, small, 4 * WORKERS, 0)
            idle = _ask(client, small, ASKED, 1_000)
            with saturated(client, screen) as depth:
                busy = _ask(client, small, ASKED, 2_000)
                left = depth()
    bound = 2 * median(idle) + job_ms
    return {
        "workers": WORKERS,
        "idle_ms": _figures(idle),
        "saturated_ms": _figures(busy),
        "batch_job_ms": round(job_ms, 1),
        "bound_ms": round(bound, 1),
        "batch_jobs_open_at_the_end": left,
        "holds": median(busy) <= bound,
    }


class saturated:
    """While the block runs a batch is under way that fills its queue."""

    def __init__(self, client: Client, source: Path) -> None:
        self._client, self._source, self._ending = client, source, False
        self._thread = threading.Thread(target=self._feed)
        self.finished = self.begun = 0

    def __enter__(self) -> Any:
        self._thread.start()
        time.sleep(SETTLE_S)
        return lambda: self.begun - self.finished

    def __exit__(self, *_: object) -> None:
        self._ending = True
        self._thread.join()

    def _feed(self) -> None:
        jobs: list[Any] = []
        for turn in range(100_000):
            if self._ending:
                break
            jobs.append(self._client.submit(self._source, _batch_recipe(turn), queue="batch"))
            self.begun += 1
            if len(jobs) >= 50:
                jobs.pop(0).result(TIMEOUT_S)
                self.finished += 1
        for job in jobs:
            job.cancel()


def report(result: dict[str, Any]) -> str:
    rows = [
        [name, f"{figures['median']:.1f}", f"{figures['longest']:.1f}"]
        for name, figures in (("idle", result["idle_ms"]), ("batch queue saturated", result["saturated_ms"]))
    ]
    verdict = "holds" if result["holds"] else "DOES NOT HOLD"
    return (
        f"{table(['interactive latency, ms', 'median', 'longest'], rows)}\n\n"
        f"{result['workers']} worker processes, {result['batch_jobs_open_at_the_end']} batch jobs open at the end, "
        f"{result['batch_job_ms']:.1f} ms each\n"
        f"at most twice the idle median plus one job: {result['bound_ms']:.1f} ms: {verdict}\n"
    )


def _ask(client: Client, source: Path, times: int, first: int) -> list[float]:
    return list(_latencies(client, source, range(first, first + times)))


def _latencies(client: Client, source: Path, turns: range) -> Iterator[float]:
    for turn in turns:
        began = time.perf_counter()
        client.submit(source, Recipe(max_side=300, min_side=8 + turn)).result(TIMEOUT_S)
        yield (time.perf_counter() - began) * 1000


def _batch_recipe(turn: int) -> Recipe:
    return Recipe(min_side=32 + turn, on_miss="smallest")  # new work each time, the same result


def _timed(call: Any, times: int) -> float:
    taken = []
    for turn in range(times):
        began = time.perf_counter()
        call(turn)
        taken.append((time.perf_counter() - began) * 1000)
    return median(taken)


def _figures(values: list[float]) -> dict[str, float]:
    return {"median": round(median(values), 1), "longest": round(max(values), 1)}
