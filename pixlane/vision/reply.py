"""The reply of a model: the schema that is asked for, and the strict reading of what came back."""

from __future__ import annotations

import json
import re
from dataclasses import fields
from functools import cache
from typing import Any

from pixlane.vision.findings import Findings

MAX_REPLY_CHARS = 2**20
_FENCED = re.compile(r"```(?:json)?\s*\n(.*?)\n\s*```", re.DOTALL)


class InvalidReply(ValueError):
    """Not the form that was asked for; the message is one clause for the model and for a person."""


def schema() -> dict[str, Any]:
    """The JSON Schema of Findings in the subset that every API takes: all keys required, none besides, no references.

    Source: developers.openai.com, Structured Outputs, supported schemas; the other vendors take at least as much.
    """
    written = _type().json_schema()
    strict: dict[str, Any] = _strict(written, written.get("$defs", {}))
    return strict


def read(text: str) -> Findings:
    """The findings that a reply holds. Raises InvalidReply.

    One JSON object, alone, in a fence, or with prose around it; two objects are none. Its form is checked strictly: every list is
    there, no further keys, no other types, a summary that says something, confidences between 0 and 1. Only what may be null may
    also be missing.
    """
    from pydantic import ValidationError

    if len(text) > MAX_REPLY_CHARS:
        raise InvalidReply(f"it has {len(text):,} characters, {MAX_REPLY_CHARS:,} are allowed")
    try:
        findings: Findings = _type().validate_json(_object_in(text))
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(map(str, first["loc"]))
        more = f", and {error.error_count() - 1} more faults" if error.error_count() > 1 else ""
        raise InvalidReply(f"{place + ': ' if place else ''}{first['msg']}{more}") from None
    _check(findings)
    return findings


def _check(findings: Findings) -> None:
    if not findings.summary.strip():
        raise InvalidReply("summary: it is empty")
    for kind in ("ocr", "elements", "relations", "issues"):
        for place, item in enumerate(getattr(findings, kind)):
            if item.confidence is not None and not 0 <= item.confidence <= 1:
                raise InvalidReply(f"{kind}.{place}.confidence: {item.confidence:g} does not lie between 0 and 1")


def _object_in(text: str) -> str:
    """The one JSON object of a reply."""
    said = text.strip()
    if not said:
        raise InvalidReply("it is empty")
    fenced = _FENCED.findall(said)
    if len(fenced) == 1:
        said = fenced[0].strip()
    start = said.find("{")
    if start < 0:
        raise InvalidReply("there is no JSON object in it")
    try:
        found, end = json.JSONDecoder().raw_decode(said, start)
    except (ValueError, RecursionError) as error:
        raise InvalidReply(f"its JSON is broken or cut off: {error}") from None
    if "{" in said[end:]:
        raise InvalidReply("there is more than one JSON object in it")
    if missing := [field.name for field in fields(Findings) if field.name not in found]:
        raise InvalidReply(f"it lacks {', '.join(missing)}")
    return said[start:end]


@cache
def _type() -> Any:
    from pydantic import TypeAdapter

    return TypeAdapter(Findings)


_KEPT = ("type", "description", "enum", "const")


def _strict(node: dict[str, Any], shared: dict[str, Any]) -> dict[str, Any]:
    """Without titles and defaults, references filled in, every key required."""
    if "$ref" in node:
        return _strict(shared[node["$ref"].rpartition("/")[2]], shared)
    if "anyOf" in node:
        return {"anyOf": [_strict(choice, shared) for choice in node["anyOf"]]}
    strict: dict[str, Any] = {key: node[key] for key in _KEPT if key in node}
    if node.get("type") == "array":
        strict["items"] = _strict(node["items"], shared)
    if node.get("type") == "object":
        strict["properties"] = {name: _strict(inner, shared) for name, inner in node["properties"].items()}
        strict["required"] = list(node["properties"])
        strict["additionalProperties"] = False
        strict.pop("description", None)
    return strict
