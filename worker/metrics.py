"""The numbers of a worker: its processes hand theirs to their parent, which keeps them and serves them to Prometheus.

A process writes one datagram a job into a socket that it has from its parent. Nothing waits: a datagram that finds the socket
full is dropped and counted. A process that is killed loses the numbers of the job that it had, and no others.
"""

from __future__ import annotations

import json
import logging
import os
import socket
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from pixlane.errors import InvalidArgument, ServiceError
from pixlane.metrics import INSTRUMENTS, OF_WORKERS, Meter, Registry
from pixlane.settings import MIB, Settings
from pixlane.stats import Observer, Stats
from pixlane.store.connect import Server
from pixlane.store.keys import Keys
from pixlane.store.servers import Servers

BUFFER_BYTES: Final = MIB
DATAGRAM_BYTES: Final = 64 * 1024

log = logging.getLogger("pixlane.metrics")


class Sending:
    """The meter of a child process: what it takes goes to the parent with `flush`."""

    def __init__(self, wire: socket.socket) -> None:
        self._wire = wire
        self._taken: list[tuple[str, float, dict[str, str]]] = []
        self._dropped = 0.0

    def add(self, name: str, value: float = 1.0, **labels: str) -> None:
        self._taken.append((name, value, labels))

    def flush(self) -> None:
        if not self._taken:
            return
        taken = [*self._taken, ("pixlane_dropped_numbers_total", self._dropped, {})] if self._dropped else self._taken
        try:
            self._wire.send(json.dumps(taken).encode(), socket.MSG_DONTWAIT)
            self._dropped = 0.0
        except OSError:  # full: numbers are worth no wait
            self._dropped += len(self._taken)
        self._taken = []


class Gathering:
    """The parent's side: one thread that takes in what the children send, and writes the totals into the ledger now and then.

    Made before the first fork; `start` after it.
    """

    def __init__(self, servers: Servers, settings: Settings) -> None:
        from prometheus_client import CollectorRegistry

        self._settings = settings
        self._servers = servers
        self._keys = Keys(settings.key_prefix)
        self._inlet, self._outlet = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._inlet.settimeout(settings.sweep_interval_s)
        for end, option in ((self._inlet, socket.SO_RCVBUF), (self._outlet, socket.SO_SNDBUF)):
            end.setsockopt(socket.SOL_SOCKET, option, BUFFER_BYTES)
        self.registry = CollectorRegistry()
        self._kept = Registry(self.registry, OF_WORKERS)
        self._runs: Counter[str] = Counter()
        self._lock = threading.Lock()
        self._ending = False
        self._ledger = Server(servers.ledger, settings.store_timeout_s)
        self._thread = threading.Thread(target=self._live, name="pixlane-metrics", daemon=True)

    def of_child(self) -> Meter:
        return Sending(self._outlet)

    def add(self, name: str, value: float = 1.0, **labels: str) -> None:
        """For the parent itself: this is its meter."""
        with self._lock:
            self._kept.add(name, value, **labels)
            if name == "pixlane_jobs_total":
                self._runs[labels["outcome"]] += int(value)

    def flush(self) -> None: ...

    def start(self) -> None:
        """Raises InvalidArgument when the port is taken."""
        self._thread.start()
        if self._settings.metrics_port:
            from prometheus_client import start_http_server

            self.registry.register(_Looked(self._servers, self._settings, lambda: children_of(os.getpid())))
            host, port = self._settings.metrics_host, self._settings.metrics_port
            try:
                start_http_server(port, host, registry=self.registry)
            except OSError as error:
                raise InvalidArgument(f"no metrics on {host}:{port}: {error.strerror}", actual=port) from error
            log.info("metrics on http://%s:%d/metrics", host, port)

    def stop(self) -> None:
        self._ending = True
        self._outlet.send(b"[]")
        if self._thread.is_alive():
            self._thread.join(self._settings.store_timeout_s + 1)
        self._write_totals()
        self._ledger.close()

    def _live(self) -> None:
        due = time.monotonic()
        while not self._ending:
            with suppress(TimeoutError):
                for name, value, labels in json.loads(self._inlet.recv(DATAGRAM_BYTES)):
                    self.add(name, value, **labels)
            if time.monotonic() >= due:
                self._write_totals()
                due = time.monotonic() + self._settings.sweep_interval_s

    def _write_totals(self) -> None:
        with self._lock:
            runs, self._runs = self._runs, Counter()
        if runs:
            try:
                self._ledger.run([("HINCRBY", self._keys.totals, outcome, count) for outcome, count in runs.items()])
            except ServiceError:
                with self._lock:
                    self._runs += runs


class _Looked:
    """What is asked when Prometheus asks: the queues, the store, the memory of the children."""

    def __init__(self, servers: Servers, settings: Settings, children: Callable[[], list[int]]) -> None:
        self._observer = Observer(servers, settings)
        self._children = children

    def collect(self) -> Iterable[Any]:
        from prometheus_client.core import GaugeMetricFamily

        try:
            told = _told(self._observer.look()) | {"pixlane_store_up": {(): 1.0}}
        except ServiceError:
            told = {"pixlane_store_up": {(): 0.0}}
        told["pixlane_child_rss_bytes"] = {(str(place),): resident_bytes(pid) for place, pid in enumerate(self._children())}
        for name, values in told.items():
            what = INSTRUMENTS[name]
            family = GaugeMetricFamily(name, what.help, labels=what.labels)
            for labels, value in values.items():
                family.add_metric(labels, value)
            yield family

    def describe(self) -> Iterable[Any]:
        return ()  # or else the registry asks the store already when this is registered


_Values = dict[tuple[str, ...], float]
"""Labels to the number."""


def _told(stats: Stats) -> dict[str, _Values]:
    depths: _Values = {(each.queue,): float(each.depth) for each in stats.waiting if each.depth is not None}
    # Nothing waits: an age of zero, so that an alert on it ends.
    ages: _Values = {(each.queue,): each.age_s or 0.0 for each in stats.waiting if each.age_s is not None or each.depth == 0}
    return {
        "pixlane_queue_depth": depths,
        "pixlane_queue_age_seconds": ages,
        "pixlane_open_jobs": {(): stats.open_jobs},
        "pixlane_workers": {(): len(stats.workers)},
        "pixlane_store_memory_bytes": {(): stats.memory_bytes},
        "pixlane_store_memory_limit_bytes": {(): stats.memory_limit_bytes},
        "pixlane_store_evicted_keys": {(): stats.evicted_keys},
    }


def children_of(pid: int) -> list[int]:
    """The processes of this worker, oldest first; none where the system does not list them."""
    found = []
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        with suppress(OSError):
            found += [int(word) for word in task.read_text().split()]
    return sorted(found)


def resident_bytes(pid: int) -> float:
    """Resident memory of a process; 0 for one that is gone."""
    try:
        return float(int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE"))
    except (OSError, IndexError):
        return 0.0
