"""What the queue promises, with real workers: chunks, deaths, limits, hand-backs, a clean end."""

from __future__ import annotations

import io
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from pixlane import Client, Recipe
from pixlane import errors as kinds
from pixlane.mapping import CHUNK_MS, SMALL_MS, chunks
from pixlane.publisher import Publisher
from pixlane.queue import make_app
from pixlane.recipe import PIPELINE_VERSION
from pixlane.settings import MIB, Settings
from pixlane.store import ledger
from pixlane.store.connect import Server
from pixlane.store.envelope import CHUNK_TASK
from pixlane.store.keys import Keys
from pixlane.store.ledger import Job, Message
from pixlane.store.servers import Servers
from tests.embedded.conftest import Valkey, Worker, wait_until
from tests.embedded.test_client import PATIENCE_S, outcomes, picture, sha256, starts

KEYS = Keys()
Start = Callable[..., Worker]


@pytest.fixture
def enqueue(valkey: Valkey, quick: Settings) -> Callable[..., list[Message]]:
    """Puts sources and jobs into ledger and queue, several in one message."""
    servers = Servers.of(quick, valkey.url)

    def enqueue(*sources: bytes, queue: str = "batch", send: bool = True, **changes: Any) -> list[Message]:
        server, publisher = Server(servers.ledger, 5.0), Publisher(servers, quick)
        messages = []
        for data in sources:
            job = replace(Job.of(sha256(data), Recipe()), **changes)
            commands = [ledger.put_source(KEYS, job.sha256, data, quick), ledger.submit(KEYS, job, queue, quick)]
            message = ledger.submitted(server.run(commands)[-1], job, queue)
            assert message is not None
            messages.append(message)
        if send:
            publisher.send([messages])
        publisher.close()
        server.close()
        return messages

    return enqueue


def has_result(valkey: Valkey, message: Message) -> bool:
    return bool(valkey.redis.exists(KEYS.url(message.job.sha256, message.job.fingerprint)))


def record(valkey: Valkey, message: Message) -> dict[str, str]:
    return {name.decode(): value.decode() for name, value in valkey.redis.hgetall(KEYS.job(message.job.key)).items()}


@cache
def slow_picture(side: int = 5000) -> bytes:
    """Takes some tenths of a second."""
    buffer = io.BytesIO()
    Image.new("L", (side, side), 80).save(buffer, "JPEG", quality=50, progressive=True)
    return buffer.getvalue()


@contextmanager
def held(valkey: Valkey, message: Message) -> Iterator[None]:
    """Waits until the job runs, and keeps it from storing anything inside the block: the server takes no writes."""
    wait_until(lambda: "lease_by" in record(valkey, message), "the job runs")
    valkey.redis.client_pause(8_000, all=False)
    assert not has_result(valkey, message), "it was over too soon for this test"
    yield
    valkey.redis.client_unpause()


@pytest.mark.slow
def test_a_worker_works_beside_modules_of_the_same_names(start_worker: Start, enqueue: Any, valkey: Valkey) -> None:
    worker = start_worker()
    folder = Path(f"/proc/{worker.process.pid}/cwd").resolve()
    assert {"tasks.py", "worker.py"} <= {path.name for path in folder.iterdir()}, "importing one of them ends the process"
    (message,) = enqueue(picture())
    wait_until(lambda: has_result(valkey, message), "done")


def test_a_chunk_is_done_image_by_image(start_worker: Start, enqueue: Any, valkey: Valkey) -> None:
    messages = enqueue(*[picture(number) for number in range(5)], b"no picture")
    worker = start_worker()
    wait_until(lambda: valkey.redis.zcard(KEYS.open) == 0, "all jobs are closed")
    assert [has_result(valkey, message) for message in messages] == [True] * 5 + [False]
    assert starts(worker, valkey) == ["ok"] * 5 + ["error"]


@pytest.mark.slow
def test_the_same_message_twice_is_done_once(start_worker: Start, enqueue: Any, valkey: Valkey, quick: Settings) -> None:
    messages = enqueue(picture())
    publisher = Publisher(Servers.of(quick, valkey.url), quick)
    for _ in range(3):
        publisher.send([messages])
    publisher.close()
    worker = start_worker(concurrency=2)
    wait_until(lambda: valkey.redis.llen("pixlane-broker:batch") == 0 and has_result(valkey, messages[0]), "all taken")
    wait_until(lambda: valkey.redis.hlen("pixlane-broker:unacked") == 0, "all acknowledged")
    assert starts(worker, valkey) == ["ok"]


@pytest.mark.slow
def test_a_result_that_is_there_already_closes_the_record(start_worker: Start, enqueue: Any, valkey: Valkey) -> None:
    first = start_worker()
    (message,) = enqueue(picture())
    assert starts(first, valkey) == ["ok"]
    first.end()
    (message,) = enqueue(picture())
    # As if a worker had stored the result and died before it closed the record.
    valkey.redis.hset(KEYS.job(message.job.key), "starts", 1)
    second = start_worker()
    wait_until(lambda: valkey.redis.zcard(KEYS.open) == 0, "closed")
    assert starts(second, valkey) == ["found"], "nothing was decoded"


@pytest.mark.slow
def test_a_child_that_dies_is_charged_once_and_its_job_done(start_worker: Start, enqueue: Any, valkey: Valkey) -> None:
    worker = start_worker()
    (message,) = enqueue(slow_picture(), queue="interactive")
    with held(valkey, message):
        os.kill(worker.children[0], signal.SIGKILL)
    wait_until(lambda: has_result(valkey, message), "done by the next child")
    assert starts(worker, valkey) == ["ok"]
    assert ", 1 of 3" in worker.log.read_text()


@pytest.mark.slow
def test_a_poison_image_is_put_aside_and_the_rest_of_its_chunk_done(start_worker: Start, enqueue: Any, valkey: Valkey) -> None:
    """The hard limit ends its process each time: a real death, without a hand from outside."""
    good, poison = [picture(number) for number in range(6)], slow_picture(9900)
    messages = enqueue(*good[:3], poison, *good[3:])
    worker = start_worker(hard_timeout_s=0.3, soft_timeout_s=0.25, lease_margin_s=0.3)
    wait_until(lambda: valkey.redis.zcard(KEYS.open) == 0, "all jobs are closed", PATIENCE_S)
    assert [has_result(valkey, message) for message in messages] == [True, True, True, False, True, True, True]
    assert json.loads(valkey.redis.get(KEYS.error(sha256(poison), Recipe().fingerprint)))["code"] == "crashed"
    assert valkey.redis.ttl(KEYS.source(sha256(poison))) > 86_400, "kept for a retry"
    assert worker.process.poll() is None


@pytest.mark.slow
def test_an_engine_that_aborts_costs_its_image_alone(start_worker: Start, enqueue: Any, valkey: Valkey) -> None:
    """A real crash: glib ends the process where libvips gets no memory for the canvas of a GIF; nothing was switched off."""
    poison = io.BytesIO()
    Image.new("P", (9_900, 9_900)).save(poison, "GIF")
    (message,) = enqueue(poison.getvalue())
    worker = start_worker(max_child_bytes=256 * MIB)
    wait_until(lambda: valkey.redis.zcard(KEYS.open) == 0, "put aside", PATIENCE_S)
    error = json.loads(valkey.redis.get(KEYS.error(message.job.sha256, message.job.fingerprint)))
    assert (error["code"], error["limit"], error["actual"]) == ("crashed", 3, 3)
    assert valkey.redis.ttl(KEYS.source(message.job.sha256)) > 86_400, "kept for a retry"
    (good,) = enqueue(picture())
    wait_until(lambda: has_result(valkey, good), "the worker goes on")
    assert worker.process.poll() is None


@pytest.mark.slow
def test_a_run_past_the_hard_limit_is_ended_though_the_parent_is_stopped(
    start_worker: Start, enqueue: Any, valkey: Valkey
) -> None:
    worker = start_worker(hard_timeout_s=1, soft_timeout_s=0.9, lease_margin_s=0.4)
    (child,) = worker.children
    enqueue(slow_picture(9900), queue="interactive")
    idle = busy_s(child)
    wait_until(lambda: busy_s(child) > idle + 0.1, "the picture is being decoded")
    os.kill(worker.process.pid, signal.SIGSTOP)
    os.kill(child, signal.SIGSTOP)  # the alarm's clock runs on, so that it has passed however fast the picture is decoded
    time.sleep(1.5)
    os.kill(child, signal.SIGCONT)
    wait_until(lambda: state_of(child) == "Z", "the alarm ended the child", 10)
    os.kill(worker.process.pid, signal.SIGCONT)


def busy_s(pid: int) -> float:
    """CPU time of a process so far, seconds."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def state_of(pid: int) -> str:
    """R running, S asleep, T stopped, Z dead and not yet looked after."""
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]


@pytest.mark.slow
def test_a_recipe_that_only_a_newer_version_knows_is_handed_back(start_worker: Start, enqueue: Any, valkey: Valkey) -> None:
    recipe = {**Recipe().to_dict(), "sharpness": 3}
    worker = start_worker()
    (message,) = enqueue(picture(), recipe=recipe, pipeline="999", queue="interactive")
    wait_until(lambda: "due" in record(valkey, message), "handed back")
    assert wait_until(lambda: outcomes(worker), "logged") == ["handed_back"]


@pytest.mark.slow
def test_an_unknown_field_of_this_version_is_an_error(start_worker: Start, enqueue: Any, valkey: Valkey) -> None:
    recipe = {**Recipe().to_dict(), "sharpness": 3}
    start_worker()
    (message,) = enqueue(picture(), recipe=recipe, pipeline=PIPELINE_VERSION, queue="interactive")
    stored = wait_until(lambda: valkey.redis.get(KEYS.error(message.job.sha256, message.job.fingerprint)), "an error")
    assert json.loads(stored)["code"] == "invalid_recipe"


def test_interactive_jobs_go_before_a_full_batch_queue(
    start_worker: Start, enqueue: Any, valkey: Valkey, quick: Settings
) -> None:
    batch = [enqueue(picture(number, size=(900, 900)))[0] for number in range(40)]
    start_worker()
    with Client(valkey.url, settings=quick) as client:
        client.submit(picture(999)).result(PATIENCE_S)
    assert not all(has_result(valkey, message) for message in batch), "it did not wait for them"


@pytest.mark.slow
def test_a_worker_that_is_told_to_end_finishes_its_job_first(start_worker: Start, enqueue: Any, valkey: Valkey) -> None:
    worker = start_worker()
    (message,) = enqueue(slow_picture(), queue="interactive")
    with held(valkey, message):
        worker.process.terminate()
        time.sleep(0.5)
    assert worker.process.wait(PATIENCE_S) == 0
    assert has_result(valkey, message)
    assert valkey.redis.zcard(KEYS.open) == 0
    assert valkey.redis.zcard(KEYS.workers) == 0, "it left the list of workers"


@pytest.mark.slow
def test_a_wrong_setting_is_one_line_and_exit_code_2(tmp_path: Path) -> None:
    command = [sys.executable, "-P", "-m", "worker", "--queues", "nonsense", "--redis", "redis://localhost"]
    ended = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False)
    assert ended.returncode == 2
    assert ended.stderr.strip() == "invalid_argument: queues must be among interactive, batch, got 'nonsense'"


def test_the_delivery_rules_that_loss_and_doubling_hang_on() -> None:
    settings = Settings()
    conf = make_app(Servers("redis://h", "redis://h", "redis://h"), settings).conf
    assert conf.task_acks_late
    assert not conf.task_reject_on_worker_lost
    assert not conf.task_retry_on_worker_lost
    assert conf.worker_prefetch_multiplier == 1
    assert conf.accept_content == ["json"]
    longest = max(conf.task_time_limit, conf.task_annotations[CHUNK_TASK]["time_limit"])
    assert conf.broker_transport_options["visibility_timeout"] > longest
    assert conf.broker_transport_options["unacked_restore_throttle"] == 1


def test_small_images_share_a_message_and_large_ones_do_not() -> None:
    message = Message(Job.of("a" * 64, Recipe()), "batch", 0)
    packed = [len(chunk) for chunk in chunks([(message, 50.0)] * 12 + [(message, SMALL_MS + 1)] * 2)]
    assert packed.count(1) >= 2
    assert max(packed) == CHUNK_MS // 50
    assert sum(packed) == 14


def test_a_broker_that_is_down_leaves_the_job_due_in_the_ledger(valkey: Valkey, quick: Settings) -> None:
    client = Client(valkey.url, settings=replace(quick, broker_url="redis://127.0.0.1:1/0"))
    with client, pytest.raises(kinds.StoreUnavailable):
        client.submit(picture())
    message = Message(Job.of(sha256(picture()), Recipe()), "interactive", 0)
    assert record(valkey, message)["due"] == "1", "the next sweep sends it"


# Forgetting ----------------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_forgetting_a_source_leaves_nothing_of_it(start_worker: Start, valkey: Valkey, quick: Settings) -> None:
    start_worker()
    with Client(valkey.url, settings=quick) as client:
        for recipe in (Recipe(), Recipe(max_side=20)):
            client.submit(picture(1), recipe).result(PATIENCE_S)
        kept = client.submit(picture(2))
        kept.result(PATIENCE_S)
        assert client.forget(sha256(picture(1))) == 2
        left = [name for name in valkey.redis.keys(f"*{sha256(picture(1))}*") if not name.endswith(b":forgotten")]
        assert left == []
        assert client.fetch(kept.sha256) is not None
        with pytest.raises(kinds.InvalidArgument):
            client.forget("*")


@pytest.mark.slow
def test_a_run_that_was_under_way_takes_back_what_it_stored(start_worker: Start, valkey: Valkey, quick: Settings) -> None:
    worker, data = start_worker(), slow_picture()
    with Client(valkey.url, settings=quick) as client:
        client.submit(data)
        message = Message(Job.of(sha256(data), Recipe()), "interactive", 0)
        wait_until(lambda: "lease_by" in record(valkey, message), "the job runs")
        client.forget(sha256(data))
        assert starts(worker, valkey) == ["ok"]
        assert client.fetch(sha256(data)) is None


@pytest.mark.slow
def test_a_purge_leaves_the_broker_alone_and_the_service_working(start_worker: Start, valkey: Valkey, quick: Settings) -> None:
    start_worker()
    with Client(valkey.url, settings=quick) as client:
        for number in range(5):
            client.submit(picture(number)).result(PATIENCE_S)
        valkey.redis.set("other", 1)
        assert client.purge_all() == 5
        left = {name for name in valkey.redis.keys("*") if name.startswith(b"pixlane:")}
        assert left <= {b"pixlane:queues", b"pixlane:workers"}
        assert valkey.redis.exists("other") == 1
        assert client.submit(picture(0)).result(PATIENCE_S).width == 40
