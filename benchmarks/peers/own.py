"""pixlane in this process."""

from __future__ import annotations

from pathlib import Path

import pixlane
from benchmarks.clock import Sample, measure
from benchmarks.task import Outcome, Task


class Pixlane:
    name = "pixlane"
    version = pixlane.__version__

    def run(self, path: Path, task: Task) -> tuple[Sample, Outcome]:
        data = path.read_bytes()
        recipe = task.recipe()

        def call() -> tuple[pixlane.Rendition, str]:
            rendition = pixlane.normalize(data, recipe)
            return rendition, rendition.data_url

        sample, (rendition, _) = measure(call)
        chosen = next(attempt for attempt in rendition.attempts if attempt.chosen)
        return sample, Outcome(
            rendition.width, rendition.height, chosen.encoder, chosen.quality, len(rendition.data), rendition.data
        )

    def close(self) -> None:
        pass
