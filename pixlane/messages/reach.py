"""Look-ups over HTTP that a decision may wait for: 3 s in all, an answer remembered for 4 hours, a failure for a minute."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable
from functools import cache
from ipaddress import ip_address
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from pixlane.settings import MIB

TIMEOUT_S = 3.0
REMEMBER_S = 4 * 3_600.0
REMEMBER_FAILURE_S = 60.0
MAX_ANSWER_BYTES = 32 * MIB  # models.dev's catalog has about 2 MB
MAX_ENTRIES = 256
LOCAL_NAMES = frozenset(("localhost", "host.docker.internal", "host.containers.internal"))


class Answer(NamedTuple):
    """What was read from an answer, or why there is none."""

    value: Any = None
    problem: str = ""


class Reach:
    """Asks over HTTP and remembers. Safe between threads; two that ask at once may both ask.

    Args:
        clock: monotonic seconds.
    """

    def __init__(
        self,
        timeout_s: float = TIMEOUT_S,
        remember_s: float = REMEMBER_S,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.timeout_s = timeout_s
        self.remember_s = remember_s
        self._clock = clock
        self._known: dict[tuple[str, str], tuple[Answer, float]] = {}
        self._lock = threading.Lock()

    def ask(self, url: str, read: Callable[[Any], Any], body: dict[str, Any] | None = None) -> Answer:
        """GET, or POST with a JSON body; `read` takes the parsed answer and gives what is kept of it.

        Never raises for what the other side does: an Answer with a problem says it. No redirect is followed.
        """
        key = url, json.dumps(body, sort_keys=True)
        with self._lock:
            answer, until = self._known.get(key, (Answer(), 0.0))
            if self._clock() < until:
                return answer
        answer = self._within(url, read, body)
        life = REMEMBER_FAILURE_S if answer.problem else self.remember_s
        with self._lock:
            while len(self._known) >= MAX_ENTRIES:
                self._known.pop(next(iter(self._known)))
            self._known[key] = answer, self._clock() + life
        return answer

    def _within(self, url: str, read: Callable[[Any], Any], body: dict[str, Any] | None) -> Answer:
        import httpx  # noqa: F401 - loading it is not a part of the wait

        # A thread, as the timeouts of a socket bound neither the resolver nor a server that sends a byte a second.
        answers: list[Answer] = []
        thread = threading.Thread(target=lambda: answers.append(self._call(url, read, body)), daemon=True)
        thread.start()
        thread.join(self.timeout_s)
        return answers[0] if answers else Answer(problem=f"no answer within {self.timeout_s:g} s")

    def _call(self, url: str, read: Callable[[Any], Any], body: dict[str, Any] | None) -> Answer:
        import httpx

        end = time.monotonic() + self.timeout_s
        try:
            # A proxy of the environment leads out, never to this machine.
            client = httpx.Client(timeout=self.timeout_s, trust_env=not is_local(url))
            with client, client.stream("GET" if body is None else "POST", url, json=body) as response:
                if response.status_code != httpx.codes.OK:
                    return Answer(problem=f"answered {response.status_code}")
                data = bytearray()
                for block in response.iter_bytes():
                    data += block
                    if len(data) > MAX_ANSWER_BYTES:
                        return Answer(problem=f"answered more than {MAX_ANSWER_BYTES:,} bytes")
                    if time.monotonic() > end:
                        return Answer(problem=f"no whole answer within {self.timeout_s:g} s")
            return Answer(read(json.loads(data)))
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            return Answer(problem=f"could not be asked: {type(error).__name__}")
        except (ValueError, TypeError, AttributeError, KeyError, RecursionError):
            return Answer(problem="answered something else than expected")


@cache
def shared() -> Reach:
    """The one of this process: what one decision learned the next one knows."""
    return Reach()


def is_local(url: str) -> bool:
    """Whether a URL names this machine or its own network: by name or literal address, nothing is resolved."""
    try:
        host = (urlsplit(url).hostname or "").rstrip(".").lower()
    except ValueError:
        return False
    if host in LOCAL_NAMES or host.endswith((".localhost", ".local")):
        return True
    try:
        address = ip_address(host)
    except ValueError:
        return False
    return address.is_loopback or address.is_private or address.is_unspecified
