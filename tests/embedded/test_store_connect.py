"""One deadline for a call, typed errors, and both kinds of server alike."""

from __future__ import annotations

import asyncio
import re
import socket
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from pixlane.errors import InvalidArgument, StoreFull, StoreUnavailable
from pixlane.store.connect import AsyncServer, Command, Server
from pixlane.store.servers import kombu_url, redis_url, shown, socket_url
from tests.embedded.conftest import Valkey

DEADLINE_S = 0.4
ROOM_S = 2.0  # a deadline that starts again with each read would take far longer


def run_sync(url: str, commands: list[Command], **options: Any) -> list[Any]:
    server = Server(url, DEADLINE_S)
    try:
        return server.run(commands, **options)
    finally:
        server.close()


def run_async(url: str, commands: list[Command], **options: Any) -> list[Any]:
    async def run() -> list[Any]:
        server = AsyncServer(url, DEADLINE_S)
        try:
            return await server.run(commands, **options)
        finally:
            await server.close()

    return asyncio.run(run())


both_kinds = pytest.mark.parametrize("run", [run_sync, run_async])


@contextmanager
def strange_server(answer: bytes, every_s: float) -> Iterator[str]:
    """Accepts, and sends `answer` again and again, or nothing."""
    with tempfile.TemporaryDirectory(prefix="px") as folder, socket.socket(socket.AF_UNIX) as listener:
        listener.bind(f"{folder}/s")
        listener.listen()
        over = threading.Event()

        def serve() -> None:
            listener.settimeout(0.1)
            while not over.is_set():
                try:
                    connection, _ = listener.accept()
                except TimeoutError:
                    continue
                with connection:
                    while not over.wait(every_s):
                        try:
                            connection.sendall(answer)
                        except OSError:
                            break

        thread = threading.Thread(target=serve)
        thread.start()
        yield socket_url(f"{folder}/s")
        over.set()
        thread.join()


@both_kinds
def test_a_server_that_accepts_and_never_answers_is_given_up_at_the_deadline(run: Any) -> None:
    with strange_server(b"", 0.05) as url:
        begin = time.monotonic()
        with pytest.raises(StoreUnavailable) as caught:
            run(url, [("PING",)])
    assert time.monotonic() - begin < ROOM_S
    assert caught.value.limit == DEADLINE_S


@both_kinds
def test_a_server_that_trickles_an_answer_is_given_up_at_the_deadline(run: Any) -> None:
    # A new timeout with each read would wait for as long as the bytes keep coming.
    with strange_server(b"$", 0.05) as url:
        begin = time.monotonic()
        with pytest.raises(StoreUnavailable):
            run(url, [("PING",)])
    assert time.monotonic() - begin < ROOM_S


@both_kinds
def test_a_server_that_is_not_there_is_named_without_its_password(run: Any) -> None:
    with pytest.raises(StoreUnavailable) as caught:
        run("redis://user:secret@127.0.0.1:1/0", [("PING",)])
    assert "127.0.0.1:1" in caught.value.message
    assert "secret" not in str(caught.value.to_dict())


@both_kinds
@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("redis://127.0.0.1:1/0", "refuses connections"),
        ("rediss://127.0.0.1:1/0", "refuses connections"),
        ("unix:///nowhere/s", "is not there; no such socket"),
        ("redis://no-such-host.invalid/0", "is not found; no such host name"),
        ("unix://{socket}", "wants another user name or password"),
        ("unix://:guess@{socket}", "wants another user name or password"),
        ("unix://reader:sesame@{socket}", "does not let this user do that"),
        ("unix://:sesame@{socket}?db=99", "refused: DB index is out of range"),
    ],
)
def test_a_server_that_cannot_be_used_says_why_in_plain_words(run: Any, valkey: Valkey, url: str, words: str) -> None:
    valkey.redis.acl_setuser("reader", enabled=True, passwords=["+sesame"], commands=["+get"], keys=["*"])
    valkey.redis.config_set("requirepass", "sesame")
    with pytest.raises(StoreUnavailable) as caught:
        run(url.format(socket=valkey.folder / "s"), [("SET", "a", 1)])
    assert words in caught.value.message
    assert not {"sesame", "guess", "Error"} & set(re.split(r"\W", str(caught.value.to_dict())))


def test_an_idle_connection_may_be_peeked_at_as_redis_py_does_with_hiredis(valkey: Valkey) -> None:
    server = Server(valkey.url, 5.0)
    server.run([("PING",)])
    connection: Any = server._pool.get_connection()
    connection.send_command("PING")
    assert connection._sock.recv(1, socket.MSG_PEEK) == b"+"
    assert connection.read_response() == b"PONG"
    connection.disconnect()


@both_kinds
def test_a_full_server_is_store_full(run: Any, valkey: Valkey) -> None:
    valkey.redis.config_set("maxmemory", "1mb")
    valkey.redis.config_set("maxmemory-policy", "noeviction")
    for atomic in (False, True):
        with pytest.raises(StoreFull):
            run(valkey.url, [("SET", f"a{n}", b"x" * 500_000) for n in range(6)], atomic=atomic)


@both_kinds
def test_a_refusal_is_an_error_and_the_connection_stays_usable(run: Any, valkey: Valkey) -> None:
    with pytest.raises(StoreUnavailable, match="WRONGTYPE"):
        run(valkey.url, [("SET", "a", 1), ("LPUSH", "a", 2), ("GET", "a")])
    assert run(valkey.url, [("GET", "a")]) == [b"1"]


@both_kinds
def test_replies_come_in_order_and_atomic_hides_the_transaction(run: Any, valkey: Valkey) -> None:
    commands = [("SET", "a", b"\x00\xff"), ("GET", "a"), ("GET", "none")]
    assert run(valkey.url, commands) == [b"OK", b"\x00\xff", None]
    assert run(valkey.url, commands, atomic=True) == [b"OK", b"\x00\xff", None]


def test_a_kept_connection_survives_a_restart_of_the_server(valkey: Valkey) -> None:
    server = Server(valkey.url, 5.0)
    server.run([("SET", "a", 1)])
    valkey.kill()
    with pytest.raises(StoreUnavailable):
        server.run([("GET", "a")])
    valkey.start()
    assert server.run([("GET", "a")]) == [b"1"]
    server.close()


@pytest.mark.parametrize(
    ("given", "for_redis", "for_kombu"),
    [
        ("redis://h:1/2", "redis://h:1/2", "redis://h:1/2"),
        ("unix:///a/s?db=3", "unix:///a/s?db=3", "redis+socket:///a/s?virtual_host=3"),
        ("redis+socket:///a/s?virtual_host=3", "unix:///a/s?db=3", "redis+socket:///a/s?virtual_host=3"),
        ("unix:///a/s", "unix:///a/s", "redis+socket:///a/s"),
    ],
)
def test_addresses_are_written_for_either_library(given: str, for_redis: str, for_kombu: str) -> None:
    assert (redis_url(given), kombu_url(given)) == (for_redis, for_kombu)


def test_a_socket_path_that_the_kernel_would_refuse_is_named_with_its_limit() -> None:
    with pytest.raises(InvalidArgument) as caught:
        socket_url("/" + "a" * 107)
    assert (caught.value.limit, caught.value.actual) == (107, 108)


def test_what_is_shown_of_an_address_holds_no_secret() -> None:
    assert shown("rediss://user:secret@host:6379/0?password=secret") == "rediss://host:6379/0"
    assert shown(f"unix://:secret@{Path('/a/s')}") == "/a/s"
