"""The steps of a flow, and how it goes from one to the next.

A flow is a generator that yields what is to be done next (ask a server, send messages, wait) and receives the answer. `Client`
and `AsyncClient` differ only in how they carry out a step.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeVar

from pixlane.errors import PixlaneError
from pixlane.rendition import Rendition
from pixlane.store.connect import Command
from pixlane.store.ledger import Message

Role = Literal["ledger", "cache"]


@dataclass(frozen=True)
class Ask:
    """Send commands to a role; the answer is the list of replies."""

    role: Role
    commands: Sequence[Command]
    atomic: bool = False


@dataclass(frozen=True)
class Publish:
    """Send jobs to a broker that is not on the server of the ledger: one message for each group."""

    groups: Sequence[Sequence[Message]]


@dataclass(frozen=True)
class Fetch:
    """Bring the bytes behind a URL; the answer is them."""

    url: str


@dataclass(frozen=True)
class Watch:
    """Be woken when these jobs end; `on=False`: no longer."""

    keys: Sequence[str]
    on: bool = True


@dataclass(frozen=True)
class Pause:
    """Wait; the answer is the set of watched jobs that ended, which ends the wait early. 0 s: let others run."""

    seconds: float


@dataclass(frozen=True)
class Give:
    """Hand an item to the caller of `map`."""

    item: tuple[Any, Rendition | PixlaneError]


Step = Ask | Publish | Fetch | Watch | Pause | Give
T = TypeVar("T")
Flow = Generator[Step, Any, T]
Found = Rendition | PixlaneError


@dataclass(frozen=True)
class End:
    """The flow is over; what it returned."""

    value: Any


@dataclass(frozen=True)
class Failure:
    """The answer to a step that failed: the error is raised inside the flow."""

    error: PixlaneError


def advance(flow: Flow[Any], answer: Any) -> Step | End:
    """The next step of a flow, given the answer to the one before; None begins it."""
    try:
        return flow.throw(answer.error) if isinstance(answer, Failure) else flow.send(answer)
    except StopIteration as end:
        return End(end.value)


def rendition_or_raise(found: Found) -> Rendition:
    """What a waiter is given: the rendition, or the error raised."""
    if isinstance(found, PixlaneError):
        raise found
    return found


def only_rendition(found: Found | None) -> Rendition | None:
    """What a fetch is given: the rendition, or None for whatever else the store knows."""
    return found if isinstance(found, Rendition) else None
