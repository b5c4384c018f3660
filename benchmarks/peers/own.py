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

        def call() -> pixlane.Rendition:
            rendition = pixlane.normalize(data, recipe)
            assert rendition.data_url
            return rendition

        sample, rendition = measure(call)
        chosen = chosen_attempt(rendition)
        return sample, Outcome(
            rendition.width, rendition.height, chosen.encoder, chosen.quality, len(rendition.data), rendition.data
        )

    def close(self) -> None:
        pass


def chosen_attempt(rendition: pixlane.Rendition) -> pixlane.rendition.Attempt:
    """The rung that became the result: the last one of its size in pixels and bytes."""
    same = (rendition.width, rendition.height, len(rendition.data))
    return next(one for one in reversed(rendition.attempts) if (one.width, one.height, one.byte_count) == same)
