"""Finished renditions and remembered errors, under the SHA-256 of the source and the fingerprint of the recipe.

Pure: functions that say which commands to send and functions that read the replies. Every list of commands touches one
hash tag, so that the cache may be a cluster.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from pixlane.errors import Crashed, InternalError, PixlaneError
from pixlane.rendition import Rendition
from pixlane.settings import Settings
from pixlane.store.connect import Command
from pixlane.store.keys import Keys

VERDICTS = (Crashed, InternalError)
"""What is said of a job that is put aside after its last try; its source is kept for another one."""


def fetch(keys: Keys, sha256: str, fingerprint: str, settings: Settings) -> list[Command]:
    """Reads a result, or the error in its place, and extends the life of the result."""
    life = settings.result_ttl_s
    return [
        ("GETEX", keys.url(sha256, fingerprint), "EX", life),
        ("GETEX", keys.meta(sha256, fingerprint), "EX", life),
        ("GET", keys.error(sha256, fingerprint)),
    ]


FETCH_REPLIES = 3


def fetched(replies: Sequence[bytes | None], *, cached: bool = True) -> Rendition | PixlaneError | None:
    """What `fetch` found: the rendition, a remembered error, or None.

    One of URL and meta missing (evicted) is a miss. A rendition counts more than an error: a late success wins.
    `cached`: False for one that the caller waited for.
    """
    url, meta, error = replies
    if url is not None and meta is not None:
        return Rendition.from_meta(json.loads(meta), url.decode("ascii"), cached=cached)
    if error is not None:
        return PixlaneError.from_dict(json.loads(error))
    return None


def put(keys: Keys, sha256: str, fingerprint: str, rendition: Rendition, settings: Settings) -> list[Command]:
    """Stores a rendition; an error in its place goes."""
    life = settings.result_ttl_s
    return [
        ("SET", keys.url(sha256, fingerprint), rendition.data_url, "EX", life),
        ("SET", keys.meta(sha256, fingerprint), to_json(rendition.to_meta()), "EX", life),
        ("DEL", keys.error(sha256, fingerprint)),
    ]


def put_error(keys: Keys, sha256: str, fingerprint: str, error: PixlaneError, settings: Settings) -> list[Command]:
    """Remembers an error; only one that the same source and recipe give every time, or a verdict."""
    if not is_remembered(error):
        raise ValueError(f"{error.code} must not be remembered: the next try may succeed")
    life = settings.crashed_ttl_s if isinstance(error, VERDICTS) else settings.error_ttl_s
    return [("SET", keys.error(sha256, fingerprint), to_json(error.to_dict()), "EX", life)]


def is_remembered(error: PixlaneError) -> bool:
    return error.cacheable or isinstance(error, VERDICTS)


def exists(keys: Keys, sha256: str, fingerprint: str) -> list[Command]:
    """Asks whether a whole result is there; the reply is 2 then."""
    return [("EXISTS", keys.url(sha256, fingerprint), keys.meta(sha256, fingerprint))]


def delete(keys: Keys, sha256: str, fingerprint: str) -> list[Command]:
    return [("DEL", keys.url(sha256, fingerprint), keys.meta(sha256, fingerprint), keys.error(sha256, fingerprint))]


def to_json(record: dict[str, Any]) -> str:
    return json.dumps(record, separators=(",", ":"))
