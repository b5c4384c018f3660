"""Many sources through the queue: a bounded number under way, results as they finish, errors as values.

The memory is constant for an iterator of any length: only what is under way is kept. Content that comes twice is done once: while
the first is under way the second joins it, afterwards it is found in the store.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from pixlane.errors import PixlaneError, QueueFull, ServiceError
from pixlane.flows import OUTAGES, Flows, Order, Patience, check_queue, make_order
from pixlane.recipe import Recipe
from pixlane.rendition import Rendition
from pixlane.settings import MIB
from pixlane.sources import Given, Source, told
from pixlane.steps import Flow, Found, Give, Pause, Watch
from pixlane.store.ledger import Message

IN_FLIGHT: Final = 192
"""Jobs under way at once."""

GROUP_IMAGES: Final = 48
GROUP_BYTES: Final = 8 * MIB
"""Sources that are looked up and submitted in one round trip: that many, or as many as make up so many bytes."""

CHUNK_MS: Final = 250.0
CHUNK_IMAGES: Final = 32
SMALL_MS: Final = 60.0
"""An image whose expected work is at most SMALL_MS shares a message with others, up to CHUNK_MS and CHUNK_IMAGES."""

BASE_MS: Final = 3.0
MS_PER_MEGAPIXEL: Final = 25.0
"""Expected work: a PNG screenshot of 2 MP takes about 55 ms, a JPEG half of that."""

SURVEY_IMAGES: Final = 16
"""Jobs that are looked at in one round trip; their results come with it."""

FIRST_POLL_S: Final = 0.5
LAST_POLL_S: Final = 2.0
"""A job under way is looked at though nothing woke us, each time after twice as long, seconds."""

RETRY_PAUSE_S: Final = 0.2


@dataclass
class _Pending:
    """A job under way, and all that the caller named with this content."""

    order: Order
    names: list[Given]
    interval: float = FIRST_POLL_S
    look_at: float = field(default_factory=lambda: time.monotonic() + FIRST_POLL_S)


@dataclass
class _Entry:
    name: Given
    order: Order
    source: Source


@dataclass
class Mapping:
    """One run of `map`.

    A store that cannot be reached in the first place is raised; a later outage is borne for a while, then every source under
    way ends in that error and the run goes on.
    """

    flows: Flows
    given: Iterable[Given]
    recipe: Recipe
    queue: str
    by_path: Callable[[Given], bool]
    in_flight: int = IN_FLIGHT
    on_full: Callable[[QueueFull], None] | None = None
    pending: dict[str, _Pending] = field(default_factory=dict)
    patience: Patience = field(default_factory=Patience)
    reached: bool = False

    def run(self) -> Flow[None]:
        check_queue(self.queue)
        names = iter(self.given)
        # Not one by one as they finish: small images share round trips and messages only when they come in together.
        refill = max(1, min(GROUP_IMAGES, self.in_flight // 2))
        more = True
        while more or self.pending:
            if more and self._room >= refill:
                more = yield from self._take_in(names, min(self._room, GROUP_IMAGES))
            if self.pending:
                yield from self._look(wait=not more or self._room < refill)

    @property
    def _room(self) -> int:
        return self.in_flight - len(self.pending)

    def _take_in(self, names: Iterator[Given], most: int) -> Flow[bool]:
        """A group from the iterator to the store. False when the iterator is at its end."""
        group: list[_Entry] = []
        byte_count, more = 0, True
        while len(group) < most and byte_count < GROUP_BYTES:
            try:
                given = next(names)
            except StopIteration:
                more = False
                break
            try:
                source = yield from self.flows.identify(given, self.by_path(given))
            except PixlaneError as error:
                yield Give((given, error))
                continue
            group.append(_Entry(given, make_order(given, source, self.recipe, self.queue, self.flows.tracer.here()), source))
            byte_count += len(source.data or b"")
        while group:
            try:
                yield from self._submit(group)
                self._reach()
            except QueueFull as error:
                yield from self._back_off(error)
            except OUTAGES as error:
                if self._is_given_up(error):
                    for entry in group:
                        yield Give((entry.name, error))
                    break
                yield Pause(RETRY_PAUSE_S)
        return more

    def _submit(self, group: list[_Entry]) -> Flow[None]:
        """Hits to the caller, the rest into ledger and queue. What is settled leaves the group, so that a retry goes on."""
        stored = yield from self.flows.fetch_many([entry.order for entry in group])
        missed: dict[str, list[_Entry]] = {}
        for entry, found in zip(tuple(group), stored, strict=True):
            key = entry.order.job.key
            if found is not None:
                group.remove(entry)
                yield Give((entry.name, told(entry.name, found)))
            elif key in self.pending:
                group.remove(entry)
                self.pending[key].names.append(entry.name)
            else:
                missed.setdefault(key, []).append(entry)
        if not missed:
            return
        firsts = [entries[0] for entries in missed.values()]
        sent = yield from self.flows.record([(entry.order, entry.source.data) for entry in firsts])
        group.clear()
        messages: list[tuple[Message, float]] = []
        full: QueueFull | None = None
        for entry, message in zip(firsts, sent, strict=True):
            key = entry.order.job.key
            if isinstance(message, QueueFull):
                full = message
                group += missed[key]
                continue
            self.pending[key] = _Pending(entry.order, [same.name for same in missed[key]])
            if message is not None:
                messages.append((message, expected_ms(entry.source)))
        yield Watch([entry.order.job.key for entry in firsts if entry.order.job.key in self.pending])
        yield from self.flows.publish(list(chunks(messages)))
        if full is not None:
            raise full

    def _back_off(self, error: QueueFull) -> Flow[None]:
        """Waits until there may be room, and sees to what is under way meanwhile."""
        self._reach()
        if self.on_full is not None:
            self.on_full(error)
        ends = time.monotonic() + error.retry_after_s
        while (left_s := ends - time.monotonic()) > 0:
            if self.pending:
                yield from self._look(wait=True, most_s=left_s)
            else:
                yield Pause(left_s)

    def _look(self, wait: bool, most_s: float = math.inf) -> Flow[None]:
        """Looks at the jobs that ended, and at those that were not looked at for long."""
        first = min(job.look_at for job in self.pending.values())
        woken = yield Pause(min(most_s, max(0.0, first - time.monotonic())) if wait else 0)
        for key in woken or ():
            if key in self.pending:
                self.pending[key].look_at = 0.0
        now = time.monotonic()
        due = sorted((job for job in self.pending.values() if job.look_at <= now), key=lambda job: job.look_at)
        for start in range(0, len(due), SURVEY_IMAGES):
            part = due[start : start + SURVEY_IMAGES]
            try:
                answers: Sequence[Found | None] = yield from self.flows.survey([job.order for job in part])
                self._reach()
            except QueueFull:  # one that left no trace finds no room just now; it is looked at again
                return
            except OUTAGES as error:
                if not self._is_given_up(error):
                    yield Pause(RETRY_PAUSE_S)
                    return
                part, answers = list(self.pending.values()), [error] * len(self.pending)
            for job, found in zip(part, answers, strict=True):
                if found is not None:
                    yield from self._finish(job, found)
                else:
                    job.interval = min(2 * job.interval, LAST_POLL_S)
                    job.look_at = time.monotonic() + job.interval
            if not self.pending:
                return

    def _finish(self, job: _Pending, found: Found) -> Flow[None]:
        key = job.order.job.key
        del self.pending[key]
        yield Watch([key], on=False)
        first, *others = job.names
        yield Give((first, told(first, found)))
        again = replace(found, cached=True) if isinstance(found, Rendition) else found
        for name in others:
            yield Give((name, told(name, again)))

    def _reach(self) -> None:
        self.reached, self.patience.since = True, None

    def _is_given_up(self, error: ServiceError) -> bool:
        if not self.reached:
            raise error
        try:
            self.patience.bear(error)
        except OUTAGES:
            return True
        return False


def chunks(messages: Iterable[tuple[Message, float]]) -> Iterator[list[Message]]:
    """Packs jobs into messages by their expected work, ms: what is small shares one."""
    chunk: list[Message] = []
    chunk_ms = 0.0
    for message, work_ms in messages:
        if work_ms > SMALL_MS:
            yield [message]
            continue
        if chunk and (chunk_ms + work_ms > CHUNK_MS or len(chunk) >= CHUNK_IMAGES):
            yield chunk
            chunk, chunk_ms = [], 0.0
        chunk.append(message)
        chunk_ms += work_ms
    if chunk:
        yield chunk


def expected_ms(source: Source) -> float:
    """Roughly what one core needs for it, from the size in its header; a picture whose header does not say goes alone."""
    from pixlane.probe import probe

    header = probe(source.head)
    if header.width is None or header.height is None:
        return math.inf
    return BASE_MS + MS_PER_MEGAPIXEL * header.width * header.height / 1e6
