"""Deadlines, cancelling and a full queue as a producer meets them, through both clients and real workers."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pixlane import Client, Recipe, Rendition
from pixlane.batch.files import Listing
from pixlane.batch.patterns import Patterns
from pixlane.batch.run import Batch
from pixlane.batch.totals import Totals
from pixlane.errors import Cancelled, Expired, InvalidArgument, QueueFull
from pixlane.settings import Settings
from pixlane.store.keys import Keys
from tests.embedded.conftest import Valkey, wait_until
from tests.embedded.test_client import PATIENCE_S, connect, picture  # noqa: F401 - a fixture

KEYS = Keys()


@pytest.mark.slow
def test_a_job_whose_deadline_passed_before_a_worker_came_is_expired(
    connect: Any,  # noqa: F811
    start_worker: Any,
    valkey: Valkey,
) -> None:
    client = connect()
    job = client.submit(picture(), deadline_s=0.05)
    other = client.submit(picture(2))
    time.sleep(0.1)
    start_worker()
    with pytest.raises(Expired) as ended:
        job.result(PATIENCE_S)
    assert (ended.value.limit, ended.value.retryable) == (0.05, False)
    assert isinstance(other.result(PATIENCE_S), Rendition), "it has no deadline, and nobody waited for it"
    assert isinstance(client.submit(picture()).result(PATIENCE_S), Rendition), "asked for again it is made"


def test_a_deadline_that_is_none_is_refused_before_anything_is_sent(connect: Any, valkey: Valkey) -> None:  # noqa: F811
    for deadline_s in (0, -1, float("nan"), 1e12):
        with pytest.raises(InvalidArgument):
            connect().submit(picture(), deadline_s=deadline_s)
    assert valkey.redis.zcard(KEYS.open) == 0


@pytest.mark.slow
def test_a_cancelled_job_is_not_done_unless_somebody_else_wants_it(
    connect: Any,  # noqa: F811
    start_worker: Any,
    valkey: Valkey,
) -> None:
    client = connect()
    alone, shared = client.submit(picture(1)), client.submit(picture(2))
    again = client.submit(picture(2))
    assert [alone.cancel(), shared.cancel()] == [True, False]
    start_worker()
    assert isinstance(again.result(PATIENCE_S), Rendition)
    for job in (alone, shared):
        with pytest.raises(Cancelled):
            job.result(5)
    assert client.fetch(alone.sha256) is None
    assert not again.cancel(), "it has its result"
    assert isinstance(again.result(), Rendition)


def test_a_full_queue_is_told_to_whoever_submits(connect: Any, quick: Settings, valkey: Valkey) -> None:  # noqa: F811
    client = connect(settings=replace(quick, max_queue_jobs=2))
    jobs = [client.submit(picture(number)) for number in range(2)]
    with pytest.raises(QueueFull) as full:
        client.submit(picture(3))
    assert (full.value.limit, full.value.actual, full.value.details["queue"]) == (2, 2, "interactive")
    jobs[0].cancel()
    client.submit(picture(3))


@pytest.mark.slow
def test_map_waits_by_itself_while_the_queue_is_full_and_says_so(
    connect: Any,  # noqa: F811
    start_worker: Any,
    quick: Settings,
    valkey: Valkey,
) -> None:
    client = connect(settings=replace(quick, max_queue_jobs=3))
    given = [picture(number) for number in range(12)]
    full: list[QueueFull] = []
    start_worker()
    answers = list(client.map(given, on_full=full.append))
    assert sorted(source for source, _ in answers) == sorted(given)
    assert [found for _, found in answers if not isinstance(found, Rendition)] == []
    assert full
    assert valkey.redis.exists(KEYS.loads) == 0


@pytest.mark.slow
def test_a_batch_waits_for_room_and_its_progress_says_so(
    start_worker: Callable[..., Any], quick: Settings, valkey: Valkey, tmp_path: Path
) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    for number in range(8):
        (folder / f"{number}.png").write_bytes(picture(number))
    start_worker()
    totals, out = Totals(), tmp_path / "out"
    with Client(valkey.url, settings=replace(quick, max_queue_jobs=2)) as client:
        Batch(Listing(folder, out, Patterns(()), Patterns(())), out, Recipe(), client, totals).run()
    assert (totals.all.files, totals.failed) == (8, 0)
    assert totals.waits_until > 0


@pytest.mark.slow
def test_two_tenants_share_a_queue_that_one_of_them_would_fill(valkey: Valkey, quick: Settings, start_worker: Any) -> None:
    """One submits as much as it can; the other, who comes last, waits for the share of the first and no more."""
    knobs = replace(quick, max_tenant_jobs=4)
    with (
        Client(valkey.url, settings=replace(knobs, tenant="greedy")) as greedy,
        Client(valkey.url, settings=replace(knobs, tenant="modest")) as modest,
    ):
        for number in range(100, 104):
            greedy.submit(picture(number), queue="batch")
        with pytest.raises(QueueFull, match="this tenant"):
            greedy.submit(picture(104), queue="batch")
        job = modest.submit(picture(1), queue="batch")
        assert valkey.redis.zcard(KEYS.line("batch")) == 5, "the share of the one, and the job of the other"
        start_worker()
        assert isinstance(job.result(PATIENCE_S), Rendition)
        wait_until(lambda: valkey.redis.exists(KEYS.loads) == 0, "all done")
        greedy.submit(picture(104), queue="batch").result(PATIENCE_S)


def put_aside(valkey: Valkey, start_worker: Any, quick: Settings) -> str:
    """A job that its last start left at the limit, found by a worker."""
    with Client(valkey.url, settings=quick) as client:
        job = client.submit(picture())
        valkey.redis.hset(KEYS.job(job.key), "crashes", 3)
        start_worker()
        wait_until(lambda: valkey.redis.zcard(KEYS.dead) == 1, "put aside")
    return job.key


@pytest.mark.slow
@pytest.mark.parametrize("named_by", ["key", "sha256"])
def test_an_operator_sees_what_was_put_aside_and_has_it_tried_again(
    valkey: Valkey, start_worker: Any, quick: Settings, tmp_path: Path, named_by: str
) -> None:
    key = put_aside(valkey, start_worker, quick)

    def pixlane(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-P", "-m", "pixlane", *arguments, "--redis", valkey.url]
        return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60)

    listed = pixlane("stats", "--dead")
    assert key in listed.stdout
    assert "crashed: the run of this image broke down 3 times" in listed.stdout
    assert f'"key": "{key}"' in pixlane("stats", "--dead", "--json").stdout
    name = key if named_by == "key" else key.partition("-")[0]
    assert pixlane("retry", name).stdout == f"{key}: open again\n"
    wait_until(lambda: valkey.redis.exists(KEYS.url(*key.split("-"))), "done at last")
    assert valkey.redis.exists(KEYS.error(*key.split("-")), KEYS.letter(key)) == 0
    again = pixlane("retry", name)
    assert (again.returncode, again.stdout) == (1, "")
    assert pixlane("retry", "screen.png").returncode == 2
