"""What the headers of formats say and Pillow's plugins do not tell: bits a channel, what a fourth channel is, a profile.

Sources: Truevision TGA 2.0; Adobe Photoshop file format; BITMAPV5HEADER of Windows; ISO/IEC 15444-1 (JPEG 2000); Netpbm; SGI.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Iterator

from pixlane.probe import isobmff, tiff

TGA_GREY, TGA_ALPHA_BITS = (3, 11), 0b1111
BMP_V5 = 124  # bytes of the header that can name a profile
EMBEDDED = b"DEBM"  # LCS 'MBED', little-endian
SIZ_MARKER = b"\xff\x4f\xff\x51"
SIZ_COUNT, SIZ_COMPONENTS = 40, 42  # bytes from the start of the code stream to the number of components, and to the first
COD_MARKER, COD_TRANSFORM = b"\xff\x52", 13  # bytes from there to the transform: 0 with loss, 1 without
PROFILE_METHODS = (2, 3)  # of a colour box: restricted, any
SYCC = 18  # enumerated colour space
_PNM_WORD = re.compile(rb"(?:\s|#[^\n]*\n)*(\d+)")


def bits(name: str, data: bytes, tags: tiff.Tags) -> int:
    """Bits of a channel as stored, `tags` being those of a TIFF; 8 where the mode of the picture says all there is to say."""
    if name == "pnm" and data[1:2] in b"2356":
        return 16 if _largest_of_pnm(data) > 255 else 8
    if name == "sgi":
        return 8 * max(1, data[3])
    if name == "jp2":
        return max(precisions(data), default=8)
    if name == "tiff":
        return max(tiff.numbers(tags, tiff.BITS), default=8)
    return 8


def has_alpha(name: str, data: bytes) -> bool:
    """Whether the last of four channels, or of two, is transparency.

    A TGA says how many bits of a pixel are; about the one bit of 16 programs disagree, so it is passed over. In a PSD with layers
    the composite has transparency where their number is negative; else a further channel is a selection that was saved.
    """
    if name == "tga" and len(data) > 17:
        grey = data[2] in TGA_GREY
        return data[17] & TGA_ALPHA_BITS > 0 and (grey or data[16] != 16)
    return name != "psd" or _psd_layers(data) <= 0


def profile(name: str, data: bytes) -> bytes | None:
    """The ICC profile of a BMP or JPEG 2000."""
    if name == "bmp" and data[14:18] == BMP_V5.to_bytes(4, "little") and data[70:74] == EMBEDDED:
        start, size = struct.unpack_from("<II", data, 14 + 112)
        return data[14 + start : 14 + start + size] or None
    if name == "jp2":
        return next((content[3:] for content in _colours(data) if content[:1] and content[0] in PROFILE_METHODS), None)
    return None


def precisions(data: bytes) -> list[int]:
    """Bits of each component of a JPEG 2000."""
    at = data.find(SIZ_MARKER)
    if at < 0 or at + SIZ_COMPONENTS + 2 > len(data):
        return []
    (count,) = struct.unpack_from(">H", data, at + SIZ_COUNT)
    return [(size & 0x7F) + 1 for size in data[at + SIZ_COMPONENTS :][: 3 * min(count, 256) : 3]]


def is_sycc(data: bytes) -> bool:
    """Whether a JPEG 2000 says that its colours are luma and chroma."""
    return any(content[:1] == b"\1" and content[3:7] == SYCC.to_bytes(4, "big") for content in _colours(data))


def of_8_bits(data: bytes) -> bytes:
    """A lossy JPEG 2000 in colour, said to have 8 bits a channel, to which the codec then scales; another one as it is.

    Pillow rounds more than 8 bits up beyond 255, which becomes 0.
    """
    coding = data.find(COD_MARKER)
    lossy = 0 <= coding < len(data) - COD_TRANSFORM and data[coding + COD_TRANSFORM] == 0
    return _said_to_have(data, lambda bits: min(bits, 8)) if lossy and len(precisions(data)) > 1 else data


def of_one_bit_more(data: bytes) -> bytes:
    """A lossless JPEG 2000, said to have one bit more a channel: its numbers move up by half of their range."""
    return _said_to_have(data, lambda bits: bits + 1)


def _said_to_have(data: bytes, change: Callable[[int], int]) -> bytes:
    at, changed = data.find(SIZ_MARKER) + SIZ_COMPONENTS, bytearray(data)
    for index, bits in enumerate(precisions(data)):
        changed[at + 3 * index] = changed[at + 3 * index] & 0x80 | change(bits) - 1
    return bytes(changed)


def _colours(data: bytes) -> Iterator[bytes]:
    """The content of every colour box."""
    for kind, start, end in isobmff.boxes(data):
        if kind == b"jp2h":
            for inner, at, after in isobmff.boxes(data, start, min(end, len(data))):
                if inner == b"colr":
                    yield data[at:after]


def _largest_of_pnm(data: bytes) -> int:
    at, value = 2, 0
    for _ in range(3):  # width, height, the largest number
        found = _PNM_WORD.match(data, at)
        if found is None:
            return 0
        at, value = found.end(), int(found[1])
    return value


def _psd_layers(data: bytes) -> int:
    """The number of layers as stored; 0 where there is no section of them."""
    try:
        at = 26
        for _ in range(2):  # colour data, image resources
            at += 4 + int(struct.unpack_from(">I", data, at)[0])
        section, layers, count = struct.unpack_from(">IIh", data, at)
    except struct.error:
        return 0
    return int(count) if section > 4 and layers >= 2 else 0
