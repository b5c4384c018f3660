"""The APIs through which a model can be asked for an observation, one file each; named as the wires of `pixlane.messages`."""

from __future__ import annotations

from importlib import import_module

from pixlane.vision.apis.api import Api, Ask, Reply, Turn

__all__ = ["NAMES", "Api", "Ask", "Reply", "Turn", "get"]

NAMES = ("openai_chat", "openai_responses", "anthropic", "gemini", "ollama")


def get(wire: str) -> Api:
    """The API of that wire, one of NAMES."""
    found: Api = import_module(f"{__name__}.{wire}").API
    return found
