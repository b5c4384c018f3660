"""Servers that are down, slow, hung, restarted or full; one for everything, or one for each role."""

from __future__ import annotations

import asyncio
import os
import signal
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from pixlane import AsyncClient, Client, settings
from pixlane.errors import StoreFull, StoreUnavailable
from pixlane.rendition import Rendition
from pixlane.settings import Settings
from pixlane.store.keys import Keys
from tests.embedded.conftest import Valkey, Worker, wait_until
from tests.embedded.test_client import outcomes, picture
from tests.embedded.test_store_connect import strange_server
from tests.fault.scene import screen

KEYS = Keys()
LIMIT_S = 60.0
Start = Callable[..., Worker]

pytestmark = pytest.mark.timeout(150)


@pytest.fixture
def others() -> Iterator[Callable[..., Valkey]]:
    """Further servers, with their own options."""
    started: list[tuple[Valkey, tempfile.TemporaryDirectory[str]]] = []

    def start(*options: str) -> Valkey:
        folder = tempfile.TemporaryDirectory(prefix="px")
        server = Valkey(Path(folder.name), options=options)
        started.append((server, folder))
        server.start()
        return server

    yield start
    for server, folder in started:
        server.kill()
        folder.cleanup()


# Down and hung ---------------------------------------------------------------------------------------------------------


def submit_blocking(url: str) -> None:
    with Client(url, settings=settings.load({})) as client:
        client.submit(picture())


def submit_on_a_loop(url: str) -> None:
    async def submit() -> None:
        async with AsyncClient(url, settings=settings.load({})) as client:
            await client.submit(picture())

    asyncio.run(submit())


@pytest.mark.parametrize("submit", [submit_blocking, submit_on_a_loop])
def test_a_producer_knows_within_two_seconds_by_default_that_a_server_does_not_answer(submit: Callable[[str], None]) -> None:
    with strange_server(b"", 0.05) as url:
        began = time.monotonic()
        with pytest.raises(StoreUnavailable) as caught:
            submit(url)
        assert time.monotonic() - began < 4.0
    assert caught.value.limit == 2.0
    assert caught.value.retryable


def test_workers_come_back_by_themselves_when_the_server_was_away_for_long(
    start_worker: Start, valkey: Valkey, quick: Settings
) -> None:
    worker = start_worker()
    with Client(valkey.url, settings=quick) as client:
        client.submit(picture(1)).result(LIMIT_S)
        valkey.kill()
        wait_until(lambda: "what is owed waits" in worker.log.read_text(), "the sweeper says it")
        time.sleep(3)
        valkey.start()
        assert client.submit(picture(2)).result(LIMIT_S).width == 40
    assert worker.process.poll() is None
    wait_until(lambda: "the store answers again" in worker.log.read_text(), "and when it is over")


# One server a role -----------------------------------------------------------------------------------------------------


def test_each_role_may_have_its_own_server_and_each_may_die(
    start_worker: Start, valkey: Valkey, quick: Settings, others: Callable[..., Valkey]
) -> None:
    """Broker and cache keep nothing on disk here: messages and results are gone with them, the jobs are not."""
    broker, cache = others("--appendonly", "no"), others("--appendonly", "no")
    quick = replace(quick, broker_url=broker.url, cache_url=cache.url)
    for _ in range(2):
        start_worker(broker_url=broker.url, cache_url=cache.url)
    with Client(valkey.url, settings=quick) as client:
        jobs = [client.submit(picture(number, size=(1100, 700)), queue="batch") for number in range(60)]
        for number, server in enumerate((broker, valkey, cache)):
            jobs[5 + number].result(LIMIT_S)
            server.kill()
            server.start()
        results = [job.result(LIMIT_S) for job in jobs]
    assert {result.width for result in results} == {1100}
    wait_until(lambda: valkey.redis.zcard(KEYS.open) == 0, "none is owed")
    assert not valkey.redis.keys("pixlane:{*}:url:*")
    assert not valkey.redis.exists("pixlane-broker:batch")
    assert not cache.redis.keys("pixlane:{*}:err:*")


# Full ------------------------------------------------------------------------------------------------------------------


def test_a_full_ledger_refuses_new_work_with_a_typed_error_and_finishes_what_it_took(
    start_worker: Start, valkey: Valkey, quick: Settings
) -> None:
    with Client(valkey.url, settings=quick) as client:
        running = start_worker()
        client.submit(picture(500)).result(LIMIT_S)
        os.killpg(running.process.pid, signal.SIGSTOP)  # so that it does not finish them before
        taken = [client.submit(picture(number, size=(900, 600)), queue="batch") for number in range(10)]
        valkey.redis.config_set("maxmemory", 1)
        with pytest.raises(StoreFull) as caught:
            client.submit(picture(99))
        assert caught.value.retryable
        os.killpg(running.process.pid, signal.SIGCONT)
        worker = start_worker(wait=False)
        wait_until(lambda: "is out of memory; what is owed waits" in running.log.read_text(), "the other one says it")
        wait_until(lambda: "used memory > 'maxmemory'" in worker.log.read_text(), "the new worker finds no room for a message")
        valkey.redis.config_set("maxmemory", 0)
        assert all(isinstance(job.result(LIMIT_S), Rendition) for job in taken)
    assert (worker.process.poll(), running.process.poll()) == (None, None)
    assert not valkey.redis.keys("pixlane:{*}:err:*")


def test_a_result_that_finds_no_room_is_made_again_and_never_put_aside(
    start_worker: Start, valkey: Valkey, quick: Settings, others: Callable[..., Valkey]
) -> None:
    cache = others("--maxmemory-policy", "noeviction", "--maxmemory", "1")
    quick = replace(quick, cache_url=cache.url)
    worker = start_worker(cache_url=cache.url)
    with Client(valkey.url, settings=quick) as client:
        job = client.submit(screen(640, 400))
        wait_until(lambda: "handed_back" in outcomes(worker), "no room")
        assert valkey.redis.hmget(KEYS.job(job.key), "starts", "crashes", "due") == [b"0", b"0", b"1"], "uncharged"
        assert "ERROR" in worker.log.read_text()
        cache.redis.config_set("maxmemory", 0)
        assert job.result(LIMIT_S).width == 640
