"""Being woken when a job ends: one pub/sub connection for all the jobs of a client.

A message that is lost (the connection broke, the job ended just before) costs a moment only: whoever waits also looks by
itself. So an outage here is no error; the connection is made again.
"""

from __future__ import annotations

import asyncio
import os
import socket
import threading
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Any, Final

import redis
import redis.asyncio

from pixlane.store.connect import lone_connection

RECONNECT_S: Final = 0.5
"""Pause before the connection is made again, seconds."""

CLOSE_AGAIN_S: Final = 0.1
"""A listener that did not end when it was told is told again after this, seconds."""

LISTEN_S: Final = 5.0
"""The listener looks this often whether it is still wanted, seconds."""


STALE_CHANNELS: Final = 64
"""Channels that nobody waits for any more are left all at once when there are so many."""


class Watch:
    """What one waiter is woken for. `ended` collects the keys; `wait` gives and clears them."""

    def __init__(self, owner: Wakeups) -> None:
        self._owner = owner
        self._ended: set[str] = set()
        self._keys: set[str] = set()
        self._bell = threading.Event()

    def add(self, keys: Iterable[str]) -> None:
        self._keys.update(keys)
        self._owner.subscribe(keys, self)

    def drop(self, keys: Iterable[str]) -> None:
        self._keys.difference_update(keys)
        self._owner.unsubscribe(keys, self)

    def ring(self, key: str) -> None:
        self._ended.add(key)
        self._bell.set()

    def wait(self, seconds: float) -> set[str]:
        if seconds > 0:
            self._bell.wait(seconds)
        self._bell.clear()
        ended, self._ended = self._ended, set()
        return ended

    def __enter__(self) -> Watch:
        return self

    def __exit__(self, *_: object) -> None:
        self.drop(tuple(self._keys))


class Wakeups:
    """For threads: a listener thread, started with the first watch.

    Args:
        url: the ledger, in redis-py's form.
        channel: job key -> name of its channel.
    """

    def __init__(self, url: str, timeout_s: float, channel: Callable[[str], str]) -> None:
        self._url = url
        self._timeout_s = timeout_s
        self._channel = channel
        self._closed = False
        self._begin()

    def _begin(self) -> None:
        self._watches: dict[str, set[Watch]] = {}
        self._stale: set[str] = set()
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._connection: Any = None  # while there is one that works; the thread makes and closes it
        self._process = os.getpid()

    def watch(self) -> Watch:
        if self._process != os.getpid():  # a fork has neither the thread nor the connection of its parent
            self._begin()
        return Watch(self)

    def subscribe(self, keys: Iterable[str], watch: Watch) -> None:
        with self._lock:
            unheard = [key for key in keys if key not in self._watches and key not in self._stale]
            for key in keys:
                self._watches.setdefault(key, set()).add(watch)
                self._stale.discard(key)
            if self._thread is None:
                self._thread = threading.Thread(target=self._listen, name="pixlane-wakeups", daemon=True)
                self._thread.start()
            elif unheard:
                self._tell("SUBSCRIBE", unheard)

    def unsubscribe(self, keys: Iterable[str], watch: Watch) -> None:
        with self._lock:
            for key in keys:
                watches = self._watches.get(key, set())
                watches.discard(watch)
                if not watches and self._watches.pop(key, None) is not None:
                    self._stale.add(key)
            if len(self._stale) >= STALE_CHANNELS:
                self._tell("UNSUBSCRIBE", self._stale)
                self._stale.clear()

    def close(self) -> None:
        with self._lock:
            self._closed = True
            if self._connection is not None and self._process == os.getpid():
                with suppress(OSError):
                    self._connection._sock.shutdown(socket.SHUT_RDWR)  # ends the read that the thread is in

    def _tell(self, command: str, keys: Iterable[str]) -> None:
        if self._connection is not None:  # else the thread says it when it has made one
            with suppress(redis.RedisError, OSError):  # broken: the thread sees it too
                self._connection.send_command(command, *map(self._channel, keys), check_health=False)

    def _listen(self) -> None:
        connection = lone_connection(self._url, self._timeout_s)
        while not self._closed:
            try:
                connection.connect()
                with self._lock:
                    self._connection = connection
                    self._stale.clear()
                    if self._watches:
                        self._tell("SUBSCRIBE", self._watches)
                self._hear(connection)
            except (redis.RedisError, OSError, ValueError, AttributeError):
                # An outage is no error here: whoever waits looks by itself meanwhile. The last two are what a read says when
                # a thread that tried to speak has closed the broken connection under it.
                pass
            with self._lock:
                self._connection = None
            connection.disconnect()
            if not self._closed:
                time.sleep(RECONNECT_S)

    def _hear(self, connection: Any) -> None:
        start = len(self._channel(""))
        while not self._closed:
            try:
                kind, channel, _ = connection.read_response(disconnect_on_error=False)
            except (redis.TimeoutError, TimeoutError):  # nobody said anything for a while
                continue
            if kind == b"message":
                key = channel.decode()[start:]
                with self._lock:
                    for watch in self._watches.get(key, ()):
                        watch.ring(key)


class AsyncWatch:
    """The same for a waiter on an event loop."""

    def __init__(self, owner: AsyncWakeups) -> None:
        self._owner = owner
        self._ended: set[str] = set()
        self._keys: set[str] = set()
        self._bell = asyncio.Event()

    async def add(self, keys: Iterable[str]) -> None:
        self._keys.update(keys)
        await self._owner.subscribe(keys, self)

    async def drop(self, keys: Iterable[str]) -> None:
        self._keys.difference_update(keys)
        await self._owner.unsubscribe(keys, self)

    def ring(self, key: str) -> None:
        self._ended.add(key)
        self._bell.set()

    async def wait(self, seconds: float) -> set[str]:
        if seconds <= 0:
            await asyncio.sleep(0)
        else:
            with suppress(TimeoutError):
                async with asyncio.timeout(seconds):
                    await self._bell.wait()
        self._bell.clear()
        ended, self._ended = self._ended, set()
        return ended

    async def __aenter__(self) -> AsyncWatch:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.drop(tuple(self._keys))


class AsyncWakeups:
    """For asyncio: a listener task, started with the first watch."""

    def __init__(self, url: str, timeout_s: float, channel: Callable[[str], str]) -> None:
        self._redis = redis.asyncio.Redis.from_url(
            url, protocol=2, socket_timeout=timeout_s, socket_connect_timeout=timeout_s, health_check_interval=0
        )
        self._timeout_s = timeout_s
        self._channel = channel
        self._watches: dict[str, set[AsyncWatch]] = {}
        self._stale: set[str] = set()
        self._listener: Any = None
        self._speaking = asyncio.Lock()  # two that speak first would each make a connection
        self._task: asyncio.Task[None] | None = None

    def watch(self) -> AsyncWatch:
        return AsyncWatch(self)

    async def subscribe(self, keys: Iterable[str], watch: AsyncWatch) -> None:
        unheard = [key for key in keys if key not in self._watches and key not in self._stale]
        for key in keys:
            self._watches.setdefault(key, set()).add(watch)
            self._stale.discard(key)
        if self._listener is None:
            self._listener = self._redis.pubsub(ignore_subscribe_messages=True)
            self._task = asyncio.create_task(self._listen(), name="pixlane-wakeups")
        elif unheard:
            await self._tell(self._listener.subscribe, unheard)

    async def unsubscribe(self, keys: Iterable[str], watch: AsyncWatch) -> None:
        for key in keys:
            watches = self._watches.get(key, set())
            watches.discard(watch)
            if not watches and self._watches.pop(key, None) is not None:
                self._stale.add(key)
        if len(self._stale) >= STALE_CHANNELS and self._task is not None:
            stale, self._stale = self._stale, set()
            await self._tell(self._listener.unsubscribe, stale)

    async def close(self) -> None:
        if self._task is not None:
            task, self._task = self._task, None
            # A cancellation that meets the end of a time limit inside the library is lost now and then: say it until it is heard.
            while not task.done():
                task.cancel()
                await asyncio.wait([task], timeout=CLOSE_AGAIN_S)
            await self._listener.aclose()
        await self._redis.aclose()

    async def _tell(self, command: Callable[..., Any], keys: Iterable[str]) -> None:
        with suppress(redis.RedisError, OSError):  # the listener makes the connection again, with all its channels
            async with asyncio.timeout(self._timeout_s), self._speaking:
                await command(*map(self._channel, keys))

    async def _tell_all(self) -> None:
        if self._watches:
            await self._tell(self._listener.subscribe, tuple(self._watches))

    async def _listen(self) -> None:
        start = len(self._channel(""))
        await self._tell_all()
        while True:
            try:
                message = await self._listener.get_message(timeout=LISTEN_S)
            except (redis.RedisError, OSError, RuntimeError):  # broken, or never made
                await asyncio.sleep(RECONNECT_S)
                await self._tell_all()
                continue
            if message is not None and message["type"] == "message":
                key = message["channel"].decode()[start:]
                for watch in self._watches.get(key, ()):
                    watch.ring(key)
