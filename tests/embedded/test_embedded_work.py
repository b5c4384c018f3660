"""The embedded service at work: nothing is lost when its parts are killed or its user leaves."""

from __future__ import annotations

import os
import random
import signal
import time
from contextlib import suppress
from pathlib import Path

import pytest
from PIL import Image

from pixlane import Client, Rendition, embedded
from pixlane.client import Job
from pixlane.errors import PathNotAllowed, ServiceError, ServiceUnavailable
from tests.embedded.users import PATIENCE_S, eventually, gone, now

SVG = b'<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"/>'


def screens(folder: Path, count: int) -> list[Path]:
    """Pictures of noise, each another, so that each takes a moment and none is a copy."""
    folder.mkdir()
    paths = []
    for number in range(count):
        pixels = random.Random(number).randbytes(700 * 500 * 3)
        paths.append(folder / f"{number}.png")
        Image.frombytes("RGB", (700, 500), pixels).save(paths[-1])
    return paths


@pytest.mark.slow
@pytest.mark.parametrize("name", ["worker", "server"])
def test_work_goes_on_after_the_worker_or_the_store_is_killed_in_the_middle(here: Path, tmp_path: Path, name: str) -> None:
    paths = screens(tmp_path / "screens", 24)
    with embedded.attach(paths_root=str(tmp_path / "screens")) as service, Client(service.url, send="path") as client:
        jobs = [client.submit(path, queue="batch") for path in paths]
        jobs[0].result(timeout=PATIENCE_S)
        os.kill(now(here)[name], signal.SIGKILL)
        assert all(result_of(job).fits for job in jobs)


def result_of(job: Job) -> Rendition:
    """As a caller does who knows that the store may be away for a moment."""
    end = time.monotonic() + 3 * PATIENCE_S
    while True:
        try:
            return job.result(timeout=PATIENCE_S)
        except ServiceError:
            assert time.monotonic() < end
            time.sleep(0.1)


@pytest.mark.slow
def test_what_was_submitted_and_left_is_done_at_the_next_start(here: Path, tmp_path: Path) -> None:
    path = screens(tmp_path / "screens", 1)[0]
    with embedded.attach() as service:
        # The worker must not be there yet: nothing else says that the job was left and not done.
        os.kill(now(here)["worker"], signal.SIGSTOP)
        with Client(service.url) as client:
            job = client.submit(path)
        supervisor = now(here)["supervisor"]
    eventually(lambda: gone(supervisor))
    with embedded.attach() as service, Client(service.url) as client:
        eventually(lambda: client.fetch(job.sha256) is not None)


@pytest.mark.slow
def test_a_file_outside_the_roots_is_refused(here: Path, tmp_path: Path) -> None:
    inside, outside = screens(tmp_path / "inside", 1)[0], screens(tmp_path / "outside", 2)[1]
    with embedded.attach(paths_root=str(tmp_path / "inside")) as service, Client(service.url, send="path") as client:
        assert client.submit(inside).result(timeout=PATIENCE_S).fits
        with pytest.raises(PathNotAllowed):
            client.submit(outside).result(timeout=PATIENCE_S)


@pytest.mark.slow
def test_whoever_waits_is_told_when_the_worker_cannot_run(here: Path) -> None:
    with embedded.attach() as service, Client(service.url) as client:
        os.kill(now(here)["worker"], signal.SIGSTOP)
        job = client.submit(SVG)
        while now(here)["trouble"] is None:
            pid = now(here)["worker"]
            if pid is not None:
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
        with pytest.raises(ServiceUnavailable, match="the worker died"):
            job.result()
