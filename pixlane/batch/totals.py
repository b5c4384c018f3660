"""What a batch has done so far, in numbers that do not grow with the folder."""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from pixlane.errors import PixlaneError, QueueFull

MAX_FAILURES_SHOWN = 50


@dataclass
class Kind:
    """Finished files of one source type."""

    files: int = 0
    cached: int = 0
    bytes_before: int = 0
    bytes_after: int = 0

    def add(self, record: dict[str, Any]) -> None:
        self.files += 1
        self.cached += record["cached"]
        self.bytes_before += record["bytes_before"]
        self.bytes_after += record["bytes_after"]


@dataclass
class Totals:
    """Written by the batch, read by whoever shows it.

    Attributes:
        listed: files to do, and folders or files that cannot be listed; grows while `listing` is True.
        all: every finished file; `kinds`: the same by source type.
        unchanged: finished files that were left as they are, counted in `all` and there in `cached` too.
        failed: files with an error; `failures` holds the first of them, the manifest all.
        skipped: what is no input, by reason.
        waits_until: until when it waits because the queue is full, by the monotonic clock.
        stopped_by: the signal that ended it early, or 0.
        ended_by: the error that ended it early.
    """

    listed: int = 0
    listing: bool = True
    all: Kind = field(default_factory=Kind)
    kinds: dict[str, Kind] = field(default_factory=dict)
    unchanged: int = 0
    failed: int = 0
    failures: list[dict[str, Any]] = field(default_factory=list)
    failed_codes: Counter[str] = field(default_factory=Counter)
    skipped: Counter[str] = field(default_factory=Counter)
    current: str = ""
    started: float = field(default_factory=time.monotonic)
    seconds: float = 0.0
    waits_until: float = 0.0
    stopped_by: int = 0
    ended_by: PixlaneError | None = None

    @property
    def finished(self) -> int:
        return self.all.files + self.failed

    @property
    def waits_s(self) -> float:
        """How long it still waits because the queue is full, seconds; 0: it does not."""
        return max(0.0, self.waits_until - time.monotonic())

    def wait(self, error: QueueFull) -> None:
        """Takes note that the queue is full."""
        self.waits_until = time.monotonic() + error.retry_after_s

    def add(self, record: dict[str, Any]) -> None:
        """Count one line of the manifest."""
        self.current = record["path"]
        if "error" in record:
            self.failed += 1
            self.failed_codes[record["error"]["code"]] += 1
            if len(self.failures) < MAX_FAILURES_SHOWN:
                self.failures.append(record)
            return
        self.all.add(record)
        self.kinds.setdefault(record["source_mime"], Kind()).add(record)

    def to_dict(self) -> dict[str, Any]:
        return {
            "files": self.listed,
            "done": self.all.files,
            "cached": self.all.cached,
            "unchanged": self.unchanged,
            "failed": self.failed,
            "failed_codes": dict(self.failed_codes),
            "skipped": dict(self.skipped),
            "bytes_before": self.all.bytes_before,
            "bytes_after": self.all.bytes_after,
            "seconds": round(self.seconds, 3),
            "interrupted": bool(self.stopped_by),
            "error": None if self.ended_by is None else self.ended_by.to_dict(),
        }
