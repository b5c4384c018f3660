"""One gate for every source of tool images: what the route says holds for captures and for MCP alike."""

from __future__ import annotations

import base64
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pixlane.messages import MediaFolder, Route, ToolResult, admit, dispatchable, from_capture, from_mcp
from pixlane.messages.budgets import DELEGATED_LIMIT, call_limit
from pixlane.messages.config import load_config
from pixlane.messages.gate import Gate, native_tool_images
from pixlane.messages.lane import decide_lane
from tests.pure import make

PNG = make.flat(make.RED)
CLAUDE = ("anthropic", "claude-sonnet-4-5")
BLIND = ("openrouter", "deepseek/deepseek-v3.2")
TEXT = {"agent": {"image_input_mode": "text"}}
DESCRIBER = {"auxiliary": {"vision": {"provider": "gemini"}}}


def captured(gate: Gate, media: MediaFolder) -> ToolResult:
    return from_capture(PNG, gate, describe=lambda _: "a red window", media=media)


def from_server(gate: Gate, media: MediaFolder) -> ToolResult:
    block = {"type": "image", "data": base64.b64encode(PNG).decode(), "mimeType": "image/png"}
    return from_mcp({"content": [block]}, gate, describe=lambda _: "a red window", media=media)


@pytest.mark.parametrize("source", [captured, from_server])
@pytest.mark.parametrize(
    ("route", "config", "options", "pixels"),
    [
        (CLAUDE, {}, {}, True),
        (CLAUDE, TEXT, {}, False),
        (CLAUDE, DESCRIBER, {}, False),
        (BLIND, {}, {}, False),
        (("openai", "gpt-4o"), {}, {}, False),
        (("openai", "gpt-4o"), {}, {"wire": "openai_responses"}, True),
        (("custom:api.buzzgw.com", "deepseek-v4-flash"), {}, {}, False),
        (("xiaomi", "mimo-v2-omni"), {"model": {"supports_vision": True}}, {}, False),
    ],
)
def test_pixels_go_where_the_gate_is_open_and_words_elsewhere(
    source: Callable[..., ToolResult], route: Any, config: Any, options: Any, pixels: bool, tmp_path: Path
) -> None:
    gate = native_tool_images(*route, config, offline=True, **options)
    result = source(gate, MediaFolder(tmp_path / "media"))
    assert (gate.open, bool(result.images)) == (pixels, pixels)
    assert ("[image, described: a red window]" in str(result)) is not pixels
    assert "switch" not in str(result)


def test_a_route_is_judged_by_the_decision_on_its_lane() -> None:
    routes = [Route.of("/".join(route), decide_lane(*route, offline=True)) for route in (BLIND, CLAUDE)]
    dispatch = dispatchable(routes, admit([PNG], "anthropic"))
    assert [route.name for route in dispatch.routes] == ["anthropic/claude-sonnet-4-5"]
    assert dispatch.refused[0].reason


def test_the_limit_of_loads_is_read_from_the_agents_configuration(tmp_path: Path) -> None:
    file = tmp_path / "agent.yaml"
    file.write_text("vision: {}\n")
    assert call_limit(load_config(path=str(file), environ={}), delegated=True) == DELEGATED_LIMIT
    assert call_limit(load_config(path=str(file), environ={"PIXLANE_MAX_CALLS_PER_IMAGE": "5"})) == 5
    file.write_text("vision:\n  max_calls_per_image: 2\n")
    assert call_limit(load_config(path=str(file), environ={})) == 2
