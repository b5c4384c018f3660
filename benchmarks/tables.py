"""Plain text tables: the first column to the left, the others to the right."""

from __future__ import annotations

from collections.abc import Sequence


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    widths = [max(len(row[column]) for row in (head, *rows)) for column in range(len(head))]
    lines = [head, ["-" * width for width in widths], *rows]
    return "\n".join("  ".join(_aligned(line, widths)).rstrip() for line in lines)


def _aligned(row: Sequence[str], widths: Sequence[int]) -> list[str]:
    return [
        cell.ljust(width) if not place else cell.rjust(width) for place, (cell, width) in enumerate(zip(row, widths, strict=True))
    ]
