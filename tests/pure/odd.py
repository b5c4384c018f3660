"""Values of any shape in the place of others: what a history may hold that nobody expects."""

from __future__ import annotations

import copy
from typing import Any

from hypothesis import strategies as st

WORDS = ["type", "role", "content", "parts", "image", "image_url", "source", "data", "url", "text", "output", "value", "images"]
WORDS += ["input_image", "tool_result", "toolResult", "bytes", "inlineData", "functionResponse", "mimeType", "response", "base64"]
WORDS += ["tool", "user", "file", "mediaType", "resource", "blob", "image/png", "document", "format", "media_type", "file_id"]
WORDS += ["data:image/png;base64,AAAA", "https://example.com/a.png", "computer_screenshot", "computer_call_output", "message"]
LEAVES = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.binary(max_size=4) | st.sampled_from(WORDS)
VALUES = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(WORDS), inner, max_size=5),
    max_leaves=12,
)


def paths(node: Any) -> list[tuple[Any, ...]]:
    """Every place in a nested value."""
    children = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
    return [(), *((key, *rest) for key, child in children for rest in paths(child))]


def with_value(node: Any, path: tuple[Any, ...], value: Any) -> Any:
    if not path:
        return value
    copied = copy.copy(node)
    copied[path[0]] = with_value(node[path[0]], path[1:], value)
    return copied
