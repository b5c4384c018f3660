"""The choice of an eye, as a ladder: named by the call, by the configuration, the agent's own model, then whoever can look.

Who is named is the only candidate: nobody else steps in for it. Found models must be attested as seeing; a named one must only
not be known as blind. Nothing is sent to a provider here; servers of the user's own may be asked what they have.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import Any

from pixlane.errors import InvalidArgument, VisionAdapterUnavailable
from pixlane.messages import reach
from pixlane.messages.capability import shown
from pixlane.messages.config import look_up
from pixlane.messages.lane import decide_lane
from pixlane.vision import apis, credentials, providers
from pixlane.vision.apis.api import without
from pixlane.vision.providers import Endpoint, Provider
from pixlane.vision.route import DEFAULT_ENDPOINT, LOCAL, Route, parse
from pixlane.vision.selection import REASONS, Candidate, Selection
from pixlane.vision.target import Target

MAX_MODELS_OF_A_SERVER = 20
"""Models of a server of the user's own that are looked at."""

LOCAL_ENGINE = "rapidocr"


@dataclass(frozen=True)
class Chosen:
    """The choice, and what is needed to ask it; `target` None: the eye that needs no model."""

    selection: Selection
    target: Target | None


@dataclass(frozen=True)
class Selector:
    """Chooses.

    Args:
        config: nested, as `load_config` gives it.
        environ: where keys are; None: the environment of the process.
        offline: servers of the user's own are not asked, nor is a catalog.
    """

    config: Mapping[str, Any] = field(default_factory=dict)
    environ: Mapping[str, str] | None = None
    offline: bool = False

    def choose(self, model: str | None = None) -> Chosen:
        """Who looks. Raises VisionAdapterUnavailable with every candidate, InvalidArgument for what names no route.

        `model`: of this call alone, `provider/model`, `provider@endpoint/model` or `local`; None: as configured.
        """
        if model is not None:
            return self._only("requested_model", _route(model, "requested_model"))
        default = look_up(self.config, ("vision", "default"))
        if isinstance(default, str) and default.strip().lower() not in ("", "auto"):
            return self._only("vision_default", _route(default, "vision_default"))
        backend = self._backend()
        return self._only("auxiliary_vision", backend) if backend else self._discover()

    def _backend(self) -> Route | None:
        """What `auxiliary.vision` names; a provider alone means the first of its models that see."""
        backend = look_up(self.config, ("auxiliary", "vision"))
        named = {key: str(look_up(backend, (key,)) or "").strip() for key in ("provider", "model", "base_url")}
        if named["provider"].lower() == "auto":
            named["provider"] = ""
        if not any(named.values()):
            return None
        provider = named["provider"] or ("auxiliary" if named["base_url"] else self._main("provider"))
        known = providers.find(provider, self.config, self.environ)
        models = (named["model"], *(known.vision_models if known else ()), "")
        return Route(provider, next((model for model in models if model), ""))

    def _only(self, reason: str, route: Route) -> Chosen:
        return self._decided(reason, [self._judge(route, named=True)])

    def _discover(self) -> Chosen:
        thought_of: dict[str, tuple[Candidate, Target | None]] = {}
        found = ""
        for reason, route in self._routes():
            if str(route) in thought_of:
                continue
            thought_of[str(route)] = self._judge(route, named=False)
            if not found and thought_of[str(route)][0].reason == "usable":
                found = reason
        return self._decided(found or "no_model", list(thought_of.values()))

    def _routes(self) -> Iterator[tuple[str, Route]]:
        """Whom nobody named as an eye: the agent's own model, then each provider's, then what servers of the user's own have."""
        if self._main("provider") and self._main("default"):
            yield "primary_model", Route(self._main("provider"), self._main("default"))
        for provider in providers.all_of(self.config, self.environ):
            models = provider.vision_models
            if provider.keyless and not models:
                models, _ = self._models_of(provider)
            for model in models or ("",):
                yield "auto_discovered", Route(provider.name, model)

    def _main(self, key: str) -> str:
        return str(look_up(self.config, ("model", key)) or "").strip()

    def _decided(self, reason: str, thought_of: list[tuple[Candidate, Target | None]]) -> Chosen:
        candidates = tuple(candidate for candidate, _ in thought_of)
        chosen = next(((candidate, target) for candidate, target in thought_of if candidate.reason == "usable"), None)
        selection = Selection(reason, chosen[0] if chosen else None, candidates)
        if chosen is not None:
            return Chosen(selection, chosen[1])
        said = "; ".join(f"{candidate.ref}: {candidate.said or candidate.reason}" for candidate in candidates[:3])
        more = f"; and {len(candidates) - 3} more" if len(candidates) > 3 else ""
        asked = REASONS[reason] if len(candidates) == 1 else "nobody is named"
        message = f"no model can look at the picture ({asked}): {said}{more}. Set vision.default, or ask for the model `local`"
        raise VisionAdapterUnavailable(message, actual=candidates[0].ref if len(candidates) == 1 else None, **selection.to_dict())

    # One candidate ---------------------------------------------------------------------------------------------------------

    def _judge(self, route: Route, *, named: bool) -> tuple[Candidate, Target | None]:
        """Whether a route can look, by the first thing that is missing."""

        def verdict(reason: str, said: str = "", sees: bool | None = None) -> tuple[Candidate, None]:
            return Candidate(route.provider, route.endpoint, route.model, sees, reason, said), None

        if route.provider == LOCAL:
            if find_spec(LOCAL_ENGINE) is None:
                return verdict("engine_missing", f"{LOCAL_ENGINE} is not installed: pip install 'pixlane[ocr]'")
            return verdict("usable", "text recognition on this machine", True)
        provider = providers.find(route.provider, self.config, self.environ)
        if provider is None:
            return verdict("unknown_provider", f"neither known nor configured as providers.{route.provider}.base_url")
        endpoint = provider.endpoints.get(route.endpoint)
        if endpoint is None:
            return verdict("endpoint_not_configured", f"there are {', '.join(provider.endpoints)}")
        if not route.model and provider.keyless and (problem := self._models_of(provider)[1]):
            return verdict("server_not_reachable", problem)
        if not route.model:
            return verdict("no_model_named")
        if endpoint.wire not in apis.NAMES:
            return verdict("transport_unsupported", f"its wire is {endpoint.wire}; supported are {', '.join(apis.NAMES)}")
        key, place = credentials.find(provider.key_variables, provider.about, self.environ)
        if key is None and not provider.keyless:
            return verdict("no_credentials", place)
        sees, said = self._sees(route, provider, endpoint)
        if sees is False:
            return verdict("model_lacks_image_input", said, False)
        if sees is None and not named:
            return verdict("image_input_not_attested", said)
        return Candidate(route.provider, route.endpoint, route.model, sees, "usable", said), Target(
            route, endpoint.wire, endpoint.base_url, key
        )

    def _sees(self, route: Route, provider: Provider, endpoint: Endpoint) -> tuple[bool | None, str]:
        """What the ladder of witnesses says of this model; what is configured for the agent's own model is only of that."""
        config: dict[str, Any] = {"providers": {route.provider: {**provider.about, "base_url": endpoint.base_url}}}
        if (route.provider, route.model) == (self._main("provider"), self._main("default")):
            own = look_up(self.config, ("model", "supports_vision"))
            config["model"] = {"supports_vision": own} if own is not None else {}
        decision = decide_lane(route.provider, route.model, config, wire=endpoint.wire, offline=self.offline)
        last = decision.evidence[-1]
        return (None if last.lane is None else last.lane == "native"), decision.reason

    def _models_of(self, provider: Provider) -> tuple[tuple[str, ...], str]:
        """What a server of the user's own has, or why that is not known. Only on this machine or its network is anybody asked."""
        endpoint = provider.endpoints[DEFAULT_ENDPOINT]
        base_url = endpoint.base_url.rstrip("/")
        if not reach.is_local(base_url):
            return (), ""
        if self.offline:
            return (), "not asked: offline"
        if endpoint.wire == "ollama":
            root = without(base_url, "/v1", "/api")
            answer = reach.shared().ask(f"{root}/api/tags", lambda said: [str(model["name"]) for model in said["models"]])
        else:
            answer = reach.shared().ask(f"{base_url}/models", lambda said: [str(model["id"]) for model in said["data"]])
        if answer.problem:
            return (), f"{shown(base_url)} {answer.problem}"
        return tuple(answer.value)[:MAX_MODELS_OF_A_SERVER], ""


def _route(named: str, reason: str) -> Route:
    try:
        return parse(named)
    except InvalidArgument as error:
        raise InvalidArgument(f"{REASONS[reason]}: {error.message}", actual=error.actual) from None
