"""Text recognition with RapidOCR's small models out of its wheel: where text stands, and what it says.

Text is looked for in a reduced picture and read in the full one. What costs is width: about 0.1 ms of a core for each px of a
line that is 48 px high, whatever the batch, and about 0.4 s of a core for each million px that are searched. Measured on
screenshots with `python -m benchmarks eye FOLDER`.
"""

from __future__ import annotations

import math
import os
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any, Final

from pixlane.errors import DeadlineExceeded, EngineMissing
from pixlane.vision.adapter import Deadline

if TYPE_CHECKING:
    import numpy

    Pixels = numpy.ndarray[Any, numpy.dtype[numpy.uint8]]

PACKAGES: Final = ("rapidocr", "onnxruntime")
MODELS: Final = {"Det": "PP-OCRv6_det_small.onnx", "Rec": "PP-OCRv6_rec_small.onnx"}

# Where text is looked for, px of the reduced picture. 2,000 instead of 1,280 found no more words and took twice as long.
SEARCH_LONG_PX: Final = 1280
SEARCH_SHORT_PX: Final = 720
SEARCH_WIDTH_PX: Final = 4096
BAND_PX: Final = 1600  # of a long page is searched at once
BAND_OVERLAP_PX: Final = 128  # text that is higher may be cut
BORDER_PX: Final = 24  # around the picture: text that touches its edge is not found

MAX_PIECES: Final = 3000
MIN_CONFIDENCE: Final = 0.5
MIN_ALONE_CONFIDENCE: Final = 0.9  # of a single character: most of what is less sure is an icon
MIN_PIECE_PX: Final = 3

LINE_PX: Final = 48  # height at which the model reads
BATCH: Final = 6  # pieces of like width that are read together
PIECES_PER_CHECK: Final = 24  # pieces after which the clock is looked at
MAX_THREADS: Final = 4


@dataclass(frozen=True)
class Piece:
    """Some text in one place: its corners from the top left one on, clockwise as it is read, px. `confidence` 0..1."""

    text: str
    corners: tuple[tuple[float, float], ...]
    confidence: float


@dataclass(frozen=True)
class Read:
    """What was read. `scale`: of the picture in which text was looked for; `faint`: pieces left out as too uncertain."""

    pieces: tuple[Piece, ...]
    scale: float
    faint: int = 0


def engine() -> Engine:
    """That of this process, made at the first call; a fork makes its own. Raises EngineMissing."""
    return _engine(os.getpid())


def route() -> str:
    """The name and version of what reads. Raises EngineMissing."""
    try:
        return f"rapidocr-{version('rapidocr')}"
    except PackageNotFoundError as error:
        raise missing("rapidocr is not installed") from error


def missing(why: str) -> EngineMissing:
    return EngineMissing(f"text recognition on this machine is not there ({why}): pip install 'pixlane[ocr]'", actual=why)


class Engine:
    """Reads one picture at a time, with up to 4 threads."""

    def __init__(self) -> None:
        self._rapid = _load()
        self._lock = threading.Lock()

    def read(self, pixels: Pixels, deadline: Deadline) -> Read:
        """The text in a picture of shape (height, width, 3), blue first. Raises DeadlineExceeded."""
        if not self._lock.acquire(timeout=max(0.0, deadline.left_s)):
            raise _late(deadline)
        try:
            scale = search_scale(pixels.shape[1], pixels.shape[0])
            places = self._search(pixels, scale, deadline)
            read = [piece for piece in self._recognize(pixels, places, deadline) if piece.text.strip()]
        finally:
            self._lock.release()
        sure = tuple(piece for piece in read if piece.confidence >= _least(piece.text))
        return Read(sure, scale, len(read) - len(sure))

    def _search(self, pixels: Pixels, scale: float, deadline: Deadline) -> list[Pixels]:
        """Corners of the places with text, px of the picture."""
        import cv2
        import numpy

        found: list[Pixels] = []
        for top, bottom, own_top, own_bottom in bands(pixels.shape[0], scale):
            _check(deadline)
            band = pixels[top:bottom]
            small = band if scale == 1 else cv2.resize(band, None, fx=scale, fy=scale, interpolation=cv2.INTER_AREA)
            framed = cv2.copyMakeBorder(small, *(BORDER_PX,) * 4, borderType=cv2.BORDER_REPLICATE)
            boxes = self._rapid(framed, use_det=True, use_cls=False, use_rec=False).boxes
            for corners in () if boxes is None else numpy.asarray(boxes, numpy.float32):
                place = (corners - BORDER_PX) * (band.shape[1] / small.shape[1], band.shape[0] / small.shape[0])
                place[:, 1] += top
                if own_top <= place[:, 1].mean() < own_bottom and numpy.ptp(place, axis=0).min() >= MIN_PIECE_PX:
                    found.append(place.astype(numpy.float32))
        return found

    def _recognize(self, pixels: Pixels, places: list[Pixels], deadline: Deadline) -> Iterator[Piece]:
        pieces = sorted(zip(self._rapid.crop_text_regions(pixels, places), places, strict=True), key=lambda pair: _ratio(pair[0]))
        pieces = [(crop, place) for crop, place in pieces if crop.size]
        for start in range(0, len(pieces), PIECES_PER_CHECK):
            _check(deadline)
            some = pieces[start : start + PIECES_PER_CHECK]
            read = self._rapid.recognize_txt([crop for crop, _ in some])
            for (_, place), text, confidence in zip(some, read.txts, read.scores, strict=True):
                yield Piece(text.strip(), tuple((float(x), float(y)) for x, y in place), round(float(confidence), 3))


def search_scale(width: int, height: int) -> float:
    """How much a picture is reduced before text is looked for in it; at most 1."""
    long, short = max(width, height), min(width, height)
    return min(1.0, max(SEARCH_LONG_PX / long, SEARCH_SHORT_PX / short), SEARCH_WIDTH_PX / width)


def bands(height: int, scale: float) -> Iterator[tuple[int, int, float, float]]:
    """The parts of a long page that are searched one by one: from, to, and the part of that whose text counts; px."""
    own = BAND_PX / scale
    count = max(1, math.ceil(height / own - 0.5))  # a bit more is no reason for one more
    overlap = BAND_OVERLAP_PX / scale / 2
    for number in range(count):
        start, end = height * number / count, height * (number + 1) / count
        first, last = number == 0, number == count - 1
        top, bottom = (0 if first else start - overlap), (height if last else end + overlap)
        yield int(top), math.ceil(bottom), -math.inf if first else start, math.inf if last else end


@lru_cache(maxsize=1)
def _engine(process: int) -> Engine:
    return Engine()


def _load() -> Any:
    """RapidOCR with the models of its wheel, named by path so that nothing is ever downloaded. Raises EngineMissing."""
    try:
        import onnxruntime  # noqa: F401  RapidOCR would say it later and longer
        import rapidocr
    except ImportError as error:
        raise missing(str(error)) from error
    folder = os.path.join(os.path.dirname(rapidocr.__file__), "models")
    paths = {part: os.path.join(folder, name) for part, name in MODELS.items()}
    for path in paths.values():
        if not os.path.isfile(path):
            raise missing(f"this version of rapidocr brings no {os.path.basename(path)}")
    return rapidocr.RapidOCR(
        params={
            "Global.log_level": "critical",
            "Global.use_cls": False,
            "Global.use_preprocess_img": False,
            "Global.use_vertical_padding": False,
            "EngineConfig.onnxruntime.intra_op_num_threads": min(_cores(), MAX_THREADS),
            "EngineConfig.onnxruntime.inter_op_num_threads": 1,
            "Det.model_path": paths["Det"],
            "Det.limit_type": "max",  # it is reduced already
            "Det.limit_side_len": 1_000_000,
            "Det.max_candidates": MAX_PIECES,
            "Rec.model_path": paths["Rec"],
            "Rec.rec_batch_num": BATCH,
            # The usual width of 320 would fill up every short word with nothing, at the price of text.
            "Rec.rec_img_shape": [3, LINE_PX, LINE_PX],
        }
    )


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _least(text: str) -> float:
    return MIN_ALONE_CONFIDENCE if len(text.strip()) == 1 else MIN_CONFIDENCE


def _ratio(crop: Pixels) -> float:
    height, width = crop.shape[:2]
    return float(width / max(1, height))


def _check(deadline: Deadline) -> None:
    if deadline.left_s <= 0:
        raise _late(deadline)


def _late(deadline: Deadline) -> DeadlineExceeded:
    return DeadlineExceeded(f"reading the text took longer than {deadline.seconds:g} s", limit=deadline.seconds)
