"""Ten thousand tiny images through `tasks.normalize_many`, against the same Celery carrying as many tasks that do nothing."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
import time
from dataclasses import replace
from typing import Any

from celery import Celery

from pixlane import Client, settings
from pixlane.rendition import Rendition
from pixlane.store.servers import kombu_url
from tests.embedded.conftest import wait_until
from tests.fault.scene import Scene, numbered, scene, screen

NOTHING = """
import sys
from celery import Celery

app = Celery("nothing", broker=sys.argv[1])
app.conf.update(task_acks_late=True, worker_prefetch_multiplier=1, task_ignore_result=True, worker_enable_remote_control=False)
app.conf.broker_transport_options = {"global_keyprefix": "nothing:"}

@app.task(name="nothing")
def nothing(number):
    pass

quiet = dict(without_gossip=True, without_mingle=True, quiet=True, loglevel="ERROR")
app.Worker(concurrency=int(sys.argv[2]), pool="prefork", optimization="fair", **quiet).start()
"""


def run(count: int) -> dict[str, Any]:
    """Per second: images through the queue, tasks of the same Celery that do nothing."""
    cores = os.cpu_count() or 1
    with scene(replace(settings.load({}), concurrency=cores)) as here:
        here.start_worker(wait=True)
        tiny = screen(64, 48)
        with Client(settings=here.settings) as client:
            for _, outcome in client.map(numbered(tiny, number) for number in range(-100, 0)):
                assert isinstance(outcome, Rendition)
            began = time.perf_counter()
            done = sum(isinstance(outcome, Rendition) for _, outcome in client.map(numbered(tiny, n) for n in range(count)))
            images = count / (time.perf_counter() - began)
        assert done == count
        here.workers[0].end()
        nothing = _nothing(here, count, cores)
    return {"count": count, "images_per_second": round(images, 1), "empty_tasks_per_second": round(nothing, 1)}


def _nothing(here: Scene, count: int, cores: int) -> float:
    url = kombu_url(here.valkey.url)
    program = here.folder / "nothing.py"
    program.write_text(textwrap.dedent(NOTHING))
    app = Celery("nothing", broker=url)
    app.conf.broker_transport_options = {"global_keyprefix": "nothing:"}
    app.conf.task_ignore_result = True
    worker = subprocess.Popen(
        [sys.executable, "-P", str(program), url, str(cores)],
        cwd=here.folder,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    left = lambda: here.valkey.redis.exists("nothing:celery", "nothing:unacked")  # noqa: E731
    try:
        app.send_task("nothing", [0])
        wait_until(lambda: not left(), "the first task is done")
        began = time.perf_counter()
        with app.producer_pool.acquire() as producer:
            for number in range(count):
                app.send_task("nothing", [number], producer=producer)
        wait_until(lambda: not left(), "every task is done", 600.0)
        return count / (time.perf_counter() - began)
    finally:
        worker.terminate()
        worker.wait(30)
        app.close()
