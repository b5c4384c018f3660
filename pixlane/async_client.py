"""The client for asyncio.

async with AsyncClient("redis://localhost/0") as client:
    rendition = await (await client.submit("screen.png")).result(timeout=30)
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Iterable, Sequence
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
from pixlane.store.connect import AsyncServer
from pixlane.store.nodes import open_async_cache

if TYPE_CHECKING:
    from pixlane.vision.jobs import AsyncObservationJob


class AsyncClient:
    """`Client` for asyncio: the same names and arguments, with `await` and `async for`.

    Only the publishing of a message, the fetching of a URL, and start and end of the embedded service happen in a thread.
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
        self._opening: asyncio.Task[None] | None = None

    async def submit(
        self, source: Given, recipe: Recipe | None = None, *, queue: str = "interactive", deadline_s: float | None = None
    ) -> AsyncJob:
        """As `Client.submit`, whose errors it raises."""
        await self._open()
        order, found = await self._carry_out(self._service.submit(source, recipe, queue, deadline_s))
        return AsyncJob(self, order, found)

    async def observe(
        self,
        source: Given,
        prompt: str,
        model: str | None = None,
        *,
        region: Region | Sequence[int] | None = None,
        queue: str = "interactive",
    ) -> AsyncObservationJob:
        """As `Client.observe`."""
        from pixlane.vision.jobs import AsyncObservationJob

        await self._open()
        flows, flow = self._service.observe(source, prompt, model, region, queue)
        return AsyncObservationJob(self, flows, await self._carry_out(flow))

    async def fetch(self, sha256: str, recipe: Recipe | None = None) -> Rendition | None:
        """As `Client.fetch`: one round trip, never starts work."""
        await self._open()
        return only_rendition(await self._carry_out(self._service.fetch(sha256, recipe)))

    async def map(
        self,
        sources: Iterable[Given],
        recipe: Recipe | None = None,
        *,
        queue: str = "batch",
        in_flight: int = IN_FLIGHT,
        on_full: OnFull | None = None,
    ) -> AsyncIterator[tuple[Any, Found]]:
        """As `Client.map`, with `async for`: pairs of a source and its rendition or PixlaneError, as they finish."""
        await self._open()
        async with self._wakeups.watch() as watch:
            flow = self._service.map(sources, recipe, queue, in_flight, on_full)
            step = advance(flow, None)
            while not isinstance(step, End):
                if isinstance(step, Give):
                    yield step.item
                    step = advance(flow, None)
                else:
                    step = advance(flow, await self._try(step, watch))

    async def forget(self, sha256: str) -> int:
        """As `Client.forget`."""
        await self._open()
        return await self._carry_out(self._service.purging.forget(sha256))

    async def purge_all(self) -> int:
        """As `Client.purge_all`."""
        await self._open()
        return await self._carry_out(self._service.purging.purge_all())

    async def close(self) -> None:
        if self._opening is not None:
            await self._opening
            await self._wakeups.close()
            for server in {self._ledger, self._cache}:
                await server.close()
        await asyncio.to_thread(self._service.close)

    async def __aenter__(self) -> AsyncClient:
        await self._open()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def _open(self) -> None:
        """Connects once, however many ask at the same time; after a failure the next one tries again."""
        opening = self._opening
        if opening is None:
            opening = self._opening = asyncio.create_task(self._connect())
        try:
            await asyncio.shield(opening)
        except PixlaneError:
            if self._opening is opening:
                self._opening = None
            raise

    async def _connect(self) -> None:
        await asyncio.to_thread(self._service.attach)
        servers, timeout_s = self._service.servers, self._service.settings.store_timeout_s
        self._ledger = AsyncServer(servers.ledger, timeout_s)
        self._cache = self._ledger if servers.one_for_results else open_async_cache(servers.cache, timeout_s)
        self._wakeups = wakeups.AsyncWakeups(servers.ledger, timeout_s, self._service.keys.done)

    async def _carry_out(self, flow: Flow[T]) -> T:
        async with self._wakeups.watch() as watch:
            step = advance(flow, None)
            while not isinstance(step, End):
                step = advance(flow, await self._try(step, watch))
            return step.value  # type: ignore[no-any-return]

    async def _try(self, step: Step, watch: wakeups.AsyncWatch) -> Any:
        try:
            return await self._do(step, watch)
        except PixlaneError as error:
            return Failure(error)

    async def _do(self, step: Step, watch: wakeups.AsyncWatch) -> Any:
        match step:
            case Ask(role, commands, atomic):
                return await (self._ledger if role == "ledger" else self._cache).run(commands, atomic=atomic)
            case Publish(groups):
                return await asyncio.to_thread(self._service.publish, groups)
            case Fetch(url):
                return await asyncio.to_thread(self._service.fetch_url, url)
            case Watch(keys, on):
                return await (watch.add(keys) if on else watch.drop(keys))
            case Pause(seconds):
                self._service.check()
                return await watch.wait(seconds)
        raise AssertionError(step)


class AsyncJob:
    """The same as `Job` for asyncio."""

    def __init__(self, client: AsyncClient, order: Order, found: Found | None) -> None:
        self._client = client
        self._order = order
        self._found = found
        self.key = order.job.key
        self.sha256 = order.job.sha256
        self.cached = found is not None

    async def result(self, timeout: float | None = None) -> Rendition:
        """As `Job.result`, whose errors it raises."""
        if self._found is None:
            self._found = await self._client._carry_out(self._client._service.flows.result(self._order, timeout))
        return rendition_or_raise(self._found)

    async def cancel(self) -> bool:
        """As `Job.cancel`."""
        if self._found is not None:
            return False
        return await self._client._carry_out(self._client._service.flows.cancel(self._order))
