"""What an operator sees: numbers for Prometheus, a log that a machine can read, and traces from producer to stage."""

from __future__ import annotations

import asyncio
import hashlib
import io
import json
import os
import pty
import signal
import socket
import subprocess
import sys
import threading
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from PIL import Image
from prometheus_client.parser import text_string_to_metric_families

from pixlane import AsyncClient, Client, PixlaneError, Recipe
from pixlane.metrics import INSTRUMENTS, OF_WORKERS
from pixlane.settings import Settings
from pixlane.stats import Observer, rates
from pixlane.store.envelope import push
from pixlane.store.keys import Keys
from pixlane.store.ledger import Job, Message
from pixlane.store.servers import Servers
from tests.embedded.conftest import Valkey, Worker, wait_until

KEYS = Keys()

pytestmark = pytest.mark.slow


def picture(number: int) -> bytes:
    buffer = io.BytesIO()
    Image.new("RGB", (40, 30), (number, 3, 7)).save(buffer, "PNG")
    return buffer.getvalue()


def a_free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def scraped(port: int) -> dict[tuple[str, ...], float]:
    """(name, label values ...) to the number."""
    return {
        (sample.name, *(value for _, value in sorted(sample.labels.items()))): sample.value
        for family in text_string_to_metric_families(wait_until(lambda: _page(port), "the metrics are served"))
        for sample in family.samples
    }


def _page(port: int) -> str:
    """Empty while the worker, which has just been started, does not listen yet."""
    with (
        suppress(urllib.error.URLError),
        urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=10) as answer,
    ):
        return str(answer.read().decode())
    return ""


@pytest.fixture
def client(valkey: Valkey, quick: Settings) -> Iterator[Client]:
    with Client(valkey.url, settings=quick) as opened:
        yield opened


def test_a_worker_tells_prometheus_what_its_processes_did(client: Client, start_worker: Callable[..., Worker]) -> None:
    port = a_free_port()
    start_worker(metrics_port=port, concurrency=2)
    jobs = [client.submit(picture(number)) for number in range(4)]
    renditions = [job.result(60) for job in jobs]
    with pytest.raises(Exception, match="text"):
        client.submit(b"no picture at all", queue="batch").result(60)
    ok = ("pixlane_jobs_total", "", "ok", "interactive")
    wait_until(lambda: scraped(port).get(ok) == 4, "the processes have told of their jobs")
    told = wait_until(
        lambda: (told := scraped(port)).get(("pixlane_jobs_total", "not_an_image", "error", "batch")) == 1 and told,
        "of the error too",
    )
    assert told["pixlane_bytes_total", "in"] == sum(len(picture(number)) for number in range(4))
    assert told["pixlane_bytes_total", "out"] == sum(len(each.data_url) for each in renditions)
    assert told["pixlane_ladder_attempts_sum",] == sum(len(each.attempts) for each in renditions)
    for stage in ("wait", "read", "make", "store"):
        assert told["pixlane_stage_seconds_count", stage] >= 4
    assert told["pixlane_queue_depth", "interactive"] == told["pixlane_queue_age_seconds", "batch"] == 0
    assert told["pixlane_child_rss_bytes", "0"] > 10e6
    assert told["pixlane_child_rss_bytes", "1"] > 10e6
    assert told["pixlane_workers",] == told["pixlane_store_up",] == 1


def test_every_name_that_is_listed_is_served_and_no_other(client: Client, start_worker: Callable[..., Worker]) -> None:
    port = a_free_port()
    start_worker(metrics_port=port)
    client.submit(picture(1)).result(60)
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=10) as answer:
        page = answer.read().decode()
    served = {line.split()[2] for line in page.splitlines() if line.startswith("# TYPE ") and "_created" not in line}
    gauges = {name for name, what in INSTRUMENTS.items() if what.kind == "gauge"}
    assert served == {*OF_WORKERS, *gauges}


def test_a_job_that_waits_has_a_depth_and_an_age(client: Client, start_worker: Callable[..., Worker]) -> None:
    port = a_free_port()
    start_worker("--queues", "interactive", metrics_port=port)
    client.submit(picture(1), queue="batch")
    assert scraped(port)["pixlane_queue_depth", "batch"] == 1
    wait_until(lambda: scraped(port)["pixlane_queue_age_seconds", "batch"] > 0.2, "it grows old")


def test_a_job_whose_message_is_lost_is_counted_when_it_is_sent_again(
    client: Client, valkey: Valkey, start_worker: Callable[..., Worker]
) -> None:
    port = a_free_port()
    job = client.submit(picture(1), queue="batch")
    valkey.redis.delete(KEYS.waiting("batch"))
    start_worker(metrics_port=port, hard_timeout_s=1.5, soft_timeout_s=1.0)
    job.result(60)
    assert scraped(port)["pixlane_swept_total",] == 1


def test_nothing_listens_unless_a_port_is_named(client: Client, start_worker: Callable[..., Worker]) -> None:
    worker = start_worker()
    client.submit(picture(1)).result(60)
    listening = subprocess.run(["ss", "-Hltnp"], capture_output=True, text=True, check=True).stdout
    assert f"pid={worker.process.pid}," not in listening


def test_a_client_counts_hits_and_misses_where_that_is_asked(valkey: Valkey, start_worker: Callable[..., Worker]) -> None:
    start_worker()
    script = """
import sys
from prometheus_client import generate_latest
from pixlane import Client
data = bytes.fromhex(sys.argv[1])
with Client() as client, Client() as another:
    client.submit(data).result(60)
    another.submit(data).result(60)
sys.stdout.write(generate_latest().decode())
"""
    environment = {**os.environ, "PIXLANE_REDIS_URL": valkey.url, "PIXLANE_CLIENT_METRICS": "true"}
    done = subprocess.run([sys.executable, "-c", script, picture(9).hex()], capture_output=True, text=True, env=environment)
    assert 'pixlane_cache_total{hit="no"} 1.0' in done.stdout, done.stderr
    assert 'pixlane_cache_total{hit="yes"} 1.0' in done.stdout
    assert 'pixlane_stage_seconds_count{stage="submit"} 2.0' in done.stdout
    assert 'pixlane_stage_seconds_count{stage="result"} 1.0' in done.stdout


def test_a_client_that_does_not_count_loads_no_prometheus(valkey: Valkey) -> None:
    script = (
        "import sys; from pixlane import Client\nwith Client() as c: c.fetch('0' * 64)\nprint('prometheus_client' in sys.modules)"
    )
    environment = {**os.environ, "PIXLANE_REDIS_URL": valkey.url}
    assert subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, env=environment).stdout == "False\n"


def test_the_log_is_one_object_a_line_and_names_the_job(client: Client, start_worker: Callable[..., Worker]) -> None:
    worker = start_worker(log_format="json")
    job = client.submit(picture(5))
    job.result(60)
    lines = wait_until(lambda: (all_ := _lines(worker)) and [line for line in all_ if line.get("job") == job.key], "it is told")
    assert [line["outcome"] for line in lines if "outcome" in line] == ["ok"]
    assert all({"time", "level", "logger", "message", "process"} <= set(line) for line in _lines(worker))


def _lines(worker: Worker) -> list[dict[str, Any]]:
    return [json.loads(line) for line in worker.log.read_text().splitlines()]


# Traces ------------------------------------------------------------------------------------------------------------------


class Collector(ThreadingHTTPServer):
    """Takes what OpenTelemetry's exporter sends: OTLP over HTTP, protobuf."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Taking)
        self.spans: list[Any] = []


class _Taking(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        sent = ExportTraceServiceRequest.FromString(self.rfile.read(int(self.headers["Content-Length"])))
        for resource in sent.resource_spans:
            for scope in resource.scope_spans:
                self.server.spans.extend(scope.spans)  # type: ignore[attr-defined]
        self.send_response(200)
        self.end_headers()

    def log_message(self, *_: object) -> None: ...


@pytest.fixture
def collector() -> Iterator[Collector]:
    with Collector() as running:
        thread = threading.Thread(target=running.serve_forever, args=(0.02,))
        thread.start()
        yield running
        running.shutdown()
        thread.join()


def test_a_trace_goes_from_the_producer_through_the_queue_to_the_stages(
    valkey: Valkey, start_worker: Callable[..., Worker], collector: Collector, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", f"http://127.0.0.1:{collector.server_port}")
    monkeypatch.setenv("OTEL_BSP_SCHEDULE_DELAY", "100")
    start_worker(traces=True)
    script = """
import sys
from opentelemetry import trace
from pixlane import Client, tracing
provider = tracing.provide("an agent")
with Client() as client, trace.get_tracer("agent").start_as_current_span("the agent's turn"):
    client.submit(bytes.fromhex(sys.argv[1])).result(60)
provider.shutdown()
"""
    environment = {**os.environ, "PIXLANE_REDIS_URL": valkey.url, "PIXLANE_TRACES": "true"}
    subprocess.run([sys.executable, "-c", script, picture(3).hex()], env=environment, check=True, timeout=60)
    wanted = {
        "the agent's turn",
        "pixlane submit",
        "pixlane run",
        "pixlane wait",
        "pixlane read",
        "pixlane make",
        "pixlane store",
    }
    wait_until(lambda: wanted <= {span.name for span in collector.spans}, "every span has come")
    spans = {span.name: span for span in collector.spans}
    assert len({span.trace_id for span in spans.values()}) == 1
    parent = {name: next((o.name for o in spans.values() if o.span_id == s.parent_span_id), None) for name, s in spans.items()}
    assert parent == {
        "the agent's turn": None,
        "pixlane submit": "the agent's turn",
        "pixlane run": "pixlane submit",
        **dict.fromkeys(("pixlane wait", "pixlane read", "pixlane make", "pixlane store"), "pixlane run"),
    }


def test_a_job_that_is_sent_again_keeps_its_trace(valkey: Valkey, quick: Settings) -> None:
    with Client(valkey.url, settings=quick) as client:
        job = client.submit(picture(4))
        record = json.loads(valkey.redis.hget(KEYS.job(job.key), "job"))
        assert record["trace"] is None  # nobody traces here
    trace = f"00-{'a' * 32}-{'b' * 16}-01"
    assert Job.from_dict({**Job.of("0" * 64, Recipe(), None, trace).to_dict()}).trace == trace


# pixlane stats -----------------------------------------------------------------------------------------------------------


def test_stats_say_what_waits_who_works_and_what_came_of_it(
    client: Client, valkey: Valkey, quick: Settings, start_worker: Callable[..., Worker]
) -> None:
    observer = Observer(Servers.of(replace(quick, redis_url=valkey.url)), quick)
    for number in range(3):
        client.submit(picture(number), queue="batch")
    before = observer.look()
    assert [(each.queue, each.depth) for each in before.waiting] == [("interactive", 0), ("batch", 3)]
    assert (before.open_jobs, before.workers, before.totals) == (3, (), {})
    worker = start_worker()
    wait_until(lambda: observer.look().totals == {"ok": 3}, "the runs are counted")
    now = observer.look()
    assert now.open_jobs == 0
    assert len(now.workers) == 1
    assert rates(before, now)["ok"] == pytest.approx(3 / (now.at - before.at))
    observer.close()
    assert worker.process.poll() is None


def test_the_command_prints_one_object(client: Client, valkey: Valkey) -> None:
    client.submit(picture(1))
    done = subprocess.run(
        [sys.executable, "-m", "pixlane", "stats", "--redis", valkey.url, "--json"], capture_output=True, text=True, check=True
    )
    told = json.loads(done.stdout)
    assert told["queues"]["interactive"]["depth"] == 1
    assert told["queues"]["interactive"]["age_s"] >= 0
    plain = subprocess.run(
        [sys.executable, "-m", "pixlane", "stats", "--redis", valkey.url], capture_output=True, text=True, check=True
    )
    assert "interactive  1 waiting, the oldest for" in plain.stdout


def test_on_a_terminal_it_is_a_live_view_that_bears_an_outage_and_ends_with_ctrl_c(client: Client, valkey: Valkey) -> None:
    client.submit(picture(1))
    pid, terminal = pty.fork()
    if pid == 0:
        os.environ |= {"COLUMNS": "100", "LINES": "40", "TERM": "xterm-256color"}
        command = [sys.executable, "-m", "pixlane", "stats", "--redis", valkey.url, "--every", "0.2"]
        os.execv(sys.executable, command)
    shown = b""

    def shows(words: bytes) -> bool:
        nonlocal shown
        shown += os.read(terminal, 65536)
        return words in shown

    try:
        wait_until(lambda: shows(b"interactive"), "the queues are shown")
        valkey.kill()
        wait_until(lambda: shows(b"no such socket") or b"refuses" in shown, "the outage is shown")
        valkey.start()
        os.kill(pid, signal.SIGINT)
        end = lambda: os.waitpid(pid, os.WNOHANG)[0] and True  # noqa: E731
        wait_until(end, "it ends")
    except BaseException:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        raise
    finally:
        os.close(terminal)


def test_a_message_of_a_stranger_is_refused_told_and_counted_and_the_worker_goes_on(
    client: Client, valkey: Valkey, start_worker: Callable[..., Worker]
) -> None:
    port = a_free_port()
    worker = start_worker(metrics_port=port)
    keys = set(valkey.redis.keys())
    job = Job.of("0" * 64, Recipe())
    envelope = json.loads(push(KEYS, [Message(job, "interactive", 1)])[2])
    body = json.loads(envelope["body"])
    body[1]["job"] |= {"sha256": "somebody:else"}
    valkey.redis.lpush(KEYS.waiting("interactive"), json.dumps({**envelope, "body": json.dumps(body)}))
    wait_until(lambda: scraped(port)["pixlane_refused_messages_total",] == 1, "it is counted")
    assert "a message was refused: no record of a job: sha256 is not of its form" in worker.log.read_text()
    assert client.submit(picture(1)).result(60).mime == "image/png"
    assert not [key for key in set(valkey.redis.keys()) - keys if b"somebody" in key]


class Shots(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200)
        self.end_headers()
        self.wfile.write(picture(99))

    def log_message(self, *_: object) -> None: ...


def test_a_url_is_fetched_by_the_client_and_its_bytes_go_to_the_worker(
    valkey: Valkey, quick: Settings, start_worker: Callable[..., Worker]
) -> None:
    start_worker()
    following = replace(quick, url_sources=True, url_allowed_networks="127.0.0.1")
    with ThreadingHTTPServer(("127.0.0.1", 0), Shots) as web:
        thread = threading.Thread(target=web.serve_forever, args=(0.02,))
        thread.start()
        url = f"http://127.0.0.1:{web.server_port}/shots/a.jpg?token=1"
        try:
            with Client(valkey.url, settings=following) as opened:
                rendition = opened.submit(url).result(60)
                ((given, same),) = opened.map([url])
            with Client(valkey.url, settings=quick) as closed, pytest.raises(PixlaneError, match="PIXLANE_URL_SOURCES"):
                closed.submit(url)
            again = asyncio.run(_by_asyncio(valkey.url, following, url))
        finally:
            web.shutdown()
            thread.join()
    assert given == url
    assert rendition.source.sha256 == same.source.sha256 == again.source.sha256 == hashlib.sha256(picture(99)).hexdigest()
    assert "declared_type_wrong" in {note.code for note in rendition.notes}  # the URL said .jpg


async def _by_asyncio(url: str, knobs: Settings, source: str) -> Any:
    async with AsyncClient(url, settings=knobs) as opened:
        return await (await opened.submit(source)).result(60)
