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
began = time.perf_counter()
import pixlane
took = time.perf_counter() - began
import json
heavy = sorted({name.partition('.')[0] for name in set(sys.modules) - before} & set(%r))
print(json.dumps({"ms": took * 1000, "loaded": heavy}))
"""
FIRST = """
import sys, time
data = open(sys.argv[1], 'rb').read()
began = time.perf_counter()
import pixlane
pixlane.normalize(data).data_url
first = time.perf_counter() - began
began = time.perf_counter()
pixlane.normalize(data).data_url
again = time.perf_counter() - began
import json
print(json.dumps({"ms": first * 1000, "again_ms": again * 1000}))
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
        "import_ms": round(median(one["ms"] for one in imports), 1),
        "loaded_by_import": imports[0]["loaded"],
        "first_normalize_ms": round(median(one["ms"] for one in firsts), 1),
        "next_normalize_ms": round(median(one["again_ms"] for one in firsts), 1),
    }


def report(result: dict[str, Any]) -> str:
    rows = [
        ["import pixlane", f"{result['import_ms']:.0f} ms"],
        ["import and first normalize of a 1080p PNG", f"{result['first_normalize_ms']:.0f} ms"],
        ["the next one", f"{result['next_normalize_ms']:.0f} ms"],
        ["engines loaded by the import", ", ".join(result["loaded_by_import"]) or "none"],
    ]
    return table(["fresh interpreter", f"median of {result['runs']}"], rows) + "\n"


def _fresh(code: str, *arguments: str) -> dict[str, Any]:
    done = subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, check=True, text=True)
    record: dict[str, Any] = json.loads(done.stdout)
    return record
