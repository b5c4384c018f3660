"""Send-layer repair: a history made acceptable before it is sent, so that no bad image spoils the others or a next turn."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from pixlane import profiles
from pixlane.messages import claims, gate, inspection, request_limits, wires
from pixlane.messages.changes import Change
from pixlane.messages.describing import Describe
from pixlane.messages.history import History
from pixlane.messages.pictures import Memory, Pictures
from pixlane.messages.sentences import DEFAULT, Sentences
from pixlane.messages.wires import Path, Wire
from pixlane.profiles import Profile

if TYPE_CHECKING:
    from pixlane.client import Client


@dataclass(frozen=True)
class Repaired:
    """The messages to send, and what was done to make them acceptable; without changes they are equal to those that came in."""

    messages: list[Any] = field(repr=False)
    changes: tuple[Change, ...] = ()


def repair(
    messages: Sequence[Any],
    profile: Profile | str,
    wire: str | Wire,
    describe: Describe | None = None,
    *,
    required: Collection[Path] = (),
    client: Client | None = None,
    memory: Memory | None = None,
    sentences: Sentences = DEFAULT,
) -> Repaired:
    """The messages as this receiver takes them. The input is untouched, the order stays, a second run changes nothing.

    An image that the receiver takes stays as it is, byte for byte; the same content is sent once. Types are put right, formats
    that are not accepted are encoded anew, limits are met with as many pixels as they allow, and what cannot be saved becomes a
    short placeholder that says what it was. Images in tool results move behind them where the receiver drops them there.

    Args:
        messages: of the wire's shape.
        profile: the receiver's limits, or the name of its profile.
        wire: a name of `wires.NAMES`.
        describe: bytes to words, for images whose pixels cannot go.
        required: paths of images that are the last to give way; those of the user's last message are so without being named.
        client: new encodings come from its cache and workers; None: in this process.
        memory: keeps proofs and encodings from one turn to the next; without it each run decodes every image again.
        sentences: what the model reads.

    Raises InvalidArgument and UnknownProfile; for what is in the messages only where no JSON can be written of it.
    """
    limits = profiles.get(profile) if isinstance(profile, str) else profile
    pictures = Pictures(memory, client)
    history = History(messages, limits, wires.get(wire), describe, frozenset(required), sentences, pictures)
    for step in STEPS:
        step(history)
    return Repaired(history.assembled(), tuple(history.changes))


def place(history: History) -> None:
    """Images in tool results that the receiver drops there move behind the results, or give way to words."""
    carried = gate.said_of(history.profile, history.wire)
    if carried is None:
        carried = history.wire.tool_images  # unknown there too: moved, which is right for every receiver
    if carried:
        return
    inside = [item for item in history.items if item.at.in_tool_result]
    history.plain |= {item.at.message_index for item in inside}  # who takes no image there may take no list either
    inside = [item for item in inside if item.shown]
    beside = history.wire.tool_results_in_user or history.wire.user_after_tool
    history.describe_ahead([item for item in inside if item.at.alone or not beside])
    for item in inside:
        if item.at.alone or not beside:
            history.give_way(item, f"{history.profile.name} shows no images of tool results to the model")
        else:
            item.moved = True
            history.note("moved", item, f"{history.profile.name} drops images in tool results")


STEPS = (
    inspection.inspect,
    request_limits.count,
    request_limits.shrink_many,
    request_limits.weigh,
    place,
    claims.correct_references,
    claims.correct,
)
