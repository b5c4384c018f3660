"""The compose file is what docker-compose takes, and the commands in it do by hand what they are there for."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path

import jsonschema
import pytest
import redis
import yaml

from tests.readme import ROOT
from tests.running import BIN, clean_environment, folder_with_examples, run, wait_until

COMPOSE = yaml.safe_load((ROOT / "docker-compose.yml").read_text())
SCHEMA = Path("/usr/lib/python3/dist-packages/compose/config/compose_spec.json")  # Debian's docker-compose


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


def test_docker_compose_takes_the_file(home: Path) -> None:
    printed = run(["docker-compose", "config"], ROOT, clean_environment(home))
    assert {"redis", "worker"} <= set(yaml.safe_load(printed)["services"]) <= {"redis", "worker", "flower"}


def test_the_variables_reach_the_services(home: Path) -> None:
    environment = clean_environment(home, PIXLANE_CONCURRENCY="7", PIXLANE_WORKER_MEMORY="16g")
    worker = yaml.safe_load(run(["docker-compose", "config"], ROOT, environment))["services"]["worker"]
    assert (worker["environment"]["PIXLANE_CONCURRENCY"], worker["mem_limit"]) == ("7", "16g")


def test_the_file_obeys_the_compose_specification() -> None:
    jsonschema.Draft7Validator(json.loads(SCHEMA.read_text())).validate(COMPOSE)


@pytest.fixture
def server(tmp_path: Path) -> Iterator[str]:
    """A server started with exactly the command of the file, plus where it listens; its URL."""
    socket = tmp_path / "s"
    command = [*COMPOSE["services"]["redis"]["command"], "--port", "0", "--unixsocket", str(socket), "--dir", str(tmp_path)]
    with (tmp_path / "redis.log").open("wb") as log:
        process = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT)
    try:
        wait_until(lambda: socket.exists(), "redis-server listens")
        yield f"unix://{socket}?db=0"
    finally:
        process.terminate()
        process.wait()


def test_the_server_has_the_policy_that_the_file_asks_for(server: str) -> None:
    with redis.Redis.from_url(server) as store:
        told = {
            name: store.config_get(name)[name]
            for name in ("maxmemory", "maxmemory-policy", "appendonly", "appendfsync", "rdbcompression", "save")
        }
    assert told == {
        "maxmemory": str(1 << 30),
        "maxmemory-policy": "volatile-lru",
        "appendonly": "yes",
        "appendfsync": "everysec",
        "rdbcompression": "no",
        "save": "",
    }


def test_the_server_is_healthy_by_the_check_of_the_file(server: str, home: Path) -> None:
    kind, check = COMPOSE["services"]["redis"]["healthcheck"]["test"]
    assert kind == "CMD-SHELL"
    socket = server.removeprefix("unix://").partition("?")[0]
    run(["sh", "-c", check.replace("redis-cli", f"redis-cli -s {socket}")], ROOT, clean_environment(home))
    with pytest.raises(AssertionError):
        run(["sh", "-c", check.replace("redis-cli", "redis-cli -s /nowhere")], ROOT, clean_environment(home))


@pytest.mark.timeout(180)
def test_the_worker_of_the_file_does_the_work_and_is_healthy(server: str, home: Path, tmp_path: Path) -> None:
    place = folder_with_examples(tmp_path / "place")
    service = COMPOSE["services"]["worker"]
    environment = clean_environment(home, PIXLANE_REDIS_URL=server, PIXLANE_CONCURRENCY="1", PYTHONSAFEPATH="1")
    check = service["healthcheck"]["test"][1:]
    with (tmp_path / "worker.log").open("wb") as log:
        worker = subprocess.Popen(
            [BIN / "pixlane", *service["command"]], cwd=home, env=environment, stdout=log, stderr=subprocess.STDOUT
        )
    try:
        wait_until(lambda: succeeds(check, environment) or worker.poll() is not None, "the worker is healthy")
        run(["pixlane", "batch", "examples/images", "--out", "ready"], place, environment)
        assert len((place / "ready" / "manifest.jsonl").read_text().splitlines()) == 10
    finally:
        worker.terminate()
        assert worker.wait(40) == 0, (tmp_path / "worker.log").read_text()
    assert not succeeds(check, environment)


def succeeds(command: list[str], environment: dict[str, str]) -> bool:
    return subprocess.run(command, env=environment, capture_output=True, timeout=30).returncode == 0
