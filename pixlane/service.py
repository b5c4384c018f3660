"""The service that a client talks to: its servers, how sources travel there, and the way into its queue."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal

from pixlane import settings as knobs
from pixlane.errors import InvalidArgument, QueueFull
from pixlane.flows import Flows, Order
from pixlane.mapping import Mapping
from pixlane.purging import Purging
from pixlane.recipe import Recipe, Region
from pixlane.settings import Settings
from pixlane.sources import Given, checked_path, is_url
from pixlane.steps import Flow, Found
from pixlane.store.keys import Keys
from pixlane.store.ledger import Message
from pixlane.store.servers import Servers

if TYPE_CHECKING:
    from pixlane.publisher import Publisher
    from pixlane.vision.flows import ObservationFlows, Requested

CHECK_EVERY_S: Final = 1.0

Travel = Literal["bytes", "path"]
"""How a source that is named by its path comes to the worker."""

OnFull = Callable[[QueueFull], None]
"""Is told each time that `map` waits because the queue is full."""


class Service:
    """What `Client` and `AsyncClient` share. `attach` comes before everything else; it may start the embedded service."""

    def __init__(
        self,
        url: str | None,
        send: Travel | None,
        paths: str | os.PathLike[str] | None,
        settings: Settings | None,
    ) -> None:
        if send not in (None, "bytes", "path"):
            raise InvalidArgument(f'send must be "bytes" or "path", got {send!r}', actual=str(send))
        self.settings = settings or knobs.current()
        self.keys = Keys(self.settings.key_prefix)
        self._url = url or self.settings.redis_url or None
        self._send = send
        self._paths = None if paths is None else Path(os.path.realpath(paths))
        self._attachment: Any = None
        self._publisher: Publisher | None = None
        self._lock = threading.Lock()
        self._default = Recipe()  # its fingerprint is computed once
        self._checked_at = 0.0

    def attach(self) -> None:
        """Finds the servers. Raises ServiceUnavailable."""
        if self._url is None:
            from pixlane.embedded import attach

            self._attachment = attach(paths_root=None if self._paths is None else str(self._paths))
            self.settings = replace(self.settings, redis_url=self._attachment.url, broker_url="", cache_url="")
        self.servers = Servers.of(self.settings, self._url)
        self.flows = Flows(self.settings, self.servers)
        self.purging = Purging(self.settings)

    def by_path(self, given: Given) -> bool:
        """Whether the path of this source travels, and not its bytes."""
        if not isinstance(given, (str, os.PathLike)) or is_url(given):
            return False
        if self._send is not None:
            return self._send == "path"
        # The worker looks where the links lead, so we do.
        return self._attachment is not None and self._paths is not None and _lies_under(given, self._paths)

    def submit(
        self, given: Given, recipe: Recipe | None, queue: str, deadline_s: float | None = None
    ) -> Flow[tuple[Order, Found | None]]:
        return self.flows.submit(given, recipe or self._default, queue, self.by_path(given), deadline_s)

    def observe(
        self, given: Given, prompt: str, model: str | None, region: Region | Sequence[int] | None, queue: str
    ) -> tuple[ObservationFlows, Flow[Requested]]:
        from pixlane.vision.flows import ObservationFlows
        from pixlane.vision.looking import Question

        flows = ObservationFlows(self.settings, self.servers)
        return flows, flows.request(given, Question.of(prompt, model, region), queue, self.by_path(given))

    def fetch(self, sha256: str, recipe: Recipe | None) -> Flow[Found | None]:
        return self.flows.fetch(sha256, (recipe or self._default).fingerprint)

    def map(
        self, sources: Iterable[Given], recipe: Recipe | None, queue: str, in_flight: int, on_full: OnFull | None
    ) -> Flow[None]:
        if in_flight < 1:
            raise InvalidArgument(f"in_flight must be at least 1, got {in_flight}", limit=1, actual=in_flight)
        return Mapping(self.flows, sources, recipe or self._default, queue, self.by_path, in_flight, on_full).run()

    def check(self) -> None:
        """Raises ServiceUnavailable when these are the servers of the embedded service and it cannot go on; for whoever waits."""
        now = time.monotonic()
        if now - self._checked_at >= CHECK_EVERY_S:
            from pixlane import embedded

            self._checked_at = now
            embedded.check(self.servers.ledger)

    def fetch_url(self, url: str) -> bytes:
        """For a source that is named by its URL."""
        from pixlane.fetching import fetch_url

        return fetch_url(url, self.settings)

    def publish(self, groups: Sequence[Sequence[Message]]) -> None:
        """For a broker that is not on the server of the ledger."""
        with self._lock:
            if self._publisher is None:
                from pixlane.publisher import Publisher

                self._publisher = Publisher(self.servers, self.settings)
        self._publisher.send(groups)

    def close(self) -> None:
        if self._publisher is not None:
            self._publisher.close()
        if self._attachment is not None:
            self._attachment.close()


def _lies_under(given: str | os.PathLike[str], root: Path) -> bool:
    try:
        return Path(os.path.realpath(checked_path(given))).is_relative_to(root)
    except OSError:  # a link that vanished while it was followed: whoever reads the file says what is wrong
        return False
