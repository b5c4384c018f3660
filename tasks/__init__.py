"""What can be asked of the queue: one image, a chunk of small ones, what is to be seen in one. The work: `tasks.running`."""

from __future__ import annotations

from typing import Any

from celery import Celery, Task

from pixlane.store.envelope import CHUNK_TASK, OBSERVE_TASK, TASK
from pixlane.store.ledger import Message
from tasks.running import Runner


def register(app: Celery, runner: Runner) -> None:
    """Makes the tasks known to a worker's application."""

    @app.task(name=TASK, bind=True)
    def normalize(self: Task[Any, Any], job: dict[str, Any]) -> None:
        runner.run([Message.from_dict(job)], str(self.request.id))

    @app.task(name=CHUNK_TASK, bind=True)
    def normalize_many(self: Task[Any, Any], jobs: list[dict[str, Any]]) -> None:
        runner.run([Message.from_dict(job) for job in jobs], str(self.request.id))

    @app.task(name=OBSERVE_TASK, bind=True)
    def observe(self: Task[Any, Any], job: dict[str, Any]) -> None:
        runner.run([Message.from_dict(job)], str(self.request.id))


def messages_of(arguments: dict[str, Any]) -> list[Message]:
    """The messages in the arguments of any of the tasks."""
    packed = arguments["jobs"] if "jobs" in arguments else [arguments["job"]]
    return [Message.from_dict(record) for record in packed]
