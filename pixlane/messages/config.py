"""An agent's configuration: nested values whose origin is known: argument, environment, file, default; in this order.

config = load_config({"agent.image_input_mode": "native"}, path="agent.yaml")
config["agent"]["image_input_mode"]             a mapping like any other
config.entry("vision.embed_target_bytes")       Entry(key, value=262144, origin="default", where="")

Everything that takes a `config` also takes a plain nested mapping, as a YAML file holds it.
"""

from __future__ import annotations

import dataclasses
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Any, Literal

from pixlane import settings
from pixlane.errors import InvalidArgument
from pixlane.messages import config_file
from pixlane.settings import Settings

Origin = Literal["argument", "environment", "file", "default"]
MODES = ("auto", "native", "text")

KEYS: dict[str, str] = {
    "model.provider": "provider",
    "model.default": "model",
    "model.base_url": "base_url",
    "model.supports_vision": "supports_vision",
    "agent.image_input_mode": "image_input_mode",
    "auxiliary.vision.provider": "vision_provider",
    "auxiliary.vision.model": "vision_model",
    "auxiliary.vision.base_url": "vision_base_url",
    "vision.embed_target_bytes": "embed_target_bytes",
    "vision.max_calls_per_image": "max_calls_per_image",
    "vision.default": "vision_default",
}
"""Key to the setting that its environment variable, default and bounds come from."""

# Keys that name a provider or a model of the user's: both may hold dots.
_PER_MODEL = re.compile(r"(providers)\.(.+?)\.(models)\.(.+)\.(supports_vision)")
_PER_ENDPOINT = re.compile(r"(providers)\.(.+?)\.(endpoints)\.(.+)\.(base_url|wire)")
_PER_PROVIDER = re.compile(r"(providers)\.(.+)\.(base_url|wire|api_key_env|api_key_file)")
_OWN = (_PER_MODEL, _PER_ENDPOINT, _PER_PROVIDER)
OF_A_PROVIDER: tuple[str, ...] = ("base_url", "wire", "api_key_env", "api_key_file")
_KNOBS = {knob.name: knob for knob in dataclasses.fields(Settings)}
_TOKENS = {"true": True, "yes": True, "on": True, "1": True, "false": False, "no": False, "off": False, "0": False}


def coerce_bool(value: Any) -> bool | None:
    """Yes or no where the value says so beyond doubt: a bool, 0, 1, or true/false/yes/no/on/off as a word; else None.

    `bool("false")` is True; a quoted word in a file must not give a model eyes.
    """
    if isinstance(value, bool):
        return value
    if isinstance(value, int):
        return bool(value) if value in (0, 1) else None
    return _TOKENS.get(value.strip().lower()) if isinstance(value, str) else None


@dataclass(frozen=True)
class Entry:
    """One value.

    Attributes:
        where: the variable or the file, "" for the others.
        problem: why the value that stands there does not count, "" when it does.
    """

    key: str
    value: Any
    origin: Origin
    where: str = ""
    problem: str = ""


@dataclass(frozen=True)
class Config(Mapping[str, Any]):
    """What is given, merged; the defaults are not in it but known to `entry`."""

    arguments: Mapping[str, Any] = field(default_factory=dict)  # by dotted key
    environment: Mapping[str, Any] = field(default_factory=dict)  # by dotted key
    file: Mapping[str, Any] = field(default_factory=dict)  # nested
    path: str = ""

    def __post_init__(self) -> None:
        merged: Any = self.file
        for layer in (self.environment, self.arguments):
            for key, value in layer.items():
                merged = _with(merged, split(key), value)
        object.__setattr__(self, "_merged", merged)

    def __getitem__(self, key: str) -> Any:
        return self._merged[key]  # type: ignore[attr-defined]

    def __iter__(self) -> Iterator[str]:
        return iter(self._merged)  # type: ignore[attr-defined]

    def __len__(self) -> int:
        return len(self._merged)  # type: ignore[attr-defined]

    def entry(self, key: str) -> Entry:
        """The value of a key and where it comes from. Raises InvalidArgument for a key that there is not."""
        check_key(key)
        for origin, layer in (("argument", self.arguments), ("environment", self.environment)):
            if layer.get(key) is not None:
                where = settings.environment_name(KEYS[key]) if origin == "environment" else ""
                return _judged(key, layer[key], origin, where)  # type: ignore[arg-type]
        in_file = look_up(self.file, split(key))
        if in_file is not None:
            return _judged(key, in_file, "file", self.path)
        return Entry(key, _default(key), "default")

    def entries(self) -> list[Entry]:
        """Every key with its value, those that the file holds for single providers and models after the others."""
        return [self.entry(key) for key in (*KEYS, *_own_keys(self))]


def load_config(
    arguments: Mapping[str, Any] | None = None, *, environ: Mapping[str, str] | None = None, path: str | None = None
) -> Config:
    """The configuration in force.

    Args:
        arguments: values by dotted key, over everything else.
        environ: variables; None: those of the process.
        path: the file; None: `PIXLANE_CONFIG`, then `pixlane/config.yaml` in the user's configuration folder, if it is there.

    Raises InvalidArgument for a key that there is not, a variable out of its bounds, and a file that cannot be read as a mapping.
    """
    given = settings.given(os.environ if environ is None else environ)
    chosen, required = file_in_force(path, environ)
    arguments = {key: value for key, value in (arguments or {}).items() if value is not None}
    for key in arguments:
        check_key(key)
    environment = {key: given[knob] for key, knob in KEYS.items() if knob in given}
    return Config(arguments, environment, config_file.read(chosen, required=required), chosen)


def number(config: Mapping[str, Any] | None, key: str) -> int:
    """The whole number of a key, out of a plain mapping too; what is none there gives the default, which the environment sets."""
    raw = look_up(config or {}, split(key))
    entry = _judged(key, raw, "file", "") if raw is not None else None
    return int(entry.value if entry and not entry.problem else getattr(settings.current(), KEYS[key]))


def file_in_force(path: str | None = None, environ: Mapping[str, str] | None = None) -> tuple[str, bool]:
    """The path of the file, and whether somebody named it."""
    named = path or settings.given(os.environ if environ is None else environ).get("config")
    return (os.path.expanduser(named), True) if named else (config_file.usual_path(), False)


def split(key: str) -> tuple[str, ...]:
    """The keys of the nested mapping. A provider's or model's name keeps its dots."""
    own = next(filter(None, (pattern.fullmatch(key) for pattern in _OWN)), None)
    return own.groups() if own else tuple(key.split("."))


def look_up(values: Any, keys: tuple[str, ...]) -> Any:
    """What stands there; None where a key is missing or a value on the way is no mapping.

    A key is met by its spelling: YAML reads an unquoted `4.1` as a number.
    """
    for key in keys:
        if not isinstance(values, Mapping):
            return None
        values = values[key] if key in values else next((value for name, value in values.items() if str(name) == key), None)
    return values


def check_key(key: str) -> None:
    """Raises InvalidArgument for a key that there is not."""
    if key in KEYS or any(pattern.fullmatch(key) for pattern in _OWN):
        return
    near = get_close_matches(key, KEYS, n=1)
    hint = f"did you mean {near[0]}?" if near else "`pixlane config list` shows the keys"
    raise InvalidArgument(f"no configuration key {key!r}; {hint}", actual=key)


def value_of(key: str, raw: Any) -> Any:
    """The value that a word on the command line or in a file means. Raises InvalidArgument."""
    check_key(key)
    entry = _judged(key, raw, "argument", "")
    if entry.problem:
        raise InvalidArgument(f"{key} {entry.problem}", actual=str(raw))
    return entry.value


def _judged(key: str, raw: Any, origin: Origin, where: str) -> Entry:
    """An entry whose value is of its form, or the default with the problem."""

    def refused(expected: str) -> Entry:
        return Entry(key, _default(key), origin, where, f"must be {expected}, got {str(raw)[:80]!r}")

    if key.endswith(".supports_vision"):
        said = coerce_bool(raw)
        return refused("true or false") if said is None else Entry(key, said, origin, where)
    if key == "agent.image_input_mode":
        mode = raw.strip().lower() if isinstance(raw, str) else None
        return Entry(key, mode, origin, where) if mode in MODES else refused("auto, native or text")
    if isinstance(_default(key), int):
        low = _KNOBS[KEYS[key]].metadata["low"] if key != "vision.embed_target_bytes" else None  # the budget is clamped later
        try:
            number = int(str(raw))
        except ValueError:
            return refused("a whole number")
        return Entry(key, number, origin, where) if low is None or number >= low else refused(f"at least {low}")
    return Entry(key, raw.strip(), origin, where) if isinstance(raw, str) else refused("text")


def _default(key: str) -> Any:
    if key not in KEYS or key == "model.supports_vision":
        return None
    return _KNOBS[KEYS[key]].default


def _own_keys(config: Mapping[str, Any]) -> list[str]:
    keys = []
    providers = config.get("providers")
    for provider, about in providers.items() if isinstance(providers, Mapping) else ():
        keys += [f"providers.{provider}.{name}" for name in OF_A_PROVIDER if look_up(about, (name,)) is not None]
        endpoints = look_up(about, ("endpoints",))
        for endpoint, said in endpoints.items() if isinstance(endpoints, Mapping) else ():
            named = [name for name in OF_A_PROVIDER[:2] if look_up(said, (name,)) is not None]
            keys += [f"providers.{provider}.endpoints.{endpoint}.{name}" for name in named]
        models = look_up(about, ("models",))
        for model, said in models.items() if isinstance(models, Mapping) else ():
            if look_up(said, ("supports_vision",)) is not None:
                keys.append(f"providers.{provider}.models.{model}.supports_vision")
    return keys


def _with(values: Any, keys: tuple[str, ...], value: Any) -> dict[str, Any]:
    """A copy along the keys with another value at their end."""
    here = dict(values) if isinstance(values, Mapping) else {}
    here[keys[0]] = value if len(keys) == 1 else _with(here.get(keys[0]), keys[1:], value)
    return here
