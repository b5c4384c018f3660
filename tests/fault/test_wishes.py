"""Whatever producers ask for, at random and while processes are killed: in the end nothing is owed and nothing left over."""

from __future__ import annotations

import hashlib
import os
import random
import signal
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace

import pytest

from pixlane import Client, Recipe, Rendition, settings
from pixlane.errors import Cancelled, Expired, PixlaneError, QueueFull, SourceMissing
from pixlane.store.ledger import QUEUES
from tests.embedded.conftest import wait_until
from tests.fault.scene import KEYS, numbered, scene, screen

PRODUCERS, IMAGES, LASTS_S = 4, 12, 12.0
KNOBS = replace(
    settings.load({}), concurrency=2, max_queue_jobs=20, sweep_interval_s=0.3, resend_after_s=1.0, hard_timeout_s=5.0,
    soft_timeout_s=4.0, lease_margin_s=0.5,
)  # fmt: skip


@pytest.mark.timeout(120)
def test_whatever_producers_wish_nothing_is_owed_and_nothing_left_in_the_end() -> None:
    pictures = [numbered(screen(320, 200), number) for number in range(IMAGES)]
    over = time.monotonic() + LASTS_S
    seen: Counter[str] = Counter()

    def produce(number: int) -> None:
        dice = random.Random(number)
        with Client(settings=replace(here.settings, tenant=f"t{number % 2}")) as client:
            while time.monotonic() < over:
                seen[_wish(client, dice, pictures)] += 1

    with scene(KNOBS) as here, ThreadPoolExecutor(PRODUCERS) as producers:
        here.start_worker(wait=True)
        producing = [producers.submit(produce, number) for number in range(PRODUCERS)]
        dice = random.Random(99)
        while time.monotonic() < over:
            time.sleep(dice.uniform(0.5, 1.5))
            with suppress(ProcessLookupError, IndexError):
                os.kill(dice.choice(here.workers[0].children), signal.SIGKILL)
        for producer in producing:
            producer.result(60)
        print(seen)
        redis = here.valkey.redis
        wait_until(lambda: not redis.zcard(KEYS.open), "nothing is owed", 40)
        wait_until(lambda: not any(redis.llen(KEYS.waiting(queue)) for queue in QUEUES), "no message waits", 20)
        left = {name: redis.type(name) for name in redis.scan_iter("pixlane:*", count=1000)}
        assert not [
            name for name in left if name.startswith((b"pixlane:job:", b"pixlane:line:", b"pixlane:loads", b"pixlane:inbox"))
        ]
        assert not [name for name in left if name.endswith(b":refs")]
        assert not [name for name in left if name.endswith(b":src") and redis.ttl(name) < 0], "no source stays for ever"
        assert set(seen) <= {*ENDS, *(error.code for error in ALLOWED)}
        assert all(seen[end] for end in ENDS)


ENDS = ("done", "ended early", "left", "forgotten", "fetched")
ALLOWED = (Cancelled, Expired, QueueFull, SourceMissing)
"""SourceMissing: somebody forgot the source while its job ran for somebody else."""


def _wish(client: Client, dice: random.Random, pictures: list[bytes]) -> str:
    """One thing that a producer does, and how it ended."""
    data, recipe = dice.choice(pictures), Recipe(max_side=dice.choice([64, 128, 320]))
    what = dice.random()
    if what < 0.1:
        client.forget(hashlib.sha256(data).hexdigest())
        return "forgotten"
    if what < 0.2:
        client.fetch(hashlib.sha256(data).hexdigest(), recipe)
        return "fetched"
    try:
        job = client.submit(data, recipe, queue=dice.choice(QUEUES), deadline_s=dice.choice([None, None, 0.05, 1.0, 5.0]))
        if what < 0.4:
            return "left"
        if what < 0.6:
            job.cancel()
            return "ended early"
        assert isinstance(job.result(timeout=30), Rendition)
        return "done"
    except PixlaneError as error:
        if isinstance(error, QueueFull):
            time.sleep(0.1)
        return error.code
