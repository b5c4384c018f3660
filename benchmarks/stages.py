"""Where the time of one picture goes: the stages of pixlane beside the floor of the same picture, and beside sharp.

The stages are timed inside of a whole `normalize`: `header` (hash, detection, opening), `pixels` (decode, colour, flattening,
turning, the resize), `samples` (encoding strips to foretell what fits), `encode` (candidates that fit), `misses` (candidates that
did not, up to where they were stopped) and `rest` (judging the picture, the data URL, Python). The floor is that of
`benchmarks.limits`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

from benchmarks.clock import Sample, geometric_mean, measure, median
from benchmarks.limits import measure_limits
from benchmarks.peers import Peer
from benchmarks.peers.own import Pixlane
from benchmarks.speed import FLOOR_STAGES
from benchmarks.tables import table
from benchmarks.task import Task
from pixlane.imaging import encode, pipeline
from pixlane.imaging.ladder import _Ladder
from pixlane.imaging.work import Opened, Work

STAGES = ("header", "pixels", "samples", "encode", "misses", "rest")
COLUMNS = (*STAGES, "pixlane", "floor")


def run(paths: Sequence[Path], peers: Sequence[Peer], task: Task, runs: int, clock: str) -> dict[str, Any]:
    """Median milliseconds by file and stage, after one round that is not counted; peers' whole times as well. JSON values."""
    own = Pixlane()
    samples: dict[tuple[Path, str], list[Sample]] = defaultdict(list)
    labels: dict[Path, str] = {}
    for round_ in range(runs + 1):
        for path in paths:
            with _watched() as spent:
                whole, outcome = own.run(path, task)
            limits, _ = measure_limits(path, outcome)
            found = {**spent, "pixlane": whole, "floor": sum((limits[one] for one in FLOOR_STAGES), Sample(0, 0))}
            timed = sum((spent[stage] for stage in STAGES if stage in spent), Sample(0, 0))
            found["rest"] = Sample(whole.wall - timed.wall, whole.cpu - timed.cpu)
            found |= {peer.name: peer.run(path, task)[0] for peer in peers}
            labels[path] = outcome.label()
            if round_:
                for name in (*COLUMNS, *(peer.name for peer in peers)):
                    samples[path, name].append(found.get(name, Sample(0, 0)))
    names = [*COLUMNS, *(peer.name for peer in peers)]
    files = [
        {
            "file": path.name,
            "label": labels[path],
            "ms": {name: round(getattr(median(samples[path, name]), clock), 2) for name in names},
        }
        for path in paths
    ]
    means = {
        f"{name}/floor": geometric_mean(one["ms"][name] / max(one["ms"]["floor"], 1e-3) for one in files)
        for name in ("pixlane", *(peer.name for peer in peers))
    }
    return {"runs": runs, "clock": clock, "files": files, "means": means}


def report(result: dict[str, Any]) -> str:
    """A row a file, and how many floors each takes in the geometric mean."""
    names = list(result["files"][0]["ms"])
    rows = [[one["file"], *(f"{one['ms'][name]:.1f}" for name in names), one["label"]] for one in result["files"]]
    means = "".join(f"  {name:16} {value:.2f}\n" for name, value in result["means"].items() if value)
    shown = table(["file", *names, "result"], rows)
    return f"{shown}\n\n{result['clock']} ms, medians of {result['runs']}; geometric means:\n{means}"


@contextmanager
def _watched() -> Iterator[dict[str, Sample]]:
    """The time that the stages take meanwhile, by stage."""
    spent: dict[str, Sample] = defaultdict(lambda: Sample(0, 0))
    top: list[int] = []  # px of the picture at the ceiling: an encode of much less is a sample

    def timed(stage: str, call: Callable[..., Any]) -> Callable[..., Any]:
        def watched(*args: Any, **options: Any) -> Any:
            sample, result = measure(lambda: call(*args, **options))
            spent[stage] += sample
            return result

        return watched

    def save(picture: Any, operation: str, limit: int | None, **options: Any) -> encode.Outcome:
        sample, result = measure(lambda: plain_save(picture, operation, limit, **options))
        sampled = bool(top) and picture.width * picture.height < top[0] // 2 and limit is None
        fitted = result.done and (limit is None or result.byte_count <= limit)
        spent["samples" if sampled else "encode" if fitted else "misses"] += sample
        return result

    def begin(ladder: _Ladder, work: Work, opened: Opened, *rest: Any) -> None:
        draw = timed("pixels", opened.draw)
        with patch.object(type(opened), "draw", lambda _, *where: draw(*where)):
            plain_begin(ladder, work, opened, *rest)
        top.append(ladder.top.pixels)

    plain_save, plain_begin = encode._save, _Ladder.__init__
    with (
        patch.object(encode, "_save", save),
        patch.object(_Ladder, "__init__", begin),
        patch.object(pipeline, "STEPS", tuple(timed("header", step) for step in pipeline.STEPS)),
    ):
        yield spent
