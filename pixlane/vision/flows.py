"""Observations through the queue, step by step: ordered like renditions, answered to those who wait.

What is remembered of observations belongs to the model that looked, and that the worker chooses: so every order goes to a worker,
which knows whether it has looked before.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from pixlane import sources
from pixlane.errors import PixlaneError
from pixlane.flows import Flows, Order, check_queue
from pixlane.recipe import PIPELINE_VERSION
from pixlane.sources import Given
from pixlane.steps import Ask, Flow
from pixlane.store import ledger
from pixlane.store.ledger import OBSERVE, Job
from pixlane.vision.looking import MAX_FILE_BYTES, Question
from pixlane.vision.observation import Observation


@dataclass
class Requested(Order):
    """The order, and an answer that was there before anybody had to look: a verdict of an earlier time."""

    found: PixlaneError | None = None


class ObservationFlows(Flows):
    """The flows of one client."""

    def request(self, given: Given, question: Question, queue: str, by_path: bool) -> Flow[Requested]:
        """The job for that picture and question, open and on its way."""
        check_queue(queue)
        source = yield from self.identify(given, by_path, MAX_FILE_BYTES)
        asked = question.fingerprint(f"asked for: {question.model or 'anybody'}")
        job = Job(source.sha256, asked, question.to_dict(), PIPELINE_VERSION, source.path, OBSERVE)
        order = Requested(given, by_path, job, queue)
        (verdict,) = yield Ask("cache", [("GET", self.keys.error(job.sha256, job.fingerprint))])
        if verdict is not None:
            order.found = PixlaneError.from_dict(json.loads(verdict))
            return order
        order.placed_at = time.monotonic()
        yield from self.place(order, source.data)
        return order

    def observation(self, order: Order, timeout_s: float | None) -> Flow[Any]:
        """Waits for the observation, or the error; as `result`."""
        return (yield from self.result(order, timeout_s))

    def survey(self, orders: Sequence[Order]) -> Flow[list[Any]]:
        """What became of each: its observation or error, or None while it is open."""
        replies = yield Ask("ledger", [command for order in orders for command in ledger.look(self.keys, order.job.key)])
        answers: list[Any] = []
        for place, order in enumerate(orders):
            start = place * ledger.LOOK_REPLIES
            said = ledger.answered(replies[start : start + ledger.LOOK_REPLIES])
            if said is False:  # it ended long ago, or was lost
                answers.append((yield from self.resubmit(order)))
            else:
                answers.append(None if said is True else Observation.from_dict(said) if isinstance(said, dict) else said)
        return answers

    def told(self, order: Order, found: Any) -> Any:
        """The answer belongs to the content, which has many names: the path is that of the one who asked."""
        if isinstance(order.given, (bytes, bytearray, memoryview)) or sources.is_url(order.given):
            return found
        path = os.path.realpath(sources.checked_path(order.given))
        if isinstance(found, Observation):
            return replace(found, reference=replace(found.reference, path=path))
        if isinstance(found, PixlaneError) and isinstance(found.details.get("reference"), dict):
            found.details["reference"]["path"] = path
        return found
