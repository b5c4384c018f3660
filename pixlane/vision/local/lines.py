"""From pieces of text to lines in the order in which a person reads: columns of prose one after the other, tables row by row."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from pixlane.vision.findings import Box, Text
from pixlane.vision.local.engine import Piece

MAX_SKEW = math.radians(25)  # a page that lies askew is ordered as if it lay straight; text that stands upright is not a skew
SAME_ROW = 0.5  # heights between the middles of two pieces of one row, at most
WORD_GAP = 0.7  # heights between two pieces of one line, at most
COLUMN_GAP = 1.5  # heights between two columns, at least
BLOCK_GAP = 0.8  # heights between two blocks, at least
MIN_COLUMN_LINES = 3
PROSE_WIDTH = 10.0  # heights that the lines of prose are wide
ALIGNED = 0.7  # of the lines have one beside them: a table
ALIGNED_OFF = 0.3  # heights that those may be off by
MAX_DEPTH = 24


@dataclass(frozen=True)
class Span:
    """A line or a part of one, and where it stands on the straightened page, px."""

    text: str
    left: float
    top: float
    right: float
    bottom: float
    confidence: float
    corners: tuple[tuple[float, float], ...]

    @property
    def height(self) -> float:
        return max(1.0, self.bottom - self.top)

    @property
    def middle(self) -> float:
        return (self.top + self.bottom) / 2


def lines(pieces: Sequence[Piece]) -> tuple[Text, ...]:
    """The lines; a line's box is that of its pieces, its confidence their mean, by length."""
    angle = _skew(pieces)
    spans = [_straightened(piece, angle) for piece in pieces]
    ordered = _ordered([_joined(line) for row in _rows(spans) for line in _split(row)], 0)
    return tuple(Text(line.text, _box(line.corners), line.confidence) for line in ordered)


def _skew(pieces: Sequence[Piece]) -> float:
    """The usual angle of the text, radians; that of longer pieces counts for more."""
    angles = []
    for piece in pieces:
        (left, top), (right, beside) = piece.corners[:2]
        angle = math.atan2(beside - top, right - left)
        if abs(angle) <= MAX_SKEW:
            angles += [angle] * len(piece.text)
    return statistics.median(angles) if angles else 0.0


def _straightened(piece: Piece, angle: float) -> Span:
    cosine, sine = math.cos(-angle), math.sin(-angle)
    across = [x * cosine - y * sine for x, y in piece.corners]
    down = [x * sine + y * cosine for x, y in piece.corners]
    return Span(piece.text, min(across), min(down), max(across), max(down), piece.confidence, piece.corners)


def _box(corners: Sequence[tuple[float, float]]) -> Box:
    (left, right), (top, bottom) = ((min(side), max(side)) for side in zip(*corners, strict=True))
    return Box(left, top, right - left, bottom - top)


def _rows(spans: Sequence[Span]) -> list[list[Span]]:
    """Spans that stand beside each other, from top to bottom; each row from left to right."""
    rows: list[list[Span]] = []
    for span in sorted(spans, key=lambda one: one.middle):
        row = next((row for row in reversed(rows[-4:]) if _beside(row, span)), None)
        if row is None:
            rows.append([span])
        else:
            row.append(span)
    return [sorted(row, key=lambda one: one.left) for row in rows]


def _beside(row: Sequence[Span], span: Span) -> bool:
    """By the one of the row that is nearest to the left or right, which a crooked row follows; none stands above another."""
    near = min(row, key=lambda one: max(one.left - span.right, span.left - one.right))
    apart = max(near.left - span.right, span.left - near.right)
    return apart > -near.height and abs(near.middle - span.middle) <= SAME_ROW * min(near.height, span.height)


def _split(row: Sequence[Span]) -> list[list[Span]]:
    """A row at its wide gaps."""
    parts = [[row[0]]]
    for piece in row[1:]:
        before = parts[-1][-1]
        if piece.left - before.right <= WORD_GAP * min(before.height, piece.height):
            parts[-1].append(piece)
        else:
            parts.append([piece])
    return parts


def _joined(line: Sequence[Span]) -> Span:
    weights = [len(piece.text) for piece in line]
    confidence = sum(piece.confidence * weight for piece, weight in zip(line, weights, strict=True)) / max(1, sum(weights))
    left, right = min(piece.left for piece in line), max(piece.right for piece in line)
    top, bottom = min(piece.top for piece in line), max(piece.bottom for piece in line)
    corners = tuple(corner for piece in line for corner in piece.corners)
    return Span(" ".join(piece.text for piece in line), left, top, right, bottom, round(confidence, 3), corners)


def _ordered(block: list[Span], depth: int) -> list[Span]:
    """The lines of a block: its columns, else its parts from top to bottom, else its rows."""
    if len(block) > 1 and depth < MAX_DEPTH:
        for cut in (_columns(block), _parts(block)):
            if cut is not None:
                return [line for part in cut for line in _ordered(part, depth + 1)]
    return [line for row in _rows(block) for line in row]


def _columns(block: list[Span]) -> tuple[list[Span], list[Span]] | None:
    """Left and right of the widest corridor that no line crosses, where these are columns and no table."""
    for at, gap in _gaps([(line.left, line.right) for line in block]):
        if gap < COLUMN_GAP * _usual_height(block):
            return None
        left, right = [line for line in block if line.right <= at], [line for line in block if line.right > at]
        if min(len(left), len(right)) < MIN_COLUMN_LINES:
            continue
        if (_prose(left) and _prose(right)) or not _table(left, right):
            return left, right
    return None


def _parts(block: list[Span]) -> tuple[list[Span], list[Span]] | None:
    """Above and below the highest gap."""
    for at, gap in _gaps([(line.top, line.bottom) for line in block])[:1]:
        if gap >= BLOCK_GAP * _usual_height(block):
            return [line for line in block if line.bottom <= at], [line for line in block if line.bottom > at]
    return None


def _gaps(spans: list[tuple[float, float]]) -> list[tuple[float, float]]:
    """Where nothing stands: where such a gap begins and how large it is, the largest first."""
    found, reach = [], min(start for start, _ in spans)
    for start, end in sorted(spans):
        if start > reach:
            found.append((reach, start - reach))
        reach = max(reach, end)
    return sorted(found, key=lambda gap: -gap[1])


def _prose(block: Sequence[Span]) -> bool:
    return statistics.median((line.right - line.left) / line.height for line in block) >= PROSE_WIDTH


def _table(left: Sequence[Span], right: Sequence[Span]) -> bool:
    """Whether the lines of the shorter side have one beside them on the other."""
    few, many = sorted((left, right), key=len)
    off = ALIGNED_OFF * _usual_height(few)
    middles = [line.middle for line in many]
    beside = sum(any(abs(line.middle - middle) <= off for middle in middles) for line in few)
    return beside >= ALIGNED * len(few)


def _usual_height(block: Sequence[Span]) -> float:
    return statistics.median(line.height for line in block)
