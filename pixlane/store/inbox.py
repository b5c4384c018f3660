"""Submissions from any Redis client: one JSON entry in a stream becomes a job of the ledger.

    SET pixlane:{<sha256>}:src <bytes> EX 3600
    XADD pixlane:inbox * job '{"sha256": "<sha256>", "recipe": {"max_side": 1024}}'

Pure, as the ledger. The entry leaves the stream in the step that opens the record, so that neither is there without the other
however a worker dies; one that is no submission leaves it in the step that writes down why.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from pixlane.errors import InvalidArgument, PixlaneError, SourceMissing, SourceTooLarge
from pixlane.recipe import Recipe
from pixlane.settings import Settings
from pixlane.store import admission
from pixlane.store.admission import Wish
from pixlane.store.connect import Command
from pixlane.store.forms import MAX_PATH_CHARS
from pixlane.store.keys import Keys
from pixlane.store.ledger import OUTCOME_TTL_S, QUEUES, Job
from pixlane.store.results import to_json

FIELD: Final = "job"
"""The field of an entry that holds the JSON."""

MAX_ENTRY_BYTES: Final = 64 * 1024

MOST: Final = 100
"""Entries that are taken in one turn."""

KEPT: Final = 1_000
"""Refused entries that are remembered, about."""

KEPT_BYTES: Final = 1_024
"""Of a refused entry so much is remembered."""

FIELDS: Final = ("sha256", "recipe", "queue", "path", "deadline_s", "tenant", "key")
"""All but `sha256` may be left out. `key`: what the sender takes the key of the job to be; another one is an error."""


@dataclass(frozen=True)
class Submission:
    job: Job
    queue: str
    wish: Wish


@dataclass(frozen=True)
class Rejected:
    """An entry that was no submission. `entry`: its id in the inbox; `text`: its beginning."""

    entry: str
    text: str
    error: PixlaneError

    @classmethod
    def of(cls, reply: Sequence[Any]) -> Rejected:
        fields = {
            name.decode(): value.decode(errors="replace") for name, value in zip(reply[1][::2], reply[1][1::2], strict=True)
        }
        return cls(fields["entry"], fields["text"], PixlaneError.from_dict(json.loads(fields["error"])))

    def to_dict(self) -> dict[str, Any]:
        return {"entry": self.entry, "text": self.text, "error": self.error.to_dict()}


def waiting(keys: Keys, after: str = "-") -> Command:
    """Reads entries, the oldest first; `after`: an id, for those that follow it."""
    return "XRANGE", keys.inbox, after if after == "-" else f"({after}", "+", "COUNT", MOST


def next_one(keys: Keys, after: str, block_ms: int) -> Command:
    """Waits for an entry after that id."""
    return "XREAD", "COUNT", 1, "BLOCK", block_ms, "STREAMS", keys.inbox, after


def rejected(keys: Keys) -> Command:
    return "XREVRANGE", keys.rejected, "+", "-", "COUNT", KEPT


def text_of(fields: Sequence[bytes] | None) -> bytes:
    """The JSON of an entry; of one without the field `job`, what stands there."""
    if not fields:
        return b""
    named = dict(zip(fields[::2], fields[1::2], strict=True))
    return named.get(FIELD.encode(), b" ".join(fields)) if len(named) == 1 else b" ".join(fields)


def read(entry: str, text: bytes) -> Submission:
    """The submission in an entry. Raises InvalidArgument, InvalidRecipe."""
    if len(text) > MAX_ENTRY_BYTES:
        raise InvalidArgument(
            f"an entry of the inbox may have {MAX_ENTRY_BYTES:,} bytes, this one has {len(text):,}",
            limit=MAX_ENTRY_BYTES,
            actual=len(text),
        )
    try:
        given = json.loads(text)
    except (ValueError, RecursionError):
        raise InvalidArgument(f"an entry of the inbox has one field, {FIELD}, with a JSON object; this is none") from None
    if not isinstance(given, dict):
        raise InvalidArgument(f"an entry of the inbox is a JSON object, not {type(given).__name__}")
    if unknown := sorted(set(given) - set(FIELDS)):
        raise InvalidArgument(f"an entry of the inbox has no field {unknown[0][:64]!r}; there are {', '.join(FIELDS)}")
    sha256 = given.get("sha256")
    if not isinstance(sha256, str) or not re.fullmatch(r"[0-9a-f]{64}", sha256):
        raise InvalidArgument("sha256 must be 64 lower-case hex digits: the hash of the source")
    queue, path, tenant = given.get("queue", QUEUES[0]), given.get("path"), given.get("tenant", "")
    if queue not in QUEUES:
        raise InvalidArgument(f"queue must be one of {', '.join(QUEUES)}")
    if path is not None and not (isinstance(path, str) and 0 < len(path) <= MAX_PATH_CHARS and "\0" not in path):
        raise InvalidArgument(f"path must be a text of at most {MAX_PATH_CHARS:,} characters", limit=MAX_PATH_CHARS)
    if not isinstance(tenant, str):
        raise InvalidArgument("tenant must be a text")
    deadline_s = given.get("deadline_s")
    if deadline_s is not None and (isinstance(deadline_s, bool) or not isinstance(deadline_s, (int, float))):
        raise InvalidArgument("deadline_s must be a number of seconds")
    admission.check_deadline(deadline_s)
    recipe = given.get("recipe", {})
    if not isinstance(recipe, dict):
        raise InvalidArgument("recipe must be an object")
    job = Job.of(sha256, Recipe.from_dict(recipe), path)
    if given.get("key", job.key) != job.key:
        raise InvalidArgument(f"the key of this job is {job.key}, another one is named", limit=job.key)
    return Submission(job, queue, Wish(deadline_s=deadline_s, tenant=admission.tenant_id(tenant), entry=entry))


def source_length(keys: Keys, job: Job) -> Command:
    return "STRLEN", keys.source(job.sha256)


def source_error(job: Job, length: int, settings: Settings) -> PixlaneError | None:
    """What is wrong with the stored source of a submission."""
    if length == 0 and job.source is None:
        return SourceMissing("there is no source under the key of this sha256, and no path is named", sha256=job.sha256)
    limit = settings.max_source_bytes
    if length > limit:
        return SourceTooLarge(f"the source has {length:,} bytes, {limit:,} are allowed", limit=limit, actual=length)
    return None


def reject(keys: Keys, entry: str, text: bytes, error: PixlaneError, job: Job | None) -> list[Command]:
    """Writes down why an entry is none and takes it out: for one MULTI. With a job, whoever waits for its key is told too."""
    said = to_json(error.to_dict())
    begins = text[:KEPT_BYTES].decode(errors="replace")
    commands: list[Command] = [
        ("XADD", keys.rejected, "MAXLEN", "~", KEPT, "*", "entry", entry, "text", begins, "error", said),
        ("XDEL", keys.inbox, entry),
    ]
    if job is not None:
        commands += [("SET", keys.outcome(job.key), said, "EX", OUTCOME_TTL_S), ("PUBLISH", keys.done(job.key), job.key)]
    return commands
