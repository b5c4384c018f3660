"""A cache of several servers: which one holds a key, and the commands of one call spread over them.

`PIXLANE_CACHE_URL` may name servers that know nothing of each other (`redis://a/0,redis://b/0`: each source has its place by
rendezvous hashing, so that a server more or less moves only its share) or members of a cluster
(`redis+cluster://a:6379,b:6379`: the cluster says what lies where, and is asked again when that has changed). The routing is
written once, as generators that name a server and what to send there; `open_cache` and `open_async_cache` carry it out.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Generator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final
from urllib.parse import urlsplit, urlunsplit

import redis
from redis.crc import REDIS_CLUSTER_HASH_SLOTS, key_slot

from pixlane.errors import PixlaneError, StoreUnavailable
from pixlane.store.connect import AsyncServer, Command, Server
from pixlane.store.servers import addresses, is_cluster, shown

MAX_TURNS: Final = 4
"""How often one call follows a cluster that says that a key has moved."""

SCAN_END: Final = b"0"


@dataclass(frozen=True)
class Part:
    """Commands for one server."""

    url: str
    commands: Sequence[Command]
    atomic: bool = False


Talk = Generator[Part, list[Any], Any]
"""Yields what to send; the replies come back, or the PixlaneError that the server gave is thrown in."""


def open_cache(url: str, timeout_s: float) -> Server | SeveralServers:
    """The cache at this address, of one server or of several; each wait on one of them is at most `timeout_s`."""
    several = routes(url, timeout_s)
    return Server(url, timeout_s) if several is None else SeveralServers(several, timeout_s)


def open_async_cache(url: str, timeout_s: float) -> AsyncServer | AsyncSeveralServers:
    """The same for asyncio."""
    several = routes(url, timeout_s)
    return AsyncServer(url, timeout_s) if several is None else AsyncSeveralServers(several, timeout_s)


def routes(url: str, timeout_s: float) -> Shards | Cluster | None:
    """None for a single server."""
    if is_cluster(url):
        return Cluster(addresses(url), timeout_s)
    named = addresses(url)
    return Shards(named) if len(named) > 1 else None


class SeveralServers:
    """As `Server`, for a cache of several."""

    def __init__(self, several: Shards | Cluster, timeout_s: float) -> None:
        self._routes = several
        self._timeout_s = timeout_s
        self._servers: dict[str, Server] = {}

    def run(self, commands: Sequence[Command], *, atomic: bool = False) -> list[Any]:
        """The replies in order; `atomic` only for keys of one source. Raises StoreUnavailable or StoreFull."""
        talk = self._routes.run(commands, atomic)
        try:
            part = next(talk)
            while True:
                try:
                    replies = self._at(part.url).run(part.commands, atomic=part.atomic)
                except PixlaneError as error:
                    part = talk.throw(error)
                else:
                    part = talk.send(replies)
        except StopIteration as end:
            return end.value  # type: ignore[no-any-return]

    def _at(self, url: str) -> Server:
        server = self._servers.get(url)
        return server or self._servers.setdefault(url, Server(url, self._timeout_s))  # two threads at once: the first stays

    def close(self) -> None:
        for server in self._servers.values():
            server.close()


class AsyncSeveralServers:
    """As `AsyncServer`, for a cache of several."""

    def __init__(self, several: Shards | Cluster, timeout_s: float) -> None:
        self._routes = several
        self._timeout_s = timeout_s
        self._servers: dict[str, AsyncServer] = {}

    async def run(self, commands: Sequence[Command], *, atomic: bool = False) -> list[Any]:
        """The replies in order; `atomic` only for keys of one source. Raises StoreUnavailable or StoreFull."""
        talk = self._routes.run(commands, atomic)
        try:
            part = next(talk)
            while True:
                if part.url not in self._servers:
                    self._servers[part.url] = AsyncServer(part.url, self._timeout_s)
                try:
                    replies = await self._servers[part.url].run(part.commands, atomic=part.atomic)
                except PixlaneError as error:
                    part = talk.throw(error)
                else:
                    part = talk.send(replies)
        except StopIteration as end:
            return end.value  # type: ignore[no-any-return]

    async def close(self) -> None:
        for server in self._servers.values():
            await server.close()


# Routing ---------------------------------------------------------------------------------------------------------------


class Shards:
    """Servers that know nothing of each other."""

    def __init__(self, urls: Sequence[str]) -> None:
        self._urls = tuple(urls)
        self._names = {shown(url): url for url in urls}  # a new password moves nothing

    def run(self, commands: Sequence[Command], atomic: bool) -> Talk:
        if _is_scan(commands):
            return (yield from _scan(commands[0], self._urls))
        return (yield from _spread([self.place(command) for command in commands], commands, atomic))

    def place(self, command: Command) -> str:
        tag = _tag(_key_of(command))
        return self._names[max(self._names, key=lambda name: hashlib.blake2b(f"{name} {tag}".encode(), digest_size=8).digest())]


class Cluster:
    """What lies where, as the cluster itself says it; `seeds` are some of its members."""

    def __init__(self, seeds: Sequence[str], timeout_s: float) -> None:
        self._seeds = tuple(seeds)
        self._timeout_s = timeout_s
        self._owners: list[str] = []

    def run(self, commands: Sequence[Command], atomic: bool) -> Talk:
        """Follows keys that moved. A member that does not answer is given up at its deadline, unless another has its keys."""
        if not self._owners:
            yield from self._learn(())
        if _is_scan(commands):
            return (yield from _scan(commands[0], tuple(dict.fromkeys(self._owners))))
        for turn in range(MAX_TURNS):
            places = [self._owners[key_slot(_text(_key_of(command)).encode())] for command in commands]
            try:
                return (yield from _spread(places, commands, atomic))
            except StoreUnavailable as error:
                if turn == MAX_TURNS - 1:
                    raise
                yield from self._learn_from(error, places)
        raise AssertionError("returned or raised")

    def _learn_from(self, error: StoreUnavailable, places: Sequence[str]) -> Talk:
        """Asks for the new order of things; raises the error where that explains nothing."""
        said = error.__cause__
        if isinstance(said, redis.exceptions.AskError):  # MOVED, or ASK while a slot is on its way
            yield from self._learn(())
            if not isinstance(said, redis.exceptions.MovedError):
                self._owners[said.slot_id] = self._sibling(said.host, said.port)
            return
        before = list(self._owners)
        silent = {url for url in places if shown(url) == error.details.get("server")}
        yield from self._learn(tuple(silent))
        if self._owners == before:
            raise error

    def _learn(self, silent: Sequence[str]) -> Talk:
        problem: PixlaneError | None = None
        known = dict.fromkeys([*self._owners, *self._seeds])
        ends = time.monotonic() + self._timeout_s
        for url in known:
            if url in silent or (problem is not None and time.monotonic() > ends):
                continue
            try:
                (ranges,) = yield Part(url, [("CLUSTER", "SLOTS")])
            except StoreUnavailable as error:
                problem = error
                continue
            owners = [""] * REDIS_CLUSTER_HASH_SLOTS
            for first, last, master, *_ in ranges:
                host = master[0].decode() if master[0] else urlsplit(url).hostname or ""
                owners[first : last + 1] = [self._sibling(host, master[1])] * (last - first + 1)
            if "" in owners:
                problem = StoreUnavailable(f"the cluster at {shown(url)} has slots that nobody holds", server=shown(url))
                continue
            self._owners = owners
            return
        if problem is not None:
            raise problem

    def _sibling(self, host: str, port: int) -> str:
        """The address of another member: user, password and options are those of the seeds."""
        return _sibling(self._seeds[0], host, port)


@lru_cache(maxsize=1024)
def _sibling(seed: str, host: str, port: int) -> str:
    parts = urlsplit(seed)
    user, at, _ = parts.netloc.rpartition("@")
    name = f"[{host}]" if ":" in host else host
    return urlunsplit(parts._replace(netloc=f"{user}{at}{name}:{port}"))


def _spread(places: Sequence[str], commands: Sequence[Command], atomic: bool) -> Talk:
    """Each server gets its commands in one round trip; the replies come back in the order of the commands."""
    mine: dict[str, list[int]] = {}
    for index, url in enumerate(places):
        mine.setdefault(url, []).append(index)
    assert not atomic or len(mine) == 1, "what belongs together lies together"
    replies: list[Any] = [None] * len(commands)
    for url, indices in mine.items():
        part = [commands[index] for index in indices]
        for index, reply in zip(indices, (yield Part(url, part, atomic)), strict=True):
            replies[index] = reply
    return replies


def _scan(command: Command, urls: Sequence[str]) -> Talk:
    """One page of one server; the cursor says which server, so that the caller knows nothing of them."""
    place, _, cursor = _text(command[1]).rpartition(":")
    index = int(place or 0)
    ((cursor_after, names),) = yield Part(urls[index], [("SCAN", cursor, *command[2:])])
    if cursor_after != SCAN_END:
        return [(f"{index}:{_text(cursor_after)}".encode(), names)]
    return [(f"{index + 1}:0".encode() if index + 1 < len(urls) else SCAN_END, names)]


def _is_scan(commands: Sequence[Command]) -> bool:
    return bool(commands) and commands[0][0] == "SCAN"


def _key_of(command: Command) -> Any:
    """The first key; all the keys of a command have one tag."""
    return command[3] if command[0] == "EVALSHA" else command[1]


def _tag(key: Any) -> str:
    """The part between braces, which all the keys of one source share."""
    return _text(key).partition("{")[2].partition("}")[0] or _text(key)


def _text(value: Any) -> str:
    return value.decode() if isinstance(value, bytes) else str(value)
