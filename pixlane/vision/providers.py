"""The providers that are known by name, as a table, and what a configuration adds to it or changes in it.

providers:
  mine:                                  another provider: any base URL, `wire` one of those in `apis`
    base_url: https://models.example/v1
    wire: openai_chat                    the default for one that the table does not have
    api_key_env: MINE_API_KEY            or api_key_file: ~/.config/mine.key; with neither it is asked without a key
    endpoints: {eu: {base_url: https://eu.models.example/v1}}
    models: {some-vlm: {supports_vision: true}}
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from pixlane.messages import catalog
from pixlane.messages.capability import custom_providers, names_of
from pixlane.messages.config import coerce_bool, look_up
from pixlane.vision.route import DEFAULT_ENDPOINT


@dataclass(frozen=True)
class Endpoint:
    """An address, and the wire that is spoken there."""

    wire: str
    base_url: str


@dataclass(frozen=True)
class Provider:
    """One provider.

    Attributes:
        endpoints: by name; `default` is one of them.
        key_variables: of the environment, in order.
        url_variables: that name another default address.
        models: that are looked for first when nobody names one, each known to take images.
        keyless: a server of the user's, asked without a key where there is none.
        about: what the configuration has of it.
    """

    name: str
    endpoints: Mapping[str, Endpoint]
    key_variables: tuple[str, ...] = ()
    url_variables: tuple[str, ...] = ()
    models: tuple[str, ...] = ()
    keyless: bool = False
    about: Mapping[str, Any] = field(default_factory=dict)

    @property
    def vision_models(self) -> tuple[str, ...]:
        """Those that the configuration calls seeing, then those of the table."""
        own = look_up(self.about, ("models",))
        named = [
            model
            for model, said in (own.items() if isinstance(own, Mapping) else ())
            if coerce_bool(look_up(said, ("supports_vision",))) or coerce_bool(look_up(said, ("vision",)))
        ]
        return tuple(dict.fromkeys([*named, *self.models]))


def _chat(name: str, base_url: str, variable: str, *models: str) -> Provider:
    return Provider(name, {DEFAULT_ENDPOINT: Endpoint("openai_chat", base_url)}, (variable,), models=models)


def _server(name: str, wire: str, base_url: str, *url_variables: str) -> Provider:
    return Provider(name, {DEFAULT_ENDPOINT: Endpoint(wire, base_url)}, (), url_variables, keyless=True)


_OPENAI = "https://api.openai.com/v1"

KNOWN: tuple[Provider, ...] = (
    Provider(
        "openai",
        {
            DEFAULT_ENDPOINT: Endpoint("openai_responses", _OPENAI),
            "responses": Endpoint("openai_responses", _OPENAI),
            "chat": Endpoint("openai_chat", _OPENAI),
        },
        ("OPENAI_API_KEY",),
        ("OPENAI_BASE_URL",),
        ("gpt-5.4-mini",),
    ),
    Provider(
        "anthropic",
        {name: Endpoint("anthropic", "https://api.anthropic.com") for name in (DEFAULT_ENDPOINT, "direct")},
        ("ANTHROPIC_API_KEY",),
        ("ANTHROPIC_BASE_URL",),
        ("claude-sonnet-5",),
    ),
    Provider(
        "gemini",
        {DEFAULT_ENDPOINT: Endpoint("gemini", "https://generativelanguage.googleapis.com/v1beta")},
        ("GEMINI_API_KEY", "GOOGLE_API_KEY"),
        ("GOOGLE_GEMINI_BASE_URL",),
        ("gemini-3.5-flash",),
    ),
    _chat("openrouter", "https://openrouter.ai/api/v1", "OPENROUTER_API_KEY", "google/gemini-3.5-flash"),
    _chat("mistral", "https://api.mistral.ai/v1", "MISTRAL_API_KEY", "mistral-medium-latest"),
    _chat("xai", "https://api.x.ai/v1", "XAI_API_KEY", "grok-4.7"),
    _chat("moonshot", "https://api.moonshot.ai/v1", "MOONSHOT_API_KEY", "kimi-k3"),
    _chat("zai", "https://api.z.ai/api/paas/v4", "ZAI_API_KEY", "glm-5v-turbo"),
    _chat("dashscope", "https://dashscope-intl.aliyuncs.com/compatible-mode/v1", "DASHSCOPE_API_KEY", "qwen3-vl-plus"),
    _chat("groq", "https://api.groq.com/openai/v1", "GROQ_API_KEY", "qwen/qwen3.8-27b"),
    _chat("together-ai", "https://api.together.xyz/v1", "TOGETHER_API_KEY", "zai-org/GLM-5.3-Flash"),
    _chat("deepseek", "https://api.deepseek.com/v1", "DEEPSEEK_API_KEY", "deepseek-flash"),
    _server("ollama", "ollama", "http://127.0.0.1:11434", "OLLAMA_HOST"),
    _server("lm-studio", "openai_chat", "http://127.0.0.1:1234/v1"),
    _server("llama-cpp", "openai_chat", "http://127.0.0.1:8080/v1"),
    _server("vllm", "openai_chat", "http://127.0.0.1:8000/v1"),
)
"""In the order in which they are tried; servers of the user's own come last, as they may be slow. Addresses: the vendors'
documentation, read in November 2026."""

_TABLE = {provider.name: provider for provider in KNOWN}
_ALIASES = {"llamacpp": "llama-cpp", "llama.cpp": "llama-cpp", "llama-server": "llama-cpp", "lmstudio": "lm-studio"}


def find(name: str, config: Mapping[str, Any], environ: Mapping[str, str] | None = None) -> Provider | None:
    """The provider of that name, by the configuration and the table; None where neither has it."""
    plain = catalog.plain_provider(name)
    known = _TABLE.get(_ALIASES.get(plain, plain))
    about = _about(name, config)
    environ = os.environ if environ is None else environ
    if known is None and not look_up(about, ("base_url",)):
        return None
    if known is None:
        known = Provider(plain, {DEFAULT_ENDPOINT: Endpoint("openai_chat", "")}, keyless=not _names_a_key(about))
    variable = next((environ[name] for name in known.url_variables if environ.get(name)), "")
    return _configured(known, about, _with_scheme(variable))


def all_of(config: Mapping[str, Any], environ: Mapping[str, str] | None = None) -> Iterator[Provider]:
    """Every provider: those of the table, then those that only the configuration has."""
    own = config.get("providers")
    names = [provider.name for provider in KNOWN]
    names += [str(name) for name in own] if isinstance(own, Mapping) else []
    entries = config.get("custom_providers")
    names += [f"custom:{entry['name']}" for entry in entries or () if isinstance(entry, Mapping) and entry.get("name")]
    seen = set()
    for name in names:
        provider = find(name, config, environ)
        if provider is not None and provider.name not in seen:
            seen.add(provider.name)
            yield provider


def _about(name: str, config: Mapping[str, Any]) -> Mapping[str, Any]:
    """What the configuration has of a provider, under any of its names."""
    wanted = {catalog.plain_provider(one) for one in names_of(name)}
    own = config.get("providers")
    found = [about for key, about in (own or {}).items() if catalog.plain_provider(str(key)) in wanted] if _is(own) else []
    about: Mapping[str, Any] = next(filter(_is, [*found, *custom_providers(name, config)]), {})
    for place in (("auxiliary", "vision"), ("model",)):  # each may say where its own provider is
        base_url = _text(look_up(config, place), "base_url")
        if base_url and catalog.plain_provider(_text(look_up(config, place), "provider") or place[0]) in wanted:
            about = {"base_url": base_url, **about}
    return about


def _is(value: Any) -> bool:
    return isinstance(value, Mapping)


def _configured(known: Provider, about: Mapping[str, Any], variable: str) -> Provider:
    """The provider with the addresses and wires that the configuration gives it; an address of its own moves every endpoint."""
    base_url, wire = _text(about, "base_url") or variable, _text(about, "wire")
    endpoints = {
        name: Endpoint(wire or endpoint.wire, base_url or endpoint.base_url) for name, endpoint in known.endpoints.items()
    }
    named = look_up(about, ("endpoints",))
    for name, said in named.items() if isinstance(named, Mapping) else ():
        usual = endpoints[DEFAULT_ENDPOINT]
        endpoints[str(name).lower()] = Endpoint(_text(said, "wire") or usual.wire, _text(said, "base_url") or usual.base_url)
    return replace(known, endpoints=endpoints, about=about)


def _text(about: Any, key: str) -> str:
    value = look_up(about, (key,))
    return value.strip() if isinstance(value, str) else ""


def _names_a_key(about: Mapping[str, Any]) -> bool:
    return bool(_text(about, "api_key_env") or _text(about, "api_key_file"))


def _with_scheme(address: str) -> str:
    """OLLAMA_HOST may be a bare host and port."""
    return f"http://{address}" if address and "://" not in address else address
