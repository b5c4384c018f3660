"""The start of a worker: limits, application, tasks, sweeper, and then Celery's own loop.

The parent never decodes an image: one libvips operation before a fork hangs every child for ever.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any, Final

from celery import signals

import tasks
from pixlane import logs, tracing
from pixlane.errors import InvalidArgument
from pixlane.machine import cores
from pixlane.queue import make_app
from pixlane.settings import Settings
from pixlane.store.ledger import QUEUES
from pixlane.store.servers import Servers
from tasks.running import Runner
from tasks.watching import Watching
from worker.crashes import Crashes
from worker.inbox import Inbox
from worker.leaving import Leaving
from worker.limits import check, limit_child, prepare_environment
from worker.metrics import Gathering
from worker.sweeper import Sweeper, name_of_this_process

REPLACE_WITHIN_S: Final = 0.25
"""A process that ended is replaced within this, seconds."""


def run(settings: Settings, queues: Sequence[str], loglevel: str = "INFO") -> int:
    """Runs a worker until it is told to end; TERM lets running jobs finish. Returns the exit code. Raises InvalidArgument."""
    for queue in queues:
        if queue not in QUEUES:
            raise InvalidArgument(f"queues must be among {', '.join(QUEUES)}, got {queue!r}", actual=queue)
    logs.set_up(settings.log_format, loglevel)
    prepare_environment()
    # Celery's two lines a task, and those of libvips, cost more than they say; ours has the key of the job.
    for chatty in ("celery.worker.strategy", "celery.app.trace", "pyvips"):
        logging.getLogger(chatty).setLevel(logging.WARNING)
    servers = Servers.of(settings)
    name = name_of_this_process()
    app = make_app(servers, settings)
    check(settings, app)
    gathering = Gathering(servers, settings)
    tasks.register(app, Runner(servers, settings, name, Watching(gathering.of_child(), tracing.of(settings))))
    sweeper = Sweeper(name, queues, servers, settings, gathering)
    inbox = Inbox(servers, settings)
    crashes = Crashes(sweeper.report)

    def started(**_: Any) -> None:
        sweeper.start()
        inbox.start()
        gathering.start()
        # Celery itself looks every 5 s whether a process that was recycled has to be replaced; a core would stand idle meanwhile.
        worker.hub.call_repeatedly(REPLACE_WITHIN_S, worker.pool.maintain_pool)

    def started_child(**_: Any) -> None:
        limit_child(settings)
        if settings.traces:
            traced.append(tracing.provide("pixlane-worker"))

    def ends_child(**_: Any) -> None:
        for provider in traced:
            provider.shutdown()

    def set_up_logs(**_: Any) -> None:
        """Done already; a listener keeps Celery from doing it its own way."""

    traced: list[Any] = []

    # The children exist by now: no thread of ours runs while the first of them are forked.
    signals.worker_ready.connect(started)
    signals.worker_process_init.connect(started_child)
    signals.worker_process_shutdown.connect(ends_child)
    signals.setup_logging.connect(set_up_logs)
    signals.task_failure.connect(crashes.witness)

    worker: Any = app.Worker(
        hostname=f"pixlane@{name}",
        queues=list(queues),
        concurrency=settings.concurrency or cores(),
        pool="prefork",
        optimization="fair",
        loglevel=loglevel,
        without_gossip=True,
        without_mingle=True,
        quiet=True,
    )
    leaving = Leaving(
        settings.shutdown_grace_s,
        sweeper.hand_back,
        lambda: pids_of(worker),
        sweeper.stop,
    )
    signals.worker_shutting_down.connect(leaving.told)
    try:
        worker.start()
    finally:
        inbox.stop()
        sweeper.stop()
        gathering.stop()
    return worker.exitcode or 0


def pids_of(worker: Any) -> list[int]:
    """The process ids of a worker's children, as billiard's pool has them."""
    return [process.pid for process in worker.pool._pool._pool]
