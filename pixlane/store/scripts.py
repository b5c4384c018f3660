"""The Lua scripts of ledger and budgets, as commands: sent by their hash, loaded when a server does not know them yet."""

from __future__ import annotations

import hashlib
from functools import cache
from importlib import resources
from typing import Any

NAMES = ("submit", "claim", "close", "release", "crash", "sweep", "forget", "count", "uncount", "unmark")


def call(name: str, keys: list[str], args: list[Any]) -> tuple[Any, ...]:
    """The command that runs the script `name`."""
    return "EVALSHA", _loaded()[name][1], len(keys), *keys, *args


def load_commands() -> list[tuple[Any, ...]]:
    """The commands that make a server know every script."""
    return [("SCRIPT", "LOAD", text) for text, _ in _loaded().values()]


@cache
def _loaded() -> dict[str, tuple[str, str]]:
    folder = resources.files("pixlane.store") / "lua"
    texts = {name: (folder / f"{name}.lua").read_text(encoding="utf-8") for name in NAMES}
    return {name: (text, hashlib.sha1(text.encode(), usedforsecurity=False).hexdigest()) for name, text in texts.items()}
