"""Shows that a batch streams: its peak memory over folders of 1,000 and of many more files.

    python benchmarks/batch_memory.py [FILES]

Makes the folders (tiny PNGs, each with its own content), runs `pixlane batch` over each with the embedded service, and prints the
peak resident memory of that process (not of the service's) as a table and as a line of JSON.
"""

from __future__ import annotations

import json
import os
import resource
import struct
import subprocess
import sys
import tempfile
import zlib
from pathlib import Path

SMALL_COUNT = 1_000
LARGE_COUNT = 20_000
FILES_PER_FOLDER = 5_000


def main() -> None:
    counts = (SMALL_COUNT, int(sys.argv[1]) if len(sys.argv) > 1 else LARGE_COUNT)
    rows = []
    with tempfile.TemporaryDirectory(prefix="pixlane-memory-") as folder:
        environment = {**os.environ, "PIXLANE_EMBEDDED_DIR": str(Path(folder, "service"))}
        for count in counts:
            made = Path(folder, str(count))
            make(made, count)
            for label, out in (("made", f"{made}-ready"), ("again", f"{made}-ready")):
                rows.append({"files": count, "run": label, **measure(made, out, environment)})
    print("| files | run | peak memory, MB | files/s |\n| --- | --- | --- | --- |")
    for row in rows:
        print(f"| {row['files']:,} | {row['run']} | {row['peak_mb']:.1f} | {row['files_per_s']:.0f} |")
    print(json.dumps({"benchmark": "batch_memory", "rows": rows}))


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
    command = [sys.executable, "-P", "-m", "pixlane", "batch", str(folder), "--out", out, "--json"]
    with tempfile.TemporaryFile() as lines:
        process = subprocess.Popen(command, stdout=lines, env=environment)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        lines.seek(0)
        *_, last = lines
    summary = json.loads(last)["summary"]
    if process.returncode or summary["done"] != summary["files"]:
        raise SystemExit(f"the batch did not do everything: {summary}")
    return {"peak_mb": _peak_bytes(usage) / 1e6, "files_per_s": summary["files"] / summary["seconds"]}


def _peak_bytes(usage: resource.struct_rusage) -> int:
    return usage.ru_maxrss * (1 if sys.platform == "darwin" else 1024)


if __name__ == "__main__":
    main()
