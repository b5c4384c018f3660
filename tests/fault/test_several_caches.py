"""A cache of several servers: a real cluster, and servers that know nothing of each other."""

from __future__ import annotations

import asyncio
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
import redis

from pixlane import AsyncClient, Client, Recipe, health
from pixlane.errors import InvalidArgument, StoreUnavailable
from pixlane.settings import Settings
from pixlane.store.nodes import Shards
from pixlane.store.servers import Servers, addresses
from tests.embedded.conftest import Valkey, Worker, wait_until
from tests.embedded.test_client import picture, sha256

LIMIT_S = 60.0
PICTURES = 24
Start = Callable[..., Worker]

pytestmark = pytest.mark.timeout(120)


@dataclass
class Member:
    port: int
    process: subprocess.Popen[bytes]

    @property
    def redis(self) -> redis.Redis:
        return redis.Redis(port=self.port)

    def results(self) -> int:
        return sum(1 for _ in self.redis.scan_iter("pixlane:{*}:url:*"))


@pytest.fixture
def cluster() -> Iterator[list[Member]]:
    """Three masters on the loopback, each with a third of the slots."""
    members: list[Member] = []
    with tempfile.TemporaryDirectory(prefix="px") as folder:
        try:
            for _ in range(3):
                port = free_port()
                home = Path(folder) / str(port)
                home.mkdir()
                command = ["redis-server", "--port", str(port), "--bind", "127.0.0.1", "--dir", str(home), "--save", ""]
                command += ["--cluster-enabled", "yes", "--cluster-node-timeout", "2000", "--cluster-require-full-coverage", "no"]
                members.append(Member(port, subprocess.Popen(command, stdout=subprocess.DEVNULL)))
            for member in members:
                wait_until(lambda member=member: answers(member), "a member answers")
            cli("--cluster", "create", *[f"127.0.0.1:{member.port}" for member in members], "--cluster-yes")
            for member in members:
                wait_until(lambda member=member: whole(member), "the cluster is whole")
            yield members
        finally:
            for member in members:
                member.process.kill()
                member.process.wait()


def free_port() -> int:
    """With room for the port of the cluster's own talk, which is 10,000 higher."""
    while True:
        with socket.socket() as one, socket.socket() as other:
            one.bind(("127.0.0.1", 0))
            port = one.getsockname()[1]
            with suppress(OSError, OverflowError):
                other.bind(("127.0.0.1", port + 10_000))
                return int(port)


def answers(member: Member) -> bool:
    with suppress(redis.RedisError):
        return bool(member.redis.ping())
    return False


def whole(member: Member) -> bool:
    return member.redis.execute_command("CLUSTER INFO")["cluster_state"] == "ok"


def cli(*arguments: str) -> str:
    ended = subprocess.run(["redis-cli", *arguments], capture_output=True, text=True, timeout=60, check=False)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    return ended.stdout


def named(cluster: list[Member]) -> str:
    return "redis+cluster://" + ",".join(f"127.0.0.1:{member.port}" for member in cluster[:2])


def make_all(client: Client) -> None:
    for _, answer in client.map([picture(number) for number in range(PICTURES)]):
        assert answer.width == 40


def test_a_cluster_holds_the_results_wherever_its_slots_lie(
    cluster: list[Member], start_worker: Start, valkey: Valkey, quick: Settings
) -> None:
    quick = replace(quick, cache_url=named(cluster), concurrency=2)
    start_worker(cache_url=quick.cache_url)
    with Client(valkey.url, settings=quick) as client:
        make_all(client)
        held = [member.results() for member in cluster]
        assert sum(held) == PICTURES
        assert all(held), "every member has its share"

        # Slots move while the client knows the old order.
        nodes = [member.redis.execute_command("CLUSTER MYID").decode() for member in cluster]
        first = f"127.0.0.1:{cluster[0].port}"
        moved = ["--cluster-from", nodes[0], "--cluster-to", nodes[1], "--cluster-slots", "5000", "--cluster-yes"]
        cli("--cluster", "reshard", first, *moved)
        assert cluster[0].results() < held[0], "results lie elsewhere now"
        for number in range(PICTURES):
            assert client.fetch(sha256(picture(number))) is not None

        assert client.forget(sha256(picture(0))) == 1
        assert client.purge_all() == PICTURES - 1
        assert [member.results() for member in cluster] == [0, 0, 0]
        make_all(client)  # and the worker follows too

    async def fetch_all() -> int:
        async with AsyncClient(valkey.url, settings=quick) as client:
            return sum([await client.fetch(sha256(picture(number))) is not None for number in range(PICTURES)])

    assert asyncio.run(fetch_all()) == PICTURES
    found = health.look(health.Found(Servers.of(quick, valkey.url), "argument"), quick)
    assert found.healthy, found


@pytest.mark.parametrize("stop", ["kill", "hang"])
def test_a_member_that_is_gone_costs_its_share_alone_within_the_deadline(
    cluster: list[Member], valkey: Valkey, quick: Settings, start_worker: Start, stop: str
) -> None:
    quick = replace(quick, cache_url=named(cluster), store_timeout_s=1.0)
    worker = start_worker(cache_url=quick.cache_url)
    with Client(valkey.url, settings=quick) as client:
        make_all(client)
        worker.end()
        if stop == "kill":
            cluster[2].process.kill()
            cluster[2].process.wait()
        else:
            cluster[2].process.send_signal(19)
        outcomes = []
        for number in range(PICTURES):
            began = time.monotonic()
            try:
                outcomes.append(client.fetch(sha256(picture(number))) is not None)
            except StoreUnavailable:
                outcomes.append(False)
            assert time.monotonic() - began < 4.0, "its own deadline, and that of one question to the others"
        if stop == "hang":
            cluster[2].process.send_signal(18)
    assert 0 < outcomes.count(True) < PICTURES


def test_servers_that_know_nothing_of_each_other_share_the_results(start_worker: Start, valkey: Valkey, quick: Settings) -> None:
    with ExitStack() as stack:
        others = []
        for _ in range(2):
            others.append(Valkey(Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="px")))))
            others[-1].start()
            stack.callback(others[-1].kill)
        quick = replace(quick, cache_url=",".join(other.url for other in others))
        start_worker(cache_url=quick.cache_url)
        with Client(valkey.url, settings=quick) as client:
            make_all(client)
            held = [len(other.redis.keys("pixlane:{*}:url:*")) for other in others]
            assert sum(held) == PICTURES
            assert all(held)
            assert not valkey.redis.keys("pixlane:{*}:url:*")
            assert client.fetch(sha256(picture(3))) is not None
            assert client.purge_all() == PICTURES


def test_a_further_server_takes_its_share_and_moves_nothing_else() -> None:
    before, after = Shards(["redis://a", "redis://b"]), Shards(["redis://b", "redis://c", "redis://:new@a"])
    commands = [("GET", f"pixlane:{{{sha256(bytes([number]))}}}:url:x") for number in range(200)]
    moved = [after.place(command) for command in commands if before.place(command)[-1] != after.place(command)[-1]]
    assert set(moved) == {"redis://c"}
    assert 30 < len(moved) < 100


def test_members_that_are_named_by_host_alone_have_the_password_of_the_first() -> None:
    servers = Servers.of(Settings(redis_url="redis://l", cache_url="rediss+cluster://me:word@a:1, b:2"))
    assert addresses(servers.cache) == ["rediss://me:word@a:1", "rediss://me:word@b:2"]
    assert "word" not in repr(servers)
    with pytest.raises(InvalidArgument, match="database 0 alone"):
        Servers.of(Settings(redis_url="redis://l", cache_url="redis+cluster://a:1/3"))


def test_the_recipe_is_no_part_of_the_place() -> None:
    shards = Shards([f"redis://{name}" for name in "abcdef"])
    keys = [f"pixlane:{{{'a' * 64}}}:{kind}:{Recipe().fingerprint}" for kind in ("url", "meta", "err")]
    assert len({shards.place(("GET", key)) for key in keys}) == 1
