"""Who is let into the queue: the limits on what waits already, what is said beyond them, and for how long a job is wanted.

The submit script checks them in the step that opens the record. What is open already is joined, whatever the limits say: it
adds nothing.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from pixlane.errors import Cancelled, Expired, InvalidArgument, QueueFull
from pixlane.settings import Settings

MAX_WAITERS: Final = 64
"""So many of those who want a job are known one by one; one that more have asked for is not cancelled any more."""

MAX_TENANT_CHARS: Final = 128

MAX_DEADLINE_S: Final = 30 * 86_400.0

_SENTENCES: Final = {
    "jobs": "the queue {queue} holds {actual:,} jobs and may hold {limit:,}",
    "tenant": "this tenant has {actual:,} jobs open and may have {limit:,}",
    "bytes": "the sources of the open jobs would have {actual:,} bytes and may have {limit:,}",
    "age": "the oldest job of the queue {queue} has waited for {actual:g} s, more than {limit:g} s",
}


@dataclass(frozen=True)
class Wish:
    """What a producer adds to a job.

    Attributes:
        waiter: names whoever wants it, so that the last one can cancel it; empty: somebody who never will.
        deadline_s: it is not begun later than this, None: whenever its turn comes.
        tenant: who it is for; a hash of the name, or empty.
        entry: the entry of the inbox that it comes from, or empty.
    """

    waiter: str = ""
    deadline_s: float | None = None
    tenant: str = ""
    entry: str = ""


NO_WISH: Final = Wish()


def arguments(wish: Wish, settings: Settings) -> list[Any]:
    """What the submit script wants to know of limits and wishes."""
    limits = [settings.max_queue_jobs, settings.max_queue_bytes, round(settings.max_queue_age_s * 1000)]
    deadline_ms = 0 if wish.deadline_s is None else max(1, round(wish.deadline_s * 1000))
    return [*limits, wish.tenant, settings.max_tenant_jobs, deadline_ms, wish.waiter, MAX_WAITERS, wish.entry]


def refusal(reply: Sequence[Any], queue: str) -> QueueFull | None:
    """The error in the reply of the submit script, if the job was refused."""
    if reply[0] != -1:
        return None
    what, limit, actual = reply[2].decode(), int(reply[3]), int(reply[4])
    if what == "age":
        limit, actual = limit / 1000, actual / 1000  # type: ignore[assignment]
    sentence = _SENTENCES[what].format(queue=queue, limit=limit, actual=actual)
    return QueueFull(sentence, limit=limit, actual=actual, queue=queue, what=what, retry_after_s=int(reply[5]) / 1000)


def tenant_id(name: str) -> str:
    """What stands in the ledger for a tenant: no word of a user becomes part of a key. Raises InvalidArgument."""
    if not name:
        return ""
    if len(name) > MAX_TENANT_CHARS:
        raise InvalidArgument(
            f"the name of a tenant may have {MAX_TENANT_CHARS} characters, this one has {len(name)}",
            limit=MAX_TENANT_CHARS,
            actual=len(name),
        )
    return hashlib.sha256(name.encode(errors="surrogatepass")).hexdigest()[:16]


def check_deadline(deadline_s: float | None) -> None:
    """Raises InvalidArgument."""
    if deadline_s is not None and not 0 < deadline_s <= MAX_DEADLINE_S:
        raise InvalidArgument(
            f"deadline_s must be above 0 and at most {MAX_DEADLINE_S:g}, got {deadline_s!r}",
            limit=MAX_DEADLINE_S,
            actual=deadline_s,
        )


def expired(deadline_s: float | None = None) -> Expired:
    within = "" if deadline_s is None else f" of {deadline_s:g} s"
    return Expired(f"the deadline{within} that the job was submitted with passed before it was done", limit=deadline_s)


def cancelled(key: str) -> Cancelled:
    return Cancelled("the job was cancelled", key=key)
