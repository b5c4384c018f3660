"""The lane: the tables of the articles, row by row, and that nobody guesses."""

from __future__ import annotations

import json
from typing import Any

import pytest

from pixlane.messages import Finding, Rung, catalog, coerce_bool, decide_lane, explain, explicit_backend, native_tool_images

NOBODY: tuple[Rung, ...] = ()
SEES = (Rung("witness", lambda route: Finding(True, "it sees")),)
BLIND = (Rung("witness", lambda route: Finding(False, "it is blind")),)
BUZZ = ("custom:api.buzzgw.com", "deepseek-v4-flash")


def backend(**values: Any) -> dict[str, Any]:
    return {"auxiliary": {"vision": values}}


def mode(value: Any) -> dict[str, Any]:
    return {"agent": {"image_input_mode": value}}


def per(provider: str, value: Any = True) -> dict[str, Any]:
    return {"providers": {provider: {"models": {"m": {"supports_vision": value}}}}}


def old(name: str, value: Any, word: str = "supports_vision") -> dict[str, Any]:
    return {"custom_providers": [{"name": name, "models": {"m": {word: value}}}]}


# The seven printed lines of article 000 --------------------------------------------------------------------------------------

PRINTED: dict[str, tuple[dict[str, Any], tuple[Rung, ...], str]] = {
    "config override says the model can see": ({"model": {"supports_vision": True}}, NOBODY, "native"),
    "override is the string 'false' (quoted YAML)": ({"model": {"supports_vision": "false"}}, SEES, "text"),
    "per-provider override, main override absent": (
        per("p"),
        NOBODY,
        "native",
    ),
    "explicit auxiliary.vision backend, main model CAN see": (backend(provider="openai", model="gpt-4o-mini"), SEES, "text"),
    "agent.image_input_mode = native, capability unknown": (mode("native"), NOBODY, "native"),
    "agent.image_input_mode = text, capability true": (mode("text"), SEES, "text"),
}


@pytest.mark.parametrize("line", PRINTED)
def test_a_line_of_the_articles_table(line: str) -> None:
    config, probes, lane = PRINTED[line]
    assert decide_lane("p", "m", config, probes=probes).lane == lane


@pytest.mark.parametrize("missing", [("", ""), (None, None), ("p", ""), ("", "m")])
def test_without_provider_or_model_and_without_an_override_it_is_text(missing: tuple[str | None, str | None]) -> None:
    assert decide_lane(*missing, {}, probes=SEES).lane == "text"


def test_the_opening_probe_of_the_article() -> None:
    config = {**mode("auto"), **backend(provider="auto", model="")}
    decision = decide_lane(*BUZZ, config, offline=True)
    assert (decision.lane, decision.reason) == ("text", "nobody attests that deepseek-v4-flash sees")
    assert native_tool_images(*BUZZ, config, offline=True).open is False
    assert decide_lane(*BUZZ, mode("native"), offline=True).lane == "native"
    assert catalog.shipped().sees("deepseek", "deepseek-v4-flash") is True  # the name is known, at another provider


# hermes.md, section 6 --------------------------------------------------------------------------------------------------------

MODES = {
    "native": "native",
    " NATIVE ": "native",
    "Text": "text",
    "auto": None,
    "banana": None,
    "": None,
    1: None,
    None: None,
}


@pytest.mark.parametrize("value", MODES)
def test_the_mode_goes_over_everything_and_anything_else_is_auto(value: Any) -> None:
    for probes, otherwise in ((SEES, "native"), (BLIND, "text")):
        assert decide_lane("p", "m", mode(value), probes=probes).lane == (MODES[value] or otherwise)


def test_a_mode_that_is_none_is_named() -> None:
    assert "'banana' is none of auto, native, text" in decide_lane("p", "m", mode("banana"), probes=SEES).evidence[0].said


def test_the_order_of_the_steps() -> None:
    both = {**backend(provider="openai"), "model": {"supports_vision": True}}
    assert decide_lane("p", "m", {**mode("native"), **both}, probes=BLIND).lane == "native"
    assert decide_lane("p", "m", both, probes=SEES).lane == "text"  # the backend before the override
    assert decide_lane("p", "m", {"model": {"supports_vision": True}}, probes=BLIND).lane == "native"
    assert decide_lane("p", "m", {}, probes=SEES).lane == "native"
    assert decide_lane("p", "m", {}, probes=BLIND).lane == "text"
    assert decide_lane("p", "m", {}, probes=NOBODY).lane == "text"
    assert decide_lane("p", "m", None, probes=NOBODY).lane == "text"


EXPLICIT = [
    ({"provider": "openai"}, "provider openai"),
    ({"provider": "main"}, "provider main"),
    ({"provider": "auto", "model": "llava"}, "model llava"),
    ({"base_url": "http://u:secret@h/v1?key=x"}, "base_url http://h/v1"),
    ({"provider": "openai", "model": "gpt-4o"}, "provider openai, model gpt-4o"),
    ({"provider": " AUTO ", "model": "", "base_url": " "}, ""),
    ({"provider": ""}, ""),
    ({"provider": None, "model": None}, ""),
    ({}, ""),
    ("openai", ""),
    (None, ""),
]


@pytest.mark.parametrize(("vision", "named"), EXPLICIT)
def test_what_counts_as_an_explicit_backend(vision: Any, named: str) -> None:
    assert explicit_backend({"auxiliary": {"vision": vision}}) == named


BOOLEANS = [
    *((word, True) for word in (True, 1, "true", " Yes ", "ON", "1")),
    *((word, False) for word in (False, 0, "false", "No", "off", "0")),
    *((word, None) for word in (2, -1, 1.0, 0.0, "", "maybe", "2", "truee", None, [], {}, b"true")),
]


@pytest.mark.parametrize(("value", "meant"), BOOLEANS, ids=repr)
def test_the_strict_boolean(value: Any, meant: bool | None) -> None:
    assert coerce_bool(value) is meant
    unknown = {None: "native"}  # falls through to the witness
    lanes = {True: "native", False: "text", **unknown}
    assert decide_lane("p", "m", {"model": {"supports_vision": value}}, probes=SEES).lane == lanes[meant]


def test_an_override_that_is_neither_is_ignored_and_named() -> None:
    config = {"model": {"supports_vision": "maybe"}, "providers": {"p": {"models": {"m": {"supports_vision": "no"}}}}}
    decision = decide_lane("p", "m", config, probes=SEES)
    assert decision.lane == "text"
    assert "model.supports_vision is 'maybe', neither true nor false" in decision.reason


OVERRIDES = {
    "of the provider": ("p", per("p"), True),
    "of another provider": ("p", per("q"), None),
    "of another model": ("p", {"providers": {"p": {"models": {"other": {"supports_vision": True}}}}}, None),
    "of the configured provider": ("p", {"model": {"provider": "main"}, **per("main")}, True),
    "the requested provider first": (
        "p",
        {"model": {"provider": "main"}, "providers": {**per("main")["providers"], **per("p", False)["providers"]}},
        False,
    ),
    "under the bare name of a custom one": ("custom:x.y", per("x.y"), True),
    "the main one goes first": ("p", {"model": {"supports_vision": False}, **per("p")}, False),
    "in the old list": ("x", old("x", True), True),
    "in the old list, asked with custom:": ("custom:X", old("x", "yes"), True),
    "in the old list, named with custom:": ("x", old("custom:x", True, "vision"), True),
    "in the old list, the configured one": ("p", {"model": {"provider": "x"}, **old("x", True)}, True),
    "the new form before the old": ("x", {**per("x", False), **old("x", True)}, False),
    "of no mapping": ("p", {"providers": ["p"], "custom_providers": {"p": 1}, "model": "m"}, None),
    "of broken entries": ("p", {"custom_providers": ["p", None, {"name": 3}, {"name": "p", "models": ["m"]}]}, None),
}


@pytest.mark.parametrize("which", OVERRIDES)
def test_an_override(which: str) -> None:
    provider, config, sees = OVERRIDES[which]
    for probes, otherwise in ((SEES, "native"), (BLIND, "text")):
        lane = otherwise if sees is None else "native" if sees else "text"
        assert decide_lane(provider, "m", config, probes=probes).lane == lane


def test_the_first_witness_that_knows_decides_and_none_after_it_is_asked() -> None:
    asked: list[str] = []

    def witness(name: str, sees: bool | None) -> Rung:
        return Rung(name, lambda route: (asked.append(name), Finding(sees, "so"))[1])

    rungs = [witness("a", None), witness("b", False), witness("c", True)]
    decision = decide_lane("p", "m", {}, probes=rungs)
    assert (decision.lane, asked) == ("text", ["a", "b"])
    assert [step.name for step in decision.evidence][-2:] == ["a", "b"]
    explained = explain("p", "m", {}, probes=rungs)
    assert explained.decision == decision
    assert [step.name for step in explained.steps][-3:] == ["a", "b", "c"]
    assert json.loads(json.dumps(explained.to_dict()))["lane"] == "text"


def test_explain_prints_every_step_the_decision_and_the_age_of_the_catalog() -> None:
    text = str(explain("anthropic", "claude-sonnet-4-5", {}, offline=True)).splitlines()
    assert text[0].startswith("native: catalog:")
    assert [line[3:].split()[0] for line in text[1:]] == [
        "agent.image_input_mode",
        "auxiliary.vision",
        "supports_vision",
        "local_runtime",
        "catalog",
        "ollama",
        "profile",
    ]
    (decided,) = [line for line in text if line.startswith("->")]
    assert catalog.shipped().as_of in decided
    assert " d old" in decided


def test_names_that_yaml_reads_as_numbers_are_met_by_their_spelling() -> None:
    config = {"providers": {"lab": {"models": {4.1: {"supports_vision": True}}}}}
    decision = decide_lane("lab", 4.1, config, probes=())  # type: ignore[arg-type]
    assert (decision.lane, "providers.lab.models.4.1.supports_vision is true" in decision.reason) == ("native", True)
    assert decide_lane(5, 6, None, probes=()).lane == "text"  # type: ignore[arg-type]
    assert not native_tool_images(5, 6, {"model": 5}, probes=())  # type: ignore[arg-type]
