"""The last try of an image: in a process that has done nothing else, and whose death is witnessed at once."""

from __future__ import annotations

import os
import signal
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pixlane import Client, Recipe, Rendition, normalize
from pixlane.errors import Crashed, NotAnImage
from pixlane.settings import Limits, Settings
from pixlane.store.keys import Keys
from tasks.alone import normalize_alone
from tests.embedded.conftest import Valkey, wait_until
from tests.embedded.test_client import PATIENCE_S, picture
from tests.embedded.test_queue import slow_picture

KEYS = Keys()


def test_alone_comes_to_the_same(quick: Settings) -> None:
    alone = normalize_alone(picture(), Recipe(max_side=20), Limits(), quick)
    beside = normalize(picture(), Recipe(max_side=20))
    timeless = {"elapsed_ms": 0}
    assert (alone.data_url, alone.to_meta() | timeless) == (beside.data_url, beside.to_meta() | timeless)


def test_an_error_of_the_image_is_the_same_alone(quick: Settings) -> None:
    with pytest.raises(NotAnImage):
        normalize_alone(b"no picture", Recipe(), Limits(), quick)


@pytest.mark.slow
def test_a_process_that_dies_alone_is_a_crash_with_its_signal(quick: Settings) -> None:
    with pytest.raises(Crashed) as died:
        normalize_alone(slow_picture(), Recipe(), Limits(), replace(quick, hard_timeout_s=0.005))
    assert died.value.actual == -signal.SIGALRM


@pytest.mark.slow
def test_the_last_try_of_a_job_runs_alone_and_may_succeed(valkey: Valkey, start_worker: Any, quick: Settings) -> None:
    with Client(valkey.url, settings=quick) as client:
        job = client.submit(picture())
        valkey.redis.hset(KEYS.job(job.key), "crashes", 2)
        worker = start_worker()
        assert isinstance(job.result(PATIENCE_S), Rendition)
    assert "the last try, in a process of its own" in worker.log.read_text()


@pytest.mark.slow
def test_a_death_in_the_last_try_is_the_verdict_and_the_child_lives(valkey: Valkey, start_worker: Any, quick: Settings) -> None:
    with Client(valkey.url, settings=quick) as client:
        job = client.submit(slow_picture(9900))
        valkey.redis.hset(KEYS.job(job.key), "crashes", 2)
        worker = start_worker()
        children = worker.children
        wait_until(lambda: (found := of_alone(children[0])) and kill(found[0]), "the process of its own")
        with pytest.raises(Crashed, match="broke down 3 times"):
            job.result(PATIENCE_S)
        assert valkey.redis.zrange(KEYS.dead, 0, -1) == [job.key.encode()]
        assert isinstance(client.submit(picture()).result(PATIENCE_S), Rendition)
    assert worker.children == children


def of_alone(pid: int) -> list[int]:
    return [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def kill(pid: int) -> bool:
    os.kill(pid, signal.SIGKILL)
    return True
