"""The gate: whether pixels that a tool returns reach the model, by route and by lane."""

from __future__ import annotations

from typing import Any

import pytest

from pixlane.messages import native_tool_images, wires
from pixlane.messages.gate import WIRES, carries_tool_images, wire_of
from pixlane.profiles import get, names

BUZZ = ("custom:api.buzzgw.com", "deepseek-v4-flash")


def backend(**values: Any) -> dict[str, Any]:
    return {"auxiliary": {"vision": values}}


def mode(value: Any) -> dict[str, Any]:
    return {"agent": {"image_input_mode": value}}


GATES = [
    ("anthropic", "claude-sonnet-4-5", None, True),
    ("claude", "claude-opus-4-8", None, True),
    ("bedrock", "us.anthropic.claude-sonnet-4-5-20250929-v1:0", None, True),
    ("openai", "gpt-4o", None, False),  # the most restrictive wire is Chat
    ("openai", "gpt-4o", "openai_chat", False),
    ("openai", "gpt-4o", "openai_responses", True),
    ("azure-openai", "gpt-4o", None, False),
    ("azure-openai", "gpt-4o", "openai_chat", False),
    ("azure-openai", "gpt-4o", "openai_responses", True),
    ("gemini", "gemini-3-flash-preview", None, True),
    ("google", "gemini-2.5-pro", None, False),
    ("deepseek", "deepseek-v4-flash", None, False),
    ("groq", "qwen/qwen3.8-27b", None, False),
    ("xai", "grok-4.3", "openai_chat", True),  # known to take what the schema does not name
    ("xai", "grok-4.3", "vercel", False),
    ("moonshot", "kimi-k2.5", None, True),
    ("xiaomi", "mimo-v2.6-pro", None, False),  # sees, and vetoes tool messages
    ("anthropic", "claude-sonnet-4-5", "openai_chat", False),  # its profile speaks of its own API
    ("anthropic", "claude-sonnet-4-5", "gemini", False),
    ("anthropic", "claude-sonnet-4-5", "langchain", True),  # which writes the provider's own
    ("gemini", "gemini-3-flash-preview", "openai_chat", False),
    ("moonshot", "kimi-k2.5", "anthropic", True),
    ("openrouter", "anthropic/claude-sonnet-4.5", None, False),  # nobody has confirmed it
    ("openrouter", "deepseek/deepseek-v3.2", None, False),
]


@pytest.mark.parametrize(("provider", "model", "wire", "is_open"), GATES)
def test_the_gate(provider: str, model: str, wire: str | None, is_open: bool) -> None:
    gate = native_tool_images(provider, model, {}, wire=wire, offline=True)
    assert (gate.open, bool(gate)) == (is_open, is_open)
    assert gate.reason


@pytest.mark.parametrize(
    ("wire", "is_open"), [(None, False), ("openai_chat", False), ("anthropic", True), ("openai_responses", True)]
)
def test_the_gate_of_ollama_is_that_of_its_endpoint(wire: str | None, is_open: bool) -> None:
    assert native_tool_images("ollama", "llava", mode("native"), wire=wire, offline=True).open is is_open


def test_a_profile_vetoes_tool_images_of_a_model_that_sees() -> None:
    gate = native_tool_images("xiaomi", "mimo-v2.6-pro", {"model": {"supports_vision": True}}, offline=True)
    assert (gate.decision.lane, gate.open) == ("native", False)
    assert "xiaomi_mimo" in gate.reason


@pytest.mark.parametrize("config", [mode("text"), backend(provider="openai"), {"model": {"supports_vision": False}}])
def test_the_gate_is_closed_where_the_lane_is_text(config: dict[str, Any]) -> None:
    gate = native_tool_images("anthropic", "claude-sonnet-4-5", config, offline=True)
    assert gate.open is False
    assert gate.reason.startswith("the lane is text (")


def test_native_by_hand_does_not_open_a_route_that_loses_images() -> None:
    assert native_tool_images("openai", "gpt-4o", mode("native"), offline=True).open is False
    assert native_tool_images(*BUZZ, mode("native"), offline=True).open is False
    assert native_tool_images(*BUZZ, mode("native"), wire="anthropic", offline=True).open is True  # its schema carries them
    assert native_tool_images(*BUZZ, mode("native"), wire="openai_chat", offline=True).open is False


@pytest.mark.parametrize("profile", [name for name in names() if get(name).tool_result_images is None])
def test_what_nobody_has_confirmed_is_closed(profile: str) -> None:
    routes = {
        "vertex_claude": ("vertex", "claude-x"),
        "vertex_gemini": ("vertex", "gemini-3-pro"),
        "azure_foundry_responses": None,
    }
    route = routes.get(profile, (profile.replace("_dashscope", "").replace("llama_cpp", "llama-cpp"), ""))
    if route is None:  # reached with its wire alone
        assert carries_tool_images("azure-ai", "m", "openai_responses")[0] is True
        return
    assert carries_tool_images(*route)[0] is False


def test_every_profile_has_a_wire_that_exists() -> None:
    assert set(WIRES) <= set(names())
    assert all(wires.get(wire_of(get(name))) for name in names())
