"""Memory growth of one picture of 100 megapixels at the default recipe: the peak of a fresh process above what it held before."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import pyvips

from benchmarks import corpus
from benchmarks.tables import table

SIDE_PX = 10_000
PATCH_PX = 2_000
BLOCK_PX = 10

CHILD = """
import json, resource, sys
import pixlane
from pixlane import Recipe
from pixlane.settings import Limits
def held():
    with open('/proc/self/status') as status:
        return next(int(line.split()[1]) for line in status if line.startswith('VmRSS')) * 1024
data = open(sys.argv[1], 'rb').read()
pixlane.normalize(open(sys.argv[2], 'rb').read())
before = held()
open('/proc/self/clear_refs', 'w').write('5')  # the peak starts again from here
rendition = pixlane.normalize(data, Recipe(on_miss='smallest'), limits=Limits(soft_timeout_s=300))
with open('/proc/self/status') as status:
    peak = next(int(line.split()[1]) for line in status if line.startswith('VmHWM')) * 1024
print(json.dumps({"growth": peak - before, "ms": rendition.elapsed_ms, "size": [rendition.width, rendition.height]}))
"""

GOALS_MB = {"png": 150, "jpeg": 150, "webp": 150, "tiff strips": 200, "tiff tiles": 200}
"""The bounds that were set; formats without one pay a price per pixel that is checked against the limit before decoding."""

SAVED: list[tuple[str, str, dict[str, Any]]] = [
    ("png", ".png", {"compression": 1}),
    ("png rgba", ".png", {"compression": 1}),
    ("png interlaced", ".png", {"compression": 1, "interlace": True}),
    ("jpeg", ".jpg", {"Q": 85}),
    ("jpeg progressive", ".jpg", {"Q": 85, "interlace": True}),
    ("webp", ".webp", {"Q": 75, "effort": 0}),
    ("tiff strips", ".tif", {"compression": "lzw"}),
    ("tiff tiles", ".tif", {"compression": "lzw", "tile": True}),
]


def run() -> dict[str, Any]:
    """Bytes of growth by kind of file; Linux only, where the kernel tells the peak."""
    # Blocks of one colour, so that every file stays inside the limit for sources.
    patch = pyvips.Image.new_from_array(corpus.noise(PATCH_PX // BLOCK_PX, PATCH_PX // BLOCK_PX, 1)).zoom(BLOCK_PX, BLOCK_PX)
    picture = patch.replicate(SIDE_PX // PATCH_PX, SIDE_PX // PATCH_PX).copy(interpretation="srgb")
    found: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as folder:
        small = Path(folder) / "small.png"
        patch.copy(interpretation="srgb").resize(0.2).pngsave(str(small))
        for kind, suffix, options in SAVED:
            path = Path(folder) / f"large{suffix}"
            (picture.bandjoin(255) if "rgba" in kind else picture).write_to_file(str(path), **options)
            done = subprocess.run([sys.executable, "-c", CHILD, str(path), str(small)], capture_output=True, text=True)
            said = done.stderr.strip().splitlines()
            found[kind] = {"bytes": path.stat().st_size}
            found[kind] |= json.loads(done.stdout) if done.returncode == 0 else {"error": said[-1] if said else done.returncode}
    return {"pixels": SIDE_PX**2, "kinds": found}


def report(result: dict[str, Any]) -> str:
    rows = []
    for kind, one in result["kinds"].items():
        goal = f"{GOALS_MB[kind]} MB" if kind in GOALS_MB else ""
        grown = "" if "error" in one else f"{one['growth'] / 1e6:.0f} MB"
        rows.append(
            [
                kind,
                f"{one['bytes'] / 1e6:.0f} MB",
                grown,
                goal,
                "" if "error" in one else f"{one['ms']:.0f} ms",
                str(one.get("error", "")),
            ]
        )
    return table([f"{result['pixels'] // 1_000_000} MP", "source", "growth", "at most", "took", ""], rows) + "\n"
