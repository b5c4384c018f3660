"""One job from claim to answer: claim, read, check the hash, normalize, store the result, close the record.

Every way to end leaves the ledger right: a result or a remembered error under its key, an error for those who wait, or a job that
is due again. What this process cannot say any more (it was killed) its parent says.
"""

from __future__ import annotations

import hashlib
import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

from pixlane import sources
from pixlane.errors import (
    Crashed,
    InternalError,
    InvalidRecipe,
    OutOfMemory,
    PixlaneError,
    ServiceError,
    SourceChanged,
    SourceMissing,
    StoreFull,
    StoreUnavailable,
)
from pixlane.queue import CHUNK_LIMIT_S
from pixlane.recipe import PIPELINE_VERSION, Recipe
from pixlane.rendition import Rendition
from pixlane.settings import Limits, Settings
from pixlane.store import ledger, results
from pixlane.store.connect import Command, Server
from pixlane.store.keys import Keys
from pixlane.store.ledger import OBSERVE, Claim, Job, Message
from pixlane.store.nodes import SeveralServers, open_cache
from pixlane.store.servers import Servers
from tasks.alarm import alarm
from tasks.alone import normalize_alone
from tasks.watching import Seen, Watching

if TYPE_CHECKING:
    from tasks.observing import Observer

OUTAGE_PATIENCE_S: Final = 10.0
"""A finished result waits for a store that does not answer for so long; then the job is run again, seconds."""

RETRY_PAUSE_S: Final = 0.2

log = logging.getLogger("pixlane.worker")


@dataclass
class Line:
    """The jobs of one message, in order. The next is claimed in the round trip that ends the one before."""

    messages: Sequence[Message]
    token: str
    ends: float = field(default_factory=lambda: time.monotonic() + CHUNK_LIMIT_S)
    turn: int = 0
    claim: Claim | None = None
    seen: Seen = field(default_factory=Seen)

    @property
    def rest(self) -> Sequence[Message]:
        return self.messages[self.turn + 1 :]

    @property
    def goes_on(self) -> bool:
        return bool(self.rest) and time.monotonic() <= self.ends


class Runner:
    """Runs jobs in one process. Its connections are made at the first use, so after the fork.

    Args:
        worker: name of the worker that this process belongs to, in the list of those that are alive.
    """

    def __init__(self, servers: Servers, settings: Settings, worker: str, watching: Watching | None = None) -> None:
        self.watching = watching or Watching()
        self.servers = servers
        self.settings = settings
        self.keys = Keys(settings.key_prefix)
        self.worker = worker

    def run(self, messages: Sequence[Message], token: str) -> None:
        """Runs the jobs of one message, each claimed just before it runs, so that a death is charged to the one that ran.

        `token` names this run. What is left when they have taken too long is handed back, and goes on in messages of its own.
        Raises ServiceError when the store is gone for too long; the jobs are then due when their leases end.
        """
        line = Line(messages, token)
        for line.turn in range(len(messages)):
            message = messages[line.turn]
            claim = line.claim or ledger.claimed(self._ask(self._ledger, [self._claim(line, message, line.rest)])[0])
            line.claim = None
            began = time.monotonic()
            with self.watching.run(message, claim.status) as line.seen:
                outcome = line.seen.outcome = self._run(message.job, claim, line)
            took_ms = (time.monotonic() - began) * 1000
            if claim.status == "ok":
                said = {"job": message.job.key, "queue": message.queue, "outcome": outcome, "code": line.seen.code}
                log.info("%s: %s after %.0f ms, start %d", message.job.key, outcome, took_ms, claim.starts, extra=said)
            if line.rest and line.claim is None and not line.goes_on:
                self._ask(self._ledger, [ledger.release(self.keys, late.job.key, "") for late in line.rest])
                log.info("%d images of a chunk handed back after %g s", len(line.rest), CHUNK_LIMIT_S)
                return

    def _run(self, job: Job, claim: Claim, line: Line) -> str:
        """Runs a job, and says how it went: ok, error, retry, spent, busy, gone, expired, cancelled, found or handed_back."""
        if claim.status in ("gone", "busy", "expired", "cancelled"):
            return claim.status
        if claim.status == "spent":
            self.put_aside(job, claim)
            return "spent"
        if claim.starts > 1 and self._is_done(job):
            self._end(job, [])
            return "found"
        try:
            with alarm(ledger.longest_run_s(job.kind, self.settings) + self.settings.lease_margin_s / 2):
                if job.kind == OBSERVE:
                    answer = self._observer.answer(job, self._read(job, claim.source))
                else:
                    rendition = self._make(job, claim)
        except ServiceError:
            raise
        except PixlaneError as error:
            return self._fail(job, line, error)
        except MemoryError:
            limit = self.settings.max_child_bytes
            return self._fail(job, line, OutOfMemory(f"the image needs more than {limit:,} bytes", limit=limit))
        except Exception as error:
            log.exception("%s: a fault in the pipeline", job.key)
            return self._fail(job, line, InternalError(f"a fault of the pipeline: {type(error).__name__}: {error}"))
        try:
            if job.kind == OBSERVE:
                self._end(job, [], answer=answer)
            else:
                with self.watching.stage("store"):
                    self._end(job, results.put(self.keys, job.sha256, job.fingerprint, rendition, self.settings), line=line)
        except StoreFull as error:
            # Nothing is wrong with the image; it is made again when there is room, as often as it takes.
            log.error("%s: %s; the job waits for room", job.key, error.message)
            self._hand_back(job, line.token)
            line.seen.code = error.code
            return "handed_back"
        return "ok"

    def _hand_back(self, job: Job, token: str) -> None:
        """For another worker or a better time; this start does not count."""
        self._ask(self._ledger, [ledger.release(self.keys, job.key, token, ledger.HAND_BACK_DELAY_S, counted=False)])

    def _claim(self, line: Line, message: Message, others: Sequence[Message] = ()) -> Command:
        return ledger.claim(self.keys, message, line.token, self.settings, self.worker, others)

    def put_aside(self, job: Job, claim: Claim, reason: str = "", kind: type[PixlaneError] = Crashed) -> None:
        """The verdict: remembered, with the source kept for a later retry."""
        if claim.crashes >= ledger.MAX_CRASHES:
            limit, actual = ledger.MAX_CRASHES, claim.crashes
            sentence = f"the run of this image broke down {actual} times"
        else:
            limit, actual = ledger.MAX_STARTS, claim.starts
            sentence = f"the image was started {actual} times without coming to an end"
        if reason:
            sentence += f", the last time by {reason}"
        error = kind(sentence, limit=limit, actual=actual)
        log.error("%s: put aside, %s", job.key, sentence)
        told = error if job.kind == OBSERVE else None
        self._end(job, results.put_error(self.keys, job.sha256, job.fingerprint, error, self.settings), told, verdict=error)

    def report_death(self, messages: Sequence[Message], token: str, reason: str) -> None:
        """Says for a child that died with this message: which image it was charged to; the others are due at once."""
        replies = self._ask(self._ledger, [ledger.crash(self.keys, message.job.key, token) for message in messages])
        for message, reply in zip(messages, replies, strict=True):
            fate, crashes = ledger.crashed(reply)
            if fate in ("retry", "verdict"):
                log.warning("%s: its process died (%s), %d of %d", message.job.key, reason, crashes, ledger.MAX_CRASHES)
                self.watching.died(message, fate)
            if fate == "verdict":
                self.put_aside(message.job, Claim("spent", 0, crashes), reason)

    # Steps -------------------------------------------------------------------------------------------------------------

    def _make(self, job: Job, claim: Claim) -> Rendition:
        from pixlane.imaging import normalize

        recipe = Recipe.from_dict(job.recipe)
        with self.watching.stage("read"):
            data = self._read(job, claim.source)
        with self.watching.stage("make"):
            if claim.crashes == ledger.MAX_CRASHES - 1:
                log.warning("%s: the last try, in a process of its own", job.key)
                rendition = normalize_alone(data, recipe, self._limits, self.settings)
            else:
                rendition = normalize(data, recipe, limits=self._limits, sha256=job.sha256)  # `_read` has compared it
        self.watching.made(len(data), rendition)
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

    def _fail(self, job: Job, line: Line, error: PixlaneError) -> str:
        """Ends the job with its error, or lets it run again where that may help."""
        token, line.seen.code = line.token, error.code
        if isinstance(error, InvalidRecipe) and job.pipeline != PIPELINE_VERSION:
            # A newer client knows a field that this version does not: for a worker that does.
            self._hand_back(job, token)
            return "handed_back"
        # An observation was tried again within its deadline; who asked decides about more.
        if isinstance(error, (InternalError, Crashed)) or (error.retryable and job.kind != OBSERVE):
            fate, crashes = ledger.crashed(self._ask(self._ledger, [ledger.crash(self.keys, job.key, token)])[0])
            if fate != "verdict":
                return "retry"
            if isinstance(error, (InternalError, Crashed)):
                self.put_aside(job, Claim("spent", 0, crashes), error.message, type(error))
                return "spent"
        log.info("%s: %s: %s", job.key, error.code, error.message)
        if results.is_remembered(error) and job.kind != OBSERVE:
            self._end(job, results.put_error(self.keys, job.sha256, job.fingerprint, error, self.settings))
        else:
            self._end(job, [], error)
        return "error"

    def _is_done(self, job: Job) -> bool:
        return bool(self._ask(self._cache, results.exists(self.keys, job.sha256, job.fingerprint))[0] == 2)

    def _end(
        self,
        job: Job,
        stored: list[Command],
        error: PixlaneError | None = None,
        *,
        answer: dict[str, Any] | None = None,
        verdict: PixlaneError | None = None,
        line: Line | None = None,
    ) -> None:
        """Result, then record, then the claim of what is next in line: in one round trip where one server holds all."""
        commands = [ledger.close(self.keys, job, self.settings, error, answer=answer, verdict=verdict)]
        if line is not None and line.goes_on:
            commands.append(self._claim(line, line.rest[0]))
        if self._cache is self._ledger:
            replies = self._ask(self._ledger, [*stored, *commands], atomic=bool(stored))[len(stored) :]
        else:
            if stored:
                self._ask(self._cache, stored)
            replies = self._ask(self._ledger, commands)
        if line is not None and len(replies) == 2:
            line.claim = ledger.claimed(replies[1])
        if ledger.was_forgotten(replies[0]):
            self._ask(self._cache, results.delete(self.keys, job.sha256, job.fingerprint))
            if job.kind == OBSERVE:
                self._observer.forget(job)

    def _ask(self, server: Server | SeveralServers, commands: Sequence[Command], *, atomic: bool = False) -> list[Any]:
        """Bears a store that is away for a moment: work that was done is worth the wait."""
        return patiently(lambda: server.run(commands, atomic=atomic))

    @cached_property
    def _limits(self) -> Limits:
        return Limits.of(self.settings)

    @cached_property
    def _observer(self) -> Observer:
        from tasks.observing import Observer

        return Observer(self.servers, self.settings)

    @cached_property
    def _ledger(self) -> Server:
        return Server(self.servers.ledger, self.settings.store_timeout_s)

    @cached_property
    def _cache(self) -> Server | SeveralServers:
        if self.servers.one_for_results:
            return self._ledger
        return open_cache(self.servers.cache, self.settings.store_timeout_s)


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
