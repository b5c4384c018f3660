"""What is remembered of looking: the reference of every call, and each answer, so that nobody pays for it twice.

`StoreMemory` is for every process that names the same Redis; `LocalMemory` is for one process, where no Redis is named. Both are
bounded: by a number of entries here, by their time to live and the server's memory there. Failures are not remembered.
"""

from __future__ import annotations

import json
import logging
import threading
import time
import uuid
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from functools import cache
from typing import Any, Final, Protocol

from pixlane import settings as knobs
from pixlane.errors import ServiceError
from pixlane.rendition import Note
from pixlane.settings import KIB, Settings
from pixlane.vision.adapter import Deadline
from pixlane.vision.findings import Findings, findings_from, known
from pixlane.vision.observation import GeneratedBy
from pixlane.vision.reference import VisualReference

MAX_ENTRIES: Final = 256
"""Answers and references that one process keeps; the oldest goes."""

MAX_KEPT_BYTES: Final = 256 * KIB
"""A longer answer is given but not remembered."""

LOOK_EVERY_S: Final = 0.1
"""Whoever waits for somebody else's look asks so often."""

MARK_LIFE_S: Final = 3.0
"""Somebody who looks says so again each third of this; whoever died while looking holds the others up for no longer, seconds."""

log = logging.getLogger("pixlane.vision")


@dataclass(frozen=True)
class Seen:
    """What is remembered of an answer: everything that does not belong to one call alone.

    `shown`, `size`: of the picture that was shown, and of the upright source in whose pixels the boxes are told.
    """

    findings: Findings
    generated_by: GeneratedBy
    shown: tuple[int, int]
    size: tuple[int, int]
    notes: tuple[Note, ...] = ()

    def to_json(self) -> str:
        return json.dumps(asdict(self), separators=(",", ":"))

    @classmethod
    def from_json(cls, text: str | bytes) -> Seen:
        record = json.loads(text)
        return cls(
            findings_from(record["findings"]),
            known(GeneratedBy, record["generated_by"]),
            tuple(record["shown"]),
            tuple(record["size"]),
            tuple(known(Note, note) for note in record["notes"]),
        )


class Memory(Protocol):
    """Keys: the SHA-256 of the image, and the fingerprint of question, form, region and model."""

    def record(self, reference: VisualReference) -> None:
        """Remembers a reference. Never raises."""

    def once(self, sha256: str, question: str, look: Callable[[], Seen], deadline: Deadline) -> tuple[Seen, bool, Note | None]:
        """The answer, whether it was there already, and a note where memory failed. One looks while the others wait for it;
        after a failure, which is raised to its caller, the next one looks."""


# One process -------------------------------------------------------------------------------------------------------------


class LocalMemory:
    """Safe between threads.

    Args:
        life_s: of an answer, seconds.
        clock: monotonic seconds.
    """

    def __init__(
        self,
        life_s: float = Settings.observation_ttl_s,
        entry_limit: int = MAX_ENTRIES,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.references: OrderedDict[str, VisualReference] = OrderedDict()
        self._life_s, self._entry_limit, self._clock = life_s, entry_limit, clock
        self._seen: OrderedDict[tuple[str, str], tuple[Seen, float]] = OrderedDict()
        self._turns: dict[tuple[str, str], _Turn] = {}
        self._lock = threading.Lock()

    def record(self, reference: VisualReference) -> None:
        with self._lock:
            _put(self.references, reference.id, reference, self._entry_limit)

    def once(self, sha256: str, question: str, look: Callable[[], Seen], deadline: Deadline) -> tuple[Seen, bool, Note | None]:
        key = sha256, question
        with self._lock:
            turn = self._turns.setdefault(key, _Turn())
            turn.users += 1
        mine = turn.lock.acquire(timeout=max(0.0, deadline.left_s))  # out of time: looks itself, and is told so there
        try:
            with self._lock:
                seen, until = self._seen.get(key, (None, 0.0))
            if seen is not None and self._clock() < until:
                return seen, True, None
            seen = look()
            if len(seen.to_json()) <= MAX_KEPT_BYTES:
                with self._lock:
                    _put(self._seen, key, (seen, self._clock() + self._life_s), self._entry_limit)
            return seen, False, None
        finally:
            if mine:
                turn.lock.release()
            with self._lock:
                turn.users -= 1
                if turn.users == 0:
                    self._turns.pop(key, None)


class _Turn:
    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.users = 0


def _put(entries: OrderedDict[Any, Any], key: Any, value: Any, limit: int) -> None:
    entries[key] = value
    entries.move_to_end(key)
    while len(entries) > limit:
        entries.popitem(last=False)


# Every process -----------------------------------------------------------------------------------------------------------


class StoreMemory:
    """In the cache of the service. A server that does not answer costs the memory, not the observation."""

    def __init__(self, settings: Settings, url: str | None = None) -> None:
        from pixlane.store.keys import Keys
        from pixlane.store.nodes import open_cache
        from pixlane.store.servers import Servers

        self._settings = settings
        self._keys = Keys(settings.key_prefix)
        self._server = open_cache(Servers.of(settings, url).cache, settings.store_timeout_s)

    def record(self, reference: VisualReference) -> None:
        text = json.dumps(reference.to_dict(), separators=(",", ":"))
        with suppress(ServiceError):  # `once`, which comes next, says it
            self._server.run([("SET", self._keys.reference(reference.sha256), text, "EX", self._settings.result_ttl_s)])

    def once(self, sha256: str, question: str, look: Callable[[], Seen], deadline: Deadline) -> tuple[Seen, bool, Note | None]:
        name, mark = self._keys.observation(sha256, question), self._keys.looking(sha256, question)
        token = uuid.uuid4().hex
        try:
            seen = self._wait_for_turn(name, mark, token, deadline)
        except ServiceError as error:
            return look(), False, Note("not_remembered", f"{error.message}; the observation is not remembered")
        if seen is not None:
            return seen, True, None
        try:
            with self._alive(mark):
                seen = look()
        except BaseException:
            self._give_up(mark, token)
            raise
        return seen, False, self._keep(name, mark, token, seen)

    def forget(self, sha256: str) -> None:
        """Deletes what is remembered of a picture. Raises StoreUnavailable."""
        names = [self._keys.reference(sha256)]
        pattern, cursor = self._keys.observation(f"{sha256}", "*"), b"0"
        while True:
            ((cursor, found),) = self._server.run([("SCAN", cursor, "MATCH", pattern, "COUNT", 1000)])
            names += [name.decode() for name in found]
            if cursor == b"0":
                break
        self._server.run([("UNLINK", name) for name in names])

    def _wait_for_turn(self, name: str, mark: str, token: str, deadline: Deadline) -> Seen | None:
        """What is remembered by now, or None: it is this caller's turn to look."""
        life_s = self._settings.observation_ttl_s
        while True:
            # The mark may be evicted, or outlive who set it by a moment: then two look, or one waits, and no answer is wrong.
            set_mark = ("SET", mark, token, "NX", "PX", round(MARK_LIFE_S * 1000))
            found, ours = self._server.run([("GETEX", name, "EX", life_s), set_mark])
            if found is not None and (seen := _understood(found)) is not None:
                if ours:
                    self._give_up(mark, token)
                return seen
            if ours or deadline.left_s <= LOOK_EVERY_S:
                return None
            time.sleep(LOOK_EVERY_S)

    def _keep(self, name: str, mark: str, token: str, seen: Seen) -> Note | None:
        from pixlane.store import scripts

        text = seen.to_json()
        kept = [("SET", name, text, "EX", self._settings.observation_ttl_s)] if len(text) <= MAX_KEPT_BYTES else []
        try:
            self._server.run([*kept, scripts.call("unmark", [mark], [token])])
        except ServiceError as error:
            return Note("not_remembered", f"{error.message}; the observation is not remembered")
        return None

    @contextmanager
    def _alive(self, mark: str) -> Iterator[None]:
        """Says all the while that somebody is looking."""
        over = threading.Event()

        def live() -> None:
            while not over.wait(MARK_LIFE_S / 3):
                with suppress(ServiceError):  # the mark ends, and others look too
                    self._server.run([("PEXPIRE", mark, round(MARK_LIFE_S * 1000))])

        thread = threading.Thread(target=live, name="pixlane-looking", daemon=True)
        thread.start()
        try:
            yield
        finally:
            over.set()
            thread.join()

    def _give_up(self, mark: str, token: str) -> None:
        from pixlane.store import scripts

        with suppress(ServiceError):  # it ends with its time to live
            self._server.run([scripts.call("unmark", [mark], [token])])


def _understood(record: bytes) -> Seen | None:
    """What a record says; None for one of another form, which the next answer replaces."""
    try:
        return Seen.from_json(record)
    except (ValueError, TypeError, LookupError, AttributeError, RecursionError) as error:
        log.warning("a remembered observation is not understood and is made anew: %s", type(error).__name__)
        return None


def usual(settings: Settings) -> Memory:
    """The store that the settings name, else the memory of this process."""
    return _store(settings) if settings.redis_url or settings.cache_url else _local()


@cache
def _local() -> LocalMemory:
    return LocalMemory(knobs.current().observation_ttl_s)


@cache
def _store(settings: Settings) -> StoreMemory:
    return StoreMemory(settings)
