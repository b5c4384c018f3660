"""Client and AsyncClient against a real server and real workers: the same claims for both."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import io
import json
import os
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from pixlane import AsyncClient, Client, PixlaneError, Recipe, sources
from pixlane import errors as kinds
from pixlane.rendition import Rendition
from pixlane.settings import Settings
from pixlane.store.keys import Keys, job_key
from pixlane.wakeups import AsyncWakeups
from tests.embedded.conftest import Valkey, Worker, wait_until

KEYS = Keys()
PATIENCE_S = 60.0


def picture(number: int = 0, size: tuple[int, int] = (40, 30), kind: str = "PNG") -> bytes:
    """A picture whose bytes differ with the number."""
    buffer = io.BytesIO()
    Image.new("RGB", size, (number % 256, number // 256 % 256, 7)).save(buffer, kind)
    return buffer.getvalue()


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


class AsyncAsSync:
    """AsyncClient with the calls of Client, on an event loop of its own: one list of claims for both."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        self._runner = asyncio.Runner()
        self._client = AsyncClient(*arguments, **options)
        self._runner.run(self._client.__aenter__())

    def __enter__(self) -> AsyncAsSync:
        return self

    def __exit__(self, *_: object) -> None:
        self._runner.run(self._client.close())
        self._runner.close()

    def submit(self, *arguments: Any, **options: Any) -> Any:
        job = self._runner.run(self._client.submit(*arguments, **options))
        wait = job.result
        cancel = job.cancel
        job.result = lambda timeout=None: self._runner.run(wait(timeout))
        job.cancel = lambda: self._runner.run(cancel())
        return job

    def map(self, *arguments: Any, **options: Any) -> Iterator[Any]:
        items = self._client.map(*arguments, **options)

        async def following() -> Any:
            return await anext(items, None)

        try:
            while (item := self._runner.run(following())) is not None:
                yield item
        finally:
            self._runner.run(items.aclose())

    def __getattr__(self, name: str) -> Any:
        return lambda *arguments, **options: self._runner.run(getattr(self._client, name)(*arguments, **options))


@pytest.fixture(params=[Client, AsyncAsSync], ids=["threads", "asyncio"])
def connect(request: pytest.FixtureRequest, valkey: Valkey, quick: Settings) -> Iterator[Callable[..., Any]]:
    opened: list[Any] = []

    def connect(url: str | None = None, **options: Any) -> Any:
        client = request.param(url or valkey.url, **{"settings": quick, **options})
        opened.append(client)
        return client

    yield connect
    for client in opened:
        client.__exit__()


def outcomes(worker: Worker) -> list[str]:
    """The outcome of every run that the worker has logged so far."""
    return [line.split(": ")[2].split(" after")[0] for line in worker.log.read_text().splitlines() if " ms, start " in line]


def starts(worker: Worker, valkey: Valkey) -> list[str]:
    """The outcome of every run that the worker logged, once every job is closed and every message acknowledged."""
    names = ("pixlane-broker:interactive", "pixlane-broker:batch", "pixlane-broker:unacked")
    # The ledger first: between its pop and its bookkeeping a message is in none of these places.
    wait_until(lambda: valkey.redis.zcard("pixlane:open") == 0, "all jobs are closed")
    wait_until(lambda: valkey.redis.exists(*names) == 0, "all messages are acknowledged")
    return outcomes(worker)


def test_a_picture_comes_back_through_the_queue_and_then_from_the_store(connect: Any, start_worker: Any, valkey: Valkey) -> None:
    start_worker()
    client, data = connect(), picture()
    job = client.submit(data)
    rendition = job.result(PATIENCE_S)
    assert job.key == job_key(sha256(data), Recipe().fingerprint)
    assert (job.sha256, job.cached, rendition.cached) == (sha256(data), False, False)
    assert (rendition.width, rendition.height, rendition.source.sha256) == (40, 30, sha256(data))
    again = client.submit(data)
    assert again.cached
    assert again.result(0) == rendition == client.fetch(sha256(data))
    assert valkey.redis.zcard(KEYS.open) == 0


def test_any_client_of_the_server_finds_a_usable_data_url(connect: Any, start_worker: Any, valkey: Valkey) -> None:
    start_worker()
    data = picture()
    rendition = connect().submit(data).result(PATIENCE_S)
    text = valkey.redis.get(f"pixlane:{{{sha256(data)}}}:url:{Recipe().fingerprint}").decode()
    head, _, body = text.partition(",")
    assert head == "data:image/png;base64"
    assert Image.open(io.BytesIO(base64.b64decode(body))).size == (40, 30)
    assert text == rendition.data_url


def test_a_fetch_never_starts_work(connect: Any, valkey: Valkey) -> None:
    assert connect().fetch("0" * 64) is None
    assert valkey.redis.keys("*") == []


@pytest.mark.slow
def test_a_fetch_is_one_round_trip_and_extends_both_lives(
    connect: Any, start_worker: Any, valkey: Valkey, quick: Settings
) -> None:
    start_worker()
    client, data = connect(), picture()
    client.submit(data).result(PATIENCE_S)
    names = [KEYS.url(sha256(data), Recipe().fingerprint), KEYS.meta(sha256(data), Recipe().fingerprint)]
    for name in names:
        valkey.redis.expire(name, 60)
    assert client.fetch(sha256(data)) is not None
    assert all(valkey.redis.ttl(name) > quick.result_ttl_s - 60 for name in names)


@pytest.mark.slow
@pytest.mark.parametrize("part", ["url", "meta"])
def test_one_of_url_and_meta_missing_is_a_miss(connect: Any, start_worker: Any, valkey: Valkey, part: str) -> None:
    start_worker()
    client, data = connect(), picture()
    client.submit(data).result(PATIENCE_S)
    valkey.redis.delete(getattr(KEYS, part)(sha256(data), Recipe().fingerprint))
    assert client.fetch(sha256(data)) is None
    assert client.submit(data).result(PATIENCE_S).width == 40, "made again"


@pytest.mark.slow
def test_one_image_asked_for_by_many_at_once_is_decoded_once(valkey: Valkey, quick: Settings, start_worker: Any) -> None:
    worker = start_worker(concurrency=2)
    data = picture(size=(1500, 1500), kind="BMP")
    gate = threading.Barrier(12)

    def ask() -> Rendition:
        with Client(valkey.url, settings=quick) as client:
            gate.wait()
            return client.submit(data).result(PATIENCE_S)

    with ThreadPoolExecutor(12) as pool:
        answers = [future.result() for future in [pool.submit(ask) for _ in range(12)]]
    assert len({answer.data for answer in answers}) == 1
    assert starts(worker, valkey) == ["ok"]


@pytest.mark.slow
def test_more_calls_at_once_than_there_are_connections_wait_for_their_turn(
    valkey: Valkey, quick: Settings, start_worker: Any
) -> None:
    start_worker()

    async def ask_all() -> list[Rendition]:
        async with AsyncClient(valkey.url, settings=quick) as client:

            async def ask(number: int) -> Rendition:
                return await (await client.submit(picture(number))).result(PATIENCE_S)

            return await asyncio.gather(*map(ask, range(200)))

    assert {answer.source.sha256 for answer in asyncio.run(ask_all())} == {sha256(picture(number)) for number in range(200)}


@pytest.mark.slow
def test_a_call_that_is_cancelled_spoils_no_other(valkey: Valkey, quick: Settings, start_worker: Any) -> None:
    start_worker()

    async def ask_and_give_up() -> list[Rendition]:
        async with AsyncClient(valkey.url, settings=quick) as client:
            for number in range(40):
                for awaitable in (client.submit(picture(number)), (await client.submit(picture(number))).result()):
                    asking = asyncio.create_task(awaitable)
                    await asyncio.sleep(number * 0.0002)
                    asking.cancel()
                    await asyncio.wait([asking])
            return [await (await client.submit(picture(number))).result(PATIENCE_S) for number in range(40)]

    answers = asyncio.run(ask_and_give_up())
    assert [answer.source.sha256 for answer in answers] == [sha256(picture(number)) for number in range(40)]


@pytest.mark.slow
def test_a_client_goes_on_in_a_fork_and_in_its_parent(valkey: Valkey, quick: Settings, start_worker: Any) -> None:
    start_worker()
    with Client(valkey.url, settings=quick) as client:
        client.submit(picture()).result(PATIENCE_S)
        forks = []
        for place in range(3):
            forks.append(os.fork())
            if forks[-1] == 0:
                code = 2
                try:  # no word of pytest in the fork: it says by its exit code whether every answer was its own
                    asked = [client.submit(picture(100 * place + number)) for number in range(100, 110)]
                    code = 0 if all(job.result(PATIENCE_S).source.sha256 == job.sha256 for job in asked) else 1
                finally:
                    os._exit(code)
        for number in range(10):
            assert client.submit(picture(number)).result(PATIENCE_S).source.sha256 == sha256(picture(number))
        assert [os.waitpid(fork, 0)[1] for fork in forks] == [0, 0, 0]


@pytest.mark.slow
def test_a_deterministic_error_is_typed_on_both_sides_and_remembered(connect: Any, start_worker: Any, valkey: Valkey) -> None:
    worker = start_worker()
    client, data = connect(), b"<html>no picture</html>"
    with pytest.raises(kinds.NotAnImage) as first:
        client.submit(data).result(PATIENCE_S)
    job = client.submit(data)
    assert job.cached
    with pytest.raises(kinds.NotAnImage) as second:
        job.result()
    assert first.value.to_dict() == second.value.to_dict()
    assert starts(worker, valkey) == ["error"]
    assert client.fetch(sha256(data)) is None
    stored = json.loads(valkey.redis.get(KEYS.error(sha256(data), Recipe().fingerprint)))
    assert stored["code"] == "not_an_image"


@pytest.mark.slow
def test_a_result_that_does_not_come_in_time_is_a_timeout_and_the_job_goes_on(connect: Any, start_worker: Any) -> None:
    client = connect()
    job = client.submit(picture())
    with pytest.raises(kinds.ResultTimeout) as caught:
        job.result(0.1)
    assert caught.value.limit == 0.1
    assert "none is alive" in caught.value.message
    start_worker()
    assert job.result(PATIENCE_S).width == 40


@pytest.mark.slow
def test_a_timeout_does_not_say_that_nobody_is_there_where_a_worker_lives(connect: Any, start_worker: Any) -> None:
    start_worker()
    client = connect()
    assert client.submit(picture()).result(PATIENCE_S).width == 40  # the worker has said that it lives
    with pytest.raises(kinds.ResultTimeout) as caught:
        client.submit(picture(size=(9, 9))).result(0.0)
    assert "alive" not in caught.value.message


# Sources by path ---------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_file_travels_as_bytes_by_default(connect: Any, start_worker: Any, tmp_path: Path) -> None:
    start_worker()
    path = tmp_path / "a.png"
    path.write_bytes(picture())
    job = connect().submit(path)
    path.unlink()
    assert job.result(PATIENCE_S).width == 40


@pytest.mark.slow
def test_a_path_under_an_allowed_root_is_read_by_the_worker(
    connect: Any, start_worker: Any, tmp_path: Path, valkey: Valkey
) -> None:
    (tmp_path / "root").mkdir()
    path = tmp_path / "root" / "a.png"
    path.write_bytes(picture())
    start_worker(allowed_roots=str(tmp_path / "root"))
    assert connect(send="path").submit(str(path)).result(PATIENCE_S).width == 40
    assert valkey.redis.exists(KEYS.source(sha256(picture()))) == 0, "no source bytes in the store"


def refuse(connect: Any, valkey: Valkey, path: Path) -> PixlaneError:
    client, data = connect(send="path"), path.read_bytes()
    with pytest.raises(PixlaneError) as caught:
        client.submit(path).result(PATIENCE_S)
    assert valkey.redis.exists(KEYS.error(sha256(data), Recipe().fingerprint)) == 0, "never remembered: the next may bring bytes"
    assert connect().submit(data).result(PATIENCE_S).width == 40, "the same source as bytes is done"
    return caught.value


@pytest.mark.slow
def test_a_path_outside_the_allowed_roots_is_refused(connect: Any, start_worker: Any, tmp_path: Path, valkey: Valkey) -> None:
    (tmp_path / "root").mkdir()
    (tmp_path / "a.png").write_bytes(picture())
    start_worker(allowed_roots=str(tmp_path / "root"))
    assert refuse(connect, valkey, tmp_path / "a.png").code == "path_not_allowed"


@pytest.mark.slow
def test_a_link_that_leads_out_of_the_root_is_refused(connect: Any, start_worker: Any, tmp_path: Path, valkey: Valkey) -> None:
    (tmp_path / "root").mkdir()
    (tmp_path / "a.png").write_bytes(picture())
    (tmp_path / "root" / "link.png").symlink_to(tmp_path / "a.png")
    start_worker(allowed_roots=str(tmp_path / "root"))
    assert refuse(connect, valkey, tmp_path / "root" / "link.png").code == "path_not_allowed"


@pytest.mark.parametrize("swapped", ["folder", "file"])
def test_a_link_that_is_put_on_the_way_after_the_check_leads_nowhere(
    tmp_path: Path, quick: Settings, monkeypatch: pytest.MonkeyPatch, swapped: str
) -> None:
    """Between the check and the open somebody swaps a part of the path for a link out of the root."""
    inside, outside = tmp_path / "root" / "sub", tmp_path / "outside"
    for folder in (inside, outside):
        folder.mkdir(parents=True)
        (folder / "a.png").write_bytes(picture())
    resolve = os.path.realpath

    def resolve_and_swap(path: Any) -> str:
        resolved = resolve(path)
        if resolved.endswith("a.png"):
            victim = inside if swapped == "folder" else inside / "a.png"
            victim.rename(tmp_path / "aside")
            victim.symlink_to(outside if swapped == "folder" else outside / "a.png")
        return resolved

    monkeypatch.setattr(os.path, "realpath", resolve_and_swap)
    with pytest.raises(kinds.SourceUnreadable):
        sources.read_allowed(str(inside / "a.png"), replace(quick, allowed_roots=str(tmp_path / "root")))


@pytest.mark.slow
def test_a_worker_without_roots_refuses_every_path(connect: Any, start_worker: Any, tmp_path: Path, valkey: Valkey) -> None:
    (tmp_path / "a.png").write_bytes(picture())
    start_worker()
    assert refuse(connect, valkey, tmp_path / "a.png").code == "path_not_allowed"


@pytest.mark.slow
def test_roots_are_read_from_their_file_for_each_job(connect: Any, start_worker: Any, tmp_path: Path, valkey: Valkey) -> None:
    roots = tmp_path / "roots.json"
    start_worker(allowed_roots_file=str(roots))
    (tmp_path / "a.png").write_bytes(picture())
    assert refuse(connect, valkey, tmp_path / "a.png").code == "path_not_allowed"
    roots.write_text(json.dumps([str(tmp_path)]))
    (tmp_path / "b.png").write_bytes(picture(1))
    assert connect(send="path").submit(tmp_path / "b.png").result(PATIENCE_S).width == 40


@pytest.mark.slow
def test_a_file_that_changes_after_it_was_named_is_never_stored(
    connect: Any, start_worker: Any, tmp_path: Path, valkey: Valkey
) -> None:
    path, client = tmp_path / "a.png", connect(send="path")
    path.write_bytes(picture(1))
    job = client.submit(path)
    path.write_bytes(picture(2))
    start_worker(allowed_roots=str(tmp_path))
    with pytest.raises(kinds.SourceChanged) as caught:
        job.result(PATIENCE_S)
    assert (caught.value.limit, caught.value.actual) == (sha256(picture(1)), sha256(picture(2)))
    assert [name for name in valkey.redis.keys("*") if b":url:" in name or b":err:" in name] == []


@pytest.mark.slow
def test_a_name_that_contradicts_the_bytes_is_noted_for_whoever_used_it(connect: Any, start_worker: Any, tmp_path: Path) -> None:
    start_worker()
    (tmp_path / "wrong.jpg").write_bytes(picture(1))
    (tmp_path / "right.png").write_bytes(picture(1))
    client = connect()
    wrong, again = (client.submit(tmp_path / "wrong.jpg").result(PATIENCE_S) for _ in range(2))
    by_name = dict(client.map([tmp_path / "wrong.jpg", tmp_path / "right.png"]))
    (note,) = [note for note in wrong.notes if note.code == "declared_type_wrong"]
    assert note.text == "the file name 'wrong.jpg' says image/jpeg, the bytes are image/png"
    assert note in again.notes
    assert note in by_name[tmp_path / "wrong.jpg"].notes
    assert "declared_type_wrong" not in {note.code for note in by_name[tmp_path / "right.png"].notes}


def test_what_is_no_readable_file_is_refused_before_anything_is_sent(connect: Any, tmp_path: Path, valkey: Valkey) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    client = connect()
    for name, kind in [("pipe", kinds.NotAFile), ("folder", kinds.NotAFile), ("none", kinds.SourceMissing)]:
        with pytest.raises(kind):
            client.submit(tmp_path / name)
    assert valkey.redis.keys("*") == []


@pytest.mark.parametrize("name", ["", "a\0b"])
def test_what_no_file_system_can_name_is_an_invalid_argument(connect: Any, name: str) -> None:
    client = connect()
    with pytest.raises(kinds.InvalidArgument):
        client.submit(name)
    ((given, error),) = client.map([name])
    assert (given, error.code) == (name, "invalid_argument")


@pytest.mark.slow
@pytest.mark.parametrize("send", ["bytes", "path"])
@pytest.mark.parametrize("name", [b"new\nline.png", b"no\xfftext.png", b'-1,"sent_at":-1.png', b"n" * 250])
def test_a_file_may_have_an_odd_name(connect: Any, start_worker: Any, tmp_path: Path, name: bytes, send: str) -> None:
    path = Path(os.fsdecode(os.fsencode(tmp_path) + b"/" + name))
    path.write_bytes(picture())
    start_worker(allowed_roots=str(tmp_path))
    assert connect(send=send).submit(path).result(PATIENCE_S).width == 40


@pytest.mark.slow
def test_a_pipe_behind_an_allowed_path_does_not_hang_the_worker(connect: Any, start_worker: Any, tmp_path: Path) -> None:
    path = tmp_path / "a.png"
    path.write_bytes(picture())
    job = connect(send="path").submit(path)
    path.unlink()
    os.mkfifo(path)
    start_worker(allowed_roots=str(tmp_path))
    with pytest.raises(kinds.NotAFile):
        job.result(PATIENCE_S)


def test_a_source_that_is_too_large_is_refused_before_it_is_read(connect: Any, tmp_path: Path, quick: Settings) -> None:
    client = connect(settings=replace(quick, max_source_bytes=1000))
    path = tmp_path / "a.png"
    with path.open("wb") as file:
        file.truncate(10**12)  # sparse: nobody reads a terabyte in a test
    for source in (path, b"x" * 1001):
        with pytest.raises(kinds.SourceTooLarge) as caught:
            client.submit(source)
        assert caught.value.limit == 1000
    assert caught.value.actual == 1001


# Outages -------------------------------------------------------------------------------------------------------------------


def test_a_server_that_is_down_is_store_unavailable(connect: Any, valkey: Valkey) -> None:
    client = connect()
    valkey.kill()
    for call in (lambda: client.submit(picture()), lambda: client.fetch("0" * 64), lambda: list(client.map([picture()]))):
        with pytest.raises(kinds.StoreUnavailable):
            call()


@pytest.mark.slow
def test_a_map_bears_a_store_that_is_full_for_a_moment(connect: Any, start_worker: Any, valkey: Valkey) -> None:
    start_worker()
    items = connect().map([picture(number) for number in range(60)], in_flight=8)
    answers = [next(items)]
    valkey.redis.config_set("maxmemory-policy", "noeviction")
    valkey.redis.config_set("maxmemory", 1)
    threading.Timer(1.0, lambda: valkey.redis.config_set("maxmemory", 0)).start()
    answers += list(items)
    assert [answer for _, answer in answers if not isinstance(answer, Rendition)] == []
    assert len(answers) == 60


@pytest.mark.slow
def test_a_waiter_bears_a_restart_of_the_server(connect: Any, start_worker: Any, valkey: Valkey) -> None:
    client = connect()
    job = client.submit(picture())
    valkey.kill()
    threading.Timer(0.5, valkey.start).start()
    starter = threading.Timer(1.0, lambda: start_worker(wait=False))
    starter.start()
    assert job.result(PATIENCE_S).width == 40
    starter.join()


@pytest.mark.slow
def test_a_message_that_is_lost_is_sent_again_by_a_sweep(connect: Any, start_worker: Any, valkey: Valkey) -> None:
    client = connect()
    job = client.submit(picture())
    assert valkey.redis.delete("pixlane-broker:interactive") == 1
    start_worker(hard_timeout_s=1.0, soft_timeout_s=0.9)
    assert job.result(PATIENCE_S).width == 40


@pytest.mark.slow
def test_a_waiter_whose_job_left_no_trace_submits_again(connect: Any, start_worker: Any, valkey: Valkey) -> None:
    client = connect()
    job = client.submit(picture())
    valkey.redis.flushall()
    start_worker()
    assert job.result(PATIENCE_S).width == 40


# Many ----------------------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_map_gives_every_source_once_with_errors_as_values(
    connect: Any, start_worker: Any, tmp_path: Path, valkey: Valkey
) -> None:
    worker = start_worker(concurrency=2)
    good = []
    for number in range(300):
        path = tmp_path / f"{number}.png"
        path.write_bytes(picture(number))
        good.append(path)
    twin = tmp_path / "twin.png"
    twin.write_bytes(picture(0))
    bad = tmp_path / "bad.png"
    bad.write_bytes(b"text")
    missing = tmp_path / "missing.png"
    answers = dict(connect().map([good[0], twin, *good[1:], bad, missing]))
    assert set(answers) == {*good, twin, bad, missing}
    assert {answers[path].source.sha256 for path in good} == {sha256(path.read_bytes()) for path in good}
    assert answers[twin].data_url == answers[good[0]].data_url
    assert (answers[bad].code, answers[missing].code) == ("not_an_image", "source_missing")
    assert len(starts(worker, valkey)) == 301, "the twin was not done again"


@pytest.mark.slow
def test_map_takes_no_more_from_its_iterator_than_is_under_way(connect: Any, start_worker: Any) -> None:
    start_worker()
    taken = []

    def endless() -> Iterator[bytes]:
        number = 0
        while True:
            taken.append(number)
            yield picture(number)
            number += 1

    items = connect().map(endless(), in_flight=8)
    for _ in range(10):
        next(items)
    items.close()
    assert len(taken) <= 10 + 8 + 1


def test_a_listener_that_misses_a_cancellation_is_told_again(valkey: Valkey) -> None:
    async def close_deaf() -> bool:
        wakeups = AsyncWakeups(valkey.url, 2.0, lambda key: key)
        heard = 0

        async def deaf_once() -> None:
            nonlocal heard
            while heard < 2:
                try:
                    await asyncio.sleep(60)
                except asyncio.CancelledError:
                    heard += 1

        await wakeups.watch().add(["key"])
        assert wakeups._task is not None
        wakeups._task.cancel()
        wakeups._task = asyncio.create_task(deaf_once())
        await asyncio.sleep(0)
        async with asyncio.timeout(PATIENCE_S):
            await wakeups.close()
        return heard == 2

    assert asyncio.run(close_deaf())
