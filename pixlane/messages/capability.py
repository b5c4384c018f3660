"""Can this model see? A ladder of witnesses, asked in order; the first that knows decides, and nobody guesses.

local_runtime   the llama.cpp server that receives the bytes, by its /props
catalog         a fresh one in the form of models.dev where its URL is set, then the one that is shipped
ollama          the server's /api/show
profile         the models that the provider's profile declares

What may be asked over the network is bounded to 3 s and remembered for 4 hours, see `reach`. Offline nothing is asked.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from pixlane import profiles, settings
from pixlane.messages import catalog, reach
from pixlane.messages.config import look_up

LLAMA_CPP = frozenset(("llama-cpp", "llamacpp", "llama.cpp", "llama-server", "local"))
LLAMA_CPP_URL = "http://127.0.0.1:8080"
OLLAMA_URL = "http://127.0.0.1:11434"
OLLAMA_PORT = 11434
_API_SUFFIXES = ("/v1", "/api", "/api/v1")  # what a client's base URL has after the server's root


@dataclass(frozen=True)
class Route:
    """Where a request goes."""

    provider: str
    model: str
    wire: str | None = None
    base_url: str = ""

    @property
    def plain_provider(self) -> str:
        return self.provider.strip().lower().replace("_", "-").replace(" ", "-")


class Finding(NamedTuple):
    """What a witness says: True, False or None for "I do not know", and its words."""

    sees: bool | None
    said: str


class Rung(NamedTuple):
    """One witness of the ladder, by name."""

    name: str
    ask: Callable[[Route], Finding]


def ladder(*, offline: bool = False, models_url: str | None = None, asked: reach.Reach | None = None) -> tuple[Rung, ...]:
    """The usual witnesses.

    Args:
        offline: nothing is asked over the network.
        models_url: of a catalog in the form of models.dev; None: the setting `models_url`.
        asked: remembers answers; None: that of this process.
    """
    network = None if offline else asked or reach.shared()
    url = settings.current().models_url if models_url is None else models_url
    return (
        Rung("local_runtime", lambda route: _ask_llama_cpp(route, network)),
        Rung("catalog", lambda route: _ask_catalog(route, network, url)),
        Rung("ollama", lambda route: _ask_ollama(route, network)),
        Rung("profile", _ask_profile),
    )


def route_of(provider: str, model: str, config: Mapping[str, Any], wire: str | None = None) -> Route:
    """The route with the base URL that the configuration has for it."""
    return Route(provider, model, wire, _base_url(provider, config))


# The witnesses -----------------------------------------------------------------------------------------------------------


def _ask_llama_cpp(route: Route, network: reach.Reach | None) -> Finding:
    """`modalities.vision` of a llama.cpp server. Source: tools/server/README.md of ggml-org/llama.cpp, GET /props."""
    if route.plain_provider not in LLAMA_CPP:
        return Finding(None, "not asked: the provider is no llama.cpp server")
    root = _root(route.base_url) or LLAMA_CPP_URL
    if not reach.is_local(root):
        return Finding(None, f"not asked: {shown(root)} is not on this machine or its network")
    if network is None:
        return Finding(None, "not asked: offline")
    answer = network.ask(f"{root}/props", _llama_cpp_sees)
    return _finding(answer, f"llama.cpp at {shown(root)}")


def _ask_catalog(route: Route, network: reach.Reach | None, url: str) -> Finding:
    shipped = catalog.shipped()
    dated = f"the catalog of {shipped.as_of}, {shipped.age_days()} d old"
    if not route.provider or not route.model:
        return Finding(None, f"not asked: no provider or no model; {dated}")
    problem = ""
    if url and network is not None:
        answer = network.ask(url, catalog.from_models_dev)
        if not answer.problem:
            sees = catalog.Catalog("", "", answer.value).sees(route.provider, route.model)
            if sees is not None:
                return Finding(sees, f"{shown(url)} says that it {_does(sees)}")
        problem = f"; {shown(url)} {answer.problem or 'does not know it'}"
    sees = shipped.sees(route.provider, route.model)
    if sees is not None:
        return Finding(sees, f"{dated}, says that it {_does(sees)}{problem}")
    known = catalog.plain_provider(route.provider) in shipped.providers
    unknown = "the model" if known else "the provider"
    return Finding(None, f"{dated}, does not know {unknown}{problem}")


def _ask_ollama(route: Route, network: reach.Reach | None) -> Finding:
    """`capabilities` of POST /api/show. Source: docs/api.md of ollama/ollama."""
    named = route.plain_provider in ("ollama", "ollama-local") or route.plain_provider == "custom:ollama"
    if not named and not _looks_like_ollama(route.base_url):
        return Finding(None, "not asked: neither the provider nor the base URL is Ollama's")
    root = _root(route.base_url) or OLLAMA_URL
    if network is None:
        return Finding(None, "not asked: offline")
    answer = network.ask(f"{root}/api/show", _ollama_sees, {"model": route.model})
    return _finding(answer, f"Ollama at {shown(root)}")


def _ask_profile(route: Route) -> Finding:
    profile = profiles.resolve(route.provider, route.wire, route.model)
    if profile.name == "safe":
        return Finding(None, "no profile names this provider")
    if profile.sees(route.model):
        return Finding(True, f"profile {profile.name} of {profile.as_of} declares that it sees")
    return Finding(None, f"profile {profile.name} of {profile.as_of} declares nothing of this model")


def _llama_cpp_sees(answer: Any) -> bool | None:
    sees = look_up(answer, ("modalities", "vision"))
    return sees if isinstance(sees, bool) else None


def _ollama_sees(answer: Any) -> bool | None:
    """Servers before 0.6 have no `capabilities`: there a projector, or its numbers, say it."""
    said = answer.get("capabilities")
    if isinstance(said, list):
        return "vision" in said
    if answer.get("projector_info") or any(".vision." in key for key in answer.get("model_info") or ()):
        return True
    return None


def _finding(answer: reach.Answer, who: str) -> Finding:
    if answer.problem:
        return Finding(None, f"{who} {answer.problem}")
    return Finding(
        answer.value, f"{who} says nothing of it" if answer.value is None else f"{who} says that it {_does(answer.value)}"
    )


def _does(sees: bool) -> str:
    return "sees" if sees else "does not see"


# Addresses ---------------------------------------------------------------------------------------------------------------


def _base_url(provider: str, config: Mapping[str, Any]) -> str:
    for name in names_of(provider):
        url = look_up(config, ("providers", name, "base_url"))
        if isinstance(url, str) and url.strip():
            return url.strip()
    for entry in custom_providers(provider, config):
        if isinstance(entry.get("base_url"), str):
            return str(entry["base_url"]).strip()
    main = look_up(config, ("model", "provider"))
    url = look_up(config, ("model", "base_url"))
    ours = not isinstance(main, str) or not main.strip() or main.strip().lower() == provider.strip().lower()
    return url.strip() if isinstance(url, str) and ours else ""


def names_of(provider: str) -> tuple[str, ...]:
    """The names under which a configuration may hold a provider: as it is, and that of `custom:<name>`."""
    bare = provider.partition(":")[2] if provider.lower().startswith("custom:") else ""
    return tuple(filter(None, (provider, bare)))


def custom_providers(provider: str, config: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The entries of the old list `custom_providers` with that name, with or without `custom:`, in any case."""
    entries = config.get("custom_providers")
    wanted = {name.strip().lower() for name in names_of(provider)}
    return [
        entry
        for entry in (entries if isinstance(entries, (list, tuple)) else ())
        if isinstance(entry, Mapping) and wanted & {name.strip().lower() for name in names_of(str(entry.get("name", "")))}
    ]


def _looks_like_ollama(base_url: str) -> bool:
    try:
        return urlsplit(base_url).port == OLLAMA_PORT and reach.is_local(base_url)
    except ValueError:
        return False


def _root(base_url: str) -> str:
    """The server of a base URL, without what an API's path adds and without anything secret in it."""
    root = base_url.strip().rstrip("/")
    for suffix in sorted(_API_SUFFIXES, key=len, reverse=True):
        if root.endswith(suffix):
            return root.removesuffix(suffix)
    return root


def shown(url: str) -> str:
    """A URL as it may be printed: scheme, host and port; user, password and query may be secrets."""
    try:
        parts = urlsplit(url)
        return f"{parts.scheme}://{parts.hostname}{f':{parts.port}' if parts.port else ''}{parts.path}"
    except ValueError:
        return "the URL"
