"""An observation on its way, as `Client.observe` and `AsyncClient.observe` hand it out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pixlane.errors import PixlaneError
from pixlane.vision.flows import ObservationFlows, Requested
from pixlane.vision.observation import Observation

if TYPE_CHECKING:
    from pixlane.async_client import AsyncClient
    from pixlane.client import Client


class ObservationJob:
    """One picture and one question. `key`, `sha256`: their names."""

    def __init__(self, client: Client, flows: ObservationFlows, order: Requested) -> None:
        self._client, self._flows, self._order = client, flows, order
        self._found: Observation | PixlaneError | None = order.found
        self.key = order.job.key
        self.sha256 = order.job.sha256

    def result(self, timeout: float | None = None) -> Observation:
        """Waits for the observation; `timeout` in seconds, None: as long as it takes.

        Raises as `Job.result` and as `view_image`.
        """
        if self._found is None:
            self._found = self._client._carry_out(self._flows.observation(self._order, timeout))
        return _observation(self._found)


class AsyncObservationJob:
    """The same for asyncio."""

    def __init__(self, client: AsyncClient, flows: ObservationFlows, order: Requested) -> None:
        self._client, self._flows, self._order = client, flows, order
        self._found: Observation | PixlaneError | None = order.found
        self.key = order.job.key
        self.sha256 = order.job.sha256

    async def result(self, timeout: float | None = None) -> Observation:
        """As `ObservationJob.result`, whose errors it raises."""
        if self._found is None:
            self._found = await self._client._carry_out(self._flows.observation(self._order, timeout))
        return _observation(self._found)


def _observation(found: Observation | PixlaneError | None) -> Observation:
    if isinstance(found, PixlaneError):
        raise found
    assert found is not None
    return found
