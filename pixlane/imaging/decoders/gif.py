"""Which part of a GIF's canvas is covered at a frame: what no frame covers is clear, as browsers show it, whatever the file says.

libvips makes it black, and fills what a frame clears behind itself with the background colour, where no frame has transparency.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np

    from pixlane.imaging.work import Work

TO_CLEAR, TO_PREVIOUS = 2, 3  # how a frame is disposed of before the next one


def mend_screen(work: Work) -> None:
    """A GIF whose screen has no size gets that of its first frame, as in browsers."""
    data = work.data
    if work.detected.name != "gif" or len(data) < 13 or all(struct.unpack_from("<HH", data, 6)):
        return
    found = next(_frames(data), None)
    if found is not None and all(found[0][2:]):
        left, top, width, height = found[0]
        work.data = data[:6] + struct.pack("<HH", min(left + width, 0xFFFF), min(top + height, 0xFFFF)) + data[10:]
        work.note("repaired", "the canvas has no size, that of the first frame was taken")


def coverage(data: bytes, page: int, width: int, height: int) -> np.ndarray[Any, Any] | None:
    """255 where a frame is seen at that page, height x width; None where that is everywhere."""
    import numpy as np

    canvas = np.zeros((height, width), np.uint8)
    for number, ((left, top, across, down), disposal) in enumerate(_frames(data)):
        before = canvas.copy() if disposal == TO_PREVIOUS and number < page else None
        canvas[top : top + down, left : left + across] = 255
        if number == page:
            break
        if before is not None:
            canvas = before
        elif disposal == TO_CLEAR:
            canvas[top : top + down, left : left + across] = 0
    return None if canvas.all() else canvas


def _frames(data: bytes) -> Iterator[tuple[tuple[int, int, int, int], int]]:
    """Left, top, width and height of each frame, and how it is disposed of."""
    at, disposal = 13 + _colours(data[10]), 0
    while at + 10 <= len(data) and data[at] != 0x3B:
        if data[at] == 0x21:
            if data[at + 1] == 0xF9:
                disposal = data[at + 3] >> 2 & 7
            at = _after_blocks(data, at + 2)
        elif data[at] == 0x2C:
            yield struct.unpack_from("<4H", data, at + 1), disposal
            at, disposal = _after_blocks(data, at + 11 + _colours(data[at + 9])), 0
        else:
            return


def _colours(flags: int) -> int:
    """Bytes of the colour table that a field announces."""
    return 3 << (flags & 7) + 1 if flags & 0x80 else 0


def _after_blocks(data: bytes, at: int) -> int:
    while at < len(data) and data[at]:
        at += 1 + data[at]
    return at + 1
