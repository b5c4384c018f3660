"""Why a server could not be used, as a typed error with one plain sentence that never holds a password."""

from __future__ import annotations

import errno
import socket
import ssl
from typing import Final

import redis

from pixlane.errors import ServiceError, StoreFull, StoreUnavailable, causes
from pixlane.store.servers import shown

SENTENCES: Final[tuple[tuple[type[BaseException], str], ...]] = (
    (redis.exceptions.BusyLoadingError, "is still loading its data"),
    (redis.exceptions.AuthenticationError, "wants another user name or password"),
    (redis.exceptions.InvalidResponse, "does not speak the protocol of Redis"),
    (ConnectionRefusedError, "refuses connections; nothing listens there"),
    (FileNotFoundError, "is not there; no such socket"),
    (PermissionError, "may not be opened by this user"),
    (socket.gaierror, "is not found; no such host name"),
    (ssl.SSLCertVerificationError, "shows a certificate that is not trusted here"),
    (ssl.SSLError, "and this client do not agree on TLS"),
    (ConnectionResetError, "closed the connection"),
    (BrokenPipeError, "closed the connection"),
)
"""The first kind that is found among an error and its causes says it; redis-py's own sentence may hold the address."""

UNREACHABLE: Final = {errno.ENETUNREACH, errno.EHOSTUNREACH, errno.EHOSTDOWN, errno.ENETDOWN}


def unavailable(url: str, error: BaseException, timeout_s: float, server: str = "the Redis server") -> StoreUnavailable:
    """For what redis-py, Kombu or the system raised; `server`: how to call it."""
    chain = tuple(causes(error))
    where = f"{server} at {shown(url)}"
    for kind, words in SENTENCES:
        if any(isinstance(cause, kind) for cause in chain):
            return StoreUnavailable(f"{where} {words}", server=shown(url))
    if any(isinstance(cause, (TimeoutError, redis.TimeoutError)) for cause in chain):
        return StoreUnavailable(f"{where} did not answer within {timeout_s:g} s", limit=timeout_s, server=shown(url))
    if any(isinstance(cause, OSError) and cause.errno in UNREACHABLE for cause in chain):
        return StoreUnavailable(f"{where} cannot be reached from here", server=shown(url))
    if isinstance(error, redis.ConnectionError) and "closed" in str(error).lower():
        return StoreUnavailable(f"{where} closed the connection", server=shown(url))
    for cause in chain:
        if isinstance(cause, redis.ResponseError):  # while the connection was made: no such database, for example
            return StoreUnavailable(f"{where} refused: {cause}", server=shown(url))
    return StoreUnavailable(f"{where} cannot be used ({type(error).__name__})", server=shown(url))


def refused(url: str, error: redis.ResponseError) -> ServiceError:
    """For a command that the server answered with an error."""
    where, text = f"the Redis server at {shown(url)}", str(error)
    if isinstance(error, redis.exceptions.OutOfMemoryError) or "OOM command not allowed" in text:
        return StoreFull(f"{where} is out of memory", server=shown(url))
    if isinstance(error, redis.exceptions.NoPermissionError):
        return StoreUnavailable(f"{where} does not let this user do that: {text}", server=shown(url))
    return StoreUnavailable(f"{where} refused: {text}", server=shown(url))
