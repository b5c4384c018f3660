"""A hundred observations through the queue while workers are killed: each is answered once, with its own answer."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from pixlane import Client
from pixlane.settings import Settings
from pixlane.store.keys import Keys
from tests.embedded.conftest import Valkey, wait_until
from tests.embedded.test_client import picture
from tests.fault.test_kill import Killer
from tests.stubs.vision import FINDINGS, GOOD, Provider, Said, said

KEYS = Keys()
LIMIT_S = 100.0
OBSERVATIONS = 100
LOOK_S = 0.15
"""What the model takes: long enough that a kill finds somebody waiting for it."""

pytestmark = pytest.mark.timeout(170)


def number_asked_for(body: Any) -> str:
    found = re.search(r"picture number (\d+)", json.dumps(body))
    assert found is not None
    return found[1]


def its_number(body: Any) -> Said:
    return Said(said(summary=number_asked_for(body)).text, after_s=LOOK_S)


def test_a_hundred_observations_are_answered_once_each_while_workers_are_killed(
    start_worker: Any, valkey: Valkey, quick: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Provider("openai_responses", [its_number]) as provider:
        (tmp_path / "agent.json").write_text(json.dumps({**provider.config, "vision": {"default": provider.model}}))
        for name, value in provider.environ.items():
            monkeypatch.setenv(name, value)

        def start(**changes: Any) -> Any:
            return start_worker(config=str(tmp_path / "agent.json"), vision_timeout_s=10.0, **changes)

        def answers() -> int:
            return sum(1 for _ in valkey.redis.scan_iter("pixlane:{*}:obs:*", count=1000))

        with Killer(start, answers, every=15) as killer, Client(valkey.url, settings=quick) as client:
            jobs = [client.observe(picture(number), f"What is in picture number {number}?") for number in range(OBSERVATIONS)]
            seen = [job.result(LIMIT_S) for job in jobs]
            calls = Counter(number_asked_for(body) for body in provider.asked)
            again = [
                client.observe(picture(number), f"What is in picture number {number}?").result(LIMIT_S)
                for number in range(0, OBSERVATIONS, 10)
            ]
        assert [each.summary for each in seen] == [str(number) for number in range(OBSERVATIONS)]
        assert killer.kills >= 4
        # Whoever dies while the model speaks has to ask again; nobody else does.
        assert len(calls) == OBSERVATIONS
        assert sum(calls.values()) <= OBSERVATIONS + 2 * killer.kills
        assert all(each.reused for each in again)
        assert valkey.redis.zcard(KEYS.open) == 0
        assert [name for name in valkey.redis.keys("*") if b":err:" in name] == []
        print(f"{killer.kills} kills, {sum(calls.values())} calls of the model for {OBSERVATIONS} observations")


def test_a_worker_that_is_killed_while_the_model_speaks_costs_a_second_look_and_no_waiting_for_the_first(
    start_worker: Any, valkey: Valkey, quick: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    patient = {"vision_timeout_s": 300.0, "concurrency": 1}
    with Provider("anthropic", [Said(GOOD.text, after_s=60.0), GOOD]) as provider:
        (tmp_path / "agent.json").write_text(json.dumps({**provider.config, "vision": {"default": provider.model}}))
        for name, value in provider.environ.items():
            monkeypatch.setenv(name, value)
        worker = start_worker(config=str(tmp_path / "agent.json"), **patient)
        with Client(valkey.url, settings=quick) as client:
            job = client.observe(picture(1), "What?")
            wait_until(lambda: provider.asked, "the model is asked")
            worker.kill()
            start_worker(config=str(tmp_path / "agent.json"), **patient)
            assert job.result(30.0).summary == FINDINGS["summary"]
        assert len(provider.asked) == 2
