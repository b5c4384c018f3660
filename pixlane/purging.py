"""Forgetting: what the store holds of one source, or of all, goes; a run that is under way takes back what it stores."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from pixlane.flows import check_sha256
from pixlane.settings import Settings
from pixlane.steps import Ask, Flow, Role
from pixlane.store import ledger
from pixlane.store.keys import Keys
from pixlane.store.ledger import QUEUES

SCAN_COUNT: Final = 1000
"""Keys that a server looks at in one step."""


@dataclass(frozen=True)
class Purging:
    """The flows. The number that they return is that of the results that were there."""

    settings: Settings

    @property
    def keys(self) -> Keys:
        return Keys(self.settings.key_prefix)

    def forget(self, sha256: str) -> Flow[int]:
        """Ends the jobs of a source and deletes it, its results and its errors."""
        return (yield from self._purge(f"*{check_sha256(sha256)}*"))

    def purge_all(self) -> Flow[int]:
        """The same for every source; workers and broker go on."""
        return (yield from self._purge("*"))

    def _purge(self, pattern: str) -> Flow[int]:
        # SCAN and no index: what is to be deleted must be found though an index was evicted.
        yield from self._sweep_role("ledger", pattern, self._forget_jobs)
        return (yield from self._sweep_role("cache", pattern, self._delete_results))

    def _sweep_role(self, role: Role, pattern: str, delete: Callable[[list[str]], Flow[int]]) -> Flow[int]:
        """A page of keys after the other, so that the memory does not grow with the store."""
        count, cursor = 0, b"0"
        while True:
            command = ("SCAN", cursor, "MATCH", f"{_literal(self.keys.prefix)}:{pattern}", "COUNT", SCAN_COUNT)
            ((cursor, names),) = yield Ask(role, [command])
            if names:
                count += yield from delete([name.decode() for name in names])
            if cursor == b"0":
                return count

    def _forget_jobs(self, names: list[str]) -> Flow[int]:
        start = self.keys.job("")
        for name in names:
            if name.startswith(start):
                key = name.removeprefix(start)
                yield Ask("ledger", [ledger.forget(self.keys, key.partition("-")[0], [key], self.settings)])
        # The marks that tell a run under way stay, and so do the index and the lists that workers write.
        kept = (self.keys.open, self.keys.loads, *map(self.keys.line, QUEUES), self.keys.queues, self.keys.workers)
        rest = [name for name in names if name not in kept and not name.endswith(":forgotten") and not _is_result(name)]
        if rest:
            yield Ask("ledger", [("UNLINK", name) for name in rest])
        return 0

    def _delete_results(self, names: list[str]) -> Flow[int]:
        found = [name for name in names if _is_result(name)]
        replies = (yield Ask("cache", [("UNLINK", name) for name in found])) if found else []
        return sum(reply for name, reply in zip(found, replies, strict=True) if ":url:" in name)


_RESULT = re.compile(r":\{[0-9a-f]{64}\}:((url|meta|err|obs|looking):[^:]+|vis)$")


def _is_result(name: str) -> bool:
    return _RESULT.search(name) is not None


def _literal(text: str) -> str:
    """The text in a pattern of Redis, where none of its characters means anything."""
    return re.sub(r"([\[\]*?\\^])", r"\\\1", text)
