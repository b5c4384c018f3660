"""Measuring: one core, wall and processor time of a call, medians, geometric means."""

from __future__ import annotations

import math
import os
import statistics
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Sample:
    """How long one call took, milliseconds: on the wall clock, and of processor time in its own process."""

    wall: float
    cpu: float

    def __add__(self, other: Sample) -> Sample:
        return Sample(self.wall + other.wall, self.cpu + other.cpu)


def measure(call: Callable[[], Any]) -> tuple[Sample, Any]:
    """The call's time and its result."""
    wall, cpu = time.perf_counter(), time.process_time()
    result = call()
    return Sample((time.perf_counter() - wall) * 1000, (time.process_time() - cpu) * 1000), result


def median(samples: Sequence[Sample]) -> Sample:
    """The median on each clock by itself."""
    return Sample(statistics.median(one.wall for one in samples), statistics.median(one.cpu for one in samples))


def geometric_mean(values: Iterable[float]) -> float | None:
    """None for no values; a zero counts as the smallest positive step of the clocks, 1 us."""
    logs = [math.log(max(value, 1e-3)) for value in values]
    return math.exp(sum(logs) / len(logs)) if logs else None


def one_thread() -> None:
    """Engines that are loaded from now on, here and in children, use one thread."""
    os.environ |= {"VIPS_CONCURRENCY": "1", "OMP_NUM_THREADS": "1", "OMP_THREAD_LIMIT": "1"}


@contextmanager
def one_core() -> Iterator[int | None]:
    """Bind this process, and what it starts meanwhile, to one core; gives the core, None where the system cannot."""
    if not hasattr(os, "sched_setaffinity"):
        yield None
        return
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {max(before)})
    try:
        yield max(before)
    finally:
        os.sched_setaffinity(0, before)
