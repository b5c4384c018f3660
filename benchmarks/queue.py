"""The queue against the same work in process: jobs per second, what it adds to one small image, and a fetch from the cache.

Every figure comes from an embedded service of its own in a new folder: a private store, a real worker, paths as sources.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import Any

from PIL import Image

import pixlane
from benchmarks.tables import table
from pixlane import Client, Recipe, settings

WORKERS = (1, 2)
SMALL_PX = (96, 64)
SMALL_JOBS = 40
FETCHES = 300
TIMEOUT_S = 120


def run(paths: Sequence[Path], runs: int) -> dict[str, Any]:
    """Jobs per second over `runs` rounds of the files; milliseconds for one small image and one cached fetch, medians."""
    recipes = [Recipe(min_side=32 + round_, on_miss="smallest") for round_ in range(runs)]  # new work each round, same results
    folder = Path(os.path.commonpath([path.resolve().parent for path in paths]))
    result: dict[str, Any] = {"jobs": len(paths) * runs, "per_second": {}}
    _in_process(paths[0].read_bytes(), Recipe())
    began = time.perf_counter()
    for recipe in recipes:
        for path in paths:
            _in_process(path.read_bytes(), recipe)
    result["per_second"]["in process"] = _rate(result["jobs"], began)
    for workers in WORKERS:
        with service(folder, workers) as client:
            _warm(client, paths[0], workers)
            began = time.perf_counter()
            jobs = [client.submit(path, recipe, queue="batch") for recipe in recipes for path in paths]
            for job in jobs:
                job.result(TIMEOUT_S)
            result["per_second"][f"{workers} worker{'s' * (workers > 1)}"] = _rate(result["jobs"], began)
            if workers == 1:
                result["cached_fetch"] = cached_fetch(client, paths, recipes[0])
    with tempfile.TemporaryDirectory() as small, service(Path(small), 1) as client:
        result["small_image_ms"] = small_image(client, Path(small))
    return result


def small_image(client: Client, folder: Path) -> dict[str, float]:
    """One picture of 96 x 64 px, again and again as new work: through the queue and in process, in turn."""
    path = folder / "small.png"
    Image.effect_noise(SMALL_PX, 60).convert("RGB").resize((SMALL_PX[0], SMALL_PX[1])).save(path)
    data = path.read_bytes()
    through, alone = [], []
    for turn in range(SMALL_JOBS + 5):
        recipe = Recipe(max_side=90, min_side=8 + turn)
        began = time.perf_counter()
        client.submit(path, recipe).result(TIMEOUT_S)
        through.append((time.perf_counter() - began) * 1000)
        began = time.perf_counter()
        _in_process(data, recipe)
        alone.append((time.perf_counter() - began) * 1000)
    queue, process = median(through[5:]), median(alone[5:])
    return {"queue": round(queue, 3), "in process": round(process, 3), "added": round(queue - process, 3)}


def cached_fetch(client: Client, paths: Sequence[Path], recipe: Recipe) -> dict[str, float]:
    """Milliseconds of `fetch` for the longest data URL of the files."""
    found = {}
    for path in paths:
        sha256 = hashlib.sha256(path.read_bytes()).hexdigest()
        rendition = client.fetch(sha256, recipe)
        assert rendition is not None
        found[sha256] = len(rendition.data_url)
    longest = max(found, key=lambda sha256: found[sha256])
    taken = []
    for _ in range(FETCHES):
        began = time.perf_counter()
        client.fetch(longest, recipe)
        taken.append((time.perf_counter() - began) * 1000)
    return {
        "characters": found[longest],
        "median_ms": round(median(taken), 3),
        "p99_ms": round(sorted(taken)[-FETCHES // 100], 3),
    }


@contextmanager
def service(folder: Path, workers: int) -> Iterator[Client]:
    """A client of a new embedded service with that many worker processes, which may read the folder."""
    with tempfile.TemporaryDirectory(prefix="pixlane-bench-") as home:
        changes = {"PIXLANE_EMBEDDED_DIR": home, "PIXLANE_CONCURRENCY": str(workers), "PIXLANE_REDIS_URL": ""}
        before = {name: os.environ.get(name) for name in changes}
        os.environ |= changes
        settings.current.cache_clear()
        try:
            with Client(paths=str(folder)) as client:
                yield client
            _wait_for_the_end(Path(home))
        finally:
            for name, value in before.items():
                if value is None:
                    del os.environ[name]
                else:
                    os.environ[name] = value
            settings.current.cache_clear()


def report(result: dict[str, Any]) -> str:
    rates = result["per_second"]
    one = rates["1 worker"]
    rows = [[name, f"{rate:.1f}", f"{rate / one:.2f}"] for name, rate in rates.items()]
    head = [f"{result['jobs']} jobs", "per second", "of 1 worker"]
    small, fetch = result["small_image_ms"], result["cached_fetch"]
    return (
        f"{table(head, rows)}\n\n"
        f"one small image: {small['queue']:.1f} ms through the queue, {small['in process']:.1f} ms in process, "
        f"so {small['added']:.1f} ms added\n"
        f"a cached fetch of {fetch['characters']:,} characters: {fetch['median_ms']:.2f} ms median, "
        f"{fetch['p99_ms']:.2f} ms p99\n"
    )


def _in_process(data: bytes, recipe: Recipe) -> str:
    return pixlane.normalize(data, recipe).data_url


def _warm(client: Client, path: Path, workers: int) -> None:
    """Every worker process loads its engines before the clock runs."""
    jobs = [client.submit(path, Recipe(min_side=9 + turn, on_miss="smallest"), queue="batch") for turn in range(4 * workers)]
    for job in jobs:
        job.result(TIMEOUT_S)


def _rate(jobs: int, began: float) -> float:
    return round(jobs / (time.perf_counter() - began), 2)


def _wait_for_the_end(home: Path) -> None:
    """The service ends a moment after its last user; its folder is removed after that."""
    from pixlane.embedded import running

    for _ in range(600):
        if running() is None:
            return
        time.sleep(0.05)
