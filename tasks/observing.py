"""An observation in a worker: the same look as in process, with the worker's keys and configuration, remembered in the store."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from pixlane.settings import Settings
from pixlane.store.ledger import Job
from pixlane.store.servers import Servers
from pixlane.vision.looking import Looker, Question
from pixlane.vision.memory import StoreMemory


class Observer:
    """Looks, for one process; made after the fork."""

    def __init__(self, servers: Servers, settings: Settings) -> None:
        named = replace(settings, redis_url=servers.ledger, cache_url=servers.cache)
        self._memory = StoreMemory(named)
        self._looker = Looker(named, remembered=self._memory)

    def answer(self, job: Job, data: bytes) -> dict[str, Any]:
        """The observation as JSON values. Raises as `view_image`."""
        return self._looker.look(data, Question.from_dict(job.recipe), job.source).to_dict()

    def forget(self, job: Job) -> None:
        """Takes back what was remembered of the picture of a job."""
        self._memory.forget(job.sha256)
