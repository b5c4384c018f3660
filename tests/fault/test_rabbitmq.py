"""RabbitMQ as the broker: a real node, which is also killed."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest
from kombu import Connection

from pixlane import Client
from pixlane.rendition import Rendition
from pixlane.settings import Settings
from pixlane.stats import Observer
from pixlane.store.keys import Keys
from pixlane.store.ledger import QUEUES
from pixlane.store.servers import Servers
from tests.embedded.conftest import Valkey, Worker, wait_until
from tests.embedded.test_client import picture
from tests.rabbitmq import Rabbit, rabbitmq

KEYS = Keys()
LIMIT_S = 90.0
Start = Callable[..., Worker]

pytestmark = pytest.mark.timeout(240)


@pytest.fixture(scope="module")
def rabbit() -> Iterator[Rabbit]:
    with rabbitmq() as rabbit:
        yield rabbit


def waiting(rabbit: Rabbit) -> int:
    with Connection(rabbit.url) as connection:
        channel = connection.default_channel
        return sum(channel.queue_declare(queue, passive=True).message_count for queue in QUEUES)


def test_jobs_go_through_rabbitmq_singly_and_in_chunks_and_none_through_redis(
    rabbit: Rabbit, start_worker: Start, valkey: Valkey, quick: Settings
) -> None:
    quick = replace(quick, broker_url=rabbit.url)
    worker = start_worker(broker_url=rabbit.url, concurrency=2)
    with Client(valkey.url, settings=quick) as client:
        assert client.submit(picture(1)).result(LIMIT_S).width == 40
        answers = [answer for _, answer in client.map([picture(number) for number in range(2, 80)])]
    assert len(answers) == 78
    assert all(isinstance(answer, Rendition) for answer in answers)
    wait_until(lambda: waiting(rabbit) == 0, "every message is taken")
    assert not valkey.redis.keys("pixlane-broker:*")
    worker.process.terminate()
    assert worker.process.wait(LIMIT_S) == 0


def test_nothing_is_lost_when_workers_and_rabbitmq_itself_are_killed(
    rabbit: Rabbit, start_worker: Start, valkey: Valkey, quick: Settings
) -> None:
    quick = replace(quick, broker_url=rabbit.url)
    workers = [start_worker(broker_url=rabbit.url) for _ in range(2)]
    with Client(valkey.url, settings=quick) as client:
        jobs = [client.submit(picture(number, size=(1200, 800)), queue="batch") for number in range(80)]
        jobs[5].result(LIMIT_S)
        os.kill(workers[0].children[0], signal.SIGKILL)
        workers[1].kill()
        rabbit.kill()
        rabbit.start()
        start_worker(broker_url=rabbit.url)
        results = [job.result(LIMIT_S) for job in jobs]
    assert {result.width for result in results} == {1200}
    wait_until(lambda: valkey.redis.zcard(KEYS.open) == 0, "none is owed")
    assert not valkey.redis.keys("pixlane:{*}:err:*")


def test_stats_say_what_waits_in_rabbitmq_and_for_how_long(rabbit: Rabbit, valkey: Valkey, quick: Settings) -> None:
    knobs = replace(quick, redis_url=valkey.url, broker_url=rabbit.url, store_timeout_s=5.0)
    observer = Observer(Servers.of(knobs), knobs)
    before = sum(each.depth or 0 for each in observer.look().waiting)
    with Client(settings=knobs) as client:
        client.submit(picture(500), queue="batch")
    wait_until(lambda: sum(each.depth or 0 for each in observer.look().waiting) == before + 1, "it waits")
    batch = observer.look().waiting[1]
    assert batch.queue == "batch"
    assert batch.age_s is not None
    observer.close()
