"""What is told of each run while it goes on: numbers to the meter, spans to the tracer, its key to every line of the log."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from pixlane import logs
from pixlane.metrics import SILENT, Meter
from pixlane.rendition import Rendition
from pixlane.store.ledger import Message
from pixlane.tracing import NoTracer, Tracer


@dataclass
class Seen:
    """How a run ended; `code` of its error."""

    outcome: str = "left"
    code: str = ""


class Watching:
    """What a runner tells, in one process."""

    def __init__(self, meter: Meter = SILENT, tracer: Tracer | None = None) -> None:
        self.meter = meter
        self.tracer = tracer or NoTracer()

    @contextmanager
    def run(self, message: Message, status: str) -> Iterator[Seen]:
        """Around one run. `status`: of its claim; only what was claimed has waited."""
        seen, job, now_ns = Seen(), message.job, time.time_ns()
        with (
            logs.about(job.key, queue=message.queue),
            self.tracer.span("pixlane run", "CONSUMER", parent=job.trace, job=job.key, queue=message.queue) as span,
        ):
            if status == "ok":
                sent_ns = min(message.sent_at * 1_000_000, now_ns)  # the clock of the server, which may be ahead of ours
                self.tracer.past("pixlane wait", sent_ns, now_ns)
                self.meter.add("pixlane_stage_seconds", (now_ns - sent_ns) / 1e9, stage="wait")
            try:
                yield seen
            finally:
                span.set(outcome=seen.outcome, code=seen.code)
                self.meter.add("pixlane_jobs_total", queue=message.queue, outcome=seen.outcome, code=seen.code)
                self.meter.flush()

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Around a stage of a run: read, make or store."""
        began = time.perf_counter()
        with self.tracer.span(f"pixlane {name}"):
            try:
                yield
            finally:
                self.meter.add("pixlane_stage_seconds", time.perf_counter() - began, stage=name)

    def made(self, source_bytes: int, rendition: Rendition) -> None:
        self.meter.add("pixlane_bytes_total", source_bytes, direction="in")
        self.meter.add("pixlane_bytes_total", len(rendition.data_url), direction="out")
        self.meter.add("pixlane_ladder_attempts", len(rendition.attempts))

    def died(self, message: Message, fate: str) -> None:
        """A run that its process cannot tell of any more; `fate`: retry or verdict."""
        outcome = {"retry": "retry", "verdict": "spent"}[fate]
        self.meter.add("pixlane_jobs_total", queue=message.queue, outcome=outcome, code="crashed")
