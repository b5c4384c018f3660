"""What would happen to a message: which images attach, the lane, the gate, the parts. Nothing is sent, no secret is in it.

print(report("what is wrong in ~/shot.png?", "anthropic", "claude-sonnet-4-5", load_config()).to_dict())
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from pixlane import profiles, sizing
from pixlane.messages import wires
from pixlane.messages.capability import Rung
from pixlane.messages.gate import Gate, native_tool_images, wire_of
from pixlane.messages.lane import Explanation, explain
from pixlane.messages.parts import About, Attached, build_parts
from pixlane.messages.refs import REASONS, ImageRefs, extract_image_refs
from pixlane.messages.urls import masked
from pixlane.profiles import Profile


@dataclass(frozen=True)
class PartReport:
    """One part of the message. `kind` is "text", "image" (inline) or "url"; what does not apply is None.

    Attributes:
        characters: of the text, or of the base64 that goes over the wire.
        tokens: by the formula of the profile; None where none is published.
    """

    kind: str
    source: str | None = None
    mime: str | None = None
    byte_count: int | None = None
    characters: int | None = None
    width: int | None = None
    height: int | None = None
    tokens: int | None = None


@dataclass(frozen=True)
class Report:
    """Everything that is decided about a message before it is sent.

    Attributes:
        lane: with every step of the ladder.
        parts: in the text lane there is one, the text; `described` then names the images whose descriptions it gets.
        skipped, notes: of `build_parts`.
    """

    provider: str
    model: str
    wire: str
    profile: str
    refs: ImageRefs
    lane: Explanation
    gate: Gate
    parts: tuple[PartReport, ...]
    described: tuple[PartReport, ...]
    skipped: tuple[About, ...]
    notes: tuple[About, ...]

    def to_dict(self) -> dict[str, Any]:
        ignored = [{"text": masked(one.text), "reason": one.reason, "why": REASONS[one.reason]} for one in self.refs.ignored]
        return {
            "provider": self.provider,
            "model": self.model,
            "wire": self.wire,
            "profile": self.profile,
            "refs": {"paths": list(self.refs.paths), "urls": [masked(url) for url in self.refs.urls], "ignored": ignored},
            **self.lane.to_dict(),
            "gate": self.gate.to_dict(),
            "parts": [asdict(part) for part in self.parts],
            "described": [asdict(part) for part in self.described],
            "skipped": [_about(one) for one in self.skipped],
            "notes": [_about(one) for one in self.notes],
        }


def report(
    text: str,
    provider: str,
    model: str,
    config: Mapping[str, Any] | None = None,
    *,
    wire: str | None = None,
    probes: Sequence[Rung] | None = None,
    offline: bool = False,
) -> Report:
    """The report on a user's message. Arguments as `decide_lane`; raises InvalidArgument for an unknown wire.

    Reads the files that the text names; fetches none of its URLs.
    """
    profile = profiles.resolve(provider, wire, model)
    spoken = wires.get(wire or wire_of(profile))
    lane = explain(provider, model, config, wire=wire, probes=probes, offline=offline)
    gate = native_tool_images(provider, model, config, wire=wire, probes=probes, offline=offline)
    refs = extract_image_refs(text)
    attached = build_parts(text, refs.paths, refs.urls, spoken)
    parts = tuple(_parts(attached, refs, spoken, profile))
    native = lane.decision.native
    kept = parts if native else (PartReport("text", characters=len(text)),)
    described = () if native else tuple(part for part in parts if part.kind != "text")
    return Report(provider, model, spoken.name, profile.name, refs, lane, gate, kept, described, attached.skipped, attached.notes)


def _parts(attached: Attached, refs: ImageRefs, wire: wires.Wire, profile: Profile) -> list[PartReport]:
    absent = {one.source for one in attached.skipped} | {one.source for one in attached.notes if one.code == "same_content"}
    sources = iter([source for source in (*refs.paths, *refs.urls) if source not in absent])
    found: list[PartReport] = []
    for image in wires.walk([attached.message], wire):
        if isinstance(image, wires.TextAt):
            found.append(PartReport("text", characters=len(image.text)))
        elif image.url is not None:
            found.append(PartReport("url", masked(next(sources)), characters=len(image.url)))
        else:
            found.append(_inline(next(sources), image, profile))
    return found


def _inline(source: str, image: wires.ImageAt, profile: Profile) -> PartReport:
    from pixlane.probe import probe

    data = image.decode() or b""
    header = probe(data)
    width, height = header.width, header.height
    tokens = sizing.estimate_tokens(width, height, profile) if width and height else None
    mime, characters = image.mime or header.format.mime, 4 * -(-len(data) // 3)
    return PartReport("image", source, mime, len(data), characters, width, height, tokens)


def _about(one: About) -> dict[str, str]:
    return {"source": masked(one.source), "code": one.code, "text": one.text}
