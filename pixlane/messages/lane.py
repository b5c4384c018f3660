"""The decision: does an image go to the model as pixels (`native`) or as a description (`text`).

decide_lane("anthropic", "claude-sonnet-4-5", {}).lane                   "native"
decide_lane("custom:api.buzzgw.com", "deepseek-v4-flash", {}).reason     "nobody attests that deepseek-v4-flash sees"
print(explain("ollama", "llava", load_config()))                                every step, what it found, and which one decided

The steps stand in `_steps`, in the order in which they are asked; the first that names a lane decides. Unknown is text.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

from pixlane.messages import capability
from pixlane.messages.capability import Rung
from pixlane.messages.config import MODES, Config, coerce_bool, look_up

Lane = Literal["native", "text"]
MODE_KEY, BACKEND_KEY, OVERRIDE_KEY = "agent.image_input_mode", "auxiliary.vision", "supports_vision"


@dataclass(frozen=True)
class Step:
    """One step of the ladder.

    Attributes:
        name: of the configuration key, or of the witness.
        lane: what it decides; None: the next step is asked.
        said: what it found.
    """

    name: str
    lane: Lane | None
    said: str


@dataclass(frozen=True)
class Decision:
    """The lane, why in one sentence, and the steps that were asked, the last of which decided."""

    lane: Lane
    reason: str
    evidence: tuple[Step, ...] = ()

    @property
    def native(self) -> bool:
        return self.lane == "native"

    def to_dict(self) -> dict[str, Any]:
        return {"lane": self.lane, "reason": self.reason, "evidence": [asdict(step) for step in self.evidence]}


@dataclass(frozen=True)
class Explanation:
    """Every step, also those after the one that decided. As text: a table."""

    decision: Decision
    steps: tuple[Step, ...]

    def __str__(self) -> str:
        decided = len(self.decision.evidence) - 1
        lines = [f"{self.decision.lane}: {self.decision.reason}"]
        for place, step in enumerate(self.steps):
            mark = "->" if place == decided and step.lane else "  "
            lines.append(f"{mark} {step.name:<22} {step.lane or '-':<7} {step.said}")
        return "\n".join(lines)

    def to_dict(self) -> dict[str, Any]:
        return {**self.decision.to_dict(), "steps": [asdict(step) for step in self.steps]}


def decide_lane(
    provider: str | None,
    model: str | None,
    config: Mapping[str, Any] | None = None,
    *,
    wire: str | None = None,
    probes: Sequence[Rung] | None = None,
    offline: bool = False,
) -> Decision:
    """The lane of an image on its way to a model.

    Args:
        provider, model: as an agent names them; None or empty: not known.
        config: nested, as `load_config` or a YAML file gives it; None: nothing is configured.
        wire: a name of `wires.NAMES`, where the provider has several.
        probes: the witnesses, in order; None: `capability.ladder(offline=offline)`, which may ask a server for 3 s.
        offline: nothing is asked over the network.
    """
    asked: list[Step] = []
    for step in _steps(provider, model, config or {}, wire, probes, offline):
        asked.append(step)
        if step.lane:
            break
    return _decided(asked, model)


def explain(
    provider: str | None,
    model: str | None,
    config: Mapping[str, Any] | None = None,
    *,
    wire: str | None = None,
    probes: Sequence[Rung] | None = None,
    offline: bool = False,
) -> Explanation:
    """The same with every step asked. Arguments as `decide_lane`."""
    steps = tuple(_steps(provider, model, config or {}, wire, probes, offline))
    until = next((place for place, step in enumerate(steps) if step.lane), len(steps) - 1) + 1
    return Explanation(_decided(list(steps[:until]), model), steps)


def _decided(asked: list[Step], model: str | None) -> Decision:
    last = asked[-1]
    if last.lane:
        return Decision(last.lane, f"{last.name}: {last.said}", tuple(asked))
    return Decision("text", f"nobody attests that {model or 'the model'} sees", tuple(asked))


def name_of(given: object) -> str:
    """A provider or a model by its name; a file of configuration may hold a number there (`model: 4.1`)."""
    return "" if given is None else str(given)


def _steps(
    provider: str | None,
    model: str | None,
    config: Mapping[str, Any],
    wire: str | None,
    probes: Sequence[Rung] | None,
    offline: bool,
) -> Iterator[Step]:
    provider, model = name_of(provider), name_of(model)
    yield _mode(config)
    yield _backend(config)
    yield _override(provider, model, config)
    route = capability.route_of(provider, model, config, wire)
    for rung in capability.ladder(offline=offline) if probes is None else probes:
        sees, said = rung.ask(route) if provider and model else (None, "not asked: provider or model is not known")
        yield Step(rung.name, _lane(sees), said)


# What is configured --------------------------------------------------------------------------------------------------------


def _mode(config: Mapping[str, Any]) -> Step:
    raw = look_up(config, ("agent", "image_input_mode"))
    mode = raw.strip().lower() if isinstance(raw, str) else None
    lanes: dict[str | None, Lane] = {"native": "native", "text": "text"}
    if mode in lanes:
        return Step(MODE_KEY, lanes[mode], f"it is {mode}{_origin(config, MODE_KEY)}")
    if raw is None or mode == "auto":
        return Step(MODE_KEY, None, "it is auto" + (_origin(config, MODE_KEY) if raw is not None else ""))
    return Step(MODE_KEY, None, f"{str(raw)[:40]!r} is none of {', '.join(MODES)}: taken as auto")


def explicit_backend(config: Mapping[str, Any] | None) -> str:
    """What names somebody to describe images ("provider openai, model gpt-4o"), "" where nothing does.

    A provider that is neither empty nor `auto`, or any model, or any base URL.
    """
    backend = look_up(config or {}, ("auxiliary", "vision"))
    if not isinstance(backend, Mapping):
        return ""
    named = {key: str(backend.get(key) or "").strip() for key in ("provider", "model", "base_url")}
    if named["provider"].lower() == "auto":
        named["provider"] = ""
    shown = {**named, "base_url": capability.shown(named["base_url"]) if named["base_url"] else ""}
    return ", ".join(f"{key} {value}" for key, value in shown.items() if value)


def _backend(config: Mapping[str, Any]) -> Step:
    named = explicit_backend(config)
    if named:
        return Step(BACKEND_KEY, "text", f"a backend that describes images is set: {named}")
    return Step(BACKEND_KEY, None, "no backend is set")


def _override(provider: str, model: str, config: Mapping[str, Any]) -> Step:
    ignored = ""
    for key, raw in _overrides(provider, model, config):
        sees = coerce_bool(raw)
        if sees is not None:
            return Step(OVERRIDE_KEY, _lane(sees), f"{key} is {str(sees).lower()}{ignored}")
        if raw is not None:
            ignored += f"; {key} is {str(raw)[:40]!r}, neither true nor false: ignored"
    return Step(OVERRIDE_KEY, None, f"not set{ignored}")


def _overrides(provider: str, model: str, config: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """The values that may say of this model whether it sees, the strongest first."""
    yield "model.supports_vision", look_up(config, ("model", "supports_vision"))
    main = look_up(config, ("model", "provider"))
    names = dict.fromkeys([*capability.names_of(provider), *capability.names_of(main if isinstance(main, str) else "")])
    for name in names if model else ():
        yield (
            f"providers.{name}.models.{model}.supports_vision",
            look_up(config, ("providers", name, "models", model, OVERRIDE_KEY)),
        )
    for name in dict.fromkeys([provider, main if isinstance(main, str) else ""]) if model else ():
        for entry in capability.custom_providers(name, config) if name else ():
            for word in (OVERRIDE_KEY, "vision"):
                yield f"custom_providers {entry.get('name')}: {model}", look_up(entry, ("models", model, word))


def _lane(sees: bool | None) -> Lane | None:
    return None if sees is None else "native" if sees else "text"


def _origin(config: Mapping[str, Any], key: str) -> str:
    """Where a value comes from, as far as the configuration knows."""
    if not isinstance(config, Config):
        return ""
    entry = config.entry(key)
    return f" ({' '.join(filter(None, (entry.origin, entry.where)))})"
