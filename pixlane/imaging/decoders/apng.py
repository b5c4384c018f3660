"""Animated PNGs with a picture for viewers that know no animation: it takes no part in the frames (APNG, section "Structure")."""

from __future__ import annotations

import struct
import zlib

from pixlane.imaging.anatomy import PNG_SIGNATURE, png_chunks

NONE, BACKGROUND, PREVIOUS = 0, 1, 2  # how a frame is disposed of
SOURCE = 0  # how it is laid over what is there: not at all


def plain(data: bytes) -> bytes:
    """The file with a first frame that needs nothing from before it; Pillow lets it begin on the hidden picture."""
    body, first, seen_image = bytearray(PNG_SIGNATURE), True, False
    for kind, at, length in png_chunks(data):
        content = data[at : at + length]
        seen_image |= kind == b"IDAT"
        if kind == b"fcTL" and first:
            first = False
            if length != 26 or not seen_image:
                return data
            disposal = BACKGROUND if content[24] == PREVIOUS else content[24]
            content = content[:24] + bytes([disposal, SOURCE])
        check = struct.pack(">I", zlib.crc32(content, zlib.crc32(kind)))
        body += struct.pack(">I", length) + kind + content + check
    return bytes(body)
