"""What can be asked of the queue: one image, a chunk of small ones, what is to be seen in one. The work: `tasks.running`."""

from __future__ import annotations

import logging
from contextlib import suppress
from typing import Any

from celery import Celery, Task

from pixlane.store.envelope import CHUNK_TASK, OBSERVE_TASK, TASK
from pixlane.store.ledger import Message
from tasks.running import Runner

log = logging.getLogger("pixlane.worker")


def register(app: Celery, runner: Runner) -> None:
    """Makes the tasks known to a worker's application."""

    @app.task(name=TASK, bind=True)
    def normalize(self: Task[Any, Any], job: dict[str, Any]) -> None:
        runner.run(_readable([job], runner), str(self.request.id))

    @app.task(name=CHUNK_TASK, bind=True)
    def normalize_many(self: Task[Any, Any], jobs: list[dict[str, Any]]) -> None:
        runner.run(_readable(jobs, runner), str(self.request.id))

    @app.task(name=OBSERVE_TASK, bind=True)
    def observe(self: Task[Any, Any], job: dict[str, Any]) -> None:
        runner.run(_readable([job], runner), str(self.request.id))


def _readable(records: list[dict[str, Any]], runner: Runner) -> list[Message]:
    """The messages that are of their form. The others are told of and dropped: what is owed stands in the ledger."""
    messages = []
    for record in records:
        try:
            messages.append(Message.from_dict(record))
        except ValueError as error:
            log.error("a message was refused: %s", error)
            runner.watching.meter.add("pixlane_refused_messages_total")
            runner.watching.meter.flush()
    return messages


def messages_of(arguments: dict[str, Any]) -> list[Message]:
    """The messages in the arguments of any of the tasks; those that are not of their form hold no job."""
    packed = arguments["jobs"] if "jobs" in arguments else [arguments["job"]]
    messages = []
    for record in packed:
        with suppress(ValueError):
            messages.append(Message.from_dict(record))
    return messages
