"""What was put aside, for an operator: dead letters and refused submissions listed, and another try for a job."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Final

from pixlane.errors import InvalidArgument
from pixlane.settings import Settings
from pixlane.store import deadletters, inbox
from pixlane.store.connect import Server
from pixlane.store.deadletters import Letter
from pixlane.store.inbox import Rejected
from pixlane.store.keys import Keys
from pixlane.store.nodes import open_cache
from pixlane.store.servers import Servers

_NAME: Final = re.compile(r"[0-9a-f]{64}(-[0-9a-f]{8,64})?")


@dataclass(frozen=True)
class Dead:
    """The newest come first."""

    letters: tuple[Letter, ...]
    rejected: tuple[Rejected, ...]

    def to_dict(self) -> dict[str, Any]:
        return {
            "dead": [letter.to_dict() for letter in self.letters],
            "rejected": [entry.to_dict() for entry in self.rejected],
        }


class Office:
    """Asks one service; a context manager that closes its connections."""

    def __init__(self, servers: Servers, settings: Settings) -> None:
        self._keys = Keys(settings.key_prefix)
        self._ledger = Server(servers.ledger, settings.store_timeout_s)
        self._cache = self._ledger if servers.one_for_results else open_cache(servers.cache, settings.store_timeout_s)

    def dead(self) -> Dead:
        """Raises StoreUnavailable."""
        names, entries = self._ledger.run([deadletters.listed(self._keys), inbox.rejected(self._keys)])
        return Dead(tuple(self._letters([name.decode() for name in names])), tuple(map(Rejected.of, entries)))

    def retry(self, name: str) -> dict[str, str]:
        """Opens the job of that key again, or every job of the source with that SHA-256 that was put aside.

        Returns what became of each: open, running, no_source (the letter stays) or no_letter. Raises InvalidArgument.
        """
        if not _NAME.fullmatch(name):
            raise InvalidArgument("a job is named by its key, or a source by its SHA-256: 64 lower-case hex digits", actual=name)
        (names,) = self._ledger.run([deadletters.listed(self._keys)])
        wanted = [key for key in map(bytes.decode, names) if key == name or key.partition("-")[0] == name]
        return {letter.key: self._retry(letter) for letter in self._letters(wanted)}

    def _retry(self, letter: Letter) -> str:
        sha256, _, fingerprint = letter.key.partition("-")
        # A verdict that stays behind, as this process was killed, goes with the success of the new try.
        fate: bytes = self._ledger.run([deadletters.retry(self._keys, letter)])[0]
        if fate != b"no_source":
            self._cache.run([("DEL", self._keys.error(sha256, fingerprint))])
        return fate.decode()

    def _letters(self, job_keys: list[str]) -> list[Letter]:
        if not job_keys:
            return []
        replies = self._ledger.run([deadletters.read(self._keys, key) for key in job_keys])
        found = (deadletters.letter(key, reply) for key, reply in zip(job_keys, replies, strict=True))
        return [letter for letter in found if letter is not None]

    def __enter__(self) -> Office:
        return self

    def __exit__(self, *_: object) -> None:
        for server in {self._ledger, self._cache}:
            server.close()
