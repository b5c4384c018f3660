"""How often each image was loaded in a conversation: counted in this process, or in Redis for all processes at once."""

from __future__ import annotations

import hashlib
import threading
from collections import OrderedDict
from typing import Protocol

from pixlane import settings

MAX_MEMORY_COUNTS = 4096  # the image that was not asked for the longest time is forgotten
LIFE_S = 7 * 86_400  # a conversation's counts in Redis, after its last call


class Counts(Protocol):
    """Counts by conversation and image."""

    def take(self, conversation: str, sha256: str, limit: int) -> tuple[bool, int]:
        """Counts one more call unless there are `limit` already: whether it was counted, and the count. One atomic step."""

    def give_back(self, conversation: str, sha256: str) -> None:
        """One call less, where it came to nothing."""

    def count(self, conversation: str, sha256: str) -> int:
        """The calls so far."""


class MemoryCounts:
    """For one process; safe between threads."""

    def __init__(self, entries: int = MAX_MEMORY_COUNTS) -> None:
        self.entry_limit = entries
        self._counts: OrderedDict[tuple[str, str], int] = OrderedDict()
        self._lock = threading.Lock()

    def take(self, conversation: str, sha256: str, limit: int) -> tuple[bool, int]:
        with self._lock:
            count = self._counts.get((conversation, sha256), 0)
            taken = count < limit
            self._counts[conversation, sha256] = count + taken
            self._counts.move_to_end((conversation, sha256))
            if len(self._counts) > self.entry_limit:
                self._counts.popitem(last=False)
            return taken, count + taken

    def give_back(self, conversation: str, sha256: str) -> None:
        with self._lock:
            count = self._counts.get((conversation, sha256), 0)
            if count > 0:
                self._counts[conversation, sha256] = count - 1

    def count(self, conversation: str, sha256: str) -> int:
        with self._lock:
            return self._counts.get((conversation, sha256), 0)


class RedisCounts:
    """For all processes that name the same server; each step is one round trip.

    Args:
        url: address of the server; None: the setting `redis_url`.
        life_s: the counts of a conversation live so long after its last call, seconds.

    Its methods raise StoreUnavailable and StoreFull.
    """

    def __init__(self, url: str | None = None, life_s: int = LIFE_S) -> None:
        from pixlane.store.connect import Server
        from pixlane.store.keys import Keys
        from pixlane.store.servers import Servers

        config = settings.current()
        self.life_s = life_s
        self._keys = Keys(config.key_prefix)
        self._server = Server(Servers.of(config, url).ledger, config.store_timeout_s)

    def take(self, conversation: str, sha256: str, limit: int) -> tuple[bool, int]:
        from pixlane.store import scripts

        command = scripts.call("count", [self._key(conversation)], [sha256, limit, self.life_s])
        taken, count = self._server.run([command])[0]
        return bool(taken), int(count)

    def give_back(self, conversation: str, sha256: str) -> None:
        from pixlane.store import scripts

        self._server.run([scripts.call("uncount", [self._key(conversation)], [sha256])])

    def count(self, conversation: str, sha256: str) -> int:
        return int(self._server.run([("HGET", self._key(conversation), sha256)])[0] or 0)

    def close(self) -> None:
        self._server.close()

    def _key(self, conversation: str) -> str:
        # A conversation may be named by anything, a person's name among it: the key holds only its digest.
        return self._keys.calls(hashlib.sha256(conversation.encode("utf-8", "surrogatepass")).hexdigest()[:32])
