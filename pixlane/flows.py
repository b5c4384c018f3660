"""What a client does, step by step: written once for `Client` and `AsyncClient`.

The steps are in `pixlane.steps`. So a rule like "result, then record, then submit again" stands in one place, and knows neither
threads nor event loops.
"""

from __future__ import annotations

import re
import time
import uuid
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from pixlane import health, metrics, sources, tracing
from pixlane.errors import (
    Expired,
    InvalidArgument,
    JobLost,
    PixlaneError,
    QueueFull,
    ResultTimeout,
    ServiceError,
    SourceChanged,
    StoreFull,
    StoreUnavailable,
)
from pixlane.recipe import Recipe
from pixlane.settings import KIB, Settings
from pixlane.sources import Given, Source
from pixlane.steps import Ask, Fetch, Flow, Found, Pause, Publish, Watch
from pixlane.store import admission, envelope, ledger, results
from pixlane.store.admission import Wish
from pixlane.store.connect import Command
from pixlane.store.keys import Keys
from pixlane.store.ledger import QUEUES, Job, Message
from pixlane.store.servers import Servers

FIRST_POLL_S: Final = 0.02
LAST_POLL_S: Final = 0.2
"""A waiter that was not woken looks by itself: first after 20 ms, then each time twice as long, up to 200 ms."""

FRESH_S: Final = 0.005
"""A job that was submitted less than this ago is not done yet: nobody looks before it could be, seconds."""

OUTAGE_PATIENCE_S: Final = 10.0
"""A waiter bears a store that does not answer for so long, seconds; a server that is started again comes back in less."""

MAX_RESUBMISSIONS: Final = 5
"""A waiter that finds neither result nor record submits again, so often."""

SENT_UNASKED_BYTES: Final = 64 * KIB
"""A source of at most so many bytes is sent along with the question whether it is done already: a round trip costs more."""

OUTAGES: Final = (StoreUnavailable, StoreFull)
"""What a waiter bears for a while: a server comes back, and a full one finds room."""


@dataclass
class Order:
    """A job as its client sees it: what there is to do, and how to bring the source again."""

    given: Given
    by_path: bool
    job: Job
    queue: str
    resubmissions: int = 0
    placed_at: float = 0.0
    deadline_s: float | None = None
    ordered_at: float = field(default_factory=time.monotonic)
    waiter: str = field(default_factory=lambda: uuid.uuid4().hex)
    is_cancelled: bool = False

    @property
    def left_s(self) -> float | None:
        """Until its deadline."""
        return None if self.deadline_s is None else self.deadline_s - (time.monotonic() - self.ordered_at)


@dataclass
class Patience:
    """How long a store has not answered."""

    since: float | None = None

    def bear(self, error: ServiceError) -> None:
        """Raises the error once the outage lasts too long."""
        now = time.monotonic()
        if self.since is None:
            self.since = now
        elif now - self.since > OUTAGE_PATIENCE_S:
            raise error


# Flows -----------------------------------------------------------------------------------------------------------------


class Flows:
    """The flows of one client."""

    def __init__(self, settings: Settings, servers: Servers) -> None:
        self.settings = settings
        self.servers = servers
        self.keys = Keys(settings.key_prefix)
        self.meter = metrics.of_client(settings)
        self.tracer = tracing.of(settings)
        self.tenant = admission.tenant_id(settings.tenant)

    def fetch(self, sha256: str, fingerprint: str) -> Flow[Found | None]:
        """What the store holds; one round trip."""
        replies = yield Ask("cache", results.fetch(self.keys, check_sha256(sha256), fingerprint, self.settings))
        return self._counted(results.fetched(replies))

    def fetch_many(self, orders: Sequence[Order]) -> Flow[list[Found | None]]:
        """The same for several, in one round trip."""
        replies = yield Ask("cache", [command for order in orders for command in self._fetch(order)])
        return [self._counted(results.fetched(part)) for part in _parts(replies, results.FETCH_REPLIES)]

    def identify(self, given: Given, by_path: bool, max_bytes: int | None = None) -> Flow[Source]:
        limit = min(filter(None, (self.settings.max_source_bytes, max_bytes)))
        if sources.is_url(given):
            given = yield Fetch(str(given))
        for source in sources.identify(given, limit, by_path=by_path):
            if source is not None:
                return source
            yield Pause(0)
        raise AssertionError("a source is identified or an error is raised")

    def submit(
        self, given: Given, recipe: Recipe, queue: str, by_path: bool, deadline_s: float | None = None
    ) -> Flow[tuple[Order, Found | None]]:
        """The order, and what the store holds for it already; where that is nothing, the job is open and on its way."""
        check_queue(queue)
        admission.check_deadline(deadline_s)
        began = time.monotonic()
        with self.tracer.span("pixlane submit", "PRODUCER", queue=queue) as span:
            source = yield from self.identify(given, by_path)
            order = make_order(given, source, recipe, queue, self.tracer.here())
            order.deadline_s = deadline_s
            span.set(job=order.job.key)
            found = yield from self._fetch_and_place(order, source)
        self.meter.add("pixlane_stage_seconds", time.monotonic() - began, stage="submit")
        return order, found and sources.told(given, found)

    def _fetch_and_place(self, order: Order, source: Source) -> Flow[Found | None]:
        if self.servers.one_for_all and len(source.data or b"") <= SENT_UNASKED_BYTES:
            found = yield from self.fetch_or_place(order, source.data)
        else:
            found = yield from self.fetch(source.sha256, order.job.fingerprint)
            if found is None:
                yield from self.place(order, source.data)
        return found

    def fetch_or_place(self, order: Order, data: bytes | None) -> Flow[Found | None]:
        """What the store holds, or else source, record and message into it: one round trip, for a small source on one server."""
        order.placed_at = time.monotonic()
        halves = envelope.halves(order.job, order.queue)
        wish = self._wish(order)
        submit = ledger.submit(self.keys, order.job, order.queue, self.settings, halves, data, wish, unless_done=True)
        *stored, reply = yield Ask("ledger", [*self._fetch(order), submit])
        ledger.submitted(reply, order.job, order.queue)
        return self._counted(results.fetched(stored))

    def place(self, order: Order, data: bytes | None) -> Flow[None]:
        """Source, record, message; in one step where one server takes all three."""
        order.placed_at = time.monotonic()
        together = self.servers.one_for_messages
        (message,) = yield from self.record([(order, data)], with_message=together)
        if isinstance(message, QueueFull):
            raise message
        if message is not None and not together:
            yield from self.publish([[message]])

    def publish(self, groups: Sequence[Sequence[Message]]) -> Flow[None]:
        """Sends one message for each group. If the broker does not take them, their jobs are due: the next sweep sends them."""
        if not groups:
            return
        try:
            if self.servers.one_for_messages:
                yield Ask("ledger", [envelope.push(self.keys, group) for group in groups])
            else:
                yield Publish(groups)
        except ServiceError:
            yield Ask("ledger", [ledger.release(self.keys, message.job.key, "") for group in groups for message in group])
            raise

    def record(
        self, orders: Sequence[tuple[Order, bytes | None]], *, with_message: bool = False
    ) -> Flow[list[Message | QueueFull | None]]:
        """Stores sources and opens records in one round trip. The messages that must be sent now, or were `with_message`; a
        QueueFull for each that was refused."""
        commands: list[Command] = []
        places = []
        for order, data in orders:
            if data is not None:
                commands.append(ledger.put_source(self.keys, order.job.sha256, data, self.settings))
            places.append(len(commands))
            halves = envelope.halves(order.job, order.queue) if with_message else ("", "")
            commands.append(ledger.submit(self.keys, order.job, order.queue, self.settings, halves, wish=self._wish(order)))
        replies = yield Ask("ledger", commands, atomic=len(commands) == 2)
        answers: list[Message | QueueFull | None] = []
        for place, (order, _) in zip(places, orders, strict=True):
            try:
                answers.append(ledger.submitted(replies[place], order.job, order.queue))
            except QueueFull as error:
                answers.append(error)
        return answers

    def cancel(self, order: Order) -> Flow[bool]:
        """Gives the order up; True when its job ended with that, or is not run again."""
        order.is_cancelled = True
        (reply,) = yield Ask("ledger", [ledger.cancel(self.keys, order.job.key, order.waiter, self.settings)])
        return reply in (b"ended", b"running")

    def _wish(self, order: Order) -> Wish:
        return Wish(order.waiter, order.left_s, self.tenant)

    def survey(self, orders: Sequence[Order]) -> Flow[list[Found | None]]:
        """What became of each: its rendition or error, or None while it is open. One without a trace is submitted again."""
        fetches = [command for order in orders for command in self._fetch(order)]
        looks = [command for order in orders for command in ledger.look(self.keys, order.job.key)]
        if self.servers.one_for_results:
            replies = yield Ask("ledger", [*fetches, *looks])
            stored, states = replies[: len(fetches)], replies[len(fetches) :]
        else:
            stored = yield Ask("cache", fetches)
            states = yield Ask("ledger", looks)
        answers: list[Found | None] = []
        for order, result, state in zip(
            orders, _parts(stored, results.FETCH_REPLIES), _parts(states, ledger.LOOK_REPLIES), strict=True
        ):
            found = results.fetched(result, cached=False)  # somebody worked for it since it was ordered
            answers.append(found if found is not None else (yield from self._judge(order, ledger.looked(state))))
        return answers

    def result(self, order: Order, timeout_s: float | None) -> Flow[Found]:
        """Waits for the end of a job. Raises ResultTimeout, or StoreUnavailable or StoreFull when that lasts."""
        began = time.monotonic()
        ends = None if timeout_s is None else began + timeout_s
        yield Watch([order.job.key])
        interval, patience = FIRST_POLL_S, Patience()
        if time.monotonic() - order.placed_at < FRESH_S:
            yield Pause(interval if timeout_s is None else min(interval, timeout_s))
        while True:
            if order.is_cancelled:
                return admission.cancelled(order.job.key)
            pause_s = interval
            try:
                (found,) = yield from self.survey([order])
                patience.since = None
            except OUTAGES as error:
                patience.bear(error)
                found = None
            except QueueFull as error:  # it was lost, and there is no room just now
                pause_s, found = error.retry_after_s, None
            if found is not None:
                self.meter.add("pixlane_stage_seconds", time.monotonic() - began, stage="result")
                return self.told(order, found)  # type: ignore[no-any-return]
            left = None if ends is None else ends - time.monotonic()
            if left is not None and left <= 0:
                said = f"no result within {timeout_s:g} s; the job goes on{(yield from self._unless_a_worker_lives())}"
                raise ResultTimeout(said, limit=timeout_s, key=order.job.key)
            yield Pause(pause_s if left is None else min(pause_s, left))
            interval = min(2 * interval, LAST_POLL_S)

    def told(self, order: Order, found: Any) -> Any:
        """What was found, as the one who asked named the source."""
        return sources.told(order.given, found)

    def _unless_a_worker_lives(self) -> Flow[str]:
        """What a waiter in vain should know: that nobody is there to do the work."""
        try:
            (time_of_day,) = yield Ask("ledger", [("TIME",)])
            (alive,) = yield Ask("ledger", [health.alive(self.keys, self.settings, time_of_day)])
        except OUTAGES:
            return ""
        return "" if alive else " as soon as a worker is there: none is alive (`pixlane worker` starts one)"

    def _counted(self, found: Found | None) -> Found | None:
        self.meter.add("pixlane_cache_total", hit="no" if found is None else "yes")
        return found

    def _fetch(self, order: Order) -> list[Command]:
        return results.fetch(self.keys, order.job.sha256, order.job.fingerprint, self.settings)

    def _judge(self, order: Order, state: bool | PixlaneError) -> Flow[Found | None]:
        if state is True:
            return None
        if isinstance(state, Expired):
            return admission.expired(order.deadline_s)
        if isinstance(state, PixlaneError):
            return state
        # It may have ended between the two questions.
        found = yield from self.fetch(order.job.sha256, order.job.fingerprint)
        return found if found is not None else (yield from self.resubmit(order))

    def resubmit(self, order: Order) -> Flow[PixlaneError | None]:
        """Places an order again that left no trace; the error where that is not possible."""
        if order.left_s is not None and order.left_s <= 0:
            return admission.expired(order.deadline_s)
        if order.resubmissions >= MAX_RESUBMISSIONS:
            return JobLost(
                f"the job left neither result nor record {MAX_RESUBMISSIONS} times", limit=MAX_RESUBMISSIONS, key=order.job.key
            )
        self.meter.add("pixlane_evicted_before_fetched_total")
        try:
            source = yield from self.identify(order.given, order.by_path)
        except PixlaneError as error:  # the file is gone by now
            return error
        if source.sha256 != order.job.sha256:
            return SourceChanged(f"{order.given!r} changed while it waited", limit=order.job.sha256, actual=source.sha256)
        yield from self.place(order, source.data)
        order.resubmissions += 1
        return None


def make_order(given: Given, source: Source, recipe: Recipe, queue: str, trace: str | None = None) -> Order:
    return Order(given, source.data is None, Job.of(source.sha256, recipe, source.path, trace), queue)


def check_queue(queue: str) -> None:
    if queue not in QUEUES:
        raise InvalidArgument(f"queue must be one of {', '.join(QUEUES)}, got {queue!r}", actual=str(queue))


def check_sha256(sha256: str) -> str:
    """The hash, if it is one: no other word becomes part of a key."""
    if not isinstance(sha256, str) or not re.fullmatch(r"[0-9a-f]{64}", sha256):
        raise InvalidArgument(f"a source is named by 64 lower-case hex digits, got {sha256!r}", actual=str(sha256))
    return sha256


def _parts(replies: Sequence[Any], size: int) -> list[Sequence[Any]]:
    return [replies[start : start + size] for start in range(0, len(replies), size)]
