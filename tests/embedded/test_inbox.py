"""Submissions through the inbox: their form, and what a worker makes of them."""

from __future__ import annotations

import json
import re
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pixlane import Recipe
from pixlane.errors import InvalidArgument, PixlaneError
from pixlane.settings import Settings
from pixlane.store import inbox, ledger
from pixlane.store.connect import Server
from pixlane.store.keys import Keys
from pixlane.store.servers import Servers
from tests.embedded.conftest import Valkey
from tests.embedded.test_client import picture, sha256
from worker.inbox import Inbox

KEYS = Keys()
FINGERPRINT = Recipe().fingerprint


@pytest.mark.parametrize(
    ("entry", "code"),
    [
        ({"sha256": "A" * 64}, "invalid_argument"),
        ({}, "invalid_argument"),
        ({"sha256": "a" * 64, "priority": 3}, "invalid_argument"),
        ({"sha256": "a" * 64, "queue": "fast"}, "invalid_argument"),
        ({"sha256": "a" * 64, "queue": ["batch"]}, "invalid_argument"),
        ({"sha256": "a" * 64, "deadline_s": "soon"}, "invalid_argument"),
        ({"sha256": "a" * 64, "deadline_s": -1}, "invalid_argument"),
        ({"sha256": "a" * 64, "path": 7}, "invalid_argument"),
        ({"sha256": "a" * 64, "tenant": {}}, "invalid_argument"),
        ({"sha256": "a" * 64, "recipe": []}, "invalid_argument"),
        ({"sha256": "a" * 64, "key": "a" * 64 + "-00000000"}, "invalid_argument"),
        ({"sha256": "a" * 64, "recipe": {"max_sid": 3}}, "invalid_recipe"),
        ({"sha256": "a" * 64, "recipe": {"max_side": "large"}}, "invalid_recipe"),
        ({"sha256": "a" * 64, "recipe": {"size_rule": ["mistral"]}}, "invalid_recipe"),
    ],
    ids=lambda value: value if isinstance(value, str) else json.dumps(value)[-30:],
)
def test_an_entry_that_is_not_of_its_form_is_a_typed_error(entry: dict[str, Any], code: str) -> None:
    with pytest.raises(PixlaneError) as refusal:
        inbox.read("1-0", json.dumps(entry).encode())
    assert refusal.value.code == code


@pytest.mark.parametrize("text", [b"", b"{", b"[]", b'"x"', b"[" * 50_000, b"{}" + b" " * inbox.MAX_ENTRY_BYTES, b"\xff"])
def test_an_entry_that_is_no_json_object_is_a_typed_error(text: bytes) -> None:
    with pytest.raises(InvalidArgument):
        inbox.read("1-0", text)


class Taker:
    """The inbox of a worker, a step at a time."""

    def __init__(self, valkey: Valkey, settings: Settings) -> None:
        self.inbox = Inbox(Servers.of(settings, valkey.url), settings)
        self.redis = valkey.redis
        self.name = sha256(picture())
        self.redis.set(KEYS.source(self.name), picture())

    def add(self, **entry: Any) -> bytes:
        name: bytes = self.redis.xadd(KEYS.inbox, {"job": json.dumps({"sha256": self.name, **entry})})
        return name


def test_two_workers_that_read_the_same_entry_make_one_job(valkey: Valkey, quick: Settings) -> None:
    taker = Taker(valkey, quick)
    taker.add()
    text = json.dumps({"sha256": taker.name}).encode()
    server = Server(valkey.url, 5.0)
    submission = inbox.read(taker.redis.xrange(KEYS.inbox)[0][0].decode(), text)
    command = ledger.submit(KEYS, submission.job, submission.queue, quick, wish=submission.wish)
    assert ledger.submitted(server.run([command])[0], submission.job, submission.queue) is not None
    assert taker.redis.xlen(KEYS.inbox) == 0, "gone in the step that made the record"
    server.run([ledger.close(KEYS, submission.job, quick)])
    assert ledger.submitted(server.run([command])[0], submission.job, submission.queue) is None, "the slower of the two"
    assert taker.redis.exists(KEYS.job(submission.job.key)) == 0
    server.close()


def test_an_entry_waits_where_it_is_while_the_queue_is_full(valkey: Valkey, quick: Settings) -> None:
    taker = Taker(valkey, replace(quick, max_queue_jobs=1))
    for side in (20, 30):
        taker.add(recipe={"max_side": side}, queue="batch")
    last = taker.add(recipe={"max_side": 40}, queue="interactive").decode()
    assert taker.inbox._turn() == last
    assert (taker.redis.xlen(KEYS.inbox), taker.redis.zcard(KEYS.open)) == (1, 2), "the other queue does not wait for it"


def test_a_fault_of_ours_is_told_and_stands_before_no_other_entry(
    valkey: Valkey, quick: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    taker = Taker(valkey, quick)
    odd = taker.add(recipe={"max_side": 99}).decode()
    taker.add()
    read = inbox.read
    monkeypatch.setattr(inbox, "read", lambda entry, text: 1 / 0 if entry == odd else read(entry, text))
    taker.inbox._turn()
    assert (taker.redis.xlen(KEYS.inbox), taker.redis.zcard(KEYS.open)) == (0, 1)
    ((_, told),) = taker.redis.xrange(KEYS.rejected)
    assert (told[b"entry"].decode(), json.loads(told[b"error"])["code"]) == (odd, "internal_error")


def test_deadline_and_tenant_of_an_entry_reach_the_record(valkey: Valkey, quick: Settings) -> None:
    taker = Taker(valkey, quick)
    taker.add(deadline_s=60, tenant="one")
    taker.inbox._turn()
    record = taker.redis.hgetall(KEYS.job(f"{taker.name}-{FINGERPRINT}"))
    assert int(record[b"expires_at"]) > int(record[b"created_at"])
    assert len(record[b"tenant"]) == 16
    assert taker.redis.llen(KEYS.waiting("interactive")) == 1


PAGE = Path(__file__).parents[2] / "docs" / "redis.md"


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", PAGE.read_text(), re.DOTALL)


def test_the_fingerprints_of_the_page_are_those_of_the_code_and_of_a_shell() -> None:
    rows = re.findall(r"\| `(\{.*?\})` \| `([0-9a-f]{16})` \|", PAGE.read_text())
    assert len(rows) >= 4
    for fields, fingerprint in rows:
        assert Recipe.from_dict(json.loads(fields)).fingerprint == fingerprint
    (command,) = (block for block in blocks("sh") if "printf" in block)
    said = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=True, timeout=20).stdout
    assert said.strip() == dict(rows)["{}"]
