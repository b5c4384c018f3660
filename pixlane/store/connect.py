"""A Redis server that answers within one deadline or gives a typed error.

`Server.run(commands)` and `AsyncServer.run(commands)` send a list of commands in one round trip and return the replies. The
deadline covers connecting, sending and every read together: redis-py's own `socket_timeout` starts again with each read and
with each retry, so that a server that trickles or hangs holds a caller for many times as long.
"""

from __future__ import annotations

import asyncio
import socket
import time
from collections.abc import Iterable, Sequence
from typing import Any, Final

import redis
import redis.asyncio
from redis.asyncio.retry import Retry as AsyncRetry
from redis.backoff import NoBackoff
from redis.connection import Connection, SSLConnection, UnixDomainSocketConnection, parse_url
from redis.retry import Retry

from pixlane.store import scripts
from pixlane.store.outages import refused, unavailable

Command = Sequence[Any]
"""One command: its name and its arguments, str, bytes or numbers."""

READ_BYTES: Final = 1 << 18
"""Read from the socket at once; a data URL of the default budget comes in one or two reads."""


ASYNC_CONNECTIONS: Final = 32
"""Connections that the calls of one event loop share."""


class Server:
    """One Redis server, for threads; connections are kept and shared.

    Args:
        url: address in redis-py's form.
        timeout_s: deadline of one `run`, seconds.
    """

    def __init__(self, url: str, timeout_s: float) -> None:
        self.url = url
        self.timeout_s = timeout_s
        kind, options = _connection(url, timeout_s)
        self._pool = redis.ConnectionPool(
            connection_class=_TIMED[kind], **options, socket_read_size=READ_BYTES, max_connections=2**31
        )

    def run(self, commands: Sequence[Command], *, atomic: bool = False) -> list[Any]:
        """The replies in order; `atomic` makes it one MULTI. Raises StoreUnavailable or StoreFull."""
        try:
            replies = self._exchange(_wrap(commands, atomic))
            if _needs_scripts(replies):
                self._exchange(scripts.load_commands())
                replies = self._exchange(_wrap(commands, atomic))
        except (redis.RedisError, OSError) as error:
            raise unavailable(self.url, error, self.timeout_s) from error
        return _unwrap(replies, atomic, self.url)

    def _exchange(self, commands: Sequence[Command]) -> list[Any]:
        connection: Any = self._pool.get_connection()
        try:
            connection._sock.start()
            connection.send_packed_command(connection.pack_commands(commands), check_health=False)
            return [_read(connection) for _ in commands]
        except BaseException:
            connection.disconnect()
            raise
        finally:
            self._pool.release(connection)

    def close(self) -> None:
        self._pool.disconnect()


class AsyncServer:
    """The same for asyncio."""

    def __init__(self, url: str, timeout_s: float) -> None:
        self.url = url
        self.timeout_s = timeout_s
        self._pool = redis.asyncio.ConnectionPool.from_url(
            url,
            protocol=2,
            retry=AsyncRetry(NoBackoff(), 0),
            socket_timeout=None,
            socket_connect_timeout=None,
            max_connections=ASYNC_CONNECTIONS,
        )
        # Whoever has to wait for a connection waits for calls of this process: that is no fault of the server.
        self._free = asyncio.Semaphore(ASYNC_CONNECTIONS)

    async def run(self, commands: Sequence[Command], *, atomic: bool = False) -> list[Any]:
        """The replies in order; `atomic` makes it one MULTI. Raises StoreUnavailable or StoreFull."""
        try:
            async with self._free, asyncio.timeout(self.timeout_s):
                replies = await self._exchange(_wrap(commands, atomic))
                if _needs_scripts(replies):
                    await self._exchange(scripts.load_commands())
                    replies = await self._exchange(_wrap(commands, atomic))
        except (redis.RedisError, OSError) as error:  # TimeoutError is an OSError
            raise unavailable(self.url, error, self.timeout_s) from error
        return _unwrap(replies, atomic, self.url)

    async def _exchange(self, commands: Sequence[Command]) -> list[Any]:
        connection: Any = await self._pool.get_connection()  # type: ignore[no-untyped-call]
        try:
            await connection.send_packed_command(connection.pack_commands(commands), check_health=False)
            return [await _aread(connection) for _ in commands]
        except BaseException:
            await connection.disconnect(nowait=True)
            raise
        finally:
            await self._pool.release(connection)

    async def close(self) -> None:
        await self._pool.disconnect()


# The deadline of a synchronous call ------------------------------------------------------------------------------------


class _TimedSocket:
    """A socket whose reads and writes share one deadline, from `start` on, or from connecting if that came just before."""

    def __init__(self, sock: socket.socket, timeout_s: float, ends: float) -> None:
        self._sock = sock
        self._timeout_s = timeout_s
        self._ends = ends
        self._just_connected = True

    def start(self) -> None:
        if not self._just_connected:
            self._ends = time.monotonic() + self._timeout_s
        self._just_connected = False

    def recv(self, size: int, flags: int = 0) -> bytes:
        if flags:  # with hiredis redis-py peeks like this at an idle connection that has something to say
            return self._sock.recv(size, flags)
        self._arm()
        return self._sock.recv(size)

    def recv_into(self, buffer: Any) -> int:
        self._arm()
        return self._sock.recv_into(buffer)

    def sendall(self, data: bytes) -> None:
        self._arm()
        self._sock.sendall(data)  # its timeout is one for all the pieces

    def settimeout(self, timeout_s: float | None) -> None:
        # redis-py looks with a timeout of 0 whether an idle connection is still alive; whatever else it sets is ours to set.
        self._look_only = timeout_s == 0

    _look_only = False

    def _arm(self) -> None:
        if self._look_only:
            self._sock.settimeout(0)
            return
        left = self._ends - time.monotonic()
        if left <= 0:
            raise TimeoutError("the deadline of the call has passed")
        self._sock.settimeout(left)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._sock, name)


class _Timed:
    """For a connection class of redis-py: its sockets have one deadline a call."""

    def _connect(self: Any) -> _TimedSocket:
        ends = time.monotonic() + self.socket_timeout
        return _TimedSocket(super()._connect(), self.socket_timeout, ends)  # type: ignore[misc]


class _TimedConnection(_Timed, Connection):
    pass


class _TimedSSLConnection(_Timed, SSLConnection):
    pass


class _TimedUnixConnection(_Timed, UnixDomainSocketConnection):
    pass


_TIMED: dict[Any, Any] = {
    Connection: _TimedConnection,
    SSLConnection: _TimedSSLConnection,
    UnixDomainSocketConnection: _TimedUnixConnection,
}


def lone_connection(url: str, timeout_s: float) -> Any:
    """A connection of redis-py that is in no pool; each of its reads and writes may take so long."""
    kind, options = _connection(url, timeout_s)
    return kind(**options)


def _connection(url: str, timeout_s: float) -> tuple[Any, dict[str, Any]]:
    """The class of redis-py's connection and what it is made with."""
    options: dict[str, Any] = parse_url(url)  # type: ignore[no-untyped-call]
    kind = options.pop("connection_class", Connection)
    # A retry would have a deadline of its own: none.
    return kind, {
        **options,
        "protocol": 2,
        "retry": Retry(NoBackoff(), 0),
        "socket_timeout": timeout_s,
        "socket_connect_timeout": timeout_s,
    }


# Replies ---------------------------------------------------------------------------------------------------------------


def _read(connection: Any) -> Any:
    try:
        return connection.read_response()
    except redis.ResponseError as error:  # the replies after it still have to be read
        return error


async def _aread(connection: Any) -> Any:
    try:
        return await connection.read_response()
    except redis.ResponseError as error:
        return error


def _wrap(commands: Sequence[Command], atomic: bool) -> Sequence[Command]:
    return [("MULTI",), *commands, ("EXEC",)] if atomic else commands


def _needs_scripts(replies: Iterable[Any]) -> bool:
    return any(
        isinstance(reply, redis.exceptions.NoScriptError) or (isinstance(reply, list) and _needs_scripts(reply))
        for reply in replies
    )


def _unwrap(replies: list[Any], atomic: bool, url: str) -> list[Any]:
    for reply in replies if not (atomic and isinstance(replies[-1], list)) else replies[-1]:
        if isinstance(reply, redis.ResponseError):
            raise refused(url, reply) from reply
    return list(replies[-1]) if atomic else replies
