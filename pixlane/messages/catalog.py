"""The catalog of models: does this model of this provider take images. `catalog.json` is written by `catalog_build.py`.

A provider that is not in it is not guessed by the name of a model: the same name on another endpoint may be something else.
"""

from __future__ import annotations

import datetime
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from typing import Any

ALIASES: dict[str, str] = {
    alias: provider
    for provider, aliases in {
        "anthropic": ("claude", "claude-code", "anthropic-direct"),
        "openai": ("codex", "chatgpt", "openai-chat", "openai-codex", "openai-responses"),
        "gemini": ("google", "google-gemini", "google-ai-studio", "google-generative-ai"),
        "vertex-ai": ("vertex", "google-vertex", "anthropic-vertex", "google-vertex-anthropic", "google-vertex-gemini"),
        "bedrock": ("aws", "aws-bedrock", "amazon-bedrock", "bedrock-converse", "bedrock-mantle"),
        "azure": ("azure-openai",),
        "xai": ("x-ai", "grok"),
        "moonshot": ("kimi", "moonshotai", "moonshot-ai"),
        "zai": ("z-ai", "zhipu", "zhipuai", "bigmodel", "glm"),
        "dashscope": ("qwen", "alibaba", "alibaba-cloud"),
        "mistral": ("mistralai",),
        "together-ai": ("together", "togetherai"),
        "fireworks-ai": ("fireworks",),
        "github-copilot": ("copilot",),
        "xiaomi-mimo": ("xiaomi", "mimo"),
        "cohere": ("cohere-chat",),
    }.items()
    for alias in aliases
}
"""Names by which agents and other catalogs call a provider."""

GATEWAYS = frozenset(("openrouter", "vercel-ai-gateway", "vercel", "nous"))
"""Providers whose models are named `vendor/model` and are the vendor's own."""


@dataclass(frozen=True)
class Catalog:
    """Provider to model to whether it sees; names in their plain form."""

    as_of: str
    source: str
    providers: Mapping[str, Mapping[str, bool]] = field(repr=False)

    def sees(self, provider: str, model: str) -> bool | None:
        """What it says of a model; None where it does not know the provider or the model."""
        for vendor, name in _readings(plain_provider(provider), plain_model(model)):
            said = self.providers.get(vendor, {}).get(name)
            if said is not None:
                return said
        return None

    def age_days(self, today: datetime.date | None = None) -> int:
        return ((today or datetime.datetime.now(datetime.UTC).date()) - datetime.date.fromisoformat(self.as_of)).days


@cache
def shipped() -> Catalog:
    """The one that is shipped."""
    table = json.loads(resources.files(__package__).joinpath("catalog.json").read_text(encoding="utf-8"))
    kinds = {"sees": True, "blind": False}
    providers = {
        provider: {model: sees for kind, sees in kinds.items() for model in models[kind]}
        for provider, models in table["providers"].items()
    }
    return Catalog(table["as_of"], table["source"], providers)


def from_models_dev(table: Any) -> dict[str, dict[str, bool]]:
    """The providers of a catalog in the form of models.dev: `modalities.input`, else the flag `attachment`."""
    providers: dict[str, dict[str, bool]] = {}
    for provider, about in table.items():
        for model, row in about.get("models", {}).items():
            modalities = row.get("modalities") or {}
            sees = "image" in modalities["input"] if isinstance(modalities.get("input"), list) else row.get("attachment")
            if isinstance(sees, bool):
                providers.setdefault(plain_provider(provider), {})[plain_model(model)] = sees
    return providers


def plain_provider(name: str) -> str:
    plain = name.strip().lower().replace("_", "-").replace(" ", "-")
    return ALIASES.get(plain, plain)


def plain_model(name: str) -> str:
    """Lower case, and a version's dot as a dash: vendors and gateways write one model both ways."""
    return name.strip().lower().removeprefix("models/").replace(".", "-")


def _readings(provider: str, model: str) -> Iterator[tuple[str, str]]:
    """The rows that may speak of a model, the nearest first."""
    yield provider, model
    vendor, slash, name = model.partition("/")
    if slash and plain_provider(vendor) == provider:
        yield provider, name
    elif slash and provider in GATEWAYS:
        name = name.partition(":")[0]  # ":free", ":thinking": ways to run the same model
        yield provider, f"{vendor}/{name}"
        yield plain_provider(vendor), name
