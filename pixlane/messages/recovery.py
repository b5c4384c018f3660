"""Reactive recovery: a request that was refused because of its images becomes one that can be sent.

    fault = classify_error(status, body, provider)
    recovery = recover(messages, fault, "anthropic", "anthropic")

`with_recovery` does the whole loop.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from pixlane import profiles
from pixlane.messages import claims, cures, suspects, wires
from pixlane.messages.changes import Change
from pixlane.messages.describing import Describe
from pixlane.messages.faults import ImageFault
from pixlane.messages.history import History, Item
from pixlane.messages.pictures import Memory, Pictures, sha256_of
from pixlane.messages.sentences import DEFAULT, Sentences
from pixlane.messages.suspects import Suspects, Tried
from pixlane.messages.wires import Wire
from pixlane.profiles import Profile

if TYPE_CHECKING:
    from pixlane.client import Client

AT_ONCE = ("no_vision", "tool_images")  # smaller pixels are pixels still


@dataclass(frozen=True)
class Recovery:
    """The messages to send next.

    Attributes:
        messages: what came in is untouched; without changes they are equal to it.
        changes: what was done.
        retry: whether it is worth sending them; False: nothing could be done about the fault.
        tried: (SHA-256, kind) of the images that have had their one attempt; what `recover` reads of `after`.
        guessed: (SHA-256 or URL, kind) of those that were touched without evidence against them; read likewise.
    """

    messages: list[Any] = field(repr=False)
    changes: tuple[Change, ...] = ()
    retry: bool = False
    tried: Tried = frozenset()
    guessed: Tried = frozenset()


def recover(
    messages: Sequence[Any],
    fault: ImageFault,
    profile: Profile | str,
    wire: str | Wire,
    describe: Describe | None = None,
    *,
    after: Recovery | None = None,
    client: Client | None = None,
    memory: Memory | None = None,
    sentences: Sentences = DEFAULT,
) -> Recovery:
    """The messages after a refusal. Only images that the fault is about are touched, and no other part.

    An image has one attempt: it is shrunk below the limit that was named (four halvings at most, no side under 64 px, JPEG
    qualities first), relabelled or encoded anew. Refused again, it gives way to `describe(image)` or to a placeholder with the
    reason: of several images that the evidence is against, those in tool results first, the user's if that was not it. Where the
    model does not see, or tool results carry no images, pixels give way at once.

    An image that the fault names by its place, its size or its URL is the only one that is touched; else those that are over the
    limit, of another type, or broken. Without evidence those of the newest turn are meant, and there may be one bad image among
    them: so that it costs no third refusal, they have their attempt together and give way together, and a URL, for which there
    is no attempt, gives way at once. Refused even then, all images are meant: the turns before were never taken.

    Args:
        messages: of the wire's shape; untouched.
        fault: from `classify_error`.
        profile: the receiver's limits, or the name of its profile.
        wire: a name of `wires.NAMES`.
        describe: bytes to words.
        after: the recovery whose messages were refused again; None: the first refusal.
        client, memory, sentences: as in `repair`.

    Raises InvalidArgument and UnknownProfile; for what is in the messages only where no JSON can be written of it.
    """
    limits = profiles.get(profile) if isinstance(profile, str) else profile
    pictures = Pictures(memory, client)
    history = History(messages, limits, wires.get(wire), describe, frozenset(), sentences, pictures)
    for item in history.items:
        _load(item)
    before = after if after is not None else Recovery([])
    tried, guessed = _treat(history, fault, before)
    claims.correct_references(history)
    claims.correct(history)
    if fault.kind == "tool_images":
        _want_strings(history)
    recovered = history.assembled() if history.changes else list(messages)
    return Recovery(
        recovered, tuple(history.changes), recovered != list(messages), before.tried | tried, before.guessed | guessed
    )


def _load(item: Item) -> None:
    data = item.at.decode()
    if data is not None:
        item.source, item.sha256 = data, sha256_of(data)


def _treat(history: History, fault: ImageFault, before: Recovery) -> tuple[Tried, Tried]:
    """Changes what the fault is about; the images that had their attempt now, and those that were touched on a guess."""
    if fault.kind == "count":
        cures.keep_newest(history, fault)
        return frozenset(), frozenset()
    found = suspects.find(history, fault, before.tried, before.guessed)
    guessed = frozenset() if found.evidence else _marks(found.items, fault)
    had = {sha256 for sha256, kind in before.tried if found.evidence or kind == fault.kind}
    untried = [item for item in found.items if (item.source or fault.field is not None) and item.sha256 not in had]
    if fault.kind not in AT_ONCE and untried and not (fault.basis == "request" and had):
        if fault.basis == "request":
            cures.lighten(history, fault)
        else:
            for item in untried:
                cures.attempt(history, item, fault)
            if not found.evidence:
                cures.give_way(history, [item for item in found.items if not item.source], fault)
        if history.changes:
            tried = frozenset((sha256_of(item.data or item.source), fault.kind) for item in untried if item.shown)
            return tried, guessed | (frozenset() if found.evidence else tried)
    _strip(history, fault, found)
    return frozenset(), guessed


def _marks(items: Sequence[Item], fault: ImageFault) -> Tried:
    return frozenset((item.sha256 or item.at.url or "", fault.kind) for item in items)


def _strip(history: History, fault: ImageFault, found: Suspects) -> None:
    """Words in place of pixels. Images that each were at fault may cost a refusal each: those of tool results go first."""
    in_results = [item for item in found.items if item.at.in_tool_result]
    cures.give_way(history, (in_results if found.in_turn else []) or found.items, fault)


def _want_strings(history: History) -> None:
    """Messages that are texts alone become one string: a list is refused even without an image."""
    touched = {int(change.path[0]) for change in history.changes}
    history.plain |= touched
    for index, message in enumerate(history.messages):
        in_tool = isinstance(message, Mapping) and history.wire.is_tool_message(message)
        if in_tool and index not in touched and history.wire.as_string(message) is not message:
            history.plain.add(index)
            history.changes.append(Change("respelled", (index,), "its texts became one string"))
