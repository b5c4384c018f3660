"""Submissions from a client that knows nothing but Redis: `redis-cli` alone, end to end."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pixlane import Client, Recipe, Rendition
from pixlane.errors import InvalidArgument, PixlaneError
from pixlane.settings import Settings
from pixlane.store import inbox, ledger
from pixlane.store.connect import Server
from pixlane.store.keys import Keys
from pixlane.store.servers import Servers
from tests.embedded.conftest import Valkey, wait_until
from tests.embedded.test_client import picture, sha256
from worker.inbox import Inbox

KEYS = Keys()
FINGERPRINT = Recipe().fingerprint


@pytest.fixture
def redis_cli(valkey: Valkey) -> Callable[..., str]:
    """One command of redis-cli, `stdin` as its last argument."""
    program = shutil.which("redis-cli")
    assert program, "the Debian package redis-tools"

    def call(*arguments: str, stdin: bytes | None = None) -> str:
        command = [program, "-s", str(valkey.folder / "s"), *(["-x"] if stdin is not None else []), *arguments]
        return subprocess.run(command, input=stdin or b"", capture_output=True, check=True, timeout=20).stdout.decode().strip()

    return call


def submit(redis_cli: Callable[..., str], **entry: Any) -> str:
    return redis_cli("XADD", "pixlane:inbox", "*", "job", json.dumps(entry))


def refused(redis_cli: Callable[..., str], entry: str) -> dict[str, Any]:
    """The error of an entry in the stream of refusals."""
    lines = wait_until(
        lambda: (said := redis_cli("XRANGE", "pixlane:rejected", "-", "+").split("\n")) and entry in said and said, "refused"
    )
    found: dict[str, Any] = json.loads(lines[lines.index(entry) + 4])
    return found


def test_redis_cli_alone_submits_an_image_and_reads_the_result(
    redis_cli: Callable[..., str], start_worker: Any, valkey: Valkey
) -> None:
    start_worker()
    data = picture()
    name = sha256(data)
    redis_cli("SET", f"pixlane:{{{name}}}:src", stdin=data)
    submit(redis_cli, sha256=name, recipe={"max_side": 20}, queue="batch")
    key = f"pixlane:{{{name}}}:url:{Recipe(max_side=20).fingerprint}"
    url = wait_until(lambda: redis_cli("GET", key), "the result")
    assert url.startswith("data:image/")
    wait_until(lambda: redis_cli("XLEN", "pixlane:inbox") == "0", "taken")
    assert int(redis_cli("TTL", f"pixlane:{{{name}}}:src")) > 0, "its source goes like any other"


def test_an_error_of_an_image_is_under_its_key_for_redis_cli_too(redis_cli: Callable[..., str], start_worker: Any) -> None:
    start_worker()
    data = b"no picture"
    redis_cli("SET", f"pixlane:{{{sha256(data)}}}:src", stdin=data)
    submit(redis_cli, sha256=sha256(data))
    said = wait_until(lambda: redis_cli("GET", f"pixlane:{{{sha256(data)}}}:err:{FINGERPRINT}"), "the error")
    assert json.loads(said)["code"] == "not_an_image"


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


def test_what_is_no_submission_is_told_and_stops_no_other(redis_cli: Callable[..., str], start_worker: Any) -> None:
    data = picture()
    redis_cli("SET", f"pixlane:{{{sha256(data)}}}:src", stdin=data)
    unknown = submit(redis_cli, sha256=sha256(data), priority=3)
    odd = redis_cli("XADD", "pixlane:inbox", "*", "message", "hello", "again", "x")
    missing = submit(redis_cli, sha256="b" * 64)
    submit(redis_cli, sha256=sha256(data))
    start_worker()
    wait_until(lambda: redis_cli("GET", f"pixlane:{{{sha256(data)}}}:url:{FINGERPRINT}"), "the good one")
    assert "priority" in refused(redis_cli, unknown)["message"]
    assert refused(redis_cli, odd)["code"] == "invalid_argument"
    assert refused(redis_cli, missing)["code"] == "source_missing"
    outcome = redis_cli("GET", f"pixlane:outcome:{'b' * 64}-{FINGERPRINT}")
    assert json.loads(outcome)["code"] == "source_missing", "told under the key of the job, too"
    assert redis_cli("XLEN", "pixlane:inbox") == "0"


def test_an_entry_is_seen_at_once_though_the_sweeps_are_far_apart(redis_cli: Callable[..., str], start_worker: Any) -> None:
    start_worker(sweep_interval_s=300.0)
    data = picture()
    redis_cli("SET", f"pixlane:{{{sha256(data)}}}:src", stdin=data)
    submit(redis_cli, sha256=sha256(data))
    wait_until(lambda: redis_cli("GET", f"pixlane:{{{sha256(data)}}}:url:{FINGERPRINT}"), "the result")


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


def test_deadline_and_tenant_of_an_entry_reach_the_record(valkey: Valkey, quick: Settings) -> None:
    taker = Taker(valkey, quick)
    taker.add(deadline_s=60, tenant="one")
    taker.inbox._turn()
    record = taker.redis.hgetall(KEYS.job(f"{taker.name}-{FINGERPRINT}"))
    assert int(record[b"expires_at"]) > int(record[b"created_at"])
    assert len(record[b"tenant"]) == 16
    assert taker.redis.llen(KEYS.waiting("interactive")) == 1


def test_a_python_client_finds_what_redis_cli_asked_for(
    redis_cli: Callable[..., str], start_worker: Any, valkey: Valkey, quick: Settings
) -> None:
    start_worker()
    data = picture()
    redis_cli("SET", f"pixlane:{{{sha256(data)}}}:src", stdin=data)
    submit(redis_cli, sha256=sha256(data), key=f"{sha256(data)}-{FINGERPRINT}")
    with Client(valkey.url, settings=quick) as client:
        assert isinstance(wait_until(lambda: client.fetch(sha256(data)), "the result"), Rendition)


PAGE = Path(__file__).parents[2] / "docs" / "redis.md"


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", PAGE.read_text(), re.DOTALL)


def test_the_commands_of_the_page_submit_an_image(start_worker: Any, valkey: Valkey, tmp_path: Path) -> None:
    start_worker()
    (tmp_path / "examples" / "images").mkdir(parents=True)
    (tmp_path / "examples" / "images" / "editor.png").write_bytes(picture())
    program = tmp_path / "redis-cli"
    program.write_text(f'#!/bin/sh\nshift 2  # -u URL\nexec {shutil.which("redis-cli")} -s {valkey.folder / "s"} "$@"\n')
    program.chmod(0o755)
    (submission,) = (block for block in blocks("sh") if "XADD" in block)
    environment = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}", "PIXLANE_REDIS_URL": valkey.url}
    subprocess.run(["bash", "-euo", "pipefail", "-c", submission], cwd=tmp_path, env=environment, check=True, timeout=60)
    key = KEYS.url(sha256(picture()), Recipe(max_side=1024).fingerprint)
    assert wait_until(lambda: valkey.redis.get(key), "the result").startswith(b"data:image/")
    assert f"`pixlane:{{<sha256>}}:url:{Recipe(max_side=1024).fingerprint}`" in PAGE.read_text()


def test_the_fingerprints_of_the_page_are_those_of_the_code_and_of_a_shell() -> None:
    rows = re.findall(r"\| `(\{.*?\})` \| `([0-9a-f]{16})` \|", PAGE.read_text())
    assert len(rows) >= 4
    for fields, fingerprint in rows:
        assert Recipe.from_dict(json.loads(fields)).fingerprint == fingerprint
    (command,) = (block for block in blocks("sh") if "printf" in block)
    said = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=True, timeout=20).stdout
    assert said.strip() == dict(rows)["{}"]
