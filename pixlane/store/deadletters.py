"""Jobs that were put aside after their last try, with what is known of them; each can be tried again.

Pure, as the ledger: commands, and what their replies mean. A letter lives as long as its source, `crashed_ttl_s`.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from pixlane.errors import PixlaneError
from pixlane.store import scripts
from pixlane.store.connect import Command
from pixlane.store.keys import Keys

MOST: Final = 1000
"""Letters that are listed, the newest first."""


@dataclass(frozen=True)
class Letter:
    """Times in seconds of the ledger's clock. `source`: the path of the source, or None: its bytes are in the store."""

    key: str
    queue: str
    starts: int
    crashes: int
    created_at: float
    put_aside_at: float
    source: str | None
    error: PixlaneError

    def to_dict(self) -> dict[str, Any]:
        return {**vars(self), "error": self.error.to_dict()}


def listed(keys: Keys) -> Command:
    """Asks for the keys of the jobs that were put aside."""
    return "ZREVRANGE", keys.dead, 0, MOST - 1


def read(keys: Keys, job_key: str) -> Command:
    return "HGETALL", keys.letter(job_key)


def letter(job_key: str, reply: Sequence[bytes]) -> Letter | None:
    """None for one that has expired by now, or that nobody can read."""
    found = {name.decode(): value.decode(errors="replace") for name, value in zip(reply[::2], reply[1::2], strict=True)}
    try:
        return Letter(
            job_key,
            found["queue"],
            int(found["starts"]),
            int(found["crashes"]),
            int(found["created_at"]) / 1000,
            int(found["put_aside_at"]) / 1000,
            json.loads(found["job"])["source"],
            PixlaneError.from_dict(json.loads(found["error"])),
        )
    except (KeyError, ValueError):
        return None


def retry(keys: Keys, found: Letter) -> Command:
    """Opens the job again. What was remembered of it must be forgotten first."""
    key, sha256 = found.key, found.key.partition("-")[0]
    named = [keys.job(key), keys.open, keys.letter(key), keys.dead, keys.source(sha256), keys.refs(sha256)]
    return scripts.call("retry", named, [key, keys.root, int(found.source is not None)])
