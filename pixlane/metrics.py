"""What is counted and timed, once: the names, and the two places where a number can go.

A `Meter` takes numbers. `Registry` keeps them for Prometheus; `SILENT` drops them. The processes of a worker hand theirs to their
parent (`worker.metrics`). A client counts into the application's own default registry when `PIXLANE_CLIENT_METRICS` is set.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, Final, Literal, Protocol

from pixlane.settings import Settings

if TYPE_CHECKING:
    from prometheus_client import CollectorRegistry


@dataclass(frozen=True)
class Instrument:
    """One metric: its kind, its meaning, its labels, and for a histogram its upper bounds."""

    kind: Literal["counter", "histogram", "gauge"]
    help: str
    labels: tuple[str, ...] = ()
    buckets: tuple[float, ...] = ()


SECONDS: Final = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 120.0)
RUNGS: Final = (1.0, 2.0, 3.0, 5.0, 8.0, 12.0, 20.0)

INSTRUMENTS: Final[dict[str, Instrument]] = {
    # Counted where it happens
    "pixlane_jobs_total": Instrument(
        "counter",
        "runs by how they ended (ok, error, retry, spent, busy, gone, found, handed_back ...) and the code of their error",
        ("queue", "outcome", "code"),
    ),
    "pixlane_stage_seconds": Instrument(
        "histogram",
        "time of a stage: wait (sent to claimed), read, make, store; of a client: submit, result",
        ("stage",),
        SECONDS,
    ),
    "pixlane_ladder_attempts": Instrument("histogram", "candidates that one image needed", (), RUNGS),
    "pixlane_bytes_total": Instrument("counter", "bytes of sources (in) and of data URLs (out)", ("direction",)),
    "pixlane_swept_total": Instrument("counter", "jobs that were overdue and sent again"),
    "pixlane_child_deaths_total": Instrument("counter", "worker processes that died with a job in hand"),
    "pixlane_refused_messages_total": Instrument("counter", "messages that are not of their form"),
    "pixlane_dropped_numbers_total": Instrument("counter", "numbers of these that a process could not hand to its parent"),
    "pixlane_cache_total": Instrument("counter", "look-ups of a client, by whether the answer was there", ("hit",)),
    "pixlane_evicted_before_fetched_total": Instrument("counter", "jobs that ended, whose result was gone when its waiter came"),
    # Asked when Prometheus asks
    "pixlane_queue_depth": Instrument("gauge", "messages that wait in a queue", ("queue",)),
    "pixlane_queue_age_seconds": Instrument("gauge", "how long the oldest message has waited", ("queue",)),
    "pixlane_open_jobs": Instrument("gauge", "jobs that the ledger holds"),
    "pixlane_workers": Instrument("gauge", "workers that were alive just now"),
    "pixlane_child_rss_bytes": Instrument("gauge", "resident memory of this worker's processes", ("child",)),
    "pixlane_store_up": Instrument("gauge", "1 when the store answered within its deadline"),
    "pixlane_store_memory_bytes": Instrument("gauge", "memory that the ledger's server uses"),
    "pixlane_store_memory_limit_bytes": Instrument("gauge", "memory that the ledger's server may use; 0: no limit"),
    "pixlane_store_evicted_keys": Instrument("gauge", "keys that the ledger's server has evicted since its start"),
}


class Meter(Protocol):
    """Takes numbers, and loses none of them on the way to where they are kept; cheap enough for every job."""

    def add(self, name: str, value: float = 1.0, **labels: str) -> None:
        """Adds to a counter, or gives a histogram one more value. KeyError for a name that INSTRUMENTS lacks."""

    def flush(self) -> None:
        """The numbers so far belong together and may travel now."""


class Silent:
    """For whoever does not count."""

    def add(self, name: str, value: float = 1.0, **labels: str) -> None: ...

    def flush(self) -> None: ...


SILENT: Final[Meter] = Silent()


class Registry:
    """Keeps what is counted for Prometheus, in the registry that it is given. Each process has one.

    Args:
        names: the instruments that this process counts; each appears with its zeros where it has no labels.
    """

    def __init__(self, registry: CollectorRegistry, names: tuple[str, ...]) -> None:
        from prometheus_client import Counter, Histogram

        self.registry = registry
        self._kept: dict[str, Any] = {}
        for name in names:
            what = INSTRUMENTS[name]
            if what.kind == "counter":
                self._kept[name] = Counter(name, what.help, what.labels, registry=registry)
            else:
                self._kept[name] = Histogram(name, what.help, what.labels, buckets=what.buckets, registry=registry)

    def add(self, name: str, value: float = 1.0, **labels: str) -> None:
        kept = self._kept[name].labels(**labels) if labels else self._kept[name]
        if INSTRUMENTS[name].kind == "counter":
            kept.inc(value)
        else:
            kept.observe(value)

    def flush(self) -> None: ...


OF_CLIENTS: Final = ("pixlane_cache_total", "pixlane_evicted_before_fetched_total", "pixlane_stage_seconds")
OF_WORKERS: Final = (
    "pixlane_jobs_total",
    "pixlane_stage_seconds",
    "pixlane_ladder_attempts",
    "pixlane_bytes_total",
    "pixlane_swept_total",
    "pixlane_child_deaths_total",
    "pixlane_refused_messages_total",
    "pixlane_dropped_numbers_total",
)


def of_client(settings: Settings) -> Meter:
    """The meter of a client: the default registry of this process where the setting `client_metrics` is on, else nobody."""
    return _of_this_process() if settings.client_metrics else SILENT


@cache
def _of_this_process() -> Meter:
    """Made once: the clients of a process count together."""
    from prometheus_client import REGISTRY

    return Registry(REGISTRY, OF_CLIENTS)
