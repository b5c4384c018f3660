"""What every stub of a provider has: limits and error texts from the data files beside it, and a memory of its turns."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, ClassVar

from tests.stubs import published
from tests.stubs.http import Reply, Request
from tests.stubs.pictures import Picture

HERE = Path(__file__).parent
SHOWN_WORDS = 12  # of the last text of the user, given back in the answer


class Refused(Exception):
    """The provider's answer to a request that it does not take: its key in `refusals.json`, the values in its text."""

    def __init__(self, key: str, **values: Any) -> None:
        self.key = key
        self.row, self.answer = refusals()[key]
        self.text: str = self.answer["text"].format(**values)
        super().__init__(self.text)

    @property
    def status(self) -> int:
        return int(self.answer["status"])


@dataclass(frozen=True)
class Turn:
    """One request that was answered: what the model saw of it.

    Attributes:
        pictures: those whose pixels reached the model, in order.
        texts: every text in it, in order.
        urls: images that were named by a URL that the provider would fetch.
    """

    pictures: tuple[Picture, ...]
    texts: tuple[str, ...] = field(repr=False)
    urls: tuple[str, ...] = ()


class Provider:
    """A handler for `tests.stubs.http.Server`.

    Args:
        limits: in place of the published ones, by their names.
        wording: names of answers in place of the usual ones: `{"mismatch": "mismatch_old"}`.

    Attributes:
        requests: how many came in.
        refused: every refusal, in order.
        turns: every answered request, in order; each had the form that the vendor publishes (`form`, a name of `published`).
    """

    form: ClassVar[str] = ""
    limits_of: ClassVar[str]
    name: ClassVar[str]  # as the rows of `refusals.json` name it

    def __init__(self, limits: dict[str, Any] | None = None, wording: dict[str, str] | None = None) -> None:
        self.limits = {**limits_enforced(self.limits_of), **(limits or {})}
        self.wording = wording or {}
        self.requests = 0
        self.refused: list[Refused] = []
        self.turns: list[Turn] = []

    def __call__(self, request: Request) -> Reply:
        self.requests += 1
        try:
            turn = self.read(request)
        except Refused as refused:
            self.refused.append(refused)
            return Reply(self.error(refused), refused.status)
        if self.form:
            published.check(self.form, request.json)
        self.turns.append(turn)
        return Reply(self.success(request, self.words(turn)))

    def read(self, request: Request) -> Turn:
        """What the model sees of the request. Raises Refused."""
        raise NotImplementedError

    def success(self, request: Request, text: str) -> Any:
        """The body of an answer."""
        raise NotImplementedError

    def error(self, refused: Refused) -> Any:
        """The body of a refusal; the form of OpenAI, which most speak."""
        answer = refused.answer
        error = {"message": refused.text, "type": answer.get("type"), "param": answer.get("param"), "code": answer.get("code")}
        return {"error": error}

    def refuse(self, what: str, provider: str = "", **values: Any) -> Refused:
        """The refusal of that name, in the wording that was asked for."""
        return Refused(f"{provider or self.name}.{self.wording.get(what, what)}", **values)

    def words(self, turn: Turn) -> str:
        """The answer of the model: what it was asked last, besides remarks in brackets, and what it sees."""
        asked = " ".join(next((text for text in reversed(turn.texts) if text[:1] != "["), "").split()[:SHOWN_WORDS])
        return f"You said: {asked} | I see {len(turn.pictures)} images: {', '.join(map(str, turn.pictures))}"


def limits_published(name: str) -> dict[str, Any]:
    """The limits that a surface publishes."""
    record = _data("limits.json")["providers"][name]
    return {key: value for key, value in record.items() if key not in ("evidence", "source", "enforced")}


def limits_enforced(name: str) -> dict[str, Any]:
    """The published limits, and over them those that its error texts name, which may be older."""
    record = _data("limits.json")["providers"][name]
    return {**limits_published(name), **record.get("enforced", {})}


@cache
def refusals() -> dict[str, tuple[int, dict[str, Any]]]:
    """`<provider>.<answer>` to the row (0: beside the table) and the answer."""
    table = _data("refusals.json")
    found: dict[str, tuple[int, dict[str, Any]]] = {}
    for record in (*table["rows"], *table["beside"]):
        for name, answer in record["answers"].items():
            key = f"{record['provider']}.{name}"
            assert key not in found, f"two answers are named {key}"
            found[key] = record.get("row", 0), answer
    return found


@cache
def _data(name: str) -> Any:
    return json.loads((HERE / name).read_text(encoding="utf-8"))


def quoted(names: Iterable[str]) -> str:
    return ", ".join(f"'{name}'" for name in names)
