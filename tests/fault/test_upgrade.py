"""A rolling upgrade: two versions of the pipeline side by side, old and new clients, old and new workers."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pixlane import Client, Recipe
from pixlane.settings import Settings, environment_name
from pixlane.store import ledger
from pixlane.store.connect import Server
from pixlane.store.keys import Keys
from pixlane.store.ledger import Job
from tests.embedded.conftest import Valkey, Worker, foreign_folder, launch, wait_until, wait_until_up
from tests.embedded.test_client import picture, sha256
from tests.versions import next_pipeline

KEYS = Keys()
LIMIT_S = 90.0
JOBS = 60
Start = Callable[..., Worker]

pytestmark = pytest.mark.timeout(150)

ASKER = """
import json, sys
from pixlane import Client, Recipe
from pixlane.recipe import PIPELINE_VERSION
from tests.embedded.test_client import picture

first, count = int(sys.argv[1]), int(sys.argv[2])
with Client() as client:
    jobs = [client.submit(picture(number, size=(1200, 900)), queue="batch") for number in range(first, first + count)]
    print(json.dumps({"version": PIPELINE_VERSION, "recipe": Recipe().fingerprint}), flush=True)
    made = [job.result(90) for job in jobs]
by = sorted({one.pipeline for one in made})
print(json.dumps({"widths": sorted({one.width for one in made}), "count": len(made), "by": by}))
"""


class Asker:
    """A client of either version in a process of its own, which waits for all it asked for."""

    def __init__(self, url: str, first: int, tree: Path | None) -> None:
        root = str(Path(__file__).parents[2])
        path = os.pathsep.join([str(tree), root] if tree else [root])
        environment = {**os.environ, environment_name("redis_url"): url, "PYTHONPATH": path}
        command = [sys.executable, "-P", "-c", ASKER, str(first), str(JOBS)]
        self._process = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE)
        assert self._process.stdout is not None
        self.version: dict[str, Any] = json.loads(self._process.stdout.readline())

    def answers(self) -> dict[str, Any]:
        out, _ = self._process.communicate(timeout=LIMIT_S)
        assert self._process.returncode == 0
        answers: dict[str, Any] = json.loads(out)
        return answers


def test_an_upgrade_under_load_loses_nothing_and_leaves_nobody_waiting(
    start_worker: Start, valkey: Valkey, quick: Settings, tmp_path: Path
) -> None:
    tree = next_pipeline(tmp_path / "next")
    values, foreign = replace(quick, redis_url=valkey.url), foreign_folder(tmp_path)
    old_workers = [start_worker() for _ in range(2)]
    new_workers: list[Worker] = []
    try:
        old = Asker(valkey.url, 0, None)
        for place, retired in enumerate(old_workers):
            new_workers.append(launch(values, tmp_path / f"new-{place}.log", foreign, PYTHONPATH=str(tree)))
            wait_until_up(new_workers[-1], valkey)
            if place == 0:
                new = Asker(valkey.url, 0, tree)  # the same pictures, while workers of both versions live
            retired.process.terminate()
            assert retired.process.wait(LIMIT_S) == 0
        late = Asker(valkey.url, 1000, None)  # an old client that nobody has upgraded yet
        assert (old.version["version"], new.version["version"]) == ("1", "next")
        assert old.version["recipe"] != new.version["recipe"], "one does not get the other's cached results"
        told = [asker.answers() for asker in (old, new, late)]
        assert [(each["count"], each["widths"]) for each in told] == [(JOBS, [1200])] * 3
        assert told[2]["by"] == ["next"], "meta says which pipeline ran"
        wait_until(lambda: valkey.redis.zcard(KEYS.open) == 0, "none is owed")
        assert not valkey.redis.keys("pixlane:{*}:err:*")
    finally:
        for worker in new_workers:
            worker.end()


def test_a_job_that_only_the_new_version_can_do_waits_for_it_however_often_the_old_one_hands_it_back(
    start_worker: Start, valkey: Valkey, quick: Settings
) -> None:
    start_worker()
    data = picture(5)
    job = replace(Job.of(sha256(data), Recipe()), recipe={**Recipe().to_dict(), "sharpness": 3}, pipeline="next")
    server = Server(valkey.url, 5.0)
    server.run([ledger.put_source(KEYS, job.sha256, data, quick), ledger.submit(KEYS, job, "interactive", quick)])
    for _ in range(ledger.MAX_STARTS + 2):
        # As if the pause after a hand-back were over.
        server.run([("HSET", KEYS.job(job.key), "due", 1), ("ZADD", KEYS.open, 1, job.key)])
        wait_until(lambda: (valkey.redis.zscore(KEYS.open, job.key) or 0) > 1, "sent again, not ended")
        wait_until(lambda: valkey.redis.hget(KEYS.job(job.key), "due"), "handed back")
    assert valkey.redis.hget(KEYS.job(job.key), "starts") == b"0"
    assert not valkey.redis.exists(KEYS.error(job.sha256, job.fingerprint)), "not put aside"
    server.close()


def test_an_answer_in_the_form_of_the_new_version_is_read_by_an_old_client(valkey: Valkey, quick: Settings) -> None:
    from pixlane import normalize
    from pixlane.store import results

    rendition = normalize(picture(6), Recipe())
    commands = results.put(KEYS, rendition.source.sha256, Recipe().fingerprint, rendition, quick)
    meta = {**json.loads(commands[1][2]), "loudness": 11}
    server = Server(valkey.url, 5.0)
    server.run([commands[0], [*commands[1][:2], json.dumps(meta), *commands[1][3:]]])
    server.close()
    with Client(valkey.url, settings=quick) as client:
        found = client.fetch(rendition.source.sha256)
    assert found is not None
    assert found.width == 40
