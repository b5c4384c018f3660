"""Which eye looks: every branch of the choice, with the candidates and what is said of each."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import yaml

from pixlane.errors import InvalidArgument, VisionAdapterUnavailable
from pixlane.messages import catalog
from pixlane.vision import providers
from pixlane.vision.route import Route, parse
from pixlane.vision.selecting import Selector
from pixlane.vision.selection import CANDIDATE_REASONS, REASONS
from tests.readme import ROOT
from tests.stubs.http import Reply, Request, Server

OPENAI = {"OPENAI_API_KEY": "a"}
CLAUDE = {"ANTHROPIC_API_KEY": "b"}
GEMINI = {"GOOGLE_API_KEY": "c"}


@dataclass(frozen=True)
class Case:
    """A choice, offline. `chosen` None: nobody, and the error carries the candidates. `candidates`: the first ones, in order."""

    says: str
    reason: str
    chosen: str | None
    candidates: tuple[tuple[str, str], ...]
    config: dict[str, Any] = field(default_factory=dict)
    environ: dict[str, str] = field(default_factory=dict)
    model: str | None = None
    only: bool = True


CASES = [
    # Named by the call
    Case(
        "a call that names a model gets that one",
        "requested_model",
        "anthropic@default/claude-sonnet-5",
        (("anthropic@default/claude-sonnet-5", "usable"),),
        environ={**OPENAI, **CLAUDE},
        model="anthropic/claude-sonnet-5",
        config={"vision": {"default": "openai/gpt-5.4"}},
    ),
    Case(
        "the endpoint of a call is honoured",
        "requested_model",
        "openai@chat/gpt-5.4",
        (("openai@chat/gpt-5.4", "usable"),),
        environ=OPENAI,
        model="openai@chat/gpt-5.4",
    ),
    Case(
        "an endpoint that there is not is not replaced by another",
        "requested_model",
        None,
        (("openai@eu/gpt-5.4", "endpoint_not_configured"),),
        environ=OPENAI,
        model="openai@eu/gpt-5.4",
    ),
    Case(
        "an endpoint of the configuration",
        "requested_model",
        "openai@eu/gpt-5.4",
        (("openai@eu/gpt-5.4", "usable"),),
        config={"providers": {"openai": {"endpoints": {"eu": {"base_url": "https://eu.example/v1"}}}}},
        environ=OPENAI,
        model="openai@eu/gpt-5.4",
    ),
    Case(
        "a model that is known as blind is refused though others could look",
        "requested_model",
        None,
        (("deepseek@default/deepseek-v3.2", "model_lacks_image_input"),),
        environ={"DEEPSEEK_API_KEY": "d", **CLAUDE},
        model="deepseek/deepseek-v3.2",
    ),
    Case(
        "a named model of which nobody knows anything is asked",
        "requested_model",
        "openrouter@default/acme/eye-1",
        (("openrouter@default/acme/eye-1", "usable"),),
        environ={"OPENROUTER_API_KEY": "o"},
        model="openrouter/acme/eye-1",
    ),
    Case(
        "without its key a named model does not fall back",
        "requested_model",
        None,
        (("openai@default/gpt-5.4", "no_credentials"),),
        environ=CLAUDE,
        model="openai/gpt-5.4",
    ),
    Case(
        "a provider that nobody knows",
        "requested_model",
        None,
        (("acme@default/eye-1", "unknown_provider"),),
        environ=CLAUDE,
        model="acme/eye-1",
    ),
    Case(
        "a wire that cannot be asked",
        "requested_model",
        None,
        (("acme@default/eye-1", "transport_unsupported"),),
        config={"providers": {"acme": {"base_url": "https://acme.example", "wire": "bedrock"}}},
        model="acme/eye-1",
    ),
    Case(
        "a server of one's own needs no key",
        "requested_model",
        "acme@default/eye-1",
        (("acme@default/eye-1", "usable"),),
        config={"providers": {"acme": {"base_url": "http://127.0.0.1:9/v1"}}},
        model="acme/eye-1",
    ),
    Case(
        "one that names a key must have it",
        "requested_model",
        None,
        (("acme@default/eye-1", "no_credentials"),),
        config={"providers": {"acme": {"base_url": "http://127.0.0.1:9/v1", "api_key_env": "ACME_KEY"}}},
        model="acme/eye-1",
    ),
    # Named by the configuration
    Case(
        "vision.default",
        "vision_default",
        "gemini@default/gemini-3.5-flash",
        (("gemini@default/gemini-3.5-flash", "usable"),),
        config={"vision": {"default": "gemini/gemini-3.5-flash"}, "model": {"provider": "openai", "default": "gpt-5.4"}},
        environ={**OPENAI, **GEMINI},
    ),
    Case(
        "vision.default without its key does not fall back",
        "vision_default",
        None,
        (("gemini@default/gemini-3.5-flash", "no_credentials"),),
        config={"vision": {"default": "gemini/gemini-3.5-flash"}},
        environ=OPENAI,
    ),
    Case(
        "auto is nobody in particular",
        "auto_discovered",
        "openai@default/gpt-5.4-mini",
        (("openai@default/gpt-5.4-mini", "usable"),),
        config={"vision": {"default": "Auto"}, "auxiliary": {"vision": {"provider": "auto", "model": ""}}},
        environ=OPENAI,
        only=False,
    ),
    Case(
        "auxiliary.vision",
        "auxiliary_vision",
        "anthropic@default/claude-haiku-4-5",
        (("anthropic@default/claude-haiku-4-5", "usable"),),
        config={"auxiliary": {"vision": {"provider": "anthropic", "model": "claude-haiku-4-5"}}},
        environ={**OPENAI, **CLAUDE},
    ),
    Case(
        "auxiliary.vision with a provider alone means the one of its models that sees",
        "auxiliary_vision",
        "anthropic@default/claude-sonnet-5",
        (("anthropic@default/claude-sonnet-5", "usable"),),
        config={"auxiliary": {"vision": {"provider": "anthropic"}}},
        environ=CLAUDE,
    ),
    Case(
        "auxiliary.vision with an address alone",
        "auxiliary_vision",
        "auxiliary@default/eye-1",
        (("auxiliary@default/eye-1", "usable"),),
        config={"auxiliary": {"vision": {"base_url": "http://127.0.0.1:9/v1", "model": "eye-1"}}},
    ),
    Case(
        "a provider alone of which no model is known",
        "auxiliary_vision",
        None,
        (("acme@default/", "no_model_named"),),
        config={"auxiliary": {"vision": {"provider": "acme"}}, "providers": {"acme": {"base_url": "https://a.example/v1"}}},
    ),
    # Found
    Case(
        "the agent's own model where it sees",
        "primary_model",
        "anthropic@default/claude-opus-4-5",
        (("anthropic@default/claude-opus-4-5", "usable"), ("openai@default/gpt-5.4-mini", "usable")),
        config={"model": {"provider": "anthropic", "default": "claude-opus-4-5"}},
        environ={**OPENAI, **CLAUDE},
        only=False,
    ),
    Case(
        "another where the agent's own is blind",
        "auto_discovered",
        "anthropic@default/claude-sonnet-5",
        (
            ("deepseek@default/deepseek-v3.2", "model_lacks_image_input"),
            ("openai@default/gpt-5.4-mini", "no_credentials"),
            ("anthropic@default/claude-sonnet-5", "usable"),
            ("gemini@default/gemini-3.5-flash", "no_credentials"),
        ),
        config={"model": {"provider": "deepseek", "default": "deepseek-v3.2"}},
        environ={"DEEPSEEK_API_KEY": "d", **CLAUDE},
        only=False,
    ),
    Case(
        "what the user says of the agent's own model is not said of others",
        "auto_discovered",
        "openai@default/gpt-5.4-mini",
        (("openai@default/gpt-5.5", "model_lacks_image_input"), ("openai@default/gpt-5.4-mini", "usable")),
        config={"model": {"provider": "openai", "default": "gpt-5.5", "supports_vision": "false"}},
        environ=OPENAI,
        only=False,
    ),
    Case(
        "a model of which nobody attests that it sees is not found",
        "no_model",
        None,
        (("acme@default/llm-1", "image_input_not_attested"), ("openai@default/gpt-5.4-mini", "no_credentials")),
        config={"providers": {"acme": {"base_url": "https://a.example/v1"}}, "model": {"provider": "acme", "default": "llm-1"}},
        only=False,
    ),
    Case(
        "a model that the configuration calls seeing is found",
        "auto_discovered",
        "acme@default/eye-1",
        (("openai@default/gpt-5.4-mini", "no_credentials"),),
        config={
            "providers": {
                "acme": {
                    "base_url": "https://a.example/v1",
                    "models": {"llm-1": {"supports_vision": False}, "eye-1": {"supports_vision": "yes"}},
                }
            }
        },
        only=False,
    ),
    Case(
        "nobody",
        "no_model",
        None,
        (
            ("openai@default/gpt-5.4-mini", "no_credentials"),
            ("anthropic@default/claude-sonnet-5", "no_credentials"),
            ("gemini@default/gemini-3.5-flash", "no_credentials"),
        ),
        only=False,
    ),
]


@pytest.mark.parametrize("case", CASES, ids=[case.says for case in CASES])
def test_the_choice_and_its_candidates(case: Case) -> None:
    selector = Selector(case.config, case.environ, offline=True)
    if case.chosen is None:
        with pytest.raises(VisionAdapterUnavailable) as caught:
            selector.choose(case.model)
        told = json.loads(json.dumps(caught.value.to_dict()))["details"]
    else:
        told = json.loads(json.dumps(selector.choose(case.model).selection.to_dict()))
    assert (told["reason"], told["chosen"]) == (case.reason, case.chosen)
    candidates = [(one["ref"], one["reason"]) for one in told["candidates"]]
    assert tuple(candidates[: len(case.candidates)]) == case.candidates
    if case.only:
        assert len(candidates) == 1, "who is named is the only candidate"
    else:
        assert len({ref for ref, _ in candidates}) == len(candidates) > 10


def test_every_reason_has_a_case() -> None:
    reached = {case.reason for case in CASES}
    assert reached == set(REASONS)
    of_candidates = {reason for case in CASES for _, reason in case.candidates} | {"server_not_reachable", "engine_missing"}
    assert of_candidates == set(CANDIDATE_REASONS)


def test_a_call_does_not_change_the_default() -> None:
    config = {"vision": {"default": "openai/gpt-5.4"}}
    selector = Selector(config, {**OPENAI, **CLAUDE}, offline=True)
    selector.choose("anthropic/claude-sonnet-5")
    assert config == {"vision": {"default": "openai/gpt-5.4"}}
    chosen = selector.choose().selection.chosen
    assert chosen is not None
    assert chosen.ref == "openai@default/gpt-5.4"


@pytest.mark.parametrize("model", [f"{provider.name}/{model}" for provider in providers.KNOWN for model in provider.models])
def test_every_model_of_the_table_is_attested_as_seeing(model: str) -> None:
    route = parse(model)
    assert catalog.shipped().sees(route.provider, route.model) is True


# Servers of the user's own -------------------------------------------------------------------------------------------------


def ollama(request: Request) -> Reply:
    if request.path == "/api/tags":
        return Reply({"models": [{"name": "llama3.2:3b"}, {"name": "llava:7b"}]})
    return Reply({"capabilities": ["completion", "vision"] if request.json["model"].startswith("llava") else ["completion"]})


@pytest.fixture
def server() -> Iterator[Server]:
    with Server(ollama) as server:
        yield server


def test_a_server_without_a_key_counts_and_its_models_are_asked_for(server: Server) -> None:
    choice = Selector({"providers": {"ollama": {"base_url": server.url}}}, {}).choose()
    assert choice.selection.reason == "auto_discovered"
    assert choice.target is not None
    assert (str(choice.target.route), choice.target.wire) == ("ollama@default/llava:7b", "ollama")
    said = {one.ref: one.reason for one in choice.selection.candidates}
    assert said["ollama@default/llama3.2:3b"] == "model_lacks_image_input"


def test_the_address_of_ollama_is_taken_from_its_own_variable(server: Server) -> None:
    choice = Selector({}, {"OLLAMA_HOST": server.url.removeprefix("http://")}).choose()
    assert choice.target is not None
    assert choice.target.base_url == server.url


def test_a_server_that_does_not_answer_is_said_as_such() -> None:
    config = {"providers": {"ollama": {"base_url": "http://127.0.0.1:9"}}}
    with pytest.raises(VisionAdapterUnavailable) as caught:
        Selector(config, {}).choose()
    said = {one["provider"]: one for one in caught.value.details["candidates"]}
    assert said["ollama"]["reason"] == "server_not_reachable"
    assert "could not be asked" in said["ollama"]["said"]


def test_the_configuration_of_the_documentation_does_what_it_says() -> None:
    page = (ROOT / "docs" / "observations.md").read_text()
    config = yaml.safe_load(page.partition("```yaml\n")[2].partition("```")[0])
    selector = Selector(config, {"MINE_API_KEY": "k"}, offline=True)
    by_default, elsewhere = selector.choose().target, selector.choose("mine@eu/some-vlm").target
    assert by_default is not None
    assert elsewhere is not None
    assert (by_default.base_url, by_default.wire) == ("https://models.example/v1", "openai_chat")
    assert (elsewhere.base_url, elsewhere.wire) == ("https://eu.models.example/v1", "openai_chat")


# Names -----------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "route"),
    [
        ("openai/gpt-5.4", Route("openai", "gpt-5.4")),
        ("OpenAI@EU/gpt-5.4", Route("openai", "gpt-5.4", "eu")),
        ("openrouter/google/gemini-3.5-flash:free", Route("openrouter", "google/gemini-3.5-flash:free")),
        ("a@b/c@d/e", Route("a", "c@d/e", "b")),
        ("custom:api.example/x", Route("custom:api.example", "x")),
        (" local ", Route("local", "")),
    ],
)
def test_a_route_is_split_at_its_first_slash(text: str, route: Route) -> None:
    assert parse(text) == route


@pytest.mark.parametrize("text", ["gpt-5.4", "/x", "openai/", "openai@/x", "open ai/x", "a@b@c/x", "../x"])
def test_what_names_no_route_is_refused(text: str) -> None:
    with pytest.raises(InvalidArgument):
        parse(text)
    with pytest.raises(InvalidArgument, match="the call named it"):
        Selector({}, OPENAI, offline=True).choose(text)


# Keys --------------------------------------------------------------------------------------------------------------------------


def test_a_key_comes_from_a_file_of_its_own(tmp_path: Path) -> None:
    (tmp_path / "key").write_text("sk-from-a-file\n")
    config = {"providers": {"openai": {"api_key_file": str(tmp_path / "key")}}}
    target = Selector(config, {}, offline=True).choose("openai/gpt-5.4").target
    assert target is not None
    assert target.key is not None
    assert target.key.reveal() == "sk-from-a-file"
    assert "sk-from-a-file" not in repr(target)


@pytest.mark.parametrize(("content", "said"), [(None, "No such file"), ("", "it is empty"), ("a\nb\n", "more than one line")])
def test_a_file_that_holds_no_key_is_said_as_such(tmp_path: Path, content: str | None, said: str) -> None:
    if content is not None:
        (tmp_path / "key").write_text(content)
    config = {"providers": {"openai": {"api_key_file": str(tmp_path / "key")}}}
    with pytest.raises(VisionAdapterUnavailable, match=said):
        Selector(config, {}, offline=True).choose("openai/gpt-5.4")


@pytest.mark.parametrize(
    ("value", "said"), [("a\nb", "more than one line"), ("k\u00e9y", "that no key has"), ("a\0b", "that no key has")]
)
def test_a_variable_that_holds_no_key_is_said_as_such(value: str, said: str) -> None:
    with pytest.raises(VisionAdapterUnavailable, match=said) as caught:
        Selector({}, {"OPENAI_API_KEY": value}, offline=True).choose("openai/gpt-5.4")
    assert value not in json.dumps(caught.value.to_dict(), ensure_ascii=False)


def test_a_key_in_the_configuration_itself_does_not_count() -> None:
    config = {"providers": {"openai": {"api_key": "sk-in-the-text"}}}
    with pytest.raises(VisionAdapterUnavailable) as caught:
        Selector(config, {}, offline=True).choose("openai/gpt-5.4")
    assert "sk-in-the-text" not in json.dumps(caught.value.to_dict())
