"""Workers are killed in the middle of the work; every job ends in its result all the same."""

from __future__ import annotations

import os
import random
import signal
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from pixlane import Client
from pixlane.rendition import Rendition
from pixlane.settings import Settings
from pixlane.store.keys import Keys
from tests.embedded.conftest import Valkey, Worker, wait_until
from tests.embedded.test_client import picture

KEYS = Keys()
LIMIT_S = 90.0
SEED = 20_261_130

pytestmark = pytest.mark.timeout(150)


class Killer:
    """Keeps two workers up and kills a parent or a child each time that some more results are there."""

    def __init__(self, start_worker: Callable[..., Worker], results: Callable[[], int], every: int) -> None:
        self._start = lambda: start_worker(wait=False, concurrency=2)
        self._results = results
        self._every = every
        self._random = random.Random(SEED)
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._live)
        self.workers: list[Worker] = []
        self.kills = 0

    def __enter__(self) -> Killer:
        self.workers = [self._start(), self._start()]
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def _live(self) -> None:
        next_at = self._every
        while not self._over.wait(0.02):
            if self._results() < next_at:
                continue
            next_at = self._results() + self._every
            place = self._random.randrange(len(self.workers))
            victim = self.workers[place]
            if self.kills % 2 == 0 or not victim.children:
                victim.kill()
                self.workers[place] = self._start()
            else:
                with suppress(ProcessLookupError):  # ended by itself just now
                    os.kill(self._random.choice(victim.children), signal.SIGKILL)
            self.kills += 1


def result_count(valkey: Valkey) -> int:
    return sum(1 for _ in valkey.redis.scan_iter("pixlane:{*}:url:*", count=1000))


def test_every_file_of_a_batch_is_done_though_workers_are_killed_in_its_middle(
    start_worker: Any, valkey: Valkey, quick: Settings, tmp_path: Path
) -> None:
    paths = []
    for number in range(150):
        path = tmp_path / f"{number}.png"
        path.write_bytes(picture(number, size=(1700, 900)))
        paths.append(path)
    with (
        Killer(start_worker, lambda: result_count(valkey), every=25) as killer,
        Client(valkey.url, settings=quick) as client,
    ):
        answers = list(client.map(paths))
    assert sorted(path for path, _ in answers) == sorted(paths)
    assert [answer for _, answer in answers if not isinstance(answer, Rendition)] == []
    assert killer.kills >= 4
    assert valkey.redis.zcard(KEYS.open) == 0


def test_what_a_killed_worker_had_goes_on_long_before_its_leases_end(
    start_worker: Any, valkey: Valkey, quick: Settings, tmp_path: Path
) -> None:
    """A chunk and a single image, with a hard limit that is longer than this test waits."""
    patient = {"hard_timeout_s": 300.0, "soft_timeout_s": 280.0, "resend_after_s": 300.0}
    worker = start_worker(concurrency=2, **patient)
    with Client(valkey.url, settings=quick) as client:
        large = client.submit(picture(1, size=(9000, 9000)), queue="interactive")
        small = client.map([picture(number) for number in range(2, 200)])
        answers = [next(small)]
        worker.kill()
        start_worker(concurrency=2, **patient)
        answers += list(small)
        assert large.result(LIMIT_S).width > 0
    assert [answer for _, answer in answers if not isinstance(answer, Rendition)] == []


def test_a_worker_that_stands_still_and_goes_on_later_does_no_harm(start_worker: Any, valkey: Valkey, quick: Settings) -> None:
    stopped = start_worker(concurrency=1)
    with Client(valkey.url, settings=quick) as client:
        jobs = [client.submit(picture(number, size=(1500, 1500)), queue="batch") for number in range(12)]
        jobs[0].result(LIMIT_S)
        os.killpg(stopped.process.pid, signal.SIGSTOP)
        start_worker(concurrency=1)
        results = [job.result(LIMIT_S) for job in jobs]
        os.killpg(stopped.process.pid, signal.SIGCONT)
        wait_until(lambda: valkey.redis.zcard(KEYS.open) == 0, "no job is open")
        again = client.submit(picture(999)).result(LIMIT_S)
    assert {result.width for result in results} == {1500}
    assert again.width == 40
    assert [name for name in valkey.redis.keys("*") if b":err:" in name] == []
