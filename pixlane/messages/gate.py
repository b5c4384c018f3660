"""The gate: can an image that a tool returns reach the model as pixels. One predicate for every tool, whatever made the image.

native_tool_images("anthropic", "claude-sonnet-4-5", {}).open                                True
native_tool_images("openai", "gpt-4o", {}).reason           "profile openai_chat: images in tool results are lost"
native_tool_images("openai", "gpt-4o", {}, wire="openai_responses").open                     True
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pixlane import profiles
from pixlane.messages import wires
from pixlane.messages.capability import Rung
from pixlane.messages.lane import Decision, decide_lane, name_of
from pixlane.messages.wires import Wire
from pixlane.profiles import Profile

WIRES: dict[str, str] = {
    "anthropic": "anthropic",
    "anthropic_highres": "anthropic",
    "vertex_claude": "anthropic",
    "bedrock_claude": "bedrock",
    "bedrock_converse": "bedrock",
    "gemini_3": "gemini",
    "gemini_2_5": "gemini",
    "vertex_gemini": "gemini",
    "mistral": "mistral",
    "openai_responses": "openai_responses",
    "azure_foundry_responses": "openai_responses",
}
"""The wire of a profile; the others speak `openai_chat`."""

TRANSLATED: frozenset[str] = frozenset(("langchain", "litellm", "mcp", "vercel"))
"""Wires of frameworks, which write the provider's own."""

LOST: frozenset[tuple[str, str]] = frozenset((("vercel", "xai"),))
"""(wire, profile) whose converter turns a tool's image into text. Source: vercel/ai@ed857f5, convert-to-xai-chat-messages."""


@dataclass(frozen=True)
class Gate:
    """Open: both the lane is native and the route carries images in tool results.

    Attributes:
        reason: one sentence, of the condition that closes it, or of what carries the images.
        decision: that of the lane.
    """

    open: bool
    reason: str
    decision: Decision

    def __bool__(self) -> bool:
        return self.open

    def to_dict(self) -> dict[str, Any]:
        return {"open": self.open, "reason": self.reason}


def native_tool_images(
    provider: str | None,
    model: str | None,
    config: Mapping[str, Any] | None = None,
    *,
    wire: str | None = None,
    probes: Sequence[Rung] | None = None,
    offline: bool = False,
) -> Gate:
    """Whether pixels in a tool result reach the model. Arguments as `decide_lane`; raises InvalidArgument for an unknown wire.

    Without a wire, the provider's most restrictive one is meant: OpenAI is Chat Completions, which loses them.
    """
    decision = decide_lane(provider, model, config, wire=wire, probes=probes, offline=offline)
    carries, why = carries_tool_images(provider, model, wire)
    if not decision.native:
        return Gate(False, f"the lane is text ({decision.reason})", decision)
    return Gate(carries, why, decision)


def carries_tool_images(provider: str | None, model: str | None, wire: str | None = None) -> tuple[bool, str]:
    """Whether a route has a place for images in tool results that reach the model, and the reason.

    A provider's profile goes over the schema of the wire: it may veto, or be known to take what the schema does not name. What
    nobody has confirmed is closed.
    """
    profile = profiles.resolve(name_of(provider), wire, name_of(model))
    spoken = wires.get(wire) if wire else None
    if spoken and (spoken.name, profile.name.partition("/")[0]) in LOST:
        return False, f"wire {spoken.name} turns images in tool results into text for {profile.name}"
    known = None if profile.name == "safe" else said_of(profile, spoken)
    if known is not None:
        said = "reach the model" if known else "are refused or lost"
        return known, f"profile {profile.name}: images in tool results {said}"
    silent = f"profile {profile.name} does not say" + (" of this wire" if profile.tool_result_images else "")
    unknown = "no profile names this provider" if profile.name == "safe" else silent
    if spoken is None:
        return False, f"{unknown} whether images in tool results reach the model, and no wire is given"
    if spoken.tool_images:
        return True, f"{unknown}, but wire {spoken.name} carries images in tool results"
    lost = "has no place for images in tool results" if spoken.tool_images is False else "does not say either"
    return False, f"{unknown}, and wire {spoken.name} {lost}"


def said_of(profile: Profile, wire: Wire | None) -> bool | None:
    """Whether the profile says that images in tool results reach the model on this wire; None where it says nothing of it.

    A profile speaks of its provider's own API. On another one, which has no place for them, nobody has seen them arrive.
    """
    own = wire is None or wire.name in TRANSLATED or wire.name == wire_of(profile) or wire.tool_images
    return profile.tool_result_images if own or profile.tool_result_images is False else None


def wire_of(profile: Profile) -> str:
    """The wire that a provider speaks where none is given."""
    return WIRES.get(profile.name.partition("/")[0], "openai_chat")
