"""The Lua scripts of ledger and budgets, as commands: sent by their hash, loaded when a server does not know them yet."""

from __future__ import annotations

import hashlib
from functools import cache
from importlib import resources
from typing import Any

WITH_RECORD = ("submit", "claim", "close", "sweep", "forget", "cancel", "retry")
"""Scripts that open or end records; `record.lua` stands before them."""

NAMES = (*WITH_RECORD, "release", "crash", "count", "uncount", "unmark")


def call(name: str, keys: list[str], args: list[Any]) -> tuple[Any, ...]:
    """The command that runs the script `name`."""
    return "EVALSHA", _loaded()[name][1], len(keys), *keys, *args


def load_commands() -> list[tuple[Any, ...]]:
    """The commands that make a server know every script."""
    return [("SCRIPT", "LOAD", text) for text, _ in _loaded().values()]


@cache
def _loaded() -> dict[str, tuple[str, str]]:
    folder = resources.files("pixlane.store") / "lua"
    texts = {name: (folder / f"{name}.lua").read_text(encoding="utf-8") for name in ("record", *NAMES)}
    head = texts.pop("record")
    texts |= {name: head + texts[name] for name in WITH_RECORD}
    return {name: (text, hashlib.sha1(text.encode(), usedforsecurity=False).hexdigest()) for name, text in texts.items()}
