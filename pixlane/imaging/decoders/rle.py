"""Run-length BMPs that end, as they may, before every pixel has a colour: rewritten without runs, what is left out as colour 0.

Source: bitmap compression of Windows, BI_RLE8 and BI_RLE4.
"""

from __future__ import annotations

import struct

RLE8, RLE4 = 1, 2
END_OF_LINE, END, MOVE = 0, 1, 2


def plain(data: bytes) -> bytes | None:
    """The BMP with one byte a pixel; None where it has no runs, or they do not come to their end mark."""
    if len(data) < 54:
        return None
    (start,) = struct.unpack_from("<I", data, 10)
    width, height, _, bits, coding = struct.unpack_from("<iiHHI", data, 18)
    if (bits, coding) not in {(8, RLE8), (4, RLE4)} or width <= 0 or height <= 0:
        return None
    line = -(-width // 4) * 4
    rows = bytearray(line * height)
    if not _fill(rows, data, start, width, height, line, bits):
        return None
    head = data[14 : 14 + 16] + bytes(4) + struct.pack("<I", len(rows)) + data[38:start]
    head = head[:14] + struct.pack("<H", 8) + head[16:]
    return data[:14] + head + bytes(rows)


def _fill(rows: bytearray, data: bytes, at: int, width: int, height: int, line: int, bits: int) -> bool:
    """Write the runs into the rows, the lowest first; True where the end mark was reached."""
    x = y = 0
    while at + 2 <= len(data):
        count, value = data[at], data[at + 1]
        at += 2
        if count:
            colours = _unpacked(bytes([value]) * count, bits)[:count]
        elif value == END_OF_LINE:
            x, y = 0, y + 1
            continue
        elif value == END:
            return True
        elif value == MOVE:
            if at + 2 > len(data):
                return False
            x, y, at = x + data[at], y + data[at + 1], at + 2
            continue
        else:
            stored = (value * bits + 7) // 8
            colours = _unpacked(data[at : at + stored], bits)[:value]
            at += stored + stored % 2
        if y < height and x < width:
            rows[y * line + x : y * line + min(x + len(colours), width)] = colours[: width - x]
        x += len(colours)
    return False


def _unpacked(stored: bytes, bits: int) -> bytes:
    return stored if bits == 8 else bytes(half for byte in stored for half in (byte >> 4, byte & 15))
