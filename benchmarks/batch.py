"""Whether a batch streams: its peak memory over a folder of 1,000 files and of many more, and its rate.

The files are tiny PNGs, each with its own content; `pixlane batch` goes over each folder twice, with an embedded service of its
own. What counts is the peak resident memory of that command, not of the service.
"""

from __future__ import annotations

import json
import os
import struct
import subprocess
import sys
import tempfile
import zlib
from pathlib import Path
from typing import Any

from benchmarks.tables import table

SMALL_COUNT = 1_000
FILES_PER_FOLDER = 5_000


def run(large_count: int) -> dict[str, Any]:
    """Peak memory, MB (10^6 bytes), and files per second: for both folders, once made and once again unchanged."""
    rows: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory(prefix="pixlane-bench-") as folder:
        environment = {**os.environ, "PIXLANE_EMBEDDED_DIR": str(Path(folder, "service")), "PIXLANE_REDIS_URL": ""}
        for count in (SMALL_COUNT, large_count):
            made = Path(folder, str(count))
            make(made, count)
            for label in ("made", "again"):
                rows.append({"files": count, "run": label, **measure(made, f"{made}-ready", environment)})
    return {"rows": rows}


def report(result: dict[str, Any]) -> str:
    rows = [[f"{row['files']:,}", row["run"], f"{row['peak_mb']:.1f}", f"{row['files_per_s']:.0f}"] for row in result["rows"]]
    return table(["files", "run", "peak memory, MB", "files/s"], rows) + "\n"


def make(folder: Path, count: int) -> None:
    for number in range(count):
        part = folder / f"{number // FILES_PER_FOLDER:03d}"
        if number % FILES_PER_FOLDER == 0:
            part.mkdir(parents=True)
        (part / f"{number:07d}.png").write_bytes(tiny_png(number))


def tiny_png(number: int) -> bytes:
    """8 x 8 px whose first pixels hold the number: no two are alike."""
    pixels = number.to_bytes(4, "big").ljust(3 * 64, b"\x40")
    rows = b"".join(b"\x00" + pixels[24 * row : 24 * (row + 1)] for row in range(8))
    chunks = ((b"IHDR", struct.pack(">IIBBBBB", 8, 8, 8, 2, 0, 0, 0)), (b"IDAT", zlib.compress(rows)), (b"IEND", b""))
    body = (struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data)) for kind, data in chunks)
    return b"\x89PNG\r\n\x1a\n" + b"".join(body)


def measure(folder: Path, out: str, environment: dict[str, str]) -> dict[str, float]:
    """One run; peak memory of the command in MB (10^6 bytes) and its own rate."""
    command = [sys.executable, "-P", "-m", "pixlane", "batch", str(folder), "--out", out, "--json", "--quiet"]
    with tempfile.TemporaryFile() as lines:
        subprocess.run([sys.executable, "-c", LAUNCHER, *command], stdout=lines, env=environment, check=True)
        lines.seek(0)
        *_, said, peak = lines
    summary = json.loads(said)["summary"]
    if summary["done"] != summary["files"]:
        raise RuntimeError(f"the batch did not do everything: {summary}")
    return {"peak_mb": int(peak) * PEAK_UNIT_BYTES / 1e6, "files_per_s": summary["files"] / summary["seconds"]}


LAUNCHER = """
import os, subprocess, sys
process = subprocess.Popen(sys.argv[1:])
_, status, usage = os.wait4(process.pid, 0)
print(usage.ru_maxrss)
sys.exit(os.waitstatus_to_exitcode(status))
"""
"""A small process between: what a parent holds counts as memory of the process that it starts, and here that would be much."""

PEAK_UNIT_BYTES = 1 if sys.platform == "darwin" else 1024  # of ru_maxrss
