"""What an API has to say of itself: where the request goes, its headers and body, and how its answer is read. No network here."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

from pixlane.messages import wires
from pixlane.messages.wires import Part
from pixlane.vision.credentials import Secret


@dataclass(frozen=True)
class Turn:
    """A reply that was not valid, and what was said to it."""

    reply: str
    complaint: str


@dataclass(frozen=True)
class Ask:
    """A question about one picture.

    Attributes:
        schema: of the reply, where the API is to enforce it; None: the instruction says it in words.
        turns: what was said since.
        bounded: the length of the reply is bounded; not with a server of the user's own, whose whole context may be shorter.
    """

    provider: str
    model: str
    system: str
    prompt: str
    mime: str
    data: bytes = field(repr=False)
    schema: dict[str, Any] | None = None
    turns: tuple[Turn, ...] = ()
    bounded: bool = True


@dataclass(frozen=True)
class Reply:
    """What a model said. `ended`: whole, cut (it ran into the longest reply) or refused, and in `said` why."""

    text: str
    ended: Literal["whole", "cut", "refused"] = "whole"
    said: str = ""


class Api(ABC):
    """One API.

    Attributes:
        wire: its name.
        units: in which its models give boxes.
        max_tokens: the longest reply that is asked for, thoughts included.
        schema_words: what an error says when this server does not take a schema.
    """

    wire: ClassVar[str]
    units: ClassVar[Literal["pixels", "thousandths"]] = "pixels"
    max_tokens: ClassVar[int] = 16_384
    schema_words: ClassVar[tuple[str, ...]] = ()

    @abstractmethod
    def url(self, base_url: str, model: str) -> str:
        """Where the request goes."""

    def headers(self, key: Secret | None) -> dict[str, str]:
        return {"authorization": f"Bearer {key.reveal()}"} if key else {}

    @abstractmethod
    def body(self, ask: Ask) -> dict[str, Any]:
        """The request."""

    @abstractmethod
    def read(self, answer: Any) -> Reply:
        """What the model said. Raises ValueError, TypeError, LookupError or AttributeError for an answer of another form."""

    def picture(self, ask: Ask) -> Part:
        return wires.get(self.wire).image_part(ask.mime, ask.data)

    def text(self, text: str) -> Part:
        return wires.get(self.wire).text_part(text)

    def opening(self, ask: Ask) -> dict[str, Any]:
        """The user's first message: the picture, then the question."""
        return wires.get(self.wire).user_message([self.picture(ask), self.text(ask.prompt)])


def joined(base_url: str, path: str) -> str:
    return f"{base_url.rstrip('/')}/{path}"


def without(base_url: str, *suffixes: str) -> str:
    """The base URL without a version that the path brings itself: users write it either way."""
    root = base_url.rstrip("/")
    for suffix in suffixes:
        root = root.removesuffix(suffix)
    return root


def problem_in(answer: Any) -> str:
    """The sentence of an error's body, "" where there is none."""
    error = answer.get("error", answer) if isinstance(answer, Mapping) else None
    said = error.get("message") or error.get("detail") if isinstance(error, Mapping) else error
    return said if isinstance(said, str) else ""
