"""`_meta` of MCP: what a vendor says beside a result goes to the model, what the protocol keeps for itself does not.

A key is `prefix/name`, its prefix labels with dots between them, or a name alone. Two revisions reserve different prefixes, and a
client cannot know by which one a server was written:

    2025-06-18   `modelcontextprotocol` or `mcp` as any label but the last: modelcontextprotocol.io/, mcp.dev/, tools.mcp.com/
    2025-11-25   the same words as the second label: io.modelcontextprotocol/, dev.mcp/, com.mcp.tools/

Both say that com.example.mcp/ is a vendor's. The bare words as a whole prefix are the protocol's by their plain meaning.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

PROTOCOL_LABELS = ("modelcontextprotocol", "mcp")


def is_reserved(key: str) -> bool:
    """Whether the protocol keeps this key for itself. Upper and lower case are one, as in the names of hosts."""
    prefix, slash, _ = key.partition("/")
    if not slash:
        return False
    labels = prefix.strip().lower().split(".")
    if labels[0] in PROTOCOL_LABELS and len(labels) == 1:
        return True
    by_2025_06 = any(label in PROTOCOL_LABELS for label in labels[:-1])
    by_2025_11 = len(labels) > 1 and labels[1] in PROTOCOL_LABELS
    return by_2025_06 or by_2025_11


def of_vendor(meta: Any) -> tuple[dict[str, Any], list[str]]:
    """What the model may read of a `_meta`, and the keys that were dropped: reserved, no strings, or not JSON.

    Empty where there is nothing, or where `meta` is no mapping: then the field is left out.
    """
    kept: dict[str, Any] = {}
    dropped: list[str] = []
    for key, value in meta.items() if isinstance(meta, Mapping) else ():
        if isinstance(key, str) and not is_reserved(key) and _is_json(value):
            kept[key] = value
        else:
            dropped.append(str(key))
    return kept, dropped


def _is_json(value: Any) -> bool:
    try:
        json.dumps(value, allow_nan=False)
    except (TypeError, ValueError, RecursionError):
        return False
    return True
