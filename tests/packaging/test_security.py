"""The users of the shipped ACL file and TLS, against a real redis-server: least rights, and no secret that is told."""

from __future__ import annotations

import asyncio
import hashlib
import io
import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
import redis
from PIL import Image

from pixlane import AsyncClient, Client, Recipe, settings
from pixlane.errors import InvalidArgument, StoreUnavailable
from pixlane.store.servers import Servers
from tests import certificates
from tests.readme import ROOT
from tests.running import BIN, clean_environment, wait_until

PASSWORDS = {name: f"{name}-s3cret@:/%" for name in ("worker", "producer", "operator")}


def picture(number: int = 1) -> bytes:
    buffer = io.BytesIO()
    Image.new("RGB", (40, 30), (number, 3, 7)).save(buffer, "PNG")
    return buffer.getvalue()


@contextmanager
def serving(folder: Path, *arguments: str) -> Iterator[None]:
    command = ["redis-server", "--bind", "127.0.0.1", "--dir", str(folder), "--appendonly", "no", "--save", "", *arguments]
    with (folder / "redis.log").open("wb") as log:
        process = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT)
    try:
        wait_until(lambda: b"Ready to accept connections" in (folder / "redis.log").read_bytes(), "redis-server listens")
        yield
    finally:
        process.terminate()
        process.wait()


def a_free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.fixture
def port(tmp_path: Path) -> Iterator[int]:
    """A server with the shipped users, whose passwords were put in as docs/security.md says."""
    text = (ROOT / "deploy" / "redis" / "users.acl").read_text()
    for name, password in PASSWORDS.items():
        assert f"{name.upper()}-PASSWORD" in text
        text = text.replace(f">{name.upper()}-PASSWORD", f"#{hashlib.sha256(password.encode()).hexdigest()}")
        (tmp_path / name).write_text(password + "\n")
        (tmp_path / name).chmod(0o600)
    (tmp_path / "users.acl").write_text(text)
    number = a_free_port()
    with serving(tmp_path, "--port", str(number), "--aclfile", str(tmp_path / "users.acl")):
        yield number


@contextmanager
def working(folder: Path, **environment: str) -> Iterator[Path]:
    """A worker with that environment; gives its log."""
    log = folder / "worker.log"
    made = clean_environment(folder / "home", PIXLANE_CONCURRENCY="1", PYTHONSAFEPATH="1", **environment)
    with log.open("wb") as output:
        process = subprocess.Popen([BIN / "pixlane", "worker"], env=made, stdout=output, stderr=subprocess.STDOUT, cwd=folder)
    try:
        yield log
        assert process.poll() is None, log.read_text()
    finally:
        process.terminate()
        with suppress(subprocess.TimeoutExpired):
            process.wait(20)
        process.kill()
        process.wait()


def knobs(folder: Path, user: str, port: int, scheme: str = "redis", **more: Any) -> settings.Settings:
    address = f"{scheme}://{user}@localhost:{port}/0"
    return replace(settings.load({}), redis_url=address, redis_password_file=str(folder / user), store_timeout_s=5.0, **more)


def test_a_worker_and_a_producer_do_their_work_with_the_rights_of_the_file(port: int, tmp_path: Path) -> None:
    environment = {
        "PIXLANE_REDIS_URL": f"redis://worker@localhost:{port}/0",
        "PIXLANE_REDIS_PASSWORD_FILE": str(tmp_path / "worker"),
    }
    with working(tmp_path, **environment) as log, Client(settings=knobs(tmp_path, "producer", port)) as client:
        rendition = client.submit(picture()).result(60)
        assert client.fetch(rendition.source.sha256, Recipe()) is not None
        done = dict(client.map([picture(number) for number in range(2, 12)], Recipe()))
        assert len(done) == 10
        with pytest.raises(Exception, match="image"):
            client.submit(b"no picture").result(60)
        assert client.forget(rendition.source.sha256) == 1
        with as_user("producer", port) as anybody:
            anybody.set(f"pixlane:{{{hashlib.sha256(picture(50)).hexdigest()}}}:src", picture(50))
            anybody.xadd("pixlane:inbox", {"job": json.dumps({"sha256": hashlib.sha256(picture(50)).hexdigest()})})
        wait_until(lambda: client.fetch(hashlib.sha256(picture(50)).hexdigest(), Recipe()), "what came by the inbox is done")
        stats = subprocess.run(
            [BIN / "pixlane", "stats", "--json", "--redis", f"redis://operator@localhost:{port}/0"],
            env=clean_environment(tmp_path / "home", PIXLANE_REDIS_PASSWORD_FILE=str(tmp_path / "operator")),
            capture_output=True,
            text=True,
        )
        assert stats.returncode == 0, stats.stderr
    denied = [
        line for line in log.read_text().splitlines() if "NOPERM" in line or "does not let" in line or "no permissions" in line
    ]
    assert denied == []
    with as_user("worker", port) as user, pytest.raises(redis.exceptions.NoPermissionError):
        user.acl_log()


@contextmanager
def as_user(name: str, port: int) -> Iterator[redis.Redis]:
    with redis.Redis(host="localhost", port=port, username=name, password=PASSWORDS[name]) as connected:
        yield connected


ADMINISTRATION = (
    "CONFIG GET *",
    "CONFIG SET maxmemory 1",
    "FLUSHALL",
    "FLUSHDB",
    "KEYS *",
    "SHUTDOWN NOSAVE",
    "ACL LIST",
    "ACL SETUSER x on",
    "MODULE LIST",
    "REPLICAOF localhost 1",
    "SAVE",
    "MONITOR",
    "CLIENT KILL ID 1",
    "SWAPDB 0 1",
    "SCRIPT FLUSH",
    "FUNCTION LIST",
    "EVAL return 0",
)
FOREIGN = ("GET somebody:else", "SET somebody:else x", "GET pixlane", "DEL pixlanes:x", "PUBLISH news x", "SUBSCRIBE news")


@pytest.mark.parametrize("command", [*ADMINISTRATION, *FOREIGN])
@pytest.mark.parametrize("name", PASSWORDS)
def test_everything_else_is_denied(name: str, command: str, shared: int) -> None:
    with as_user(name, shared) as user, pytest.raises(redis.exceptions.NoPermissionError):
        user.execute_command(*command.split())


BEYOND = {
    "producer": (
        "LRANGE pixlane-broker:batch 0 -1",
        "RPOP pixlane-broker:batch",
        "DEL pixlane-broker:batch",
        "DEL pixlane-broker:unacked",
        "INFO",
    ),
    "operator": (
        "SET pixlane:{x}:src y",
        "DEL pixlane:open",
        "LPUSH pixlane-broker:batch x",
        "EVALSHA x 0",
        "PUBLISH pixlane:done:x x",
    ),
}


@pytest.mark.parametrize(("name", "command"), [(name, each) for name, commands in BEYOND.items() for each in commands])
def test_nobody_does_the_work_of_another(name: str, command: str, shared: int) -> None:
    with as_user(name, shared) as user, pytest.raises(redis.exceptions.NoPermissionError):
        user.execute_command(*command.split())


def test_whoever_names_no_user_gets_nothing(port: int) -> None:
    with redis.Redis(host="localhost", port=port) as nobody, pytest.raises(redis.exceptions.AuthenticationError):
        nobody.ping()


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    folder = tmp_path_factory.mktemp("acl")
    text = (ROOT / "deploy" / "redis" / "users.acl").read_text()
    for name, password in PASSWORDS.items():
        text = text.replace(f">{name.upper()}-PASSWORD", f"#{hashlib.sha256(password.encode()).hexdigest()}")
    (folder / "users.acl").write_text(text)
    number = a_free_port()
    with serving(folder, "--port", str(number), "--aclfile", str(folder / "users.acl")):
        yield number


# TLS ---------------------------------------------------------------------------------------------------------------------


def test_worker_and_client_speak_tls_and_trust_the_authority_that_is_named(tmp_path: Path) -> None:
    certificate = certificates.make(tmp_path)
    (tmp_path / "default").write_text("tls-s3cret")
    port = a_free_port()
    tls = ["--port", "0", "--tls-port", str(port), "--tls-auth-clients", "no", "--requirepass", "tls-s3cret"]
    tls += ["--tls-cert-file", str(certificate.chain), "--tls-key-file", str(certificate.key)]
    tls += ["--tls-ca-cert-file", str(certificate.authority)]
    url = f"rediss://default@localhost:{port}/0"
    environment = {
        "PIXLANE_REDIS_URL": url,
        "PIXLANE_REDIS_CA_FILE": str(certificate.authority),
        "PIXLANE_REDIS_PASSWORD_FILE": str(tmp_path / "default"),
    }
    with serving(tmp_path, *tls), working(tmp_path, **environment):
        config = knobs(tmp_path, "default", port, "rediss", redis_ca_file=str(certificate.authority))
        with Client(settings=config) as client:
            assert client.submit(picture()).result(60).mime == "image/png"
        asyncio.run(_by_asyncio(config))
        with Client(settings=replace(config, redis_ca_file="")) as client, pytest.raises(StoreUnavailable, match="not trusted"):
            client.fetch("0" * 64, Recipe())
        elsewhere = replace(config, redis_url=url.replace("localhost", "127.0.0.1"))  # a name that the certificate lacks
        with Client(settings=elsewhere) as client, pytest.raises(StoreUnavailable, match="not trusted"):
            client.fetch("0" * 64, Recipe())


async def _by_asyncio(config: settings.Settings) -> None:
    async with AsyncClient(settings=config) as client:
        assert (await (await client.submit(picture(2))).result(60)).mime == "image/png"
    async with AsyncClient(settings=replace(config, redis_ca_file="")) as client:
        with pytest.raises(StoreUnavailable, match="not trusted"):
            await client.fetch("0" * 64, Recipe())


# Secrets -----------------------------------------------------------------------------------------------------------------


def test_no_password_is_told_by_log_traceback_health_doctor_or_stats(port: int, tmp_path: Path) -> None:
    secret = PASSWORDS["worker"]
    spellings = (secret, quote(secret, safe=""), secret.partition("@")[0])
    named = f"redis://worker:{quote(secret, safe='')}@localhost:{port}/0"
    by_file = {"PIXLANE_REDIS_URL": f"redis://worker@localhost:{port}/0", "PIXLANE_REDIS_PASSWORD_FILE": str(tmp_path / "worker")}
    said = []
    for environment in ({"PIXLANE_REDIS_URL": named}, by_file):
        with working(tmp_path, **environment) as log:
            with Client(settings=knobs(tmp_path, "producer", port)) as client:
                client.submit(picture(77), Recipe(max_side=333 + len(said))).result(60)
            for command in [] if said else (["health", "--json"], ["doctor"], ["stats"], ["config", "list"]):
                made = clean_environment(tmp_path / "home", **environment)
                done = subprocess.run([BIN / "pixlane", *command], env=made, capture_output=True, text=True, cwd=tmp_path)
                said.append(done.stdout + done.stderr)
        said.append(log.read_text())
    # Nobody there, and a wrong password: what the library would say of it.
    for address in (named.replace(str(port), "1"), named.replace("s3cret", "s3cret-wrong")):
        made = clean_environment(tmp_path / "home", PIXLANE_REDIS_URL=address)
        for command in ([BIN / "pixlane", "worker"], [sys.executable, "-c", "import pixlane; pixlane.Client().fetch('0' * 64)"]):
            done = subprocess.run(command, env=made, capture_output=True, text=True, cwd=tmp_path, timeout=60)
            assert done.returncode != 0
            said.append(done.stdout + done.stderr)
    said.append(repr(Servers.of(replace(settings.load({}), redis_url=named))))
    assert [text for text in said if any(spelling in text for spelling in spellings)] == []
    assert "alive" in "".join(said)


def test_a_password_file_that_is_not_there_or_empty_is_named(tmp_path: Path) -> None:
    for path, words in ((tmp_path / "none", "No such file"), (Path(os.devnull), "empty")):
        with pytest.raises(InvalidArgument, match=words):
            Servers.of(replace(settings.load({}), redis_url="redis://localhost/0", redis_password_file=str(path)))


def test_an_address_that_names_its_own_password_keeps_it(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("of the file")
    given = replace(settings.load({}), redis_password_file=str(tmp_path / "secret"))
    made = Servers.of(
        replace(given, redis_url="redis://:own@a/1", cache_url="unix:///tmp/s?db=2", broker_url="amqp://guest:guest@b//")
    )
    assert (made.ledger, made.broker) == ("redis://:own@a/1", "amqp://guest:guest@b//")
    assert made.cache == "unix://:of%20the%20file@/tmp/s?db=2"
    assert Servers.of(replace(given, redis_url="redis://me@a/1")).ledger == "redis://me:of%20the%20file@a/1"
