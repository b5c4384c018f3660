"""Sending with recovery: what a provider refuses because of its images is sent again as it can be taken.

answer = with_recovery(lambda messages: client.messages.create(..., messages=messages), history, "anthropic", "anthropic")
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Mapping, MutableSequence, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Generic, TypeVar, overload

from pixlane.messages import refusals, wires
from pixlane.messages.changes import Change
from pixlane.messages.describing import Describe
from pixlane.messages.faults import SHOWN_CHARS, ImageFault, classify_error
from pixlane.messages.pictures import Memory
from pixlane.messages.recovery import Recovery, recover
from pixlane.messages.sentences import DEFAULT, Sentences
from pixlane.messages.wires import Wire
from pixlane.profiles import Profile

if TYPE_CHECKING:
    from pixlane.client import Client

T = TypeVar("T")


@dataclass(frozen=True)
class Answer(Generic[T]):
    """What the provider answered.

    Attributes:
        response: what `send` returned.
        messages: what was sent in the end.
        changes: what was done to make it acceptable, in order.
        refused: the faults of the requests that were refused on the way.
    """

    response: T
    messages: list[Any] = field(repr=False)
    changes: tuple[Change, ...] = ()
    refused: tuple[ImageFault, ...] = ()


@overload
def with_recovery(  # type: ignore[overload-overlap]
    send: Callable[[list[Any]], Awaitable[T]],
    messages: Sequence[Any],
    profile: Profile | str,
    wire: str | Wire,
    describe: Describe | None = None,
    *,
    provider: str | None = None,
    client: Client | None = None,
    memory: Memory | None = None,
    sentences: Sentences = DEFAULT,
) -> Awaitable[Answer[T]]: ...


@overload
def with_recovery(
    send: Callable[[list[Any]], T],
    messages: Sequence[Any],
    profile: Profile | str,
    wire: str | Wire,
    describe: Describe | None = None,
    *,
    provider: str | None = None,
    client: Client | None = None,
    memory: Memory | None = None,
    sentences: Sentences = DEFAULT,
) -> Answer[T]: ...


def with_recovery(
    send: Callable[[list[Any]], Any],
    messages: Sequence[Any],
    profile: Profile | str,
    wire: str | Wire,
    describe: Describe | None = None,
    *,
    provider: str | None = None,
    client: Client | None = None,
    memory: Memory | None = None,
    sentences: Sentences = DEFAULT,
) -> Any:
    """Sends, and sends again what `recover` makes of it, as long as a refusal is about images and something can be done.

    What was accepted in the end is written back to `messages` where that is a list, message by message: the next turn begins
    with it, and a bad image is refused twice at most in its life. Where an error ends it that is not about images, what was
    recovered until then is written back too. Where nothing helps, the provider's last error is raised and `messages` stay as
    they were.

    Args:
        send: takes the messages and raises what the SDK raises on a refusal. May return an awaitable; then this returns one.
        messages: the history.
        provider: who is asked, for `classify_error`; None: the name of the profile.
        profile, wire, describe, client, memory, sentences: as in `recover`. Pictures are worked on outside of the event loop.

    Raises what `send` raised.
    """
    name = provider if provider is not None else profile if isinstance(profile, str) else profile.name
    options = {"client": client, "memory": memory if memory is not None else Memory(), "sentences": sentences}

    def again(sent: list[Any], fault: ImageFault, after: Recovery | None) -> Recovery:
        return recover(sent, fault, profile, wire, describe, after=after, **options)  # type: ignore[arg-type]

    course = _Course(messages, name, again, wires.get(wire))
    while True:
        try:
            response = send(course.messages)
        except Exception as error:
            if not course.refused(error):
                raise
            continue
        if inspect.isawaitable(response):
            return _later(send, course, response)
        if not course.refused_in(response):
            return course.answer(response)


async def _later(send: Callable[[list[Any]], Any], course: _Course, response: Any) -> Answer[Any]:
    while True:
        try:
            answered = await response
        except Exception as error:
            if not await asyncio.to_thread(course.refused, error):
                raise
        else:
            if not await asyncio.to_thread(course.refused_in, answered):
                return course.answer(answered)
        response = send(course.messages)


class _Course:
    """One turn: what is sent next, and what happened so far."""

    def __init__(
        self,
        given: Sequence[Any],
        provider: str,
        again: Callable[[list[Any], ImageFault, Recovery | None], Recovery],
        wire: Wire,
    ) -> None:
        self.given = given
        self.start = list(given)
        self.messages = list(given)
        self.provider = provider
        self.again = again
        self.wire = wire
        self.most = 2 * len(wires.images(self.start, wire)) + 2  # refusals; each image is refused twice at most
        self.faults: list[ImageFault] = []
        self.changes: list[Change] = []
        self.last: Recovery | None = None

    def refused(self, error: Exception) -> bool:
        """Whether the error was a refusal that something can be done about; then `messages` are what to send."""
        status, body = refusals.of_exception(error)
        fault = classify_error(status, body, self.provider) or self._unsent(status, error)
        if fault is None:
            self._write_back()
        return fault is not None and self._recovered(fault)

    def _unsent(self, status: int | None, error: Exception) -> ImageFault | None:
        """The fault of an image whose base64 is broken, on which an SDK stumbled before it sent anything."""
        if status is not None or not isinstance(error, (ValueError, TypeError)):
            return None
        broken = any(image.data is not None and image.decode() is None for image in wires.images(self.messages, self.wire))
        return ImageFault("undecodable", str(error)[:SHOWN_CHARS], "sdk") if broken else None

    def refused_in(self, response: Any) -> bool:
        """The same for a refusal that came as a success, with an error in its body."""
        if not isinstance(response, Mapping) or not response.get("error"):
            return False
        fault = classify_error(200, response, self.provider)
        return fault is not None and self._recovered(fault)

    def answer(self, response: T) -> Answer[T]:
        self._write_back()
        return Answer(response, self.messages, tuple(self.changes), tuple(self.faults))

    def _recovered(self, fault: ImageFault) -> bool:
        self.faults.append(fault)
        if len(self.faults) > self.most:
            return False
        recovery = self.again(self.messages, fault, self.last)
        if recovery.retry:
            self.last, self.messages = recovery, recovery.messages
            self.changes += recovery.changes
        return recovery.retry

    def _write_back(self) -> None:
        if not isinstance(self.given, MutableSequence):
            return
        for index, (before, now) in enumerate(zip(self.start, self.messages, strict=True)):
            if now is not before and index < len(self.given) and self.given[index] is before:
                self.given[index] = now
