"""What the compose file and the image promise: nothing owed is ever evicted, and a worker may do little but work."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from pixlane.settings import Settings, environment_name
from pixlane.store.ledger import OBSERVE, longest_run_s

ROOT = Path(__file__).parents[2]
DOCKERFILE = (ROOT / "Dockerfile").read_text()


@pytest.fixture(scope="module")
def compose() -> dict[str, Any]:
    return yaml.safe_load((ROOT / "docker-compose.yml").read_text())


@pytest.fixture(scope="module")
def redis(compose: dict[str, Any]) -> dict[str, Any]:
    return compose["services"]["redis"]


@pytest.fixture(scope="module")
def worker(compose: dict[str, Any]) -> dict[str, Any]:
    return compose["services"]["worker"]


def test_redis_writes_down_every_second_what_it_was_told(redis: dict[str, Any]) -> None:
    flags = flags_of(redis["command"])
    assert (flags["appendonly"], flags["appendfsync"], flags["rdbcompression"]) == ("yes", "everysec", "no")
    assert redis["volumes"] == ["redis:/data"]


def test_redis_is_bounded_and_evicts_only_what_has_a_ttl(redis: dict[str, Any]) -> None:
    flags = flags_of(redis["command"])
    assert flags["maxmemory-policy"] == "volatile-lru"
    assert 0 < size(flags["maxmemory"]) < size(redis["mem_limit"])


def test_the_worker_starts_when_redis_answers(redis: dict[str, Any], worker: dict[str, Any]) -> None:
    assert worker["depends_on"] == {"redis": {"condition": "service_healthy"}}
    assert "redis-cli" in " ".join(redis["healthcheck"]["test"])


@pytest.mark.parametrize("service", ["redis", "worker", "flower"])
def test_a_service_has_no_rights_that_it_does_not_need(compose: dict[str, Any], service: str) -> None:
    given = compose["services"][service]
    assert given["read_only"] is True
    assert given["cap_drop"] == ["ALL"]
    assert "cap_add" not in given
    assert given["security_opt"] == ["no-new-privileges:true"]
    assert given["user"] not in ("0", "root")
    assert any(mount.startswith("/tmp") for mount in given["tmpfs"])


def test_the_worker_reaches_redis_and_nothing_else(compose: dict[str, Any], worker: dict[str, Any]) -> None:
    assert worker["networks"] == ["inside"]
    assert compose["networks"]["inside"] == {"internal": True}
    assert "ports" not in worker
    assert "volumes" not in worker


def test_redis_listens_to_this_machine_alone(redis: dict[str, Any]) -> None:
    assert all(port.startswith("127.0.0.1:") for port in redis["ports"])


def test_the_worker_scales(worker: dict[str, Any]) -> None:
    # A fixed name or a published port would allow a single one.
    assert not {"container_name", "ports", "hostname"} & set(worker)


def test_a_stopped_worker_may_finish_the_image_in_hand(worker: dict[str, Any]) -> None:
    longest_s = longest_run_s(OBSERVE, Settings()) + Settings().lease_margin_s
    assert int(worker["stop_grace_period"].removesuffix("s")) > longest_s
    unit = (ROOT / "deploy" / "pixlane-worker@.service").read_text()
    assert int(re.findall(r"^TimeoutStopSec=(\d+)$", unit, re.MULTILINE)[0]) > longest_s


def test_the_memory_of_a_worker_holds_all_its_processes(worker: dict[str, Any]) -> None:
    processes = int(default_of(worker["environment"]["PIXLANE_CONCURRENCY"]))
    assert size(default_of(worker["mem_limit"])) >= processes * Settings().max_child_bytes


def test_every_variable_in_the_file_is_a_setting(worker: dict[str, Any]) -> None:
    known = {environment_name(name) for name in Settings.__dataclass_fields__}
    assert set(worker["environment"]) <= known


def test_the_image_runs_a_worker_as_nobody_in_particular(worker: dict[str, Any]) -> None:
    assert re.search(r"^USER 10001$", DOCKERFILE, re.MULTILINE)
    assert worker["user"] == "10001"
    assert 'ENTRYPOINT ["pixlane"]' in DOCKERFILE
    assert 'CMD ["worker"]' in DOCKERFILE
    assert worker["command"] == ["worker"]


def test_a_container_is_healthy_when_its_own_worker_is(worker: dict[str, Any]) -> None:
    assert re.search(r'^HEALTHCHECK .* CMD \["pixlane", "health", "--here"\]$', DOCKERFILE, re.MULTILINE)
    assert worker["healthcheck"]["test"] == ["CMD", "pixlane", "health", "--here"]


def test_settings_of_the_workers_can_be_put_into_a_file_of_comments(worker: dict[str, Any]) -> None:
    (name,) = worker["env_file"]
    lines = (ROOT / name).read_text().splitlines()
    examples = {line[1:].partition("=")[0] for line in lines if line.startswith("#PIXLANE_")}
    assert examples <= {environment_name(name) for name in Settings.__dataclass_fields__}
    assert len(examples) >= 3
    assert all(line.startswith("#") for line in lines)


def test_no_log_grows_for_ever(compose: dict[str, Any]) -> None:
    for service in compose["services"].values():
        assert service["logging"] == {"driver": "json-file", "options": {"max-size": "10m", "max-file": "5"}}


def test_redis_has_time_to_read_its_file_before_it_counts_as_ill(redis: dict[str, Any]) -> None:
    assert redis["healthcheck"]["start_period"] == "120s"


def test_flower_starts_only_when_its_profile_is_named_and_listens_to_this_machine(compose: dict[str, Any]) -> None:
    flower = compose["services"]["flower"]
    assert flower["profiles"] == ["flower"]
    assert all(port.startswith("127.0.0.1:") for port in flower["ports"])
    assert flower["build"]["args"] == {"EXTRAS": "[flower]"}
    assert '".${EXTRAS}"' in DOCKERFILE


def test_the_image_has_a_font_and_cairo_and_never_imports_from_the_working_folder() -> None:
    assert all(f"fonts-{name}" in DOCKERFILE for name in ("dejavu-core", "liberation", "noto-core"))
    assert "libcairo2" in DOCKERFILE
    assert "PYTHONSAFEPATH=1" in DOCKERFILE
    assert "-c constraints.txt" in DOCKERFILE


def test_the_builder_is_given_what_the_image_copies_and_no_more() -> None:
    given = {line[1:] for line in (ROOT / ".dockerignore").read_text().splitlines() if line.startswith("!")}
    copied = {name for line in re.findall(r"^COPY (?!--)(.*) \S+$", DOCKERFILE, re.MULTILINE) for name in line.split()}
    assert given == copied
    assert all((ROOT / name).exists() for name in copied)


def flags_of(command: list[str]) -> dict[str, str]:
    """`redis-server --a 1 --b 2` as a dict."""
    assert command[0] == "redis-server"
    return {flag.removeprefix("--"): value for flag, value in zip(command[1::2], command[2::2], strict=True)}


def size(text: str) -> int:
    units = {"k": 10, "m": 20, "g": 30}
    return int(text.lower().removesuffix("b")[:-1]) << units[text.lower().removesuffix("b")[-1]]


def default_of(text: str) -> str:
    """The value of `${NAME:-value}` when NAME is not set."""
    return re.fullmatch(r"\$\{\w+:-(.*)\}", text).group(1)  # type: ignore[union-attr]
