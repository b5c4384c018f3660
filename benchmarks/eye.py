"""The local eye: how many of the words that tesseract reads in a source it reads too, and what a picture costs.

The reference is what tesseract reads in the full-size source at 1.5, 2 and 3 times its size: a word counts as often as in the
median of these, since one size alone gives or takes five in a hundred by chance. `recall` wants the word as a word; `run
together` takes one inside of another as well, where a space was not seen. Each picture is read in a process of its own, after
a small picture that loads the models: seconds are those of the reading alone, memory is the peak of the whole process.
"""

from __future__ import annotations

import json
import shutil
import statistics
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from benchmarks.peers.pillow import load
from benchmarks.readability import MIN_LETTERS, _ocr_sizes, words
from benchmarks.tables import table
from benchmarks.task import Task

CHILD = """
import io, json, resource, sys, time
from PIL import Image
from pixlane.vision import view_image
from pixlane.vision.memory import LocalMemory
began = time.perf_counter()
out = io.BytesIO()
Image.new("RGB", (200, 60), "white").save(out, "PNG")
view_image(out.getvalue(), "?", model="local", remembered=LocalMemory())
loaded = time.perf_counter() - began
wall, cpu = time.perf_counter(), time.process_time()
seen = view_image(sys.argv[1], "?", model="local", remembered=LocalMemory(), timeout_s=600)
took = {"wall_s": time.perf_counter() - wall, "cpu_s": time.process_time() - cpu}
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
print(json.dumps({**took, "load_s": loaded, "peak_bytes": peak, "text": [line.text for line in seen.ocr]}))
"""


def run(paths: Sequence[Path]) -> dict[str, Any]:
    """Words, seconds and bytes of every file. Raises FileNotFoundError without tesseract."""
    if shutil.which("tesseract") is None:
        raise FileNotFoundError("the words of a source are read with tesseract: apt install tesseract-ocr")
    files = []
    for path in paths:
        source = load(path.read_bytes(), Task(ceiling=65_535)).convert("RGB")
        wanted = reference(words(source, _ocr_sizes(source.size)))
        done = subprocess.run([sys.executable, "-c", CHILD, str(path)], capture_output=True, text=True, check=True)
        found = json.loads(done.stdout)
        text = found.pop("text")
        files.append({"file": path.name, "width": source.width, "height": source.height, **compared(wanted, text), **found})
    count = sum(one["words"] for one in files)
    read = {name: sum(one[name] for one in files) / max(1, count) for name in ("read", "run_together")}
    return {"files": files, "recall": round(read["read"], 4), "recall_run_together": round(read["run_together"], 4)}


def reference(found: Counter[tuple[int, str]]) -> Counter[str]:
    """Words by the median of their counts over the sizes."""
    sizes = {size for size, _ in found}
    counts = {word: int(statistics.median(found[size, word] for size in sizes)) for _, word in found}
    return Counter({word: count for word, count in counts.items() if count})


def compared(wanted: Counter[str], text: Iterable[str]) -> dict[str, int]:
    text = list(text)
    plain = [_letters(word) for line in text for word in line.split()]
    whole = "".join(map(_letters, text))
    return {
        "words": sum(wanted.values()),
        "read": sum((Counter(word for word in plain if len(word) >= MIN_LETTERS) & wanted).values()),
        "run_together": sum(min(count, whole.count(word)) for word, count in wanted.items()),
        "lines": len(text),
    }


def report(result: dict[str, Any]) -> str:
    rows = [
        [
            one["file"],
            f"{one['width']} x {one['height']}",
            str(one["words"]),
            f"{one['read'] / one['words']:.3f}" if one["words"] else "-",
            f"{one['run_together'] / one['words']:.3f}" if one["words"] else "-",
            str(one["lines"]),
            f"{one['wall_s']:.1f}",
            f"{one['cpu_s']:.1f}",
            f"{one['peak_bytes'] / 1e6:.0f}",
        ]
        for one in result["files"]
    ]
    rows.append(["of all words", "", "", f"{result['recall']:.3f}", f"{result['recall_run_together']:.3f}", "", "", "", ""])
    return table(["file", "px", "words", "recall", "run together", "lines", "wall s", "cpu s", "peak MB"], rows) + "\n"


def _letters(word: str) -> str:
    return "".join(letter for letter in word.lower() if letter.isalnum())
