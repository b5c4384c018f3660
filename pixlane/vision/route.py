"""The name of a route: `provider/model` or `provider@endpoint/model`, split at the first slash, so that a model may hold some."""

from __future__ import annotations

import re
from dataclasses import dataclass

from pixlane.errors import InvalidArgument

DEFAULT_ENDPOINT = "default"
LOCAL = "local"
"""The name of the eye that needs no model; it has no provider and no endpoint."""

_NAME = re.compile(r"[a-z0-9][a-z0-9._:-]*")


@dataclass(frozen=True)
class Route:
    """Who is asked. `endpoint`: which of the provider's addresses and wires."""

    provider: str
    model: str
    endpoint: str = DEFAULT_ENDPOINT

    def __str__(self) -> str:
        return f"{self.provider}@{self.endpoint}/{self.model}"


def parse(text: str) -> Route:
    """The route that a text names. Raises InvalidArgument that says what is missing."""
    said = text.strip()
    if said.lower() == LOCAL:
        return Route(LOCAL, "")
    before, slash, model = said.partition("/")
    provider, at, endpoint = before.lower().partition("@")
    if not slash or not model.strip():
        raise InvalidArgument(f"a model is named provider/model or provider@endpoint/model, got {text!r}", actual=text)
    for kind, name in (("provider", provider), ("endpoint", endpoint if at else DEFAULT_ENDPOINT)):
        if not _NAME.fullmatch(name):
            raise InvalidArgument(f"a {kind} is named with a-z, 0-9, dot, colon, dash and underscore, got {name!r}", actual=text)
    return Route(provider, model.strip(), endpoint if at else DEFAULT_ENDPOINT)
