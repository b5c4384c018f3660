"""The record of every open job: the truth about what is still owed, whatever became of the messages.

Pure: functions that build the command that runs one of the Lua scripts beside this file, and functions that read its reply.
All times are milliseconds of the server's clock. The order of work replaces atomicity: source, record, message; then result,
record, acknowledgement.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from pixlane.errors import PixlaneError
from pixlane.recipe import PIPELINE_VERSION, Recipe
from pixlane.settings import Settings
from pixlane.store import admission, forms, scripts
from pixlane.store.admission import NO_WISH, Wish
from pixlane.store.connect import Command
from pixlane.store.keys import Keys, job_key
from pixlane.store.results import to_json

NORMALIZE, OBSERVE = "normalize", "observe"
"""The kinds of jobs. A picture that was normalized lies in the store; an observation is handed to those who wait."""

QUEUES = ("interactive", "batch")
"""The one that is served first comes first."""

MAX_CRASHES = 3
"""Deaths of the process while it ran this image, and runs past a limit, before the job is put aside."""

MAX_STARTS = 10
"""Starts for any reason (lost leases, hand-backs) before the job is put aside."""

OUTCOME_TTL_S = 60
"""An error that must not be remembered is kept this long for those who wait now, seconds."""

SWEEP_LIMIT = 500
"""Jobs that one sweep looks at."""

WATERMARK_SLACK_S = 5.0
"""A message counts as lost when others of its queue that were sent this much later have been claimed, seconds."""

WORKER_GONE_S = 600.0
"""A worker that has not swept for this long is struck off the list of workers, seconds."""

MISSED_SWEEPS = 3
"""A worker that missed so many sweeps, and the margin of a lease, counts as dead."""

HOLD_MARGIN_S = 10.0
"""The rest of a chunk is held for its worker for the longest run and so much more, seconds."""

HAND_BACK_DELAY_S = 5.0
"""A job that this worker cannot do is due again after this, seconds."""


@dataclass(frozen=True)
class Job:
    """What there is to do, and where the source is: the message of the queue and the record of the ledger.

    `source` is a path that the worker can read, or None: the bytes wait in the store. `recipe`: of an observation, the question.
    """

    sha256: str
    fingerprint: str
    recipe: dict[str, Any]
    pipeline: str
    source: str | None = None
    kind: str = NORMALIZE
    trace: str | None = field(default=None, compare=False)
    """Where the trace of whoever asked goes on: a W3C traceparent."""

    @classmethod
    def of(cls, sha256: str, recipe: Recipe, source: str | None = None, trace: str | None = None) -> Job:
        return cls(sha256, recipe.fingerprint, _fields_of(recipe), PIPELINE_VERSION, source, trace=trace)

    @property
    def key(self) -> str:
        return job_key(self.sha256, self.fingerprint)

    def to_dict(self) -> dict[str, Any]:
        return {"key": self.key, **vars(self)}  # not asdict: it copies the recipe deeply, for each message

    @classmethod
    def from_dict(cls, record: dict[str, Any]) -> Job:
        """The job; what only a newer pipeline knows is left out. Raises ValueError for any other field, or one of wrong form."""
        forms.check(record, forms.JOB)
        known = {name: record[name] for name in ("sha256", "fingerprint", "recipe", "pipeline")}
        return cls(**known, **{name: record[name] for name in ("source", "kind", "trace") if name in record})


@lru_cache(maxsize=64)
def _fields_of(recipe: Recipe) -> dict[str, Any]:
    """Made once for many jobs, which share it; nobody writes into it."""
    return recipe.to_dict()


@dataclass(frozen=True)
class Message:
    """A job on its way through a queue; `sent_at` in ms of the server's clock."""

    job: Job
    queue: str
    sent_at: int

    def to_dict(self) -> dict[str, Any]:
        return {"sent_at": self.sent_at, "queue": self.queue, **self.job.to_dict()}

    @classmethod
    def from_dict(cls, record: dict[str, Any]) -> Message:
        """The message. Raises ValueError as `Job.from_dict`."""
        forms.check(record, forms.ENVELOPE)
        return cls(Job.from_dict(record), record["queue"], record["sent_at"])


# Producer --------------------------------------------------------------------------------------------------------------


def put_source(keys: Keys, sha256: str, data: bytes, settings: Settings) -> Command:
    """Stores the bytes of a source; `submit` right after it takes the TTL away."""
    return "SET", keys.source(sha256), data, "EX", settings.source_ttl_s


def submit(
    keys: Keys,
    job: Job,
    queue: str,
    settings: Settings,
    halves: tuple[str, str] = ("", ""),
    data: bytes | None = None,
    wish: Wish = NO_WISH,
    *,
    unless_done: bool = False,
) -> Command:
    """Opens a job, within the limits of the queue.

    `halves` of its message: where broker and ledger are one server the message goes with the record. `data`: a small source; a
    larger one goes before, by `put_source`. `unless_done`, where ledger and cache are one server: only without an answer yet.
    """
    sha256, key = job.sha256, job.key
    named = [keys.job(key), keys.open, keys.outcome(key), keys.source(sha256), keys.refs(sha256), keys.forgotten(sha256)]
    named += [keys.waiting(queue), keys.inbox]
    if unless_done:
        named += [kind(sha256, job.fingerprint) for kind in (keys.url, keys.meta, keys.error)]
    given = [key, to_json(job.to_dict()), queue, _ms(settings.resend_after_s), *halves, keys.root]
    given += admission.arguments(wish, settings)
    return scripts.call("submit", named, given if data is None else [*given, data])


def submitted(reply: Sequence[Any], job: Job, queue: str) -> Message | None:
    """The message that must be sent, or None: the job is open and on its way already. Raises QueueFull."""
    if (refused := admission.refusal(reply, queue)) is not None:
        raise refused
    return Message(job, queue, reply[1]) if reply[0] else None


def cancel(keys: Keys, key: str, waiter: str, settings: Settings) -> Command:
    """Gives a job up, for one of those who want it. The reply: gone, wanted, running or ended."""
    return scripts.call("cancel", [keys.job(key)], [key, keys.root, waiter, settings.source_ttl_s])


def look(keys: Keys, key: str) -> list[Command]:
    """Asks what became of a job that has no result yet."""
    return [("EXISTS", keys.job(key)), ("GET", keys.outcome(key))]


LOOK_REPLIES = 2


def looked(replies: Sequence[Any]) -> bool | PixlaneError:
    """True while the job is open; its error if it ended with one that is not remembered; False when there is no trace."""
    found = answered(replies)
    return found if isinstance(found, (bool, PixlaneError)) else False


def answered(replies: Sequence[Any]) -> bool | PixlaneError | dict[str, Any]:
    """The same for a job that may also have ended with an answer for those who wait."""
    is_open, outcome = replies
    if is_open:
        return True
    if outcome is None:
        return False
    record: dict[str, Any] = json.loads(outcome)
    answer: dict[str, Any] | None = record.get("answer")
    return PixlaneError.from_dict(record) if answer is None else answer


def forget(keys: Keys, sha256: str, job_keys: Iterable[str], settings: Settings) -> Command:
    """Ends the jobs of a source and deletes it; a run under way takes back what it stores."""
    named = [keys.refs(sha256), keys.source(sha256), keys.forgotten(sha256), keys.kept(sha256)]
    life_s = int(longest_run_s(OBSERVE, settings) + settings.lease_margin_s) + 1
    return scripts.call("forget", named, [keys.root, life_s, *job_keys])


def longest_run_s(kind: str, settings: Settings) -> float:
    """A run of a job of that kind is ended after this, seconds."""
    return settings.hard_timeout_s + (settings.vision_timeout_s if kind == OBSERVE else 0.0)


# Worker ----------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Claim:
    """`status` is ok, gone (closed already), busy (another run has it), expired or cancelled (ended just now), or spent (a limit
    is reached: give the verdict).

    `source`: the stored bytes, if there are any, with ok.
    """

    status: str
    starts: int
    crashes: int
    source: bytes | None = field(default=None, repr=False)


def claim(
    keys: Keys, message: Message, token: str, settings: Settings, worker: str = "", others: Sequence[Message] = ()
) -> Command:
    """Takes the lease for a run of this worker; the `others` of the same message are held for it until their turn.

    The command may be sent again when its answer was lost: it has a mark of its own.
    """
    key = message.job.key
    lease_ms = _ms(longest_run_s(message.job.kind, settings) + settings.lease_margin_s)
    held_ms = _ms(settings.hard_timeout_s + HOLD_MARGIN_S)
    named = [keys.job(key), keys.open, keys.queues, keys.source(message.job.sha256)]
    call = [worker, patience_ms(settings), uuid.uuid4().hex, held_ms]
    return scripts.call(
        "claim",
        [*named, *(keys.job(other.job.key) for other in others)],
        [
            *(key, token, lease_ms, message.queue, message.sent_at, MAX_STARTS, MAX_CRASHES, *call),
            *(keys.root, settings.source_ttl_s, _EXPIRED, OUTCOME_TTL_S),
            *(other.job.key for other in others),
        ],
    )


def patience_ms(settings: Settings) -> int:
    """A worker that has not swept for so long is dead, or stands still: its jobs go to others."""
    return _ms(MISSED_SWEEPS * settings.sweep_interval_s + settings.lease_margin_s)


def claimed(reply: Sequence[Any]) -> Claim:
    status, starts, crashes, *source = reply
    return Claim(status.decode(), int(starts), int(crashes), source[0] if source else None)


def close(
    keys: Keys,
    job: Job,
    settings: Settings,
    error: PixlaneError | None = None,
    *,
    answer: Mapping[str, Any] | None = None,
    verdict: PixlaneError | None = None,
) -> Command:
    """Ends a job. `error` is one that is not remembered, for those who wait now, and so is `answer`; with a `verdict` the job
    is put aside, and its source kept for a later retry."""
    sha256, key = job.sha256, job.key
    life_s = settings.source_ttl_s if verdict is None else settings.crashed_ttl_s
    outcome = to_json(error.to_dict()) if error is not None else to_json({"answer": answer}) if answer is not None else ""
    return scripts.call(
        "close",
        [keys.job(key), keys.open, keys.forgotten(sha256)],
        [key, keys.root, life_s, outcome, OUTCOME_TTL_S, "" if verdict is None else to_json(verdict.to_dict())],
    )


def was_forgotten(reply: Sequence[int]) -> bool:
    """True when the source was forgotten while it was worked on: what was stored must go."""
    return bool(reply[1])


def release(keys: Keys, key: str, token: str, delay_s: float = 0.0, *, counted: bool = True) -> Command:
    """Gives a job back; an empty token: one that was never claimed by this run. `counted`: the start of the run still counts."""
    return scripts.call("release", [keys.job(key), keys.open], [key, token, _ms(delay_s), int(not counted)])


def crash(keys: Keys, key: str, token: str) -> Command:
    """Charges a death to the job if the run with this token had it; else makes it due."""
    return scripts.call("crash", [keys.job(key), keys.open], [key, token, MAX_CRASHES])


def crashed(reply: Sequence[Any]) -> tuple[str, int]:
    """(retry | verdict | loose | none, number of crashes)."""
    return reply[0].decode(), int(reply[1])


def sweep(
    keys: Keys, worker: str, queues: Sequence[str], up_since_ms: int, settings: Settings, dead: Sequence[str] = ()
) -> Command:
    """Says that this worker is alive, and takes what is overdue, and what the workers had that are known to be `dead`."""
    return scripts.call(
        "sweep",
        [keys.open, keys.queues, keys.workers],
        [
            keys.root,
            SWEEP_LIMIT,
            _ms(settings.resend_after_s),
            _ms(settings.hard_timeout_s),
            _ms(WATERMARK_SLACK_S),
            up_since_ms,
            worker,
            _ms(WORKER_GONE_S),
            patience_ms(settings),
            settings.source_ttl_s,
            _EXPIRED,
            OUTCOME_TTL_S,
            len(queues),
            *queues,
            *dead,
        ],
    )


@dataclass(frozen=True)
class Sweep:
    """`messages` must be sent; `more`: there may be further overdue jobs; `malformed`: keys whose record nobody can read.

    `ended`: key and fate, expired or cancelled, of the jobs that were ended.
    """

    messages: list[Message]
    more: bool
    malformed: list[str]
    ended: list[tuple[str, str]] = field(default_factory=list)


def swept(reply: Sequence[Any]) -> Sweep:
    looked_at, now, *due = reply
    messages, malformed = [], []
    ended = [(key.decode(errors="replace"), fate.decode()) for key, _, _, fate in due if fate]
    for key, queue, job in (entry[:3] for entry in due if not entry[3]):
        try:
            messages.append(Message(Job.from_dict(json.loads(job)), queue.decode(), now))
        except ValueError:
            malformed.append(key.decode(errors="replace"))
    return Sweep(messages, looked_at >= SWEEP_LIMIT, malformed, ended)


_EXPIRED = to_json(admission.expired().to_dict())


def _ms(seconds: float) -> int:
    return round(seconds * 1000)
