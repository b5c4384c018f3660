"""BMPs whose bit fields Pillow does not know, rewritten with 8 bits a channel in the usual order."""

from __future__ import annotations

import struct

BITFIELDS = (3, 6)


def plain(data: bytes) -> bytes | None:
    """The BMP with 32 bits a pixel, blue first; None where it has no bit fields or its rows are not all there."""
    import numpy as np

    if len(data) < 70:
        return None
    (start,) = struct.unpack_from("<I", data, 10)
    size, width, height, _, bits, compression = struct.unpack_from("<IiiHHI", data, 14)
    if size < 40 or compression not in BITFIELDS or bits not in (16, 32) or width <= 0 or height == 0:
        return None
    masks = struct.unpack_from("<4I", data, 54)
    has_alpha = (size >= 56 or compression == 6) and masks[3] != 0
    rows, row_bytes = abs(height), (width * bits + 31) // 32 * 4
    if not all(masks[:3]) or start + rows * row_bytes > len(data):
        return None
    stored = np.frombuffer(data, f"<u{bits // 8}", rows * row_bytes * 8 // bits, start).reshape(rows, -1)[:, :width]
    pixels = np.full((rows, width, 4), 255, np.uint8)
    for place, mask in ((2, masks[0]), (1, masks[1]), (0, masks[2]), *(((3, masks[3]),) if has_alpha else ())):
        shift = (mask & -mask).bit_length() - 1
        full = mask >> shift
        values = (stored.astype(np.uint32) & np.uint32(mask)) >> np.uint32(shift)
        pixels[..., place] = np.rint(values * (255 / full)).astype(np.uint8)
    head = struct.pack("<IiiHHIIiiII4I4s48x", 108, width, height, 1, 32, 3, pixels.nbytes, 0, 0, 0, 0, *_USUAL, b"BGRs")
    return b"BM" + struct.pack("<IHHI", 14 + len(head) + pixels.nbytes, 0, 0, 14 + len(head)) + head + pixels.tobytes()


_USUAL = (0xFF0000, 0xFF00, 0xFF, 0xFF000000)
