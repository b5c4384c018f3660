"""Those that do the task: pixlane in process, Pillow plainly, sharp in Node."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

from benchmarks.clock import Sample
from benchmarks.task import Outcome, Task


class Peer(Protocol):
    """A peer. `run` times the task from bytes in memory to the data URL; reading the file is not counted."""

    name: str
    version: str

    def run(self, path: Path, task: Task) -> tuple[Sample, Outcome]: ...

    def close(self) -> None: ...
