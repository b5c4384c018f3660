"""Many mutated inputs through `normalize` in child processes: `python -m tests.fuzz.run --count 20000 [--first N] [--save DIR]`.

Allowed are renditions and typed errors. Whatever else comes is a failure: it is made smaller by leaving changes out, saved as
`<number>-<outcome>.bin`, and comes again with `--first <number> --count 1`. Exit 0 when there is none, 1 otherwise.
"""

from __future__ import annotations

import argparse
import json
import os
import selectors
import subprocess
import sys
import tempfile
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.fuzz.cases import case

ROOT = Path(__file__).parents[2]
PER_CHILD = 2_000  # cases of one process: enough to see it grow
HANG_S = 20.0  # a case that says nothing for so long hangs; its own limit is 5 s
WARM_UP = 300  # cases until every engine is loaded
MAX_GROWTH_BYTES = 64 << 20  # of one process after that
# By itself glibc keeps, for good, what a large picture took: a process that leaks nothing grows by 100 MB and more (by an indexed
# PNG, 900 times with flipped bytes, from 109 to 188 MB; like this from 74 to 76). So what is measured here is what leaks.
GIVE_BACK = {"MALLOC_MMAP_THRESHOLD_": "1048576", "MALLOC_TRIM_THRESHOLD_": "1048576"}


@dataclass
class Report:
    """What came of a run."""

    outcomes: Counter[str] = field(default_factory=Counter)
    failures: list[dict[str, Any]] = field(default_factory=list)
    slowest: dict[str, Any] = field(default_factory=dict)
    peak_bytes: int = 0
    growth_bytes: int = 0
    printed: Counter[str] = field(default_factory=Counter)  # lines on stderr

    @property
    def good(self) -> bool:
        return not self.failures and self.growth_bytes <= MAX_GROWTH_BYTES

    def take(self, record: dict[str, Any]) -> None:
        self.outcomes[record["outcome"]] += 1
        if record["outcome"] in ("untyped", "crash", "hang"):
            self.failures.append(record)
        if record.get("seconds", 0.0) > self.slowest.get("seconds", 0.0):
            self.slowest = record
        self.peak_bytes = max(self.peak_bytes, record.get("rss", 0))


def run(first: int, count: int) -> Report:
    """The cases from `first` on; a child that dies or hangs is replaced and the next case is taken."""
    report, here, end = Report(), first, first + count
    while here < end:
        here = _one_child(report, here, min(PER_CHILD, end - here))
    return report


def _one_child(report: Report, first: int, count: int) -> int:
    """Runs one process; the number of the case that comes next."""
    command = [sys.executable, "-m", "tests.fuzz.child", str(first), str(count)]
    running, warm, seen = first, 0, 0
    with tempfile.TemporaryFile() as printed, selectors.DefaultSelector() as waiting:
        child = subprocess.Popen(
            command, cwd=ROOT, stdout=subprocess.PIPE, stderr=printed, bufsize=0, env={**os.environ, **GIVE_BACK}
        )
        assert child.stdout is not None
        waiting.register(child.stdout, selectors.EVENT_READ)
        rest, hung = b"", False
        while True:
            if not waiting.select(HANG_S):
                hung = True
                child.kill()
            part = os.read(child.stdout.fileno(), 65_536)
            if not part:
                break
            *lines, rest = (rest + part).split(b"\n")
            for line in lines:
                record = json.loads(line)
                if "begins" in record:
                    running = record["begins"]
                    continue
                report.take(record)
                seen += 1
                warm = max(warm, record["rss"]) if seen <= WARM_UP else warm
                report.growth_bytes = max(report.growth_bytes, record["rss"] - warm if seen > WARM_UP else 0)
        child.stdout.close()
        status = child.wait()
        printed.seek(0)
        report.printed.update(printed.read().decode("utf-8", "replace").splitlines())
    if status == 0:
        return first + count
    report.take(
        {"number": running, "seed": case(running).seed, "outcome": "hang" if hung else "crash", "why": f"status {status}"}
    )
    return running + 1


def smaller(number: int, outcome: str) -> bytes:
    """The input of that case with as few changes as still give the outcome."""
    found = case(number)
    kept = list(found.changes)
    for change in found.changes if outcome != "hang" else ():
        without = [other for other in kept if other != change]
        if _again(number, found.data(without)) == outcome:
            kept = without
    return found.data(kept)


def _again(number: int, data: bytes) -> str:
    with tempfile.NamedTemporaryFile() as file:
        file.write(data)
        file.flush()
        command = [sys.executable, "-m", "tests.fuzz.child", "--file", file.name, str(number)]
        try:
            done = subprocess.run(command, cwd=ROOT, capture_output=True, timeout=HANG_S, check=False)
        except subprocess.TimeoutExpired:
            return "hang"
    return str(json.loads(done.stdout)["outcome"]) if done.returncode == 0 else "crash"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--first", type=int, default=0, help="number of the first case")
    parser.add_argument("--count", type=int, default=20_000, help="how many cases")
    parser.add_argument("--save", type=Path, help="folder for the inputs of failures")
    wanted = parser.parse_args()
    report = run(wanted.first, wanted.count)
    for failure in report.failures:
        sys.stdout.write(f"case {failure['number']} ({failure['seed']}): {failure['outcome']}\n{failure.get('why', '')}\n")
        if wanted.save:
            wanted.save.mkdir(parents=True, exist_ok=True)
            file = wanted.save / f"{failure['number']}-{failure['outcome']}.bin"
            file.write_bytes(smaller(failure["number"], failure["outcome"]))
    for outcome, number in report.outcomes.most_common():
        sys.stdout.write(f"{number:8,}  {outcome}\n")
    slowest = report.slowest
    sys.stdout.write(
        f"slowest {slowest.get('seconds', 0):.2f} s (case {slowest.get('number')}, {slowest.get('seed')}); resident at most "
        f"{report.peak_bytes >> 20} MiB, grown by at most {report.growth_bytes >> 20} MiB; "
        f"{report.printed.total()} lines printed\n"
    )
    for line, number in report.printed.most_common(5):
        sys.stdout.write(f"{number:8,}  {line[:150]}\n")
    return 0 if report.good else 1


if __name__ == "__main__":
    raise SystemExit(main())
