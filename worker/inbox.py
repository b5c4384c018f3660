"""The thread that makes jobs of what any Redis client put into the inbox, the moment it is there.

Every worker has one. It waits in XREAD, so that an entry is seen at once by all of them; who opens the record first has it.
"""

from __future__ import annotations

import logging
import threading
from typing import Any, Final

from pixlane.errors import InternalError, PixlaneError, QueueFull, ServiceError
from pixlane.publisher import Publisher
from pixlane.settings import Settings
from pixlane.store import envelope, inbox, ledger, results
from pixlane.store.connect import Server
from pixlane.store.inbox import Submission
from pixlane.store.keys import Keys
from pixlane.store.ledger import Job
from pixlane.store.nodes import open_cache
from pixlane.store.servers import Servers

WAIT_S: Final = 1.0
"""An entry that stays, as the queue is full, is looked at again after this; so is the end of the worker, seconds."""

STOP_LIMIT_S: Final = 5.0

FIRST: Final = "0-0"

log = logging.getLogger("pixlane.inbox")


class Inbox:
    """Takes entries in until it is stopped."""

    def __init__(self, servers: Servers, settings: Settings) -> None:
        self._servers = servers
        self._settings = settings
        self._keys = Keys(settings.key_prefix)
        self._ledger = Server(servers.ledger, settings.store_timeout_s)
        self._cache = self._ledger if servers.one_for_results else open_cache(servers.cache, settings.store_timeout_s)
        self._publisher = Publisher(servers, settings)
        self._ending = threading.Event()
        self._thread = threading.Thread(target=self._live, name="pixlane-inbox", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._ending.set()
        if self._thread.is_alive():
            self._thread.join(STOP_LIMIT_S)

    def _live(self) -> None:
        # Less than the deadline of a call, which a server that has nothing to say would break.
        block_ms = round(1000 * min(WAIT_S, self._settings.store_timeout_s / 2))
        while not self._ending.is_set():
            try:
                last = self._turn()
                self._ledger.run([inbox.next_one(self._keys, last, block_ms)])
            except ServiceError:  # the sweeper says so
                self._ending.wait(self._settings.sweep_interval_s)
            except Exception:
                log.exception("a fault in the inbox")
                self._ending.wait(self._settings.sweep_interval_s)
        for server in {self._ledger, self._cache}:
            server.close()
        self._publisher.close()

    def _turn(self) -> str:
        """Takes in what is there, a page after the other. Returns the last id that was seen."""
        last = "-"
        while not self._ending.is_set():
            (entries,) = self._ledger.run([inbox.waiting(self._keys, last)])
            for name, fields in entries:
                last = name.decode()
                self._take(last, inbox.text_of(fields))
            if len(entries) < inbox.MOST:
                break
        return FIRST if last == "-" else last

    def _take(self, entry: str, text: bytes) -> None:
        job: Job | None = None
        try:
            submission = inbox.read(entry, text)
            job = submission.job
            (length,) = self._ledger.run([inbox.source_length(self._keys, job)])
            if (problem := inbox.source_error(job, length, self._settings)) is not None:
                raise problem
            self._open(submission)
        except QueueFull:  # it waits where it is
            return
        except ServiceError:
            raise
        except PixlaneError as error:
            self._reject(entry, text, error, job)
        except Exception as error:  # it must not stand before all others for ever
            log.exception("entry %s of the inbox: a fault", entry)
            self._reject(entry, text, InternalError(f"a fault of the inbox: {type(error).__name__}: {error}"), job)

    def _open(self, submission: Submission) -> None:
        job, queue, together = submission.job, submission.queue, self._servers.one_for_messages
        halves = envelope.halves(job, queue) if together else ("", "")
        unless_done = self._servers.one_for_results
        command = ledger.submit(self._keys, job, queue, self._settings, halves, wish=submission.wish, unless_done=unless_done)
        message = ledger.submitted(self._ledger.run([command])[0], job, queue)
        if message is None or together:
            return
        try:
            self._publisher.send([[message]])
        except ServiceError:
            self._ledger.run([ledger.release(self._keys, job.key, "")])
            raise

    def _reject(self, entry: str, text: bytes, error: PixlaneError, job: Job | None) -> None:
        log.warning("entry %s of the inbox was refused: %s: %s", entry, error.code, error.message)
        if job is not None and results.is_remembered(error):
            self._cache.run(results.put_error(self._keys, job.sha256, job.fingerprint, error, self._settings))
        commands: list[Any] = inbox.reject(self._keys, entry, text, error, job)
        self._ledger.run(commands, atomic=True)
