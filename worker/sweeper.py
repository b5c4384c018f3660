"""The thread that keeps what is owed moving: it sends again what is overdue, and reports the children that died.

Every worker has one; there is no leader. One Lua call takes what is overdue, so that no two send the same. It survives
outages of the store: what it could not say waits for the next turn.
"""

from __future__ import annotations

import logging
import os
import queue
import socket
import threading
from collections.abc import Sequence
from typing import Final

from pixlane.errors import ServiceError, StoreFull
from pixlane.metrics import SILENT, Meter
from pixlane.publisher import Publisher
from pixlane.settings import Settings
from pixlane.store import ledger
from pixlane.store.connect import Server
from pixlane.store.keys import Keys
from pixlane.store.ledger import Message
from pixlane.store.servers import Servers
from tasks.running import Runner
from tasks.watching import Watching

STOP_LIMIT_S: Final = 5.0

Death = tuple[Sequence[Message], str, str]

log = logging.getLogger("pixlane.sweeper")


class Sweeper:
    """Sweeps every `sweep_interval_s`, and at once after a report.

    Args:
        name: of this worker, in the list of those that are alive.
        queues: that it serves, the first served first.
    """

    def __init__(self, name: str, queues: Sequence[str], servers: Servers, settings: Settings, meter: Meter = SILENT) -> None:
        self._meter = meter
        self._name = name
        self._queues = queues
        self._settings = settings
        self._keys = Keys(settings.key_prefix)
        self._ledger = Server(servers.ledger, settings.store_timeout_s)
        self._publisher = Publisher(servers, settings)
        self._runner = Runner(servers, settings, name, Watching(meter))
        self._deaths: queue.SimpleQueue[Death] = queue.SimpleQueue()
        self._bell = threading.Event()
        self._ending = False
        self._up_since_ms: int | None = None
        self._outage: ServiceError | None = None
        self._thread = threading.Thread(target=self._live, name="pixlane-sweeper", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._ending = True
        self._bell.set()
        if self._thread.is_alive():
            self._thread.join(STOP_LIMIT_S)

    def report(self, messages: Sequence[Message], token: str, reason: str) -> None:
        """Takes note of a death; does not wait for the store."""
        self._meter.add("pixlane_child_deaths_total")
        self._deaths.put((messages, token, reason))
        self._bell.set()

    def hand_back(self, messages: Sequence[Message], token: str) -> None:
        """Makes due what a run with that token has in hand. Raises ServiceError."""
        self._ledger.run([ledger.release(self._keys, message.job.key, token) for message in messages])

    def _live(self) -> None:
        while not self._ending:
            try:
                self._turn()
                if self._outage is not None:
                    log.warning("the store answers again")
                self._outage = None
            except ServiceError as error:
                if type(self._outage) is not type(error):
                    # A server that is away comes back; one that is full wants somebody to look.
                    level = logging.ERROR if isinstance(error, StoreFull) else logging.WARNING
                    log.log(level, "%s; what is owed waits", error.message)
                self._outage = error
            except Exception:
                # The one thread that loses nothing must not be lost to a fault; the next turn tries again.
                log.exception("a fault in the sweep")
            self._bell.wait(self._settings.sweep_interval_s)
            self._bell.clear()
        self._leave()

    def _turn(self) -> None:
        self._report_deaths()
        dead: Sequence[str] = ()
        if self._up_since_ms is None:
            (seconds, micros), names = self._ledger.run([("TIME",), ("ZRANGE", self._keys.workers, 0, -1)])
            self._up_since_ms = int(seconds) * 1000 + int(micros) // 1000
            dead = [name for name in map(bytes.decode, names) if is_dead(name)]
        more = True
        while more and not self._ending:
            command = ledger.sweep(self._keys, self._name, self._queues, self._up_since_ms, self._settings, dead)
            dead = ()
            sweep = ledger.swept(self._ledger.run([command])[0])
            for key in sweep.malformed:
                log.error("%s: nobody can read this record", key)
            for key, fate in sweep.ended:
                log.info("%s: %s before it was done", key, fate, extra={"job": key})
            self._send(sweep.messages)
            more = sweep.more

    def _report_deaths(self) -> None:
        while not self._deaths.empty():
            death = self._deaths.get()
            try:
                self._runner.report_death(*death)
            except ServiceError:
                self._deaths.put(death)
                raise

    def _send(self, messages: Sequence[Message]) -> None:
        if not messages:
            return
        try:
            self._publisher.send([[message] for message in messages])
        except ServiceError:
            # Taken from the ledger but not sent: due again, or else nobody looks at them until their new deadline.
            self._ledger.run([ledger.release(self._keys, message.job.key, "") for message in messages])
            raise
        self._meter.add("pixlane_swept_total", len(messages))
        for message in messages:
            log.info("%s: sent again", message.job.key, extra={"job": message.job.key, "queue": message.queue})

    def _leave(self) -> None:
        try:
            self._ledger.run([("ZREM", self._keys.workers, self._name)])
        except ServiceError as error:
            log.warning("could not leave the list of workers: %s", error.message)
        self._ledger.close()
        self._publisher.close()


def name_of_this_process() -> str:
    """HOST:PID, the name of a worker in the list of those that are alive."""
    return f"{socket.gethostname()}:{os.getpid()}"


def is_dead(name: str) -> bool:
    """True when the worker of that name ran on this machine and its process is gone.

    In containers that share a host name it may be wrong: then a job is run twice, and the worker is back in the list at once.
    """
    host, _, pid = name.rpartition(":")
    if host != socket.gethostname() or not pid.isdigit():
        return False
    try:
        os.kill(int(pid), 0)
    except ProcessLookupError:
        return True
    except OSError:
        return False
    return False
