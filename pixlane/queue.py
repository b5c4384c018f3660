"""The queue: the Celery application, its delivery rules, and how jobs are put in.

Celery only carries the messages. What is owed stands in the ledger, results stand in the store, and a message that is lost or
delivered twice costs a moment.
"""

from __future__ import annotations

from typing import Any, Final

from celery import Celery
from celery.loaders.app import AppLoader
from kombu import Queue

from pixlane.settings import KIB, Settings
from pixlane.store.envelope import CHUNK_TASK, OBSERVE_TASK
from pixlane.store.keys import Keys
from pixlane.store.ledger import OBSERVE, QUEUES, longest_run_s
from pixlane.store.servers import Servers, is_redis, kombu_url

CHUNK_LIMIT_S: Final = 5.0
"""A chunk that has run for so long hands the rest of its images back, seconds."""

VISIBILITY_MARGIN_S: Final = 5.0
"""An unacknowledged message comes back this long after the longest run, seconds. Shorter would deliver running work twice."""


class _Loader(AppLoader):
    """Celery's own looks for modules in the current folder, where somebody else's `tasks.py` may be."""

    def import_from_cwd(self, module: str, imp: Any = None, package: str | None = None) -> Any:
        return (imp or self.import_module)(module, package=package)


def waiting_line(name: str) -> Queue:
    """A queue, on the default exchange: a message needs one command, and no binding that could be evicted."""
    return Queue(name, exchange="", routing_key=name)


def make_app(servers: Servers, settings: Settings) -> Celery:
    """The application of a worker; jobs are put in by `pixlane.publisher`."""
    app = Celery("pixlane", loader=_Loader, broker=kombu_url(servers.broker))
    app.conf.update(
        # JSON only: nothing that is unpickled.
        task_serializer="json",
        accept_content=["json"],
        result_accept_content=["json"],
        # Results are ours: Celery's would be a second truth, and its client blocks for 19 s when they are down.
        result_backend=None,
        task_ignore_result=True,
        # Acknowledged when the result is stored. The ledger alone decides about a second run.
        task_acks_late=True,
        task_acks_on_failure_or_timeout=True,
        task_reject_on_worker_lost=False,
        task_retry_on_worker_lost=False,
        worker_prefetch_multiplier=1,
        worker_deduplicate_successful_tasks=False,
        task_time_limit=settings.hard_timeout_s,
        task_annotations={
            CHUNK_TASK: {"time_limit": settings.hard_timeout_s + CHUNK_LIMIT_S},
            OBSERVE_TASK: {"time_limit": longest_run_s(OBSERVE, settings)},
        },
        worker_max_tasks_per_child=settings.max_tasks_per_child,
        worker_max_memory_per_child=-(-settings.recycle_child_bytes // KIB),
        task_queues=[waiting_line(name) for name in QUEUES],
        task_default_queue=QUEUES[0],
        task_create_missing_queues=False,
        # Where nothing listens to events or remote control their keys only grow.
        worker_enable_remote_control=settings.celery_events,
        worker_send_task_events=settings.celery_events,
        task_send_sent_event=False,
        worker_hijack_root_logger=False,
        broker_connection_retry_on_startup=True,
        broker_connection_max_retries=None,
        # A full server refuses even the bookkeeping of a message; without this the worker would end.
        broker_channel_error_retry=True,
        # What runs goes on when the broker is gone for a moment: its lease lives, and a second message for it is dropped.
        worker_cancel_long_running_tasks_on_connection_loss=False,
        broker_transport_options=_transport(servers, settings),
        enable_utc=True,
    )
    return app


def _transport(servers: Servers, settings: Settings) -> dict[str, Any]:
    timeout_s = settings.store_timeout_s
    if not is_redis(servers.broker):
        return {"connect_timeout": timeout_s}
    return {
        "global_keyprefix": Keys(settings.key_prefix).broker,
        "visibility_timeout": longest_run_s(OBSERVE, settings) + CHUNK_LIMIT_S + VISIBILITY_MARGIN_S,
        "queue_order_strategy": "priority",  # the order in which the worker names its queues
        "socket_connect_timeout": timeout_s,
        "socket_timeout": 15,
        "socket_keepalive": True,
        "health_check_interval": 10,
        "unacked_restore_interval": 2,
        "unacked_restore_throttle": 1,
        "unacked_mutex_expire": 10,
    }
