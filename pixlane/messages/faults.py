"""Why a provider refused a request with images: its error text becomes a fault with a kind, a limit and a place.

    fault = classify_error(error.status_code, error.body, "anthropic")

The wordings stand in `faults.json`: whose they are, what they mean, and where each was read.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from functools import cache, lru_cache
from importlib import resources
from typing import Any, Literal

from pixlane.messages import request_paths
from pixlane.messages.refusals import Sentence, of_exception, read

Kind = Literal["bytes", "pixels", "count", "type", "mismatch", "undecodable", "no_vision", "tool_images"]
Basis = Literal["raw", "base64", "data_url", "request"]

KINDS: dict[str, str] = {
    "bytes": "an image, or all of the request, has too many bytes",
    "pixels": "an image has too many pixels on a side, or too few",
    "count": "the request has too many images",
    "type": "the receiver does not take this format, or not this way of handing it over",
    "mismatch": "the declared type contradicts the bytes",
    "undecodable": "the receiver cannot get at the picture, or will not look at it",
    "no_vision": "the model does not see",
    "tool_images": "the receiver takes no images in tool results",
}
UNITS = {"bytes": "bytes", "pixels": "px", "count": "images"}

REFUSED = frozenset({400, 404, 413, 415, 422})  # statuses with which a request is refused for what is in it
FAILED = 500  # with which some servers answer what they should refuse: only wordings that say so
NOT_THE_REQUEST = frozenset({401, 402, 403, 407, 408, 409, 425, 429})  # inside of a body; 5xx too
OTHER_CAUSES = frozenset(
    {"rate_limit_error", "rate_limit_exceeded", "overloaded_error", "authentication_error", "permission_error", "billing_error"}
    | {"insufficient_quota", "resource_exhausted", "unavailable", "unauthenticated", "throttlingexception", "timeout_error"}
)
SHOWN_CHARS = 300  # of what was said, in a fault
FAMILIES = {
    "gemini": ("gemini", "google", "vertex"),
    "minimax": ("minimax",),
    "ollama": ("ollama",),
}  # of wordings that count only from their own


@dataclass(frozen=True)
class Wording:
    """One wording of `faults.json`.

    Attributes:
        provider: whose it is; "any" where several speak so.
        kind: one of KINDS.
        text: its template, from the first word on; `{limit}`, `{actual}`, `{path}` and `{any}` stand for what changes. Quotes of
            any kind are one, letter case does not count.
        source: the thread, file or page where it was read.
        basis: what a byte limit counts: "raw" file bytes, "base64" characters, "data_url" characters, the whole "request".
        limit: the limit where it is known and not said.
        own: says nothing of images, so that it counts only from its own provider.
        sure: False where something else may be wrong as well.
        many: the limit holds for every image of a request of many.
        at_least: the limit is the least that is taken.
        urls: about an image that is named by a URL.
        field: the field of the image's part that was refused.
        in_success: stands in the body of a response with status 200.
        in_failure: its own provider answers so with status 500.
    """

    provider: str
    kind: Kind
    text: str
    source: str
    basis: Basis | None = None
    limit: int | None = None
    own: bool = False
    sure: bool = True
    many: bool = False
    at_least: bool = False
    urls: bool = False
    field: str | None = None
    in_success: bool = False
    in_failure: bool = False


@dataclass(frozen=True)
class ImageFault:
    """A refusal that is about images.

    Attributes:
        kind: one of KINDS.
        text: what was said, shortened.
        provider: whose wording it is, which is not always who was asked.
        limit, actual: as said, in `unit`; None where not.
        unit: "bytes", "px" or "images".
        basis: what bytes are counted: "raw", "base64", "data_url", "request"; None where that is not known.
        path: the place in the request as the provider names it; "" where it does not.
        sure, many, at_least, urls, field: see `Wording`.
        source: where the wording was read.
    """

    kind: Kind
    text: str
    provider: str
    limit: int | None = None
    actual: int | None = None
    unit: str | None = None
    basis: Basis | None = None
    path: str = ""
    sure: bool = True
    many: bool = False
    at_least: bool = False
    urls: bool = False
    field: str | None = None
    source: str = ""

    @property
    def place(self) -> tuple[int, ...]:
        """The indexes of the path, from 0: message, part, and the part inside of a tool result."""
        return request_paths.indexes(self.path)

    @property
    def message_index(self) -> int | None:
        return self.place[0] if self.place else None

    @property
    def content_index(self) -> int | None:
        return self.place[1] if len(self.place) > 1 else None

    def to_dict(self) -> dict[str, Any]:
        return {**asdict(self), "place": list(self.place)}


def classify_error(status: int | None, body: Any, provider: str = "") -> ImageFault | None:
    """The image fault that an error names; None where it names none.

    Only a provider's own sentence counts, from its first word on: neither a status alone (413 says nothing of images), nor what
    the body repeats of the request. Rate limits and overload are never about images, failures of the server only
    where it is known to answer so.

    Args:
        status: of the response; None where there was none.
        body: text, bytes, parsed JSON, an SDK's `body`, or the exception itself.
        provider: who was asked. Gateways hand on the wordings of others, so all are looked for, its own first.
    """
    if isinstance(body, BaseException):
        known, body = of_exception(body)
        status = known if status is None else status
    if status is not None and status not in REFUSED and status != FAILED and not 200 <= status < 300:
        return None
    said = read(body)
    if said.causes & OTHER_CAUSES or any(number in NOT_THE_REQUEST or number >= 500 for number in said.statuses):
        return None
    for sentence in said.sentences:
        fault = _fault(sentence, status, provider.lower())
        if fault is not None:
            return fault
    return None


def wordings() -> tuple[Wording, ...]:
    """The table, as `docs/errors.md` shows it."""
    return tuple(wording for wording, _ in _table()[0])


def codes() -> dict[str, Kind]:
    """Machine-readable codes that say it without words."""
    return dict(_table()[1])


def _fault(sentence: Sentence, status: int | None, provider: str) -> ImageFault | None:
    if request_paths.foreign(sentence.path):
        return None
    success = status is not None and 200 <= status < 300
    failure = status == FAILED
    path, rest = request_paths.split(sentence.text)
    kinds = _table()[1]
    for wording, pattern in _own_first(provider):
        if wording.own and not any(name in provider for name in FAMILIES[wording.provider]):
            continue
        if failure and not (wording.in_failure and wording.provider in provider):
            continue
        if success and not (sentence.as_error or (wording.in_success and pattern.fullmatch(rest))):
            continue
        found = pattern.match(rest) or (pattern.match(sentence.text) if path else None)
        named = path or _group(found, "path") or request_paths.named(sentence.path)
        if found is not None and not request_paths.elsewhere(named):
            return _made(wording, found, sentence.text, named)
    kind = kinds.get(sentence.code.lower()) or kinds.get(rest.lower())
    if kind is None or failure or (success and not sentence.as_error) or request_paths.elsewhere(path):
        return None
    return _coded(kind, sentence.code.lower(), sentence.text, path or request_paths.named(sentence.path))


def _coded(kind: Kind, code: str, text: str, path: str) -> ImageFault:
    return ImageFault(
        kind,
        text[:SHOWN_CHARS] or code,
        "openai",
        unit=UNITS.get(kind),
        path=path,
        urls="url" in code or "download" in code,
        at_least=code == "image_too_small",
    )


def _made(wording: Wording, found: re.Match[str], text: str, path: str) -> ImageFault:
    said = _amount(_group(found, "limit"))
    limit = said if said is not None else wording.limit
    kind: Kind = "no_vision" if wording.kind == "count" and limit == 0 else wording.kind
    return ImageFault(
        kind,
        text[:SHOWN_CHARS],
        wording.provider,
        limit,
        _amount(_group(found, "actual")),
        UNITS.get(kind),
        wording.basis,
        path,
        wording.sure,
        wording.many,
        wording.at_least,
        wording.urls,
        wording.field,
        wording.source,
    )


# Templates ---------------------------------------------------------------------------------------------------------------------

_AMOUNT = r"\d[\d,._]*(?:\s?(?:[kmg]i?b|bytes))?"
_PLACES = {"any": ".*?", "path": r"[\w.\[\]]+", "limit": _AMOUNT, "actual": _AMOUNT}
_END = r"(?=\s*(?:$|[.,;:!()\[\]{}']))"
_MULTIPLES = {"k": 1_000, "m": 1_000_000, "g": 1_000_000_000, "ki": 1 << 10, "mi": 1 << 20, "gi": 1 << 30}


@cache
def _table() -> tuple[tuple[tuple[Wording, re.Pattern[str]], ...], dict[str, Kind]]:
    table = json.loads(resources.files(__package__).joinpath("faults.json").read_text(encoding="utf-8"))
    rows = [Wording(**row) for row in table["wordings"]]
    return tuple((row, _pattern(row.text)) for row in rows), table["codes"]


@lru_cache(maxsize=64)
def _own_first(provider: str) -> list[tuple[Wording, re.Pattern[str]]]:
    return sorted(_table()[0], key=lambda row: row[0].provider not in provider)


def _pattern(template: str) -> re.Pattern[str]:
    """The template as an expression; a group for each name that occurs once."""
    made = "".join(_pieces(template))
    return re.compile(made if template.endswith("{any}") else made + _END, re.IGNORECASE | re.DOTALL)


def _pieces(template: str) -> Iterator[str]:
    for place, piece in enumerate(re.split(r"\{(\w+)\}", template)):
        if place % 2 == 0:
            yield re.escape(piece)
        elif piece == "any":
            yield _PLACES[piece]
        else:
            yield f"(?P<{piece}>{_PLACES[piece]})"


def _group(found: re.Match[str] | None, name: str) -> str:
    return (found.groupdict().get(name) or "") if found else ""


def _amount(text: str) -> int | None:
    """A number with its unit; MB are a million, the stricter reading, where a server may mean more."""
    found = re.fullmatch(r"([\d,._]*\d)[,._]*\s?(?:([kmg]i?)b|bytes)?", text.lower())
    if found is None:
        return None
    number = found[1].replace(",", "").replace("_", "")
    try:
        return int(float(number) * _MULTIPLES.get(found[2] or "", 1))
    except ValueError:
        return None
