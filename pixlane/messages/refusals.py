"""What a provider says in the body of an error: its own sentences, and never what it repeats of the request.

A body is JSON, JSON inside of a string inside of JSON (gateways), the `repr` of such a thing in an SDK's sentence, or plain
text. Only the fields in which servers speak are read; the fields in which they give back what was sent are not.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

SPOKEN = ("message", "Message", "msg", "detail", "error_description", "errorMessage")
NESTED = ("error", "Error", "errors", "innererror")
STATUSES = ("code", "status", "status_code", "http_code", "statusCode")
CAUSES = ("type", "code", "status", "Code")

MAX_DEPTH = 8  # of bodies in bodies
MAX_CHARS = 2_000  # of a sentence
MAX_BODY_CHARS = 1_000_000  # after pictures were taken out
MAX_LISTED = 20
MAX_CHAIN = 5  # causes of an exception

_PICTURE = re.compile(r"[A-Za-z0-9+/=]{1024,}")  # base64 that the body repeats
_QUOTES = str.maketrans({quote: "'" for quote in '"`´‘’“”'})
_LITERAL = re.compile(r"""b?(['"])(?:\\.|(?!\1)[^\\])*\1""", re.DOTALL)
_HEADS = re.compile(
    r"""(?:
      data:\s*(?=\{)
    | (?:litellm\.)?\w*(?:Error|Exception)(?:\ \w+Error)?(?::|\ -)\s+
    | (?:API\ )?Error\ code:\ \d{3}\ -\s*
    | (?:API\ )?Error:\s+
    | (?:HTTP\ ?)?\d{3}(?:\ [A-Z_]+\.?|\ Bad\ Request|:)?\ (?=\S)
    | An\ error\ occurred\ \(\w+\)\ when\ calling\ the\ \w+\ operation(?:\ \([^()]*\))?:\s*
    | The\ model\ returned\ the\ following\ errors:\s*
    | Failed\ to\ deserialize\ the\ JSON\ body\ into\ the\ target\ type:\s*
    | <\d{3}>\s*InternalError\.\w+\.\w+:\s*
    | (?:\.{3,}|…)[:\s]*
    )""",
    re.VERBOSE,
)
"""What gateways and SDKs put before the sentence of a provider."""


@dataclass(frozen=True)
class Sentence:
    """One thing that was said. `path` is the place in the request that a field beside it names; `code` a machine's word."""

    text: str
    path: str = ""
    code: str = ""
    as_error: bool = True


@dataclass
class Said:
    """All that a body says: its sentences, and the statuses and causes in it."""

    sentences: list[Sentence] = field(default_factory=list)
    statuses: set[int] = field(default_factory=set)
    causes: set[str] = field(default_factory=set)


def read(body: Any) -> Said:
    """The sentences of a body: text, bytes, or what JSON became. Whatever it is, nothing is raised."""
    said = Said()
    said.sentences += list(_walk(body, said, 0, as_error=False))
    return said


def of_exception(error: BaseException) -> tuple[int | None, Any]:
    """Status and body of what an SDK or an HTTP library raised; the first of its causes that has a status, or a body, counts."""
    for _ in range(MAX_CHAIN):
        status, body = _status(error), _body(error)
        if status is not None or body is not None:
            return status, body if body is not None else str(error)
        if error.__cause__ is None:  # a context is only what happened before
            break
        error = error.__cause__
    return None, str(error)


def _status(error: BaseException) -> int | None:
    response = getattr(error, "response", None)
    known = [getattr(error, name, None) for name in ("status_code", "status", "code", "http_status")]
    known.append(getattr(response, "status_code", None))
    if isinstance(response, Mapping):  # botocore
        known.append(_mapping(response.get("ResponseMetadata")).get("HTTPStatusCode"))
    return next((int(one) for one in known if isinstance(one, int) and 100 <= one < 600), None)


def _body(error: BaseException) -> Any:
    response = getattr(error, "response", None)
    for found in (getattr(error, "body", None), getattr(error, "details", None), response):
        if isinstance(found, (str, bytes, Mapping, list)) and found:
            return found
    try:
        text = getattr(response, "text", None)
    except Exception:  # noqa: BLE001  a response that was streamed and not read; whatever its library raises, there is no text
        text = None
    if isinstance(text, str) and text:
        return text
    own = getattr(error, "error", None)  # ollama
    return own if isinstance(own, str) and own else None


def _walk(node: Any, said: Said, depth: int, as_error: bool, path: str = "", code: str = "") -> Iterator[Sentence]:
    if depth > MAX_DEPTH:
        return
    if isinstance(node, (bytes, bytearray)):
        node = bytes(node).decode("utf-8", "replace")
    if isinstance(node, str):
        yield from _text(node, said, depth, as_error, path, code)
    elif isinstance(node, Mapping):
        yield from _record(node, said, depth, as_error, path)
    elif isinstance(node, (list, tuple)):
        for one in node[:MAX_LISTED]:
            yield from _walk(one, said, depth + 1, as_error, path, code)


def _record(record: Mapping[str, Any], said: Said, depth: int, as_error: bool, path: str) -> Iterator[Sentence]:
    said.statuses |= {number for name in STATUSES if (number := _number(record.get(name))) is not None}
    causes = [record[name] for name in CAUSES if isinstance(record.get(name), str)]
    said.causes |= {cause.lower() for cause in causes}
    as_error = as_error or bool({"error", "Error", "errors"} & record.keys()) or record.get("type") == "error"
    location = record.get("loc")
    if isinstance(location, (list, tuple)):
        path = ".".join(str(step) for step in location)
    param = record.get("param")
    beside = path or (param if isinstance(param, str) else "")
    code = next((cause for cause in causes if cause != record.get("type")), "")
    for name in SPOKEN:
        words = record.get(name)
        if isinstance(location, (list, tuple)) and isinstance(words, str):
            words = f"{path}: {words}"
        yield from _walk(words, said, depth + 1, as_error, beside, code)
    if isinstance(param, str) and " " in param:  # Xiaomi says there what is wrong
        yield Sentence(_plain(param), path, "", as_error)
    for name in NESTED:
        yield from _walk(record.get(name), said, depth + 1, True, path, code)
    yield from _walk(_mapping(record.get("metadata")).get("raw"), said, depth + 1, True, path, code)  # OpenRouter


def _text(text: str, said: Said, depth: int, as_error: bool, path: str, code: str) -> Iterator[Sentence]:
    rest = _PICTURE.sub("...", text[: 64 * MAX_BODY_CHARS])[:MAX_BODY_CHARS].strip()
    if rest.startswith("event:"):
        rest = rest.partition("\n")[2]
    start = 0
    while (head := _HEADS.match(rest, start)) is not None:
        start = head.end()
    rest = rest[start:]
    inner = _parsed(rest)
    if inner is not None:
        yield from _walk(inner, said, depth + 1, as_error, path, code)
    elif rest or code:
        yield Sentence(_plain(rest), path, code, as_error)


def _parsed(text: str) -> Any:
    """The value that a text begins with, as JSON or as Python writes it; None where it begins with words."""
    try:
        if text[:1] in ("{", "["):
            return json.JSONDecoder().raw_decode(text)[0]
    except (ValueError, RecursionError):
        pass
    try:
        if text[:1] in ("{", "["):
            return ast.literal_eval(text)
        if text[:2] in ("b'", 'b"', "'{", '"{') and (literal := _LITERAL.match(text)) is not None:
            return ast.literal_eval(literal[0])
    except (ValueError, SyntaxError, RecursionError, MemoryError):
        pass
    return None


def _plain(text: str) -> str:
    """One kind of quotes, single spaces."""
    return " ".join(text[: 4 * MAX_CHARS].translate(_QUOTES).split())[:MAX_CHARS]


def _number(value: Any) -> int | None:
    text = str(value) if isinstance(value, (int, str)) and not isinstance(value, bool) else ""
    return int(text) if re.fullmatch(r"[1-5]\d\d", text, re.ASCII) else None


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
