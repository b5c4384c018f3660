"""What operators and machines do to the service, each told as one function that raises when a promise is broken.

Every one returns what it counted, as JSON values. `short()` and `long()` say how much of it there is.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import random
import signal
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

from PIL import Image

from pixlane import Recipe, settings
from pixlane.publisher import Publisher
from pixlane.settings import MIB, Settings
from pixlane.store import ledger
from pixlane.store.connect import Server
from pixlane.store.ledger import Job, Message
from pixlane.store.servers import Servers
from tests.embedded.conftest import wait_until
from tests.fault.scene import (
    FINGERPRINT,
    KEYS,
    Attacker,
    Scene,
    Watch,
    numbered,
    scene,
    screen,
    wait_for_all,
    write_sources,
)

SEED = 20_261_201
PAUSE_OF_SERVER_S = 0.5

Report = dict[str, Any]


@dataclass(frozen=True)
class Measure:
    """How much there is of everything."""

    settings: Settings
    jobs: int
    kills: int
    server_kills: int
    restarts: int
    good: int
    limit_s: float
    size: tuple[int, int] = (1280, 800)


def long() -> Measure:
    """1,000 jobs on the default settings."""
    return Measure(replace(settings.load({}), concurrency=2), 1000, 30, 3, 8, 200, 600.0)


def short() -> Measure:
    """The same in a minute, with limits so short that their end is seen."""
    quick = replace(
        settings.load({}),
        concurrency=1,
        hard_timeout_s=4.0,
        soft_timeout_s=3.0,
        lease_margin_s=0.5,
        resend_after_s=1.0,
        sweep_interval_s=0.3,
    )
    return Measure(quick, 150, 8, 1, 3, 40, 100.0, (640, 400))


# Scenarios -------------------------------------------------------------------------------------------------------------


def kills(measure: Measure) -> Report:
    """SIGKILL to parents and children at random, kill -9 to the server; the producer has left."""
    rolls = random.Random(SEED)
    server_turns = {(turn + 1) * measure.kills // (measure.server_kills + 1) for turn in range(measure.server_kills)}

    def blow(here: Scene) -> Callable[[int], None]:
        def strike(number: int) -> None:
            victim = rolls.choice(here.workers)
            children = victim.children
            if number % 2 or not children:
                here.retire(victim)
                victim.kill()
                here.start_worker()
            else:
                with suppress(ProcessLookupError):  # ended by itself just now
                    os.kill(rolls.choice(children), signal.SIGKILL)
            if number in server_turns:
                here.valkey.kill()
                time.sleep(PAUSE_OF_SERVER_S)
                here.valkey.start()

        return strike

    return _under_fire(measure, blow, measure.kills) | {"server_kills": measure.server_kills}


def rolling(measure: Measure) -> Report:
    """TERM to one worker after the other, and a new one in its place, again and again under load."""
    exit_codes: list[int] = []

    def blow(here: Scene) -> Callable[[int], None]:
        def restart(_: int) -> None:
            oldest = here.workers[0]
            here.retire(oldest)
            here.start_worker(wait=True)
            oldest.process.terminate()
            exit_codes.append(oldest.process.wait(measure.limit_s))

        return restart

    report = _under_fire(measure, blow, measure.restarts)
    assert set(exit_codes) == {0}, exit_codes
    assert report["runs"] == {"ok": measure.jobs}, f"a clean end leaves nothing to be run again: {report['runs']}"
    return report


def stopped(measure: Measure) -> Report:
    """SIGSTOP to a whole worker for longer than its limits, then SIGCONT."""
    lasts_s = measure.settings.hard_timeout_s + measure.settings.lease_margin_s + 2

    def blow(here: Scene) -> Callable[[int], None]:
        def stop(_: int) -> None:
            group = here.workers[0].process.pid
            os.killpg(group, signal.SIGSTOP)
            time.sleep(lasts_s)
            os.killpg(group, signal.SIGCONT)

        return stop

    return _under_fire(measure, blow, 1) | {"stopped_s": lasts_s}


def hung_server(measure: Measure) -> Report:
    """The server accepts and does not answer for longer than workers and waiters bear, then goes on."""
    lasts_s = 12.0

    def blow(here: Scene) -> Callable[[int], None]:
        def stop(_: int) -> None:
            assert here.valkey.process is not None
            here.valkey.process.send_signal(signal.SIGSTOP)
            time.sleep(lasts_s)
            here.valkey.process.send_signal(signal.SIGCONT)

        return stop

    return _under_fire(measure, blow, 1) | {"hung_s": lasts_s}


def poison(measure: Measure) -> Report:
    """A picture that really ends its process, alone and inside a chunk, among good ones."""
    small = screen(200, 120)
    # glib aborts where libvips gets no memory for the canvas; no guard is switched off.
    with scene(replace(measure.settings, max_child_bytes=256 * MIB)) as here:
        worker = here.start_worker(wait=True)
        good = [numbered(small, number) for number in range(measure.good)]
        half = measure.good // 2
        began = time.monotonic()
        for number in range(half):
            _enqueue(here, [good[number]] if number else [good[0], _bomb(1)], together=False)
        for start in range(half, measure.good, 20):
            part = good[start : start + 20]
            _enqueue(here, [*part[:7], _bomb(2), *part[7:]] if start == half else part, together=True)
        wait_until(here.is_settled, "nothing is owed", measure.limit_s)
        took_s = time.monotonic() - began
        verdicts = {name: json.loads(here.valkey.redis.get(name) or b"{}")["code"] for name in here.errors()}
        expected = {KEYS.error(_sha256(_bomb(number)), FINGERPRINT).encode(): "crashed" for number in (1, 2)}
        assert verdicts == expected, verdicts
        assert here.done() == measure.good
        assert worker.process.poll() is None, "the worker is alive"
        return {"good": here.done(), "crashed": len(verdicts), "seconds": round(took_s, 1), "runs": dict(here.outcomes())}


SCENARIOS: dict[str, Callable[[Measure], Report]] = {
    "kills": kills,
    "rolling": rolling,
    "stopped": stopped,
    "hung_server": hung_server,
    "poison": poison,
}


# Parts -----------------------------------------------------------------------------------------------------------------


def _under_fire(measure: Measure, blow: Callable[[Scene], Callable[[int], None]], blows: int) -> Report:
    """A producer that submits and exits, two workers, and blows while they work; then every promise is looked at."""
    with scene(measure.settings) as here:
        sources = write_sources(here.folder / "sources", measure.jobs, screen(*measure.size))
        for _ in range(2):
            here.start_worker()
        began = time.monotonic()
        producer = here.produce(sources)
        every = max(1, measure.jobs // (blows + 2))
        with Watch(here) as watch, Attacker(here, blow(here), every, blows) as attacker:
            assert producer.wait(measure.limit_s) == 0
            wait_until(lambda: attacker.blows == blows or attacker.fault, f"{blows} blows", measure.limit_s)
            wait_for_all(here, measure.jobs, measure.limit_s)
        took_s = time.monotonic() - began
        assert here.errors() == [], "none was put aside, none failed"
        assert here.done() == measure.jobs, "none lost, none doubled"
        assert watch.changed == set(), "no result was replaced by another one"
        runs = here.outcomes()
        return {
            "jobs": measure.jobs,
            "blows": blows,
            "seconds": round(took_s, 1),
            "runs": dict(runs),
            "second_starts": here.second_starts(),
            "done_twice": max(0, runs["ok"] - measure.jobs),
        }


def _enqueue(here: Scene, group: list[bytes], *, together: bool) -> None:
    """Into ledger and queue, by hand: `map` would not put a picture of that size into a chunk."""
    servers = Servers.of(here.settings)
    server, publisher = Server(servers.ledger, 5.0), Publisher(servers, here.settings)
    messages: list[Message] = []
    for data in group:
        job = Job.of(_sha256(data), Recipe())
        commands = [ledger.put_source(KEYS, job.sha256, data, here.settings), ledger.submit(KEYS, job, "batch", here.settings)]
        message = ledger.submitted(server.run(commands)[-1], job, "batch")
        assert message is not None
        messages.append(message)
    publisher.send([messages] if together else [[message] for message in messages])
    publisher.close()
    server.close()


def _bomb(number: int) -> bytes:
    buffer = io.BytesIO()
    Image.new("P", (9_900, 9_900 - number)).save(buffer, "GIF")
    return buffer.getvalue()


def _sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
