"""Readability: how many words of a screenshot OCR still reads in what a model would get, and how near the pixels are.

    plain      the ladder of the articles at the same budget and ceiling: a PNG stays PNG and is halved, others walk the qualities
    sharp      the same ladder as in the speed runs, JPEG at the ceiling
    pixlane    what `normalize` gives
    lossless   the picture at the ceiling without any loss after the resize: the bound that the ceiling sets

Recall counts the words (three characters and more, with confidence, as a multiset) that tesseract reads in the source and again
in the variant, both brought to 1.5, 2 and 3 times the source's size. It reads screen text best there, and one size alone
gives or takes five words in a hundred by chance. SSIM is the mean over 8 x 8 windows of luma at the source's size. A file without
such words counts for SSIM only.
"""

from __future__ import annotations

import io
import shutil
import statistics
import subprocess
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy
from PIL import Image

from benchmarks.peers import Peer
from benchmarks.peers.pillow import load
from benchmarks.tables import table
from benchmarks.task import Outcome, Task, data_url

Array = numpy.ndarray[Any, numpy.dtype[numpy.float64]]

MIN_CONFIDENCE = 60
MIN_LETTERS = 3
OCR_SCALES = (1.5, 2.0, 3.0)
MAX_OCR_PX = 6_000  # a larger scale is left out
SSIM_WINDOW = 8
C1, C2 = (0.01 * 255) ** 2, (0.03 * 255) ** 2  # Wang et al. 2004


def run(paths: Sequence[Path], peers: Sequence[Peer], task: Task) -> dict[str, Any]:
    """Recall and SSIM of every variant of every file. Raises FileNotFoundError without tesseract."""
    if shutil.which("tesseract") is None:
        raise FileNotFoundError("readability is measured with tesseract: apt install tesseract-ocr")
    variants: dict[str, Callable[[Path], Outcome]] = {"plain": lambda path: plain(path.read_bytes(), task)}
    variants |= {peer.name: partial(_outcome, peer, task) for peer in peers}
    variants["lossless"] = lambda path: lossless(path.read_bytes(), task)
    files = []
    for path in paths:
        source = load(path.read_bytes(), Task(ceiling=65_535)).convert("RGB")
        sizes = _ocr_sizes(source.size)
        wanted = words(source, sizes)
        record: dict[str, Any] = {"file": path.name, "words": sum(wanted.values()), "variants": {}}
        for name, make in variants.items():
            outcome = make(path)
            shown = Image.open(io.BytesIO(outcome.data)).convert("RGB")
            read = sum((words(shown, sizes) & wanted).values())
            record["variants"][name] = {
                "recall": round(read / sum(wanted.values()), 4) if wanted else None,
                "ssim": round(ssim(source, shown.resize(source.size, Image.Resampling.LANCZOS)), 4),
                **outcome.to_dict(),
                "label": outcome.label(),
            }
        files.append(record)
    means = {name: _means([(one["words"], one["variants"][name]) for one in files]) for name in variants}
    return {"budget": task.budget, "ceiling": task.ceiling, "files": files, "means": means}


def report(result: dict[str, Any]) -> str:
    names = list(result["means"])
    rows = [
        [one["file"], str(one["words"]), *(_cell(one["variants"][name]) for name in names), one["variants"]["pixlane"]["label"]]
        for one in result["files"]
    ]
    rows.append(["mean", "", *(_cell(result["means"][name]) for name in names), ""])
    rows.append(["of all words", "", *(f"{result['means'][name]['recall_of_all_words']:.3f}" for name in names), ""])
    return table(["file", "words", *(f"{name} recall/ssim" for name in names), "pixlane"], rows) + "\n"


def plain(data: bytes, task: Task) -> Outcome:
    """The ladder of the articles: full size first, a PNG stays PNG, a halving when nothing fits, at most four."""
    source: Image.Image = Image.open(io.BytesIO(data))
    png = source.format == "PNG"
    image = source if png else source.convert("RGB")
    for attempt in range(task.halvings + 1):
        if attempt:
            image = image.resize([max(side // 2, task.floor) for side in image.size], Image.Resampling.LANCZOS)
        for quality in [None] if png else task.qualities:
            out = io.BytesIO()
            image.save(out, "PNG" if png else "JPEG", **({} if quality is None else {"quality": quality}))
            encoded = out.getvalue()
            fits = len(data_url("image/png" if png else "image/jpeg", encoded)) <= task.budget
            if fits and max(image.size) <= task.ceiling:
                return Outcome(*image.size, "png" if png else "jpeg", quality, len(encoded), encoded)
    return Outcome(*image.size, "png" if png else "jpeg", quality, len(encoded), encoded)


def lossless(data: bytes, task: Task) -> Outcome:
    """The picture at the ceiling as PNG, whatever its bytes; resized without a shortcut."""
    image = load(data, Task(ceiling=65_535)).convert("RGB")
    scale = min(1, task.ceiling / max(image.size))
    image = image.resize([max(1, round(side * scale)) for side in image.size], Image.Resampling.LANCZOS)
    out = io.BytesIO()
    image.save(out, "PNG", compress_level=1)
    return Outcome(*image.size, "png", None, out.tell(), out.getvalue())


def _outcome(peer: Peer, task: Task, path: Path) -> Outcome:
    return peer.run(path, task)[1]


def words(image: Image.Image, sizes: Sequence[tuple[int, int]]) -> Counter[tuple[int, str]]:
    """What tesseract reads with confidence at those sizes: words in lower case, letters and digits only, counted by size."""
    found: Counter[tuple[int, str]] = Counter()
    for size in sizes:
        found.update((size[0], word) for word in _read(image.resize(size, Image.Resampling.LANCZOS)))
    return found


def _read(image: Image.Image) -> Iterator[str]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "page.png"
        image.save(path, compress_level=1)
        command = ["tesseract", str(path), "stdout", "--psm", "11", "tsv"]
        lines = subprocess.run(command, capture_output=True, check=True, text=True).stdout.splitlines()[1:]
    for line in lines:
        *_, confidence, text = line.split("\t")
        word = "".join(letter for letter in text.lower() if letter.isalnum())
        if len(word) >= MIN_LETTERS and float(confidence) >= MIN_CONFIDENCE:
            yield word


def _ocr_sizes(size: tuple[int, int]) -> list[tuple[int, int]]:
    scales = [scale for scale in OCR_SCALES if max(size) * scale <= MAX_OCR_PX] or [1.0]
    return [(round(size[0] * scale), round(size[1] * scale)) for scale in scales]


def ssim(first: Image.Image, second: Image.Image) -> float:
    """Mean structural similarity of luma over sliding 8 x 8 windows."""
    a, b = (numpy.asarray(image.convert("L"), dtype=numpy.float64) for image in (first, second))
    mean_a, mean_b = _windows(a), _windows(b)
    var_a, var_b = _windows(a * a) - mean_a**2, _windows(b * b) - mean_b**2
    covariance = _windows(a * b) - mean_a * mean_b
    top = (2 * mean_a * mean_b + C1) * (2 * covariance + C2)
    return float((top / ((mean_a**2 + mean_b**2 + C1) * (var_a + var_b + C2))).mean())


def _windows(values: Array) -> Array:
    """The mean of every window, by running sums."""
    size = min(SSIM_WINDOW, *values.shape)
    total = numpy.zeros((values.shape[0] + 1, values.shape[1] + 1))
    total[1:, 1:] = values.cumsum(0).cumsum(1)
    sums: Array = total[size:, size:] - total[:-size, size:] - total[size:, :-size] + total[:-size, :-size]
    means: Array = sums / size**2
    return means


def _means(found: Sequence[tuple[int, dict[str, Any]]]) -> dict[str, float]:
    """Over the files; and the recall of all words together, where a file with many of them counts for more."""
    recalls = [(count, one["recall"]) for count, one in found if count]
    total = max(1, sum(count for count, _ in recalls))
    return {
        "recall": round(statistics.mean(recall for _, recall in recalls), 4) if recalls else 0.0,
        "recall_of_all_words": round(sum(count * recall for count, recall in recalls) / total, 4),
        "ssim": round(statistics.mean(one["ssim"] for _, one in found), 4),
    }


def _cell(value: dict[str, Any]) -> str:
    recall = "-" if value["recall"] is None else f"{value['recall']:.3f}"
    return f"{recall} {value['ssim']:.3f}"
