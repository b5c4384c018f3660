"""Speed of one picture on one core: pixlane, its peers and the two limits, alternating in one run, medians, ratios."""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.clock import Sample, geometric_mean, median
from benchmarks.limits import measure_limits
from benchmarks.peers import Peer
from benchmarks.tables import table
from benchmarks.task import Outcome, Task

OWN = "pixlane"
LIMITS = ("decode", "floor")
FLOOR_STAGES = ("floor_decode", "floor_resize", "floor_encode")


def run(paths: Sequence[Path], peers: Sequence[Peer], task: Task, runs: int, clock: str, limits: bool = True) -> dict[str, Any]:
    """Measure every file `runs` times with every peer, in turn, after one round that is not counted. JSON values.

    Args:
        clock: "wall" or "cpu", the clock of the ratios; both are reported.
        limits: measure the decode alone and the floor as well.
    """
    samples: dict[tuple[Path, str], list[Sample]] = defaultdict(list)
    outcomes: dict[tuple[Path, str], Outcome] = {}
    fastest: dict[Path, dict[str, str]] = {}
    for peer in peers:  # first calls load engines
        peer.run(paths[0], task)
    for round_ in range(runs):
        for path in paths:
            print(f"\rround {round_ + 1} of {runs}: {path.name:40.40}", end="", file=sys.stderr, flush=True)
            order = [*peers[round_ % len(peers) :], *peers[: round_ % len(peers)]]
            for peer in order:
                sample, outcome = peer.run(path, task)
                samples[path, peer.name].append(sample)
                outcomes[path, peer.name] = outcome
            if limits:
                stages, fastest[path] = measure_limits(path, outcomes[path, OWN])
                for stage, sample in stages.items():
                    samples[path, stage].append(sample)
    print(file=sys.stderr)
    files = [_file(path, peers, samples, outcomes, fastest.get(path)) for path in paths]
    counted = [one for one in files if one["outcomes"][OWN]["encoder"] != "untouched"]
    names = [peer.name for peer in peers if peer.name != OWN]
    return {
        "task": {name: getattr(task, name) for name in ("ceiling", "budget", "qualities", "halvings", "floor")},
        "runs": runs,
        "clock": clock,
        "versions": {peer.name: peer.version for peer in peers},
        "files": files,
        "ratios": ratios(counted, names, clock),
    }


def ratios(files: Sequence[dict[str, Any]], peers: Sequence[str], clock: str) -> dict[str, float | None]:
    """Geometric means: how often pixlane's time goes into a peer's, and how often a limit goes into pixlane's.

    Files that pixlane leaves untouched are not in `files`: the peers would not have encoded them either.
    """

    def mean(over: str, under: str) -> float | None:
        pairs = [(one["ms"].get(over), one["ms"].get(under)) for one in files]
        return geometric_mean(a[clock] / max(b[clock], 1e-3) for a, b in pairs if a and b)

    found = {f"{peer}/{OWN}": mean(peer, OWN) for peer in peers}
    found |= {f"{OWN}/{limit}": mean(OWN, limit) for limit in LIMITS}
    return {name: value and round(value, 3) for name, value in found.items()}


def report(result: dict[str, Any]) -> str:
    """The result as text: a row a file, times in ms, and the geometric means."""
    clock = result["clock"]
    names = list(result["versions"])
    columns = [name for name in (*names, *LIMITS) if any(name in one["ms"] for one in result["files"])]
    head = [
        "file",
        *columns,
        *(f"{name}/{OWN}" for name in names if name != OWN),
        *(f"{OWN}/{limit}" for limit in LIMITS),
        "result",
    ]
    rows = []
    for one in result["files"]:
        ms = {name: value[clock] for name, value in one["ms"].items()}
        row = [one["file"], *(f"{ms[name]:.1f}" for name in columns)]
        row += [f"{ms[name] / max(ms[OWN], 1e-3):.2f}" for name in names if name != OWN]
        row += [f"{ms[OWN] / max(ms[limit], 1e-3):.2f}" if limit in ms else "" for limit in LIMITS]
        rows.append([*row, one["outcomes"][OWN]["label"]])
    means = "\n".join(f"  {name:16} {value:.2f}" for name, value in result["ratios"].items() if value)
    versions = ", ".join(f"{name} {version}" for name, version in result["versions"].items())
    return f"{table(head, rows)}\n\n{clock} ms, medians of {result['runs']}; {versions}\ngeometric means:\n{means}\n"


def _file(
    path: Path,
    peers: Sequence[Peer],
    samples: dict[tuple[Path, str], list[Sample]],
    outcomes: dict[tuple[Path, str], Outcome],
    fastest: dict[str, str] | None,
) -> dict[str, Any]:
    ms = {name: median(taken) for (of, name), taken in samples.items() if of == path}
    if all(stage in ms for stage in FLOOR_STAGES):
        ms["floor"] = ms["floor_decode"] + ms["floor_resize"] + ms["floor_encode"]
    return {
        "file": path.name,
        "bytes": path.stat().st_size,
        "ms": {name: {"wall": round(one.wall, 3), "cpu": round(one.cpu, 3)} for name, one in ms.items()},
        "outcomes": {
            peer.name: {**outcomes[path, peer.name].to_dict(), "label": outcomes[path, peer.name].label()} for peer in peers
        },
        "fastest_decoder": fastest,
    }
