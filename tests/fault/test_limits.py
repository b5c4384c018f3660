"""Limits of a worker's processes, and what becomes of the jobs when one is reached."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pixlane import Client, Recipe
from pixlane.errors import InternalError
from pixlane.settings import Settings, environment_name
from pixlane.store.keys import Keys
from tests.embedded.conftest import Valkey, Worker, foreign_folder, launch, wait_until, wait_until_up
from tests.embedded.test_client import outcomes, picture, sha256
from tests.embedded.test_queue import slow_picture, state_of
from tests.versions import other_version

KEYS = Keys()
LIMIT_S = 60.0
Start = Callable[..., Worker]

pytestmark = pytest.mark.timeout(120)


@pytest.mark.parametrize(
    ("soft_s", "words"), [("30", "must be below PIXLANE_HARD_TIMEOUT_S (30 s), got 30"), ("45", "got 45")], ids=["equal", "above"]
)
def test_a_soft_limit_that_the_hard_one_would_outrun_is_refused(tmp_path: Path, soft_s: str, words: str) -> None:
    environment = {**os.environ, environment_name("soft_timeout_s"): soft_s}
    command = [sys.executable, "-P", "-m", "worker", "--redis", "redis://127.0.0.1:1"]
    ended = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=60, check=False)
    assert ended.returncode == 2
    assert ended.stderr.startswith("invalid_argument: PIXLANE_SOFT_TIMEOUT_S")
    assert words in ended.stderr


def test_a_process_that_has_held_much_memory_is_replaced_and_nothing_is_lost(
    start_worker: Start, valkey: Valkey, quick: Settings
) -> None:
    worker = start_worker(concurrency=1, recycle_child_bytes=1)
    before = set(worker.children)
    with Client(valkey.url, settings=quick) as client:
        for number in range(3):
            assert client.submit(picture(number)).result(LIMIT_S).width == 40
    wait_until(lambda: worker.children and not before & set(worker.children), "another process")
    wait_until(lambda: outcomes(worker) == ["ok"] * 3, "three runs")
    assert "died" not in worker.log.read_text(), "nobody was charged"


def test_a_process_that_did_as_many_jobs_as_it_may_is_replaced(start_worker: Start, valkey: Valkey, quick: Settings) -> None:
    worker = start_worker(concurrency=1, max_tasks_per_child=2)
    seen = set(worker.children)
    with Client(valkey.url, settings=quick) as client:
        for number in range(6):
            client.submit(picture(number)).result(LIMIT_S)
            seen |= set(worker.children)
    assert len(seen) >= 3


def test_a_fault_of_the_pipeline_is_an_internal_error_with_its_source_kept(
    valkey: Valkey, quick: Settings, tmp_path: Path
) -> None:
    """A version with a fault in it, for one size only."""
    faulty = other_version(
        tmp_path / "faulty",
        {
            "pixlane/imaging/pipeline.py": (
                "    return seal(work, encoded, began)",
                "    return seal(work, encoded, began if encoded.width != 41 else None)",
            )
        },
    )
    worker = launch(replace(quick, redis_url=valkey.url), tmp_path / "log", foreign_folder(tmp_path), PYTHONPATH=str(faulty))
    try:
        wait_until_up(worker, valkey)
        bad = picture(1, size=(41, 30))
        with Client(valkey.url, settings=quick) as client:
            with pytest.raises(InternalError, match="TypeError") as caught:
                client.submit(bad).result(LIMIT_S)
            assert (caught.value.limit, caught.value.actual) == (3, 3)
            assert client.submit(picture(2)).result(LIMIT_S).width == 40, "its neighbours are not harmed"
        assert valkey.redis.ttl(KEYS.source(sha256(bad))) > 86_400, "kept for another version"
        assert json.loads(valkey.redis.get(KEYS.error(sha256(bad), Recipe().fingerprint)))["code"] == "internal_error"
        assert "Traceback" in worker.log.read_text(), "whoever mends it sees where"
    finally:
        worker.end()


def test_what_a_worker_cannot_finish_in_its_grace_goes_to_another_uncharged(
    start_worker: Start, valkey: Valkey, quick: Settings
) -> None:
    worker = start_worker(concurrency=1, hard_timeout_s=300.0, soft_timeout_s=200.0, shutdown_grace_s=1.0)
    with Client(valkey.url, settings=quick) as client:
        job = client.submit(slow_picture())
        name = KEYS.job(job.key)
        wait_until(lambda: valkey.redis.hget(name, "lease_by"), "it runs")
        os.kill(worker.children[0], signal.SIGSTOP)
        children = worker.children
        began = time.monotonic()
        worker.process.terminate()
        assert worker.process.wait(LIMIT_S) == 0
        assert time.monotonic() - began < 30, "long before its limit"
        assert valkey.redis.hmget(name, "due", "crashes") == [b"1", b"0"]
        assert not any(is_running(pid) for pid in children), "none is left behind"
        assert not valkey.redis.zcard(KEYS.workers)
        start_worker(concurrency=1)
        assert job.result(LIMIT_S).width > 0


def is_running(pid: int) -> bool:
    return Path(f"/proc/{pid}").exists() and state_of(pid) != "Z"


def test_a_worker_that_is_killed_holds_nothing_up_for_longer_than_its_hard_limit_and_ten_seconds(
    start_worker: Start, valkey: Valkey, quick: Settings
) -> None:
    """Worst case: nobody sees the death, as the worker's name is one of another machine; its child lives on and stands still."""
    times: dict[str, Any] = {"hard_timeout_s": 5.0, "soft_timeout_s": 4.0}
    worker = start_worker(concurrency=1, **times)
    with Client(valkey.url, settings=quick) as client:
        job = client.submit(slow_picture())
        wait_until(lambda: valkey.redis.hget(KEYS.job(job.key), "lease_by"), "it runs")
        os.killpg(worker.process.pid, signal.SIGSTOP)  # to everybody else the same as a machine that is gone
        start_worker(concurrency=1, **times)
        assert job.result(times["hard_timeout_s"] + 10.0).width > 0
