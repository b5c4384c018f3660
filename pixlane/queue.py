"""The Celery application that producers and workers share: broker, queues, delivery rules.

Celery only carries the messages. What is owed stands in the ledger, results stand in the store, and a message that is lost or
delivered twice costs a moment.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from celery import Celery
from celery.loaders.app import AppLoader
from kombu import Queue
from kombu.exceptions import OperationalError

from pixlane.errors import StoreUnavailable
from pixlane.settings import Settings
from pixlane.store.keys import Keys
from pixlane.store.ledger import QUEUES, Message
from pixlane.store.servers import Servers, kombu_url, shown

TASK: Final = "tasks.normalize"
CHUNK_TASK: Final = "tasks.normalize_many"

CHUNK_LIMIT_S: Final = 5.0
"""A chunk that has run for so long hands the rest of its images back, seconds."""

VISIBILITY_MARGIN_S: Final = 5.0
"""An unacknowledged message comes back this long after the longest run, seconds. Shorter would deliver running work twice."""


class _Loader(AppLoader):
    """Celery's own looks for modules in the current folder, where somebody else's `tasks.py` may be."""

    def import_from_cwd(self, module: str, imp: Any = None, package: str | None = None) -> Any:
        return (imp or self.import_module)(module, package=package)


def make_app(servers: Servers, settings: Settings, *, for_worker: bool = False) -> Celery:
    """The application. A producer's connections have the deadline of the store; a worker's wait for work."""
    app = Celery("pixlane", loader=_Loader, set_as_current=for_worker, broker=kombu_url(servers.broker))
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
        task_annotations={CHUNK_TASK: {"time_limit": settings.hard_timeout_s + CHUNK_LIMIT_S}},
        worker_max_tasks_per_child=settings.max_tasks_per_child,
        # Declared once, on the default exchange: a message needs one command, and no binding that could be evicted.
        task_queues=[Queue(name, exchange="", routing_key=name) for name in QUEUES],
        task_default_queue=QUEUES[0],
        task_create_missing_queues=False,
        # Nothing listens to events or remote control; their keys only grow.
        worker_enable_remote_control=False,
        worker_send_task_events=False,
        task_send_sent_event=False,
        worker_hijack_root_logger=False,
        broker_connection_retry_on_startup=True,
        broker_connection_max_retries=None,
        broker_heartbeat=None if for_worker else 0,
        broker_pool_limit=4,
        broker_transport_options=_transport(servers, settings, for_worker),
        enable_utc=True,
    )
    return app


def _transport(servers: Servers, settings: Settings, for_worker: bool) -> dict[str, Any]:
    timeout_s = settings.store_timeout_s
    if not servers.broker.startswith(("redis", "unix")):
        return {"connect_timeout": timeout_s}
    options: dict[str, Any] = {
        "global_keyprefix": Keys(settings.key_prefix).broker,
        "visibility_timeout": settings.hard_timeout_s + CHUNK_LIMIT_S + VISIBILITY_MARGIN_S,
        "queue_order_strategy": "priority",  # the order in which the worker names its queues
        "socket_connect_timeout": timeout_s,
        "socket_keepalive": True,
        "unacked_restore_interval": 2,
        "unacked_restore_throttle": 1,
        "unacked_mutex_expire": 10,
    }
    if for_worker:
        return {**options, "health_check_interval": 10, "socket_timeout": 15}
    return {**options, "socket_timeout": timeout_s, "retry_on_timeout": False, "max_retries": 0}


class Publisher:
    """Sends jobs to the queue by the name of their task."""

    def __init__(self, servers: Servers, settings: Settings) -> None:
        self._servers = servers
        self._app = make_app(servers, settings)

    def send(self, messages: Iterable[Message]) -> None:
        """One message for one job, one for several. Raises StoreUnavailable when the broker does not take it in time."""
        packed = [message.to_dict() for message in messages]
        name = TASK if len(packed) == 1 else CHUNK_TASK
        argument = {"job": packed[0]} if len(packed) == 1 else {"jobs": packed}
        try:
            self._app.send_task(
                name,
                kwargs=argument,
                queue=packed[0]["queue"],
                retry=False,
                ignore_result=True,
                argsrepr="",  # Celery would print the whole recipe into each message
                kwargsrepr=packed[0]["key"],
            )
        except (OperationalError, OSError) as error:
            where = shown(self._servers.broker)
            raise StoreUnavailable(
                f"the broker at {where} did not take a message: {type(error).__name__}", server=where
            ) from error

    def close(self) -> None:
        self._app.close()
