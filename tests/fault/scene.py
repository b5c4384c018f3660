"""A service to fire at: one server with an append-only file, workers that come back, sources that differ in their hash."""

from __future__ import annotations

import hashlib
import io
import os
import re
import signal
import struct
import subprocess
import sys
import tempfile
import threading
import time
import zlib
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import redis
from PIL import Image

from pixlane import Recipe
from pixlane.settings import Settings, environment_name
from pixlane.store.keys import Keys
from tests.embedded.conftest import Valkey, Worker, foreign_folder, launch, wait_until, wait_until_up
from tests.readme import ROOT

KEYS = Keys()
FINGERPRINT = Recipe().fingerprint

PRODUCER = """
import sys, time
from pathlib import Path
from pixlane import Client
from pixlane.errors import ServiceError

with Client() as client:
    for path in sorted(Path(sys.argv[1]).iterdir()):
        while True:  # accepted is what submit() returned for; until then it is the producer's
            try:
                client.submit(path, queue="batch")
                break
            except ServiceError:
                time.sleep(0.1)
"""


@dataclass
class Scene:
    """Starts workers, replaces them, watches what becomes visible."""

    folder: Path
    settings: Settings
    valkey: Valkey
    workers: list[Worker] = field(default_factory=list)
    every: list[Worker] = field(default_factory=list)

    def start_worker(self, *, wait: bool = False) -> Worker:
        log = self.folder / f"worker-{len(self.every)}.log"
        worker = launch(self.settings, log, foreign_folder(self.folder))
        self.every.append(worker)
        self.workers.append(worker)
        if wait:
            wait_until_up(worker, self.valkey)
        return worker

    def retire(self, worker: Worker) -> None:
        """It is to be replaced: killed by the caller, or told to end."""
        self.workers.remove(worker)

    def produce(self, sources: Path) -> subprocess.Popen[bytes]:
        """A producer in a process of its own, which submits every file of the folder and leaves."""
        environment = {**os.environ, environment_name("redis_url"): self.valkey.url, "PYTHONPATH": str(ROOT)}
        return subprocess.Popen([sys.executable, "-c", PRODUCER, str(sources)], env=environment, cwd=self.folder)

    def outcomes(self) -> Counter[str]:
        """How many runs ended in which way, by what the workers logged."""
        return Counter(outcome for outcome, _ in self._runs())

    def second_starts(self) -> int:
        """Runs of a job that had been started before, by a process that was killed or stood still."""
        return sum(start != "1" for _, start in self._runs())

    def _runs(self) -> Iterator[tuple[str, str]]:
        for worker in self.every:
            yield from re.findall(r": (\w+) after \d+ ms, start (\d+)", worker.log.read_text(errors="replace"))

    def done(self) -> int:
        return len(self.results())

    def results(self) -> list[bytes]:
        with suppress(redis.RedisError):
            return list(self.valkey.redis.scan_iter(f"pixlane:{{*}}:url:{FINGERPRINT}", count=2000))
        return []

    def errors(self) -> list[bytes]:
        return [name for name in self.valkey.redis.scan_iter("pixlane:{*}:err:*", count=2000)]

    def is_settled(self) -> bool:
        """Nothing is owed any more."""
        with suppress(redis.RedisError):
            return not self.valkey.redis.zcard(KEYS.open)
        return False

    def end(self) -> None:
        for worker in self.every:
            with suppress(ProcessLookupError):
                os.killpg(worker.process.pid, signal.SIGCONT)
            worker.end()


@contextmanager
def scene(settings: Settings, *options: str) -> Iterator[Scene]:
    """`options` are the server's."""
    with tempfile.TemporaryDirectory(prefix="px") as folder:  # short: a socket path may have 107 bytes
        valkey = Valkey(Path(folder), options=options)
        valkey.start()
        here = Scene(Path(folder), replace(settings, redis_url=valkey.url), valkey)
        try:
            yield here
        finally:
            here.end()
            valkey.kill()


class Watch:
    """Looks at every result again and again, in a thread: whoever reads twice must not read two different things."""

    def __init__(self, here: Scene) -> None:
        self._here = here
        self._seen: dict[bytes, str] = {}
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._live)
        self.changed: set[bytes] = set()

    def __enter__(self) -> Watch:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()
        self.look()

    def _live(self) -> None:
        while not self._over.wait(1.0):
            with suppress(redis.RedisError):
                self.look()

    def look(self) -> None:
        names = self._here.results()
        for start in range(0, len(names), 100):
            part = names[start : start + 100]
            for name, value in zip(part, self._here.valkey.redis.mget(part), strict=True):
                if value is None:
                    continue
                digest = hashlib.sha256(value).hexdigest()
                if self._seen.setdefault(name, digest) != digest:
                    self.changed.add(name)


class Attacker:
    """Calls `blow` each time that `every` more results are there, until it was called `most` times."""

    def __init__(self, here: Scene, blow: Callable[[int], None], every: int, most: int) -> None:
        self._here = here
        self._blow = blow
        self._every = every
        self._most = most
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._live)
        self.blows = 0
        self.fault: BaseException | None = None

    def __enter__(self) -> Attacker:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()
        if self.fault is not None:
            raise self.fault

    def _live(self) -> None:
        next_at = self._every
        try:
            while self.blows < self._most and not self._over.wait(0.05):
                if self._here.done() >= next_at:
                    self._blow(self.blows)
                    self.blows += 1
                    next_at += self._every
        except Exception as fault:  # noqa: BLE001 - raised where the block ends
            self.fault = fault


# Sources ---------------------------------------------------------------------------------------------------------------


def screen(width: int = 1280, height: int = 800) -> bytes:
    """A PNG that takes some tens of milliseconds: panes, lines of marks like text, one busy corner."""
    random = np.random.default_rng(7)
    pixels = np.full((height, width, 3), 246, np.uint8)
    pixels[:, : width // 5] = (32, 36, 48)
    for top in range(20, height - 20, 18):
        marks = random.random(width // 4) < 0.5
        pixels[top : top + 9, width // 5 + 10 : width - 20][:, : marks.size * 3] = np.repeat(
            np.where(marks, 40, 246).astype(np.uint8), 3
        )[None, : width - 30 - width // 5, None]
    pixels[-height // 4 :, -width // 4 :] = random.integers(0, 255, (height // 4, width // 4, 3), np.uint8)
    buffer = io.BytesIO()
    Image.fromarray(pixels).save(buffer, "PNG", compress_level=1)
    return buffer.getvalue()


def numbered(png: bytes, number: int) -> bytes:
    """The same picture with another hash: a text chunk before IEND."""
    body = b"tEXt" + f"Number\0{number}".encode()
    chunk = struct.pack(">I", len(body) - 4) + body + struct.pack(">I", zlib.crc32(body))
    return png[:-12] + chunk + png[-12:]


def write_sources(folder: Path, count: int, png: bytes) -> Path:
    folder.mkdir()
    for number in range(count):
        (folder / f"{number:05d}.png").write_bytes(numbered(png, number))
    return folder


def wait_for_all(here: Scene, count: int, limit_s: float) -> float:
    """Returns the seconds until there are so many results and nothing is owed."""
    began = time.monotonic()
    wait_until(lambda: here.done() >= count and here.is_settled(), f"{count} results, none owed", limit_s)
    return time.monotonic() - began


def quantile(values: Sequence[float], share: float) -> float:
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]
