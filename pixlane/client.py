"""Asking for renditions: from the store at once, through the queue where they are not there yet.

with Client("redis://localhost/0") as client:
    rendition = client.submit("screen.png").result(timeout=30)
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from pixlane import wakeups
from pixlane.errors import PixlaneError
from pixlane.flows import Order
from pixlane.mapping import IN_FLIGHT
from pixlane.recipe import Recipe, Region
from pixlane.rendition import Rendition
from pixlane.service import OnFull, Service, Travel
from pixlane.settings import Settings
from pixlane.sources import Given
from pixlane.steps import (
    Ask,
    End,
    Failure,
    Fetch,
    Flow,
    Found,
    Give,
    Pause,
    Publish,
    Step,
    T,
    Watch,
    advance,
    only_rendition,
    rendition_or_raise,
)
from pixlane.store.connect import Server
from pixlane.store.nodes import open_cache

if TYPE_CHECKING:
    from pixlane.vision.jobs import ObservationJob


class Client:
    """A client for threads.

    Args:
        url: the Redis of the ledger; None: the setting `redis_url`, and without one the embedded service, which is started when
            it does not run.
        send: how a source that is named by its path travels: "bytes" (the client reads it) or "path" (the worker reads it, under
            its allowed roots). None: "path" for files under `paths` with the embedded service, else "bytes".
        paths: with the embedded service: the folder whose files its workers may read.
        settings: None: those of this process.

    Raises:
        ServiceUnavailable: no service is named and none can be started.
        StoreUnavailable, StoreFull: from every method, when a server does not answer within `store_timeout_s` or is full.
    """

    def __init__(
        self,
        url: str | None = None,
        *,
        send: Travel | None = None,
        paths: str | os.PathLike[str] | None = None,
        settings: Settings | None = None,
    ) -> None:
        self._service = Service(url, send, paths, settings)
        self._service.attach()
        servers, timeout_s = self._service.servers, self._service.settings.store_timeout_s
        self._ledger = Server(servers.ledger, timeout_s)
        self._cache = self._ledger if servers.one_for_results else open_cache(servers.cache, timeout_s)
        self._wakeups = wakeups.Wakeups(servers.ledger, timeout_s, self._service.keys.done)

    def submit(
        self, source: Given, recipe: Recipe | None = None, *, queue: str = "interactive", deadline_s: float | None = None
    ) -> Job:
        """The job for that source (a path, bytes, or a URL) and recipe; what is under way or done already is not done again.

        A URL is fetched here and not by the worker; see `pixlane.fetching` for what is followed. Raises InvalidArgument, for a
        path SourceMissing, NotAFile, SourceUnreadable, SourceTooLarge, for a URL UrlNotAllowed, FetchFailed, SourceTooLarge;
        QueueFull when the queue holds as much as it may (`retry_after_s` says when to come again).

        `deadline_s`: a job that is not begun within so many seconds ends as `expired`. None: it never does, though nobody waits.
        Where several ask for the same, the latest deadline counts.
        """
        order, found = self._carry_out(self._service.submit(source, recipe, queue, deadline_s))
        return Job(self, order, found)

    def observe(
        self,
        source: Given,
        prompt: str,
        model: str | None = None,
        *,
        region: Region | Sequence[int] | None = None,
        queue: str = "interactive",
    ) -> ObservationJob:
        """What is to be seen in a picture, by a worker with its keys and configuration; arguments as `vision.view_image`."""
        from pixlane.vision.jobs import ObservationJob

        flows, flow = self._service.observe(source, prompt, model, region, queue)
        return ObservationJob(self, flows, self._carry_out(flow))

    def fetch(self, sha256: str, recipe: Recipe | None = None) -> Rendition | None:
        """The rendition if the store has it; one round trip, never starts work."""
        return only_rendition(self._carry_out(self._service.fetch(sha256, recipe)))

    def map(
        self,
        sources: Iterable[Given],
        recipe: Recipe | None = None,
        *,
        queue: str = "batch",
        in_flight: int = IN_FLIGHT,
        on_full: OnFull | None = None,
    ) -> Iterator[tuple[Any, Found]]:
        """Pairs of a source and its rendition, or the PixlaneError in its place, as they finish.

        At most `in_flight` are under way; the iterator of sources may be endless. While the queue is full it waits and tries
        again by itself; `on_full` is told each time. A store that cannot be reached at the start
        is raised.
        """
        with self._wakeups.watch() as watch:
            flow = self._service.map(sources, recipe, queue, in_flight, on_full)
            step = advance(flow, None)
            while not isinstance(step, End):
                if isinstance(step, Give):
                    yield step.item
                    step = advance(flow, None)
                else:
                    step = advance(flow, self._try(step, watch))

    def forget(self, sha256: str) -> int:
        """Deletes the source, its results and its errors, and ends its jobs. Returns the number of results."""
        return self._carry_out(self._service.purging.forget(sha256))

    def purge_all(self) -> int:
        """The same for everything. Returns the number of results."""
        return self._carry_out(self._service.purging.purge_all())

    def close(self) -> None:
        self._wakeups.close()
        for server in {self._ledger, self._cache}:
            server.close()
        self._service.close()

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _carry_out(self, flow: Flow[T]) -> T:
        with self._wakeups.watch() as watch:
            step = advance(flow, None)
            while not isinstance(step, End):
                step = advance(flow, self._try(step, watch))
            return step.value  # type: ignore[no-any-return]

    def _try(self, step: Step, watch: wakeups.Watch) -> Any:
        try:
            return self._do(step, watch)
        except PixlaneError as error:
            return Failure(error)

    def _do(self, step: Step, watch: wakeups.Watch) -> Any:
        match step:
            case Ask(role, commands, atomic):
                return (self._ledger if role == "ledger" else self._cache).run(commands, atomic=atomic)
            case Publish(groups):
                return self._service.publish(groups)
            case Fetch(url):
                return self._service.fetch_url(url)
            case Watch(keys, on):
                return watch.add(keys) if on else watch.drop(keys)
            case Pause(seconds):
                self._service.check()
                return watch.wait(seconds)
        raise AssertionError(step)


class Job:
    """One source and one recipe on their way. `key`, `sha256`: their names; `cached`: the store had the answer already."""

    def __init__(self, client: Client, order: Order, found: Found | None) -> None:
        self._client = client
        self._order = order
        self._found = found
        self.key = order.job.key
        self.sha256 = order.job.sha256
        self.cached = found is not None

    def result(self, timeout: float | None = None) -> Rendition:
        """Waits for the rendition; `timeout` in seconds, None: as long as it takes.

        Raises the PixlaneError that the job ended with, Expired, Cancelled, ResultTimeout (the job goes on), StoreUnavailable,
        JobLost.
        """
        if self._found is None:
            self._found = self._client._carry_out(self._client._service.flows.result(self._order, timeout))
        return rendition_or_raise(self._found)

    def cancel(self) -> bool:
        """Gives the job up; with the last who wants it, it ends. True: it is not begun any more, or runs for the last time.

        Nobody's `result` is taken away: one that is there already stays. Afterwards `result` raises Cancelled.
        """
        if self._found is not None:
            return False
        return self._client._carry_out(self._client._service.flows.cancel(self._order))
