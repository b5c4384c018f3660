"""ICO and CUR as Pillow reads them rightly: a cursor as an icon, and each entry with the transparency that browsers take."""

from __future__ import annotations

import struct

HEAD_BYTES, ENTRY_BYTES = 6, 16
DIB_BYTES = 40  # the shortest header of a bitmap that an icon holds
ICON = 1


def plain(data: bytes) -> bytes:
    """The icon with the bits of every entry corrected.

    A bitmap of 32 bits has an alpha byte; where that is zero everywhere, the mask behind the bitmap counts instead. Pillow goes
    by what the entry says, and in a cursor the hot spot stands there.
    """
    icon = bytearray(data)
    cursor = icon[2] != ICON
    icon[2] = ICON
    count = min(int.from_bytes(data[4:6], "little"), (len(data) - HEAD_BYTES) // ENTRY_BYTES)
    for at in range(HEAD_BYTES, HEAD_BYTES + ENTRY_BYTES * count, ENTRY_BYTES):
        bits = _transparency_bits(data, *struct.unpack_from("<II", data, at + 8))
        if cursor or bits:
            icon[at + 4 : at + 8] = struct.pack("<HH", 1, bits or 0)
    return bytes(icon)


def _transparency_bits(data: bytes, size: int, start: int) -> int | None:
    """32: the alpha byte counts; 24: the mask does; None: as the bitmap itself says."""
    if start + DIB_BYTES > len(data) or data[start : start + 4] != DIB_BYTES.to_bytes(4, "little"):
        return None
    width, height, _, bits, compression = struct.unpack_from("<iiHHI", data, start + 4)
    if bits != 32 or compression or width <= 0 or height <= 1:
        return None
    pixels = width * (height // 2) * 4
    alpha = data[start + DIB_BYTES + 3 : start + DIB_BYTES + pixels : 4]
    mask = (width + 31) // 32 * 4 * (height // 2)
    return 24 if not any(alpha) and size >= DIB_BYTES + pixels + mask else 32
