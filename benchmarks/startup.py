"""The cost of a fresh interpreter: the import, and the first picture. Each figure is a median over new processes."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks import corpus
from benchmarks.tables import table

IMPORT = """
import sys, time
before = set(sys.modules)
began, cpu = time.perf_counter(), time.process_time()
import pixlane
took, cpu = time.perf_counter() - began, time.process_time() - cpu
import json
heavy = sorted({name.partition('.')[0] for name in set(sys.modules) - before} & set(%r))
print(json.dumps({"ms": took * 1000, "cpu_ms": cpu * 1000, "loaded": heavy}))
"""
FIRST = """
import sys, time
data = open(sys.argv[1], 'rb').read()
times = []
for _ in range(2):
    began, cpu = time.perf_counter(), time.process_time()
    import pixlane
    pixlane.normalize(data).data_url
    times.append(((time.perf_counter() - began) * 1000, (time.process_time() - cpu) * 1000))
import json
(first, first_cpu), (again, again_cpu) = times
print(json.dumps({"ms": first, "cpu_ms": first_cpu, "again_ms": again, "again_cpu_ms": again_cpu}))
"""
HEAVY = ("pyvips", "PIL", "numpy", "redis", "celery", "kombu", "pydantic", "typer", "rich", "resvg_py", "cairosvg")
"""Packages that nothing may load before they are needed."""

FIRST_FILE = "screen-editor.png"


def run(runs: int) -> dict[str, Any]:
    """Import and first normalize of a made 1080p PNG, milliseconds, over that many fresh interpreters."""
    with tempfile.TemporaryDirectory() as folder:
        [path] = corpus.make(Path(folder), only={FIRST_FILE})
        imports = [_fresh(IMPORT % (HEAVY,)) for _ in range(runs)]
        firsts = [_fresh(FIRST, str(path)) for _ in range(runs)]
    return {
        "runs": runs,
        "import": _medians(imports, "ms", "cpu_ms"),
        "loaded_by_import": imports[0]["loaded"],
        "first_normalize": _medians(firsts, "ms", "cpu_ms"),
        "next_normalize": _medians(firsts, "again_ms", "again_cpu_ms"),
    }


def report(result: dict[str, Any]) -> str:
    rows = [
        ["import pixlane", *_cells(result["import"])],
        ["import and first normalize of a 1080p PNG", *_cells(result["first_normalize"])],
        ["the next one", *_cells(result["next_normalize"])],
    ]
    loaded = ", ".join(result["loaded_by_import"]) or "none"
    head = ["fresh interpreter", f"wall ms, median of {result['runs']}", "cpu ms"]
    return f"{table(head, rows)}\n\nengines loaded by the import: {loaded}\n"


def _medians(records: list[dict[str, Any]], wall: str, cpu: str) -> dict[str, float]:
    return {
        "wall": round(median(one[wall] for one in records), 1),
        "cpu": round(median(one[cpu] for one in records), 1),
    }


def _cells(times: dict[str, float]) -> list[str]:
    return [f"{times['wall']:.0f}", f"{times['cpu']:.0f}"]


def _fresh(code: str, *arguments: str) -> dict[str, Any]:
    done = subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, check=True, text=True)
    record: dict[str, Any] = json.loads(done.stdout)
    return record
