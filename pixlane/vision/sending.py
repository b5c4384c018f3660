"""One request to a provider: within a deadline, with a pause and another try where that may help.

Tried again: 408, 429, 500, 502, 503, 504, 529, and a connection that was refused, closed or broken; `Retry-After` is honoured.
Neither keys nor pictures get into a log or an error.
"""

from __future__ import annotations

import email.utils
import json
import logging
import random
import ssl
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from pixlane.messages import reach
from pixlane.settings import MIB
from pixlane.vision.adapter import Deadline
from pixlane.vision.apis.api import problem_in
from pixlane.vision.credentials import Secret

TRANSIENT = frozenset((408, 429, 500, 502, 503, 504, 529))
REFUSED_KEY = (401, 403)
MAX_ANSWER_BYTES = 8 * MIB
MAX_TRIES = 5
FIRST_PAUSE_S = 0.5
"""The pause before the second try; each further one is twice as long, and up to half of it is left to chance."""
CONNECT_S = 10.0
LEAST_S = 0.01
SHOWN_CHARS = 300

log = logging.getLogger("pixlane.vision")


class Unanswered(Exception):
    """There is no answer. `reason`: deadline, connection, credentials, request (the provider refuses it), answer or busy."""

    def __init__(self, reason: str, message: str, *, status: int | None = None, tries: int = 1) -> None:
        super().__init__(message)
        self.reason, self.message, self.status, self.tries = reason, message, status, tries

    @property
    def transient(self) -> bool:
        """Another try, later, may help."""
        return self.reason in ("deadline", "connection", "busy")


@dataclass(frozen=True)
class Answer:
    """The parsed body, and how often it was asked for."""

    value: Any
    tries: int


@dataclass(frozen=True)
class Sender:
    """How patient somebody is."""

    max_tries: int = MAX_TRIES
    first_pause_s: float = FIRST_PAUSE_S

    def post(self, url: str, headers: Mapping[str, str], body: Any, key: Secret | None, deadline: Deadline) -> Answer:
        """The answer to a POST of JSON. Raises Unanswered."""
        sent = json.dumps(body, separators=(",", ":")).encode()
        for tries in range(1, self.max_tries + 1):
            try:
                return Answer(_within(url, headers, sent, deadline), tries)
            except _Failed as failed:
                unanswered = failed.told(key, tries)
                if not failed.again:
                    raise unanswered from None
                pause_s = max(self.first_pause_s * 2 ** (tries - 1) * random.uniform(0.5, 1), failed.retry_after_s)
                if tries == self.max_tries:
                    raise unanswered from None
                if pause_s >= deadline.left_s:
                    unanswered.message += f"; the next try would be in {pause_s:.1f} s, {max(deadline.left_s, 0):.1f} s are left"
                    raise unanswered from None
                log.info("%s, try %d of %d; again in %.1f s", unanswered.message, tries, self.max_tries, pause_s)
                time.sleep(pause_s)
        raise AssertionError("the last try answers or raises")


@dataclass(eq=False)
class _Failed(Exception):
    reason: str
    message: str
    status: int | None = None
    again: bool = False
    retry_after_s: float = 0.0
    said: str = ""
    """The provider's own words."""

    def told(self, key: Secret | None, tries: int) -> Unanswered:
        # Hidden before it is cut: half a key is not found any more.
        said = key.hidden_in(self.said) if key else self.said
        message = f"{self.message}: {said[:SHOWN_CHARS]}" if said else self.message
        return Unanswered(self.reason, message, status=self.status, tries=tries)


def _within(url: str, headers: Mapping[str, str], body: bytes, deadline: Deadline) -> Any:
    """The answer to one request, at the deadline at the latest."""
    try:
        _authorities()  # loading it is not a part of the wait
    except OSError as error:
        raise _Failed("request", f"the authorities that the environment names cannot be read: {type(error).__name__}") from None
    # A thread, as the timeouts of a socket bound neither the resolver nor a server that sends a byte a second.
    outcome: list[Any] = []

    def call() -> None:
        try:
            outcome.append(_once(url, headers, body, deadline))
        except Exception as error:  # noqa: BLE001  raised again where it is waited for
            outcome.append(error)

    thread = threading.Thread(target=call, name="pixlane-asking", daemon=True)
    thread.start()
    thread.join(max(0.0, deadline.left_s))
    if not outcome:
        raise _Failed("deadline", f"no answer within {deadline.seconds:g} s")
    if isinstance(outcome[0], Exception):
        raise outcome[0]
    return outcome[0]


def _once(url: str, headers: Mapping[str, str], body: bytes, deadline: Deadline) -> Any:
    import httpx

    left_s = max(deadline.left_s, LEAST_S)
    try:
        # A proxy of the environment leads out, never to this machine.
        limits = httpx.Timeout(left_s, connect=min(left_s, CONNECT_S))
        client = httpx.Client(timeout=limits, trust_env=not reach.is_local(url), verify=_authorities())
        typed = {"content-type": "application/json", **headers}
        with client, client.stream("POST", url, content=body, headers=typed) as response:
            data = bytearray()
            for block in response.iter_bytes():
                data += block
                if len(data) > MAX_ANSWER_BYTES:
                    raise _Failed("answer", f"the answer has more than {MAX_ANSWER_BYTES:,} bytes")
                if deadline.left_s <= 0:
                    raise _Failed("deadline", f"no whole answer within {deadline.seconds:g} s")
            status, said = response.status_code, response.headers
    except httpx.ReadTimeout:
        raise _Failed("deadline", f"no answer within {deadline.seconds:g} s") from None
    except (httpx.UnsupportedProtocol, httpx.LocalProtocolError, httpx.InvalidURL, UnicodeError) as error:
        raise _Failed("request", f"the address cannot be asked: {type(error).__name__}") from None
    except httpx.DecodingError:
        raise _Failed("answer", "the answer is packed in a way that cannot be undone") from None
    except httpx.HTTPError as error:
        raise _Failed("connection", f"the connection failed: {type(error).__name__}", again=True) from None
    except (ImportError, ValueError) as error:  # httpx on a proxy of the environment that it cannot use
        raise _Failed("request", f"the proxy of the environment cannot be used: {type(error).__name__}") from None
    return _parsed(status, said, bytes(data))


@cache
def _authorities() -> ssl.SSLContext:
    """Whom we trust; reading it takes longer than a request to a server of one's own."""
    import httpx

    return httpx.create_ssl_context()


def _parsed(status: int, headers: Mapping[str, str], data: bytes) -> Any:
    try:
        answer = json.loads(data)
    except (ValueError, RecursionError):
        answer = None
    if status == 200:
        if answer is None:
            raise _Failed("answer", "the answer is no JSON", status)
        return answer
    if status in REFUSED_KEY:
        raise _Failed("credentials", f"the provider refused the key ({status})", status)  # its text may show a part of it
    again = status in TRANSIENT
    sentence = f"the provider answered {status}"
    raise _Failed("busy" if again else "request", sentence, status, again, _retry_after_s(headers), problem_in(answer))


def _retry_after_s(headers: Mapping[str, str]) -> float:
    """Seconds, or a date. Source: RFC 9110, 10.2.3."""
    said = headers.get("retry-after", "").strip()
    try:
        return max(0.0, float(said))
    except ValueError:
        pass
    try:
        return max(0.0, email.utils.parsedate_to_datetime(said).timestamp() - time.time())
    except (ValueError, TypeError):
        return 0.0
