"""One job from claim to answer: claim, read, check the hash, normalize, store the result, close the record.

Every way to end leaves the ledger right: a result or a remembered error under its key, an error for those who wait, or a job that
is due again. What this process cannot say any more (it was killed) its parent says.
"""

from __future__ import annotations

import hashlib
import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any, Final

from pixlane import sources
from pixlane.errors import (
    Crashed,
    InvalidRecipe,
    OutOfMemory,
    PixlaneError,
    ServiceError,
    SourceChanged,
    SourceMissing,
    StoreUnavailable,
)
from pixlane.queue import CHUNK_LIMIT_S
from pixlane.recipe import PIPELINE_VERSION, Recipe
from pixlane.rendition import Rendition
from pixlane.settings import Limits, Settings
from pixlane.store import ledger, results
from pixlane.store.connect import Command, Server
from pixlane.store.keys import Keys
from pixlane.store.ledger import Claim, Job, Message
from pixlane.store.servers import Servers
from tasks.alarm import alarm

OUTAGE_PATIENCE_S: Final = 10.0
"""A finished result waits for a store that does not answer for so long; then the job is run again, seconds."""

RETRY_PAUSE_S: Final = 0.2

log = logging.getLogger("pixlane.worker")


class Runner:
    """Runs jobs in one process. Its connections are made at the first use, so after the fork."""

    def __init__(self, servers: Servers, settings: Settings) -> None:
        self.servers = servers
        self.settings = settings
        self.keys = Keys(settings.key_prefix)

    def run(self, message: Message, token: str) -> str:
        """Runs a job, and says how it went: ok, error, retry, spent, busy, gone, found or handed_back.

        `token` names this run. Raises ServiceError when the store is gone for too long; the job is then due when its lease ends.
        """
        job = message.job
        began = time.monotonic()
        claim = ledger.claimed(self._ask(self._ledger, [ledger.claim(self.keys, message, token, self.settings)])[0])
        if claim.status in ("gone", "busy"):
            return claim.status
        if claim.status == "spent":
            self.put_aside(job, claim)
            return "spent"
        if claim.starts > 1 and self._is_done(job):
            self._end(job, [])
            return "found"
        try:
            with alarm(self.settings.hard_timeout_s + self.settings.lease_margin_s / 2):
                rendition = self._make(job, claim.source)
        except ServiceError:
            raise
        except PixlaneError as error:
            outcome = self._fail(job, token, error)
        except MemoryError:
            limit = self.settings.max_child_bytes
            outcome = self._fail(job, token, OutOfMemory(f"the image needs more than {limit:,} bytes", limit=limit))
        except Exception as error:
            log.exception("%s: a fault in the pipeline", job.key)
            outcome = self._fail(job, token, Crashed(f"a fault of the pipeline: {type(error).__name__}: {error}"))
        else:
            self._end(job, results.put(self.keys, job.sha256, job.fingerprint, rendition, self.settings))
            outcome = "ok"
        log.info("%s: %s after %.0f ms, start %d", job.key, outcome, (time.monotonic() - began) * 1000, claim.starts)
        return outcome

    def run_chunk(self, messages: Sequence[Message], token: str) -> None:
        """Runs several, each claimed just before it runs, so that a death is charged to the one that ran.

        What is left when the chunk has taken too long is handed back, and goes on in messages of its own.
        """
        ends = time.monotonic() + CHUNK_LIMIT_S
        for number, message in enumerate(messages):
            if time.monotonic() > ends:
                rest = [ledger.release(self.keys, late.job.key, "") for late in messages[number:]]
                self._ask(self._ledger, rest)
                log.info("%d images of a chunk handed back after %g s", len(rest), CHUNK_LIMIT_S)
                return
            self.run(message, token)

    def put_aside(self, job: Job, claim: Claim, reason: str = "") -> None:
        """The verdict: remembered, with the source kept for a later retry."""
        if claim.crashes >= ledger.MAX_CRASHES:
            limit, actual = ledger.MAX_CRASHES, claim.crashes
            sentence = f"the run of this image broke down {actual} times"
        else:
            limit, actual = ledger.MAX_STARTS, claim.starts
            sentence = f"the image was started {actual} times without coming to an end"
        if reason:
            sentence += f", the last time by {reason}"
        error = Crashed(sentence, limit=limit, actual=actual)
        log.error("%s: put aside, %s", job.key, sentence)
        self._end(job, results.put_error(self.keys, job.sha256, job.fingerprint, error, self.settings), keep_source=True)

    def report_death(self, messages: Sequence[Message], token: str, reason: str) -> None:
        """Says for a child that died with this message: which image it was charged to; the others are due at once."""
        replies = self._ask(self._ledger, [ledger.crash(self.keys, message.job.key, token) for message in messages])
        for message, reply in zip(messages, replies, strict=True):
            fate, crashes = ledger.crashed(reply)
            if fate in ("retry", "verdict"):
                log.warning("%s: its process died (%s), %d of %d", message.job.key, reason, crashes, ledger.MAX_CRASHES)
            if fate == "verdict":
                self.put_aside(message.job, Claim("spent", 0, crashes), reason)

    # Steps -------------------------------------------------------------------------------------------------------------

    def _make(self, job: Job, stored: bytes | None) -> Rendition:
        from pixlane.imaging import normalize

        recipe = Recipe.from_dict(job.recipe)
        rendition = normalize(self._read(job, stored), recipe, limits=self._limits)
        return rendition if rendition.recipe == job.fingerprint else replace(rendition, recipe=job.fingerprint)

    def _read(self, job: Job, stored: bytes | None) -> bytes:
        """The bytes with the hash that the job names: from the path, else those that the store holds."""
        problem: PixlaneError = SourceMissing("the store does not hold the source any more", sha256=job.sha256)
        if job.source is not None:
            try:
                data = sources.read_allowed(job.source, self.settings)
                if (actual := _hash(data)) == job.sha256:
                    return data
                problem = SourceChanged(f"{job.source} is not what it was", limit=job.sha256, actual=actual)
            except PixlaneError as error:
                problem = error
        # Somebody else may have brought the same source as bytes.
        if stored is None:
            raise problem
        if (actual := _hash(stored)) != job.sha256:
            raise SourceChanged("the stored source is not what the job names", limit=job.sha256, actual=actual)
        return stored

    def _fail(self, job: Job, token: str, error: PixlaneError) -> str:
        """Ends the job with its error, or lets it run again where that may help."""
        if isinstance(error, InvalidRecipe) and job.pipeline != PIPELINE_VERSION:
            # A newer client knows a field that this version does not: for a worker that does.
            self._ask(self._ledger, [ledger.release(self.keys, job.key, token, ledger.HAND_BACK_DELAY_S)])
            return "handed_back"
        if error.retryable or isinstance(error, Crashed):
            fate, crashes = ledger.crashed(self._ask(self._ledger, [ledger.crash(self.keys, job.key, token)])[0])
            if fate != "verdict":
                return "retry"
            if isinstance(error, Crashed):
                self.put_aside(job, Claim("spent", 0, crashes), error.message)
                return "spent"
        log.info("%s: %s: %s", job.key, error.code, error.message)
        if results.is_remembered(error):
            self._end(job, results.put_error(self.keys, job.sha256, job.fingerprint, error, self.settings))
        else:
            self._end(job, [], error)
        return "error"

    def _is_done(self, job: Job) -> bool:
        return bool(self._ask(self._cache, results.exists(self.keys, job.sha256, job.fingerprint))[0] == 2)

    def _end(self, job: Job, stored: list[Command], error: PixlaneError | None = None, *, keep_source: bool = False) -> None:
        """Result, then record: in one round trip where one server holds both."""
        close = ledger.close(self.keys, job, self.settings, error, keep_source=keep_source)
        if self._cache is self._ledger:
            reply = self._ask(self._ledger, [*stored, close], atomic=bool(stored))[-1]
        else:
            if stored:
                self._ask(self._cache, stored)
            reply = self._ask(self._ledger, [close])[0]
        if ledger.was_forgotten(reply):
            self._ask(self._cache, results.delete(self.keys, job.sha256, job.fingerprint))

    def _ask(self, server: Server, commands: Sequence[Command], *, atomic: bool = False) -> list[Any]:
        """Bears a store that is away for a moment: work that was done is worth the wait."""
        return patiently(lambda: server.run(commands, atomic=atomic))

    @cached_property
    def _limits(self) -> Limits:
        return Limits.of(self.settings)

    @cached_property
    def _ledger(self) -> Server:
        return Server(self.servers.ledger, self.settings.store_timeout_s)

    @cached_property
    def _cache(self) -> Server:
        if self.servers.cache == self.servers.ledger:
            return self._ledger
        return Server(self.servers.cache, self.settings.store_timeout_s)


def patiently(call: Callable[[], list[Any]]) -> list[Any]:
    """Calls again while the store does not answer, for OUTAGE_PATIENCE_S."""
    ends = time.monotonic() + OUTAGE_PATIENCE_S
    while True:
        try:
            return call()
        except StoreUnavailable:
            if time.monotonic() > ends:
                raise
            time.sleep(RETRY_PAUSE_S)


def _hash(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
