"""Puts jobs into the queue: on Redis within one deadline, on any other broker through Kombu."""

from __future__ import annotations

import os
import threading
from collections.abc import Sequence
from typing import Any

from pixlane.settings import Settings
from pixlane.store import envelope
from pixlane.store.connect import Server
from pixlane.store.keys import Keys
from pixlane.store.ledger import Message
from pixlane.store.outages import unavailable
from pixlane.store.servers import Servers, is_redis, redis_url


class Publisher:
    """The way into the queues of the broker that it is given, whatever Celery's variables in the environment name."""

    def __init__(self, servers: Servers, settings: Settings) -> None:
        carrier = _Redis if is_redis(servers.broker) else _Kombu
        self._carrier: _Redis | _Kombu = carrier(servers.broker, settings.store_timeout_s, Keys(settings.key_prefix))

    def send(self, groups: Sequence[Sequence[Message]]) -> None:
        """One message for each group of jobs. Raises StoreUnavailable when the broker does not take them in time, StoreFull."""
        self._carrier.send(groups)

    def close(self) -> None:
        self._carrier.close()


class _Redis:
    def __init__(self, url: str, timeout_s: float, keys: Keys) -> None:
        self._server = Server(redis_url(url), timeout_s)
        self._keys = keys

    def send(self, groups: Sequence[Sequence[Message]]) -> None:
        self._server.run([envelope.push(self._keys, group) for group in groups])

    def close(self) -> None:
        self._server.close()


class _Kombu:
    """One connection, made again when it breaks; each wait on the network is at most `timeout_s`."""

    def __init__(self, url: str, timeout_s: float, keys: Keys) -> None:
        self._url = url
        self._timeout_s = timeout_s
        self._renew()

    def _renew(self) -> None:
        from kombu import Connection
        from kombu.exceptions import OperationalError

        waits = {"read_timeout": self._timeout_s, "write_timeout": self._timeout_s, "confirm_publish": True}
        options = waits if self._url.startswith(("amqp", "pyamqp")) else {}
        self._connection = Connection(self._url, connect_timeout=self._timeout_s, heartbeat=0, transport_options=options)
        self._errors: tuple[type[BaseException], ...] = (OperationalError, OSError, *self._connection.connection_errors)
        self._lock = threading.Lock()
        self._process = os.getpid()

    def send(self, groups: Sequence[Sequence[Message]]) -> None:
        if self._process != os.getpid():  # a fork must not write into the connection of its parent
            self._renew()
        with self._lock:
            try:
                for group in groups:
                    self._publish(group)
            except self._errors as error:
                self._connection.collect(self._timeout_s)
                raise unavailable(self._url, error, self._timeout_s, "the broker") from error

    def _publish(self, group: Sequence[Message]) -> None:
        from pixlane.queue import waiting_line

        headers, body = envelope.task(group)
        line = waiting_line(group[0].queue)
        once_more: dict[str, Any] = {"max_retries": 1, "interval_start": 0}  # an idle connection may have been closed
        self._connection.Producer().publish(
            body,
            exchange="",
            routing_key=line.routing_key,
            declare=[line],
            serializer="json",
            headers=headers,
            correlation_id=headers["id"],
            confirm_timeout=self._timeout_s,
            retry=True,
            retry_policy=once_more,
        )

    def close(self) -> None:
        self._connection.collect(self._timeout_s)
