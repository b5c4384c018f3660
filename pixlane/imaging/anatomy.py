"""The parts of a file: where the picture ends, what metadata it carries, and what an engine does not tell.

Only headers and lengths are read. A walk never raises: where the parts stop making sense it stops and says so.
"""

from __future__ import annotations

import re
import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field

from pixlane.probe import isobmff

PNG_SIGNATURE = b"\x89PNG\r\n\x1a\n"
PNG_METADATA = {b"eXIf": "EXIF", b"iCCP": "profile", b"tEXt": "text", b"zTXt": "text", b"iTXt": "text", b"tIME": "time"}
PNG_LENGTHS = {b"IHDR": {13}, b"gAMA": {4}, b"cHRM": {32}, b"sRGB": {1}, b"cICP": {4}, b"sBIT": {1, 2, 3, 4}}
WEBP_METADATA = {b"EXIF": "EXIF", b"XMP ": "XMP", b"ICCP": "profile"}


@dataclass
class Anatomy:
    """What the walk over a file found.

    Attributes:
        end: offset after the last part; None: the end was not reached.
        damage: what is wrong around the pixels, for the note `repaired`.
        metadata: kinds that the file carries, in the words of the note.
        frames: pictures that the container counts; None: not said.
        parts: chunks or segments by name, the first of each name.
    """

    end: int | None = None
    damage: list[str] = field(default_factory=list)
    metadata: list[str] = field(default_factory=list)
    frames: int | None = None
    parts: dict[bytes, bytes] = field(default_factory=dict)

    def carries(self, kind: str) -> None:
        if kind not in self.metadata:
            self.metadata.append(kind)

    def trailing_bytes(self, size: int) -> int:
        return size - self.end if self.end is not None else 0


def dissect(name: str, data: bytes) -> Anatomy:
    """The anatomy of a PNG, JPEG, GIF, WebP, AVIF or HEIF; of other formats an empty one that ends where the data ends."""
    walk = {"png": _png, "jpeg": _jpeg, "gif": _gif, "webp": _webp, "avif": _bmff, "heif": _bmff}.get(name)
    return walk(data) if walk else Anatomy(end=len(data))


# PNG ------------------------------------------------------------------------------------------------------------------------


def png_chunks(data: bytes) -> Iterator[tuple[bytes, int, int]]:
    """Type, offset of the content and its length; ends before a chunk that does not end inside the data."""
    at = len(PNG_SIGNATURE)
    while at + 12 <= len(data):
        length = int.from_bytes(data[at : at + 4], "big")
        if at + 12 + length > len(data):
            return
        yield data[at + 4 : at + 8], at + 8, length
        at += 12 + length


def _png(data: bytes) -> Anatomy:
    found, promised, there = Anatomy(), 0, 0
    for kind, at, length in png_chunks(data):
        if kind == b"IDAT":
            found.parts.setdefault(kind, b"")
            continue
        content = data[at : at + length]
        if int.from_bytes(data[at + length : at + length + 4], "big") != zlib.crc32(content, zlib.crc32(kind)):
            found.damage.append(f"wrong check sum of {kind.decode('latin-1')}")
            if kind[:1].islower():
                continue
        if length not in PNG_LENGTHS.get(kind, {length}):
            found.damage.append(f"{kind.decode('latin-1')} of a wrong length")
            continue
        found.parts.setdefault(kind, content)
        if kind in PNG_METADATA:
            xmp = kind == b"iTXt" and content.startswith(b"XML:com.adobe.xmp")
            found.carries("XMP" if xmp else PNG_METADATA[kind])
        if kind == b"acTL" and length >= 8 and b"IDAT" not in found.parts:
            promised = int.from_bytes(content[:4], "big")
        if kind == b"fcTL":
            there += 1
            if b"IDAT" not in found.parts:
                found.parts[b"first fcTL"] = content
        if kind == b"IEND":
            found.end = at + length + 4
            break
    found.frames = promised if there else None  # without frames it is a still picture
    if found.end is None:
        found.damage.append("no IEND")
    return found


# JPEG -----------------------------------------------------------------------------------------------------------------------

_ALONE = {0x01, *range(0xD0, 0xD8)}
_SOS, _EOI, _COM = 0xDA, 0xD9, 0xFE
_END_MARKER = re.compile(b"\xff\xd9")  # searches three times as fast as `bytes.find`
_FRAMES = {*range(0xC0, 0xD0)} - {0xC4, 0xC8, 0xCC}


def jpeg_segments(data: bytes, at: int = 2) -> Iterator[tuple[int, int, int]]:
    """Marker, offset of the content and its length, up to and with the first SOS."""
    while at + 4 <= len(data):
        if data[at] != 0xFF:
            at += 1  # what decoders do with bytes between segments
            continue
        marker = data[at + 1]
        if marker in (0xFF, 0x00):
            at += 1
            continue
        if marker in _ALONE or marker in (0xD8, _EOI):
            at += 2
            continue
        length = int.from_bytes(data[at + 2 : at + 4], "big")
        yield marker, at + 4, length - 2
        if marker == _SOS:
            return
        at += 2 + max(length, 2)


def _jpeg(data: bytes) -> Anatomy:
    found = Anatomy()
    scan = None
    for marker, at, length in jpeg_segments(data):
        content = data[at : at + min(length, 64)]
        if marker in _FRAMES:
            found.parts.setdefault(b"SOF", bytes([marker]) + content)
        elif marker == _COM:
            found.carries("text")
        elif marker == _SOS:
            scan = at + length
        else:
            _jpeg_application(found, marker, content)
    if scan is not None:
        found.parts[b"SOS"] = b""
        found.end = _jpeg_end(data, scan)
    return found


def _jpeg_application(found: Anatomy, marker: int, content: bytes) -> None:
    if marker == 0xE1:
        found.carries("EXIF" if content.startswith(b"Exif\0") else "XMP")
    elif marker == 0xE2 and content.startswith(b"ICC_PROFILE\0"):
        found.carries("profile")
    elif marker == 0xE2 and content.startswith(b"MPF\0"):
        found.parts[b"MPF"] = content
    elif marker == 0xED:
        found.carries("IPTC")
    elif marker == 0xEE and content.startswith(b"Adobe"):
        found.parts[b"Adobe"] = content


def _jpeg_end(data: bytes, scan: int) -> int | None:
    """Offset after the end marker. In entropy-coded data a marker's bytes cannot occur, in a table between scans they can."""
    end = _END_MARKER.search(data, scan)
    at = end.start() if end else -1
    if at < 0 or at == len(data) - 2:
        return at + 2 if at >= 0 else None
    here = scan
    while True:
        here = next_marker(data, here)
        if here < 0:
            return None
        marker = data[here + 1]
        if marker == _EOI:
            return here + 2
        here += 2 + int.from_bytes(data[here + 2 : here + 4], "big")


def next_marker(data: bytes, at: int) -> int:
    """Offset of the next marker that is neither stuffing, fill nor restart; -1: none."""
    while True:
        at = data.find(b"\xff", at)
        if at < 0 or at + 1 >= len(data):
            return -1
        if data[at + 1] not in (0x00, 0xFF) and data[at + 1] not in _ALONE:
            return at
        at += 1 if data[at + 1] == 0xFF else 2


def jpeg_scans(data: bytes) -> Iterator[bytes]:
    """The header of every scan: component count, component and table ids, first and last coefficient, approximation."""
    for marker, at, length in jpeg_segments(data):
        while marker == _SOS:
            yield data[at : at + length]
            at = next_marker(data, at + length)
            while at >= 0 and data[at + 1] not in (_SOS, _EOI):
                at = next_marker(data, at + 2 + int.from_bytes(data[at + 2 : at + 4], "big"))
            if at < 0 or data[at + 1] == _EOI:
                return
            length = int.from_bytes(data[at + 2 : at + 4], "big") - 2
            at += 4


# GIF and WebP ---------------------------------------------------------------------------------------------------------------


def _gif(data: bytes) -> Anatomy:
    found = Anatomy(frames=0)
    if len(data) < 13:
        return found
    at = 13 + (3 << (data[10] & 7) + 1 if data[10] & 0x80 else 0)
    while at < len(data):
        kind = data[at]
        if kind == 0x3B:
            found.end = at + 1
            return found
        if kind == 0x21 and at + 1 < len(data):
            if data[at + 1] == 0xFE:
                found.carries("text")
            elif data[at + 1] == 0xFF and data[at + 3 : at + 14] == b"XMP DataXMP":
                found.carries("XMP")
            at = _gif_blocks(data, at + 2)
        elif kind == 0x2C and at + 10 <= len(data):
            flags = data[at + 9]
            found.parts.setdefault(b"first frame", data[at + 1 : at + 9])
            at = _gif_blocks(data, at + 11 + (3 << (flags & 7) + 1 if flags & 0x80 else 0))
            found.frames = (found.frames or 0) + (at > 0)
        else:
            break
        if at < 0:
            break
    found.damage.append("no trailer")
    return found


def _gif_blocks(data: bytes, at: int) -> int:
    """Offset after a run of sub-blocks; -1: the data ends inside it."""
    size = len(data)
    while at < size:
        length = data[at]
        if not length:
            return at + 1
        at += 1 + length
    return -1


def riff_chunks(data: bytes) -> Iterator[tuple[bytes, int, int]]:
    """Type, offset of the content and its length; ends before a chunk that does not end inside the data."""
    at = 12
    end = min(8 + struct.unpack_from("<I", data, 4)[0], len(data)) if len(data) >= 12 else 0
    while at + 8 <= end:
        (length,) = struct.unpack_from("<I", data, at + 4)
        if at + 8 + length > len(data):
            return
        yield data[at : at + 4], at + 8, length
        at += 8 + length + length % 2


def _webp(data: bytes) -> Anatomy:
    found = Anatomy()
    for kind, at, length in riff_chunks(data):
        found.parts.setdefault(kind, data[at : at + min(length, 64)])
        if kind in WEBP_METADATA:
            found.carries(WEBP_METADATA[kind])
        if kind == b"ANMF":
            found.frames = (found.frames or 0) + 1
    if len(data) >= 12:
        (length,) = struct.unpack_from("<I", data, 4)
        found.end = 8 + length + length % 2 if 8 + length <= len(data) else None
        if found.end is not None:
            found.end = min(found.end, len(data))
    return found


# ISO-BMFF -------------------------------------------------------------------------------------------------------------------

_BOXES = {b"ftyp", b"meta", b"mdat", b"moov", b"moof", b"mfra", b"free", b"skip", b"wide", b"uuid", b"idat", b"pdin", b"styp"}


def _bmff(data: bytes) -> Anatomy:
    """A HEIF or AVIF ends behind its last box of a known kind; a phone puts a film behind it in a box of its own."""
    found = Anatomy(end=len(data))
    for kind, _, end in isobmff.boxes(data):
        if kind not in _BOXES:
            break
        found.end = min(end, len(data))
    return found
