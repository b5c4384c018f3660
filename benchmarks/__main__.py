"""`python -m benchmarks`: measure pixlane beside its peers, print tables, and write JSON where asked."""

from __future__ import annotations

import argparse
import json
import platform
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from benchmarks import corpus
from benchmarks.clock import one_core, one_thread
from benchmarks.peers import Peer
from benchmarks.task import Task

PARTS = ("speed", "queue", "startup", "readability", "memory", "batch", "scale", "eye", "fairness", "stages")
DEFAULT_PARTS = ("speed", "queue", "startup")
MEASURE_PICTURES = {"speed", "queue", "readability", "scale", "eye", "stages"}  # the others make what they need


def main(arguments: Sequence[str] | None = None) -> int:
    options = _parser().parse_args(arguments)
    parts, places = _parts(options)
    one_thread()
    result: dict[str, Any] = {"machine": platform.machine(), "python": platform.python_version()}
    with tempfile.TemporaryDirectory() as folder:
        needed = not MEASURE_PICTURES.isdisjoint(parts)
        paths = [] if not needed else corpus.listed(places) if places else corpus.make(Path(folder), scale=options.scale)
        if needed and not paths:
            print(f"no pictures in {', '.join(map(str, places))}", file=sys.stderr)
            return 2
        for part in parts:
            found, text = RUN[part](paths, options)
            result[part] = found
            print(f"\n{part}\n\n{text}")
    if options.json:
        Path(options.json).write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks",
        description=f"Measure pixlane beside its peers. Without --only and without a part: {', '.join(DEFAULT_PARTS)}.",
        epilog="sharp is measured when it is there: `npm install sharp` in a folder, then --sharp FOLDER or NODE_PATH.",
    )
    parser.add_argument("what", nargs="*", metavar="PART|FOLDER", help=f"one of {', '.join(PARTS)}; then folders or files")
    parser.add_argument("--only", action="append", choices=PARTS, help="a part to run; may be repeated")
    parser.add_argument("--runs", type=int, default=5, help="measurements of everything (default 5)")
    parser.add_argument("--clock", choices=("wall", "cpu"), default="wall", help="the clock of the ratios; cpu on a busy machine")
    parser.add_argument("--peers", default="pillow,sharp", help="who is measured beside pixlane (default pillow,sharp)")
    parser.add_argument("--sharp", type=Path, metavar="FOLDER", help="the folder whose node_modules holds sharp")
    parser.add_argument("--scale", type=float, default=1.0, help="shrink the made corpus, for a quick try")
    parser.add_argument("--files", type=int, default=20_000, help="of the large folder of the part batch (default 20000)")
    parser.add_argument("--json", metavar="FILE", help="write everything here as well")
    return parser


def _parts(options: argparse.Namespace) -> tuple[Sequence[str], list[Path]]:
    what = list(options.what)
    named = [what.pop(0)] if what and what[0] in PARTS else []
    return [*named, *(options.only or [])] or DEFAULT_PARTS, [Path(place) for place in what]


def _peers(options: argparse.Namespace, without: str = "") -> list[Peer]:
    from benchmarks.peers.own import Pixlane

    peers: list[Peer] = [Pixlane()]
    wanted = set(options.peers.split(",")) - {without}
    if "pillow" in wanted:
        from benchmarks.peers.pillow import Pillow

        peers.append(Pillow())
    if "sharp" in wanted:
        from benchmarks.peers.sharp import Sharp, SharpMissing

        try:
            peers.append(Sharp(options.sharp))
        except SharpMissing as missing:
            print(f"without sharp: {missing}", file=sys.stderr)
    return peers


def _with_peers(peers: list[Peer], call: Callable[[list[Peer]], dict[str, Any]]) -> dict[str, Any]:
    try:
        return call(peers)
    finally:
        for peer in peers:
            peer.close()


def _speed(paths: list[Path], options: argparse.Namespace) -> tuple[dict[str, Any], str]:
    import pyvips

    from benchmarks import speed

    pyvips.cache_set_max(0)  # the same source comes again and again: what counts is the work
    with one_core() as core:
        result = _with_peers(_peers(options), lambda peers: speed.run(paths, peers, Task(), options.runs, options.clock))
    return {"core": core, **result}, speed.report(result)


def _stages(paths: list[Path], options: argparse.Namespace) -> tuple[dict[str, Any], str]:
    import pyvips

    from benchmarks import stages

    pyvips.cache_set_max(0)
    others = [peer for peer in _peers(options, without="pillow") if peer.name != "pixlane"]
    with one_core() as core:
        result = _with_peers(others, lambda peers: stages.run(paths, peers, Task(), options.runs, options.clock))
    return {"core": core, **result}, stages.report(result)


def _readability(paths: list[Path], options: argparse.Namespace) -> tuple[dict[str, Any], str]:
    from benchmarks import readability

    # Pillow walks the same ladder as sharp: only the time differs.
    result = _with_peers(_peers(options, without="pillow"), lambda peers: readability.run(paths, peers, Task()))
    return result, readability.report(result)


def _startup(paths: list[Path], options: argparse.Namespace) -> tuple[dict[str, Any], str]:
    from benchmarks import startup

    result = startup.run(options.runs)
    return result, startup.report(result)


def _queue(paths: list[Path], options: argparse.Namespace) -> tuple[dict[str, Any], str]:
    from benchmarks import queue

    result = queue.run(paths, options.runs)
    return result, queue.report(result)


def _memory(paths: list[Path], options: argparse.Namespace) -> tuple[dict[str, Any], str]:
    from benchmarks import memory

    result = memory.run()
    return result, memory.report(result)


def _batch(paths: list[Path], options: argparse.Namespace) -> tuple[dict[str, Any], str]:
    from benchmarks import batch

    result = batch.run(options.files)
    return result, batch.report(result)


def _scale(paths: list[Path], options: argparse.Namespace) -> tuple[dict[str, Any], str]:
    from benchmarks import scale

    result = scale.run(paths, options.runs)
    return result, scale.report(result)


def _eye(paths: list[Path], options: argparse.Namespace) -> tuple[dict[str, Any], str]:
    from benchmarks import eye

    result = eye.run(paths)
    return result, eye.report(result)


def _fairness(paths: list[Path], options: argparse.Namespace) -> tuple[dict[str, Any], str]:
    from benchmarks import fairness

    result = fairness.run()
    return result, fairness.report(result)


RUN: dict[str, Callable[[list[Path], argparse.Namespace], tuple[dict[str, Any], str]]] = {
    "speed": _speed,
    "stages": _stages,
    "queue": _queue,
    "startup": _startup,
    "readability": _readability,
    "memory": _memory,
    "batch": _batch,
    "fairness": _fairness,
    "scale": _scale,
    "eye": _eye,
}

if __name__ == "__main__":
    raise SystemExit(main())
