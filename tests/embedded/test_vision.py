"""Observations through real workers and a real store: asked for, answered, remembered for all."""

from __future__ import annotations

import asyncio
import hashlib
import json
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pixlane import AsyncClient, Client
from pixlane.errors import InvalidArgument, NotAnImage, VisionAdapterUnavailable, VisionObservationFailed
from pixlane.settings import Settings
from pixlane.store.keys import Keys
from pixlane.vision.looking import Looker, Question
from pixlane.vision.memory import MARK_LIFE_S, StoreMemory
from pixlane.vision.observation import Observation
from tests.embedded.conftest import Valkey, Worker, wait_until
from tests.embedded.test_client import picture
from tests.stubs.http import Reply
from tests.stubs.vision import FINDINGS, GOOD, Provider, Said

KEYS = Keys()
LIMIT_S = 60.0
PNG = picture(1)


@pytest.fixture
def provider() -> Iterator[Provider]:
    with Provider("openai_chat", [GOOD]) as provider:
        yield provider


@pytest.fixture
def start_seeing_worker(
    start_worker: Callable[..., Worker], provider: Provider, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[..., Worker]:
    """A worker whose configuration names the stub provider; the client knows nothing of it."""
    (tmp_path / "agent.json").write_text(json.dumps({**provider.config, "vision": {"default": provider.model}}))
    for name, value in provider.environ.items():
        monkeypatch.setenv(name, value)
    return lambda **changes: start_worker(config=str(tmp_path / "agent.json"), **changes)


def test_a_worker_looks_and_whoever_asked_is_told(
    start_seeing_worker: Any, valkey: Valkey, quick: Settings, provider: Provider, tmp_path: Path
) -> None:
    start_seeing_worker()
    (tmp_path / "a.png").write_bytes(PNG)
    with Client(valkey.url, settings=quick) as client:
        job = client.observe(tmp_path / "a.png", "What is there?")
        seen = job.result(LIMIT_S)
    assert isinstance(seen, Observation)
    assert seen.summary == FINDINGS["summary"]
    assert seen.reference.path == str(tmp_path / "a.png")
    assert seen.selection is not None
    assert seen.selection.reason == "vision_default"
    assert valkey.redis.zcard(KEYS.open) == 0
    stored = json.loads(valkey.redis.get(KEYS.reference(job.sha256)) or b"{}")
    assert stored["id"] == seen.reference.id


@pytest.mark.slow
def test_a_client_on_an_event_loop_is_told_the_same(
    start_seeing_worker: Any, valkey: Valkey, quick: Settings, provider: Provider
) -> None:
    start_seeing_worker()

    async def ask() -> Observation:
        async with AsyncClient(valkey.url, settings=quick) as client:
            job = await client.observe(PNG, "What?", region=(0, 0, 10, 10))
            return await job.result(LIMIT_S)

    seen = asyncio.run(ask())
    assert (seen.summary, seen.shown) == (FINDINGS["summary"], (10, 10))


@pytest.mark.slow
def test_an_answer_is_remembered_for_every_process_and_belongs_to_its_model(
    start_seeing_worker: Any, valkey: Valkey, quick: Settings, provider: Provider
) -> None:
    start_seeing_worker()
    with Client(valkey.url, settings=quick) as client:
        assert not client.observe(PNG, "What?").result(LIMIT_S).reused
        assert client.observe(PNG, "What?").result(LIMIT_S).reused
        assert client.observe(PNG, "What?", provider.model).result(LIMIT_S).reused, "the same model, by its name"
        assert not client.observe(PNG, "What?", f"{provider.name}/another").result(LIMIT_S).reused
    here = Looker(replace(quick, redis_url=valkey.url), provider.config, provider.environ)
    assert here.look(PNG, Question.of("What?", provider.model), None).reused, "and in process"
    assert len(provider.asked) == 2


@pytest.mark.slow
def test_many_that_ask_at_once_cost_one_look(
    start_seeing_worker: Any, valkey: Valkey, quick: Settings, provider: Provider
) -> None:
    provider.script = [Said(GOOD.text, after_s=0.5)]
    start_seeing_worker(concurrency=2)
    here = Looker(replace(quick, redis_url=valkey.url), provider.config, provider.environ)
    seen: list[Observation] = []

    def by_queue() -> None:
        with Client(valkey.url, settings=quick) as client:
            seen.append(client.observe(PNG, "What?").result(LIMIT_S))

    threads = [threading.Thread(target=by_queue) for _ in range(4)]
    threads += [
        threading.Thread(target=lambda: seen.append(here.look(PNG, Question.of("What?", provider.model), None))) for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [each.summary for each in seen] == [FINDINGS["summary"]] * 8
    assert len(provider.asked) == 1


@pytest.mark.slow
def test_what_goes_wrong_in_the_worker_is_the_same_error_here(
    start_seeing_worker: Any, valkey: Valkey, quick: Settings, provider: Provider, tmp_path: Path
) -> None:
    start_seeing_worker()
    provider.script = [Reply({"error": {"message": "no such model"}}, 404)]
    path = tmp_path / "a.png"
    path.write_bytes(PNG)
    with Client(valkey.url, settings=quick) as client:
        with pytest.raises(VisionObservationFailed, match="no such model") as failed:
            client.observe(path, "What?").result(LIMIT_S)
        assert failed.value.details["reference"]["path"] == str(path)
        with pytest.raises(VisionAdapterUnavailable) as nobody:
            client.observe(PNG, "What?", "anthropic@nowhere/x").result(LIMIT_S)
        assert nobody.value.details["candidates"][0]["reason"] == "endpoint_not_configured"
        with pytest.raises(NotAnImage) as text:
            client.observe(b"no picture at all", "What?").result(LIMIT_S)
        assert text.value.details["reference"]["mime"] == "text/plain"
        with pytest.raises(InvalidArgument):
            client.observe(PNG, " ")
    assert valkey.redis.zcard(KEYS.open) == 0


@pytest.mark.slow
def test_an_answer_that_nobody_fetched_in_time_is_there_for_the_next_who_asks(
    start_seeing_worker: Any, valkey: Valkey, quick: Settings, provider: Provider
) -> None:
    start_seeing_worker()
    with Client(valkey.url, settings=quick) as client:
        job = client.observe(PNG, "What?")
        wait_until(lambda: valkey.redis.exists(KEYS.outcome(job.key)), "it is answered")
        valkey.redis.delete(KEYS.outcome(job.key))  # its time is up
        assert job.result(LIMIT_S).reused
    assert len(provider.asked) == 1


@pytest.mark.slow
def test_what_is_remembered_of_a_picture_goes_with_it(
    start_seeing_worker: Any, valkey: Valkey, quick: Settings, provider: Provider
) -> None:
    start_seeing_worker()
    with Client(valkey.url, settings=quick) as client:
        job = client.observe(PNG, "What?")
        job.result(LIMIT_S)
        client.forget(job.sha256)
        left = [name for name in valkey.redis.keys("*") if job.sha256.encode() in name and not name.endswith(b":forgotten")]
        assert left == []
        assert not client.observe(PNG, "What?").result(LIMIT_S).reused


@pytest.mark.slow
def test_a_look_that_takes_longer_than_an_image_may_is_not_ended(
    start_seeing_worker: Any, valkey: Valkey, quick: Settings, provider: Provider
) -> None:
    provider.script = [Said(GOOD.text, after_s=2.0)]
    start_seeing_worker(hard_timeout_s=1.0, soft_timeout_s=0.9, vision_timeout_s=20.0)
    with Client(valkey.url, settings=quick) as client:
        assert client.observe(PNG, "What?").result(LIMIT_S).summary == FINDINGS["summary"]
    assert len(provider.asked) == 1


def test_who_died_while_looking_holds_the_next_one_up_for_a_moment_only(
    valkey: Valkey, quick: Settings, provider: Provider
) -> None:
    here = Looker(replace(quick, redis_url=valkey.url), provider.config, provider.environ)
    question = Question.of("What?", provider.model)
    eye = here.eye(here.selector().choose(provider.model))
    sha256 = here.look(PNG, question, None).reference.sha256
    valkey.redis.delete(KEYS.observation(sha256, question.fingerprint(eye.route)))
    valkey.redis.set(KEYS.looking(sha256, question.fingerprint(eye.route)), "a process that is gone", px=500)
    assert not here.look(PNG, question, None, timeout_s=30).reused
    assert len(provider.asked) == 2
    assert valkey.redis.keys("*:looking:*") == []


@pytest.mark.parametrize("record", [b"", b"not json", b"[]", b"{}", b'{"findings": {"summary": "x"}}', b"\xff" * 9])
def test_what_is_not_understood_in_the_store_is_looked_at_anew(
    valkey: Valkey, quick: Settings, provider: Provider, record: bytes
) -> None:
    here = Looker(replace(quick, redis_url=valkey.url), provider.config, provider.environ)
    question = Question.of("What?", provider.model)
    name = KEYS.observation(
        hashlib.sha256(PNG).hexdigest(), question.fingerprint(here.eye(here.selector().choose(provider.model)).route)
    )
    valkey.redis.set(name, record)
    assert not here.look(PNG, question, None, timeout_s=30).reused
    assert here.look(PNG, question, None, timeout_s=30).reused, "the next answer takes its place"


@pytest.mark.slow
def test_a_look_that_goes_on_keeps_the_others_waiting(valkey: Valkey, quick: Settings, provider: Provider) -> None:
    provider.script = [Said(GOOD.text, after_s=MARK_LIFE_S + 1)]
    seen: list[Observation] = []

    def look() -> None:
        here = Looker(replace(quick, redis_url=valkey.url), provider.config, provider.environ, StoreMemory(quick, valkey.url))
        seen.append(here.look(PNG, Question.of("What?", provider.model), None))

    threads = [threading.Thread(target=look) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(provider.asked) == 1
    assert sorted(each.reused for each in seen) == [False, True, True]
