"""Submissions from a client that knows nothing but Redis: Debian's `redis-cli` alone, end to end."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pixlane import Client, Recipe, Rendition
from pixlane.settings import Settings
from pixlane.store.keys import Keys
from tests.embedded.conftest import Valkey, wait_until
from tests.embedded.test_client import picture, sha256
from tests.readme import ROOT

KEYS = Keys()
FINGERPRINT = Recipe().fingerprint
PAGE = ROOT / "docs" / "redis.md"


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


def test_a_python_client_finds_what_redis_cli_asked_for(
    redis_cli: Callable[..., str], start_worker: Any, valkey: Valkey, quick: Settings
) -> None:
    start_worker()
    data = picture()
    redis_cli("SET", f"pixlane:{{{sha256(data)}}}:src", stdin=data)
    submit(redis_cli, sha256=sha256(data), key=f"{sha256(data)}-{FINGERPRINT}")
    with Client(valkey.url, settings=quick) as client:
        assert isinstance(wait_until(lambda: client.fetch(sha256(data)), "the result"), Rendition)


def test_the_commands_of_the_page_submit_an_image(start_worker: Any, valkey: Valkey, tmp_path: Path) -> None:
    start_worker()
    (tmp_path / "examples" / "images").mkdir(parents=True)
    (tmp_path / "examples" / "images" / "editor.png").write_bytes(picture())
    program = tmp_path / "redis-cli"
    program.write_text(f'#!/bin/sh\nshift 2  # -u URL\nexec {shutil.which("redis-cli")} -s {valkey.folder / "s"} "$@"\n')
    program.chmod(0o755)
    (submission,) = (block for block in re.findall(r"```sh\n(.*?)```", PAGE.read_text(), re.DOTALL) if "XADD" in block)
    environment = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}", "PIXLANE_REDIS_URL": valkey.url}
    subprocess.run(["bash", "-euo", "pipefail", "-c", submission], cwd=tmp_path, env=environment, check=True, timeout=60)
    key = KEYS.url(sha256(picture()), Recipe(max_side=1024).fingerprint)
    assert wait_until(lambda: valkey.redis.get(key), "the result").startswith(b"data:image/")
    assert f"`pixlane:{{<sha256>}}:url:{Recipe(max_side=1024).fingerprint}`" in PAGE.read_text()
