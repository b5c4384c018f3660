"""Descriptions by another model, which the caller brings as a callable: this room knows no model."""

from __future__ import annotations

from collections.abc import Callable

Describe = Callable[[bytes], str]
"""The bytes of a whole PNG, JPEG, GIF or WebP to words about it. May raise anything."""

MAX_AT_ONCE = 4  # descriptions that are asked for side by side


def attempt(describe: Describe | None, data: bytes) -> tuple[str | None, str]:
    """The words, or None and why there are none. A failure is never handed on as if it were a description."""
    if describe is None:
        return None, "no describer is configured"
    try:
        words = describe(data)
    except Exception as error:  # noqa: BLE001  another program's code; whatever it raises, the image is only not described
        return None, f"the describer failed: {type(error).__name__}: {error}"[:200]
    return (words.strip(), "") if words and words.strip() else (None, "the describer gave no words")
