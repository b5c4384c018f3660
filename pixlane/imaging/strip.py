"""Cut the metadata out of a file without touching its pixels: what decoding and colour need is copied, all else is left out.

Sources: JPEG ITU-T T.81 annex B and JFIF 1.02; PNG third edition section 11; WebP RFC 9649; GIF89a.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from pixlane.imaging.anatomy import PNG_LENGTHS

PNG_SIGNATURE = b"\x89PNG\r\n\x1a\n"
PNG_KEPT = frozenset({b"IHDR", b"PLTE", b"IDAT", b"IEND", b"tRNS", b"gAMA", b"cHRM", b"sRGB", b"cICP", b"sBIT"})

JPEG_KEPT = frozenset({0xDB, 0xC4, 0xDD, 0xDA, 0xC0, 0xC1, 0xC2, 0xDC})  # DQT DHT DRI SOS SOF0-2 DNL
JPEG_FRAMES_REFUSED = frozenset({0xC3, *range(0xC5, 0xD0)}) - {0xC8, 0xCC}  # lossless, hierarchical, arithmetic
JFIF_BYTES = 14  # content of a JFIF segment without its thumbnail

WEBP_KEPT = frozenset({b"VP8 ", b"VP8L", b"VP8X", b"ALPH"})
WEBP_FLAGS_KEPT = 0b0001_0000  # alpha; not profile, EXIF, XMP, animation

GIF_GRAPHIC_CONTROL = 0xF9

PNG_DEPTHS = {0: {1, 2, 4, 8, 16}, 2: {8, 16}, 3: {1, 2, 4, 8}, 4: {8, 16}, 6: {8, 16}}  # by colour type
PNG_KEY_BYTES = {0: 2, 2: 6}  # of tRNS, by colour type; with a palette one a colour

_MARKER = re.compile(rb"\xff[^\x00\xff\xd0-\xd7]")


def strip(mime: str, data: bytes) -> bytes | None:
    """The file without metadata and without what follows its end; None where it is not plain enough to be sure."""
    cut = CUTTERS.get(mime)
    if cut is None:
        return None
    try:
        return b"".join(cut(data))
    except (_Unclear, IndexError):
        return None


class _Unclear(Exception):
    """The file has a part that this module does not understand."""


def _png(data: bytes) -> Iterator[bytes]:
    yield _expect(data, 0, PNG_SIGNATURE)
    at, kind, colour, colours = len(PNG_SIGNATURE), b"", -1, 0
    while kind != b"IEND":
        length = int.from_bytes(data[at : at + 4], "big")
        kind, end = data[at + 4 : at + 8], at + 12 + length
        if len(kind) < 4 or end > len(data) or length not in PNG_LENGTHS.get(kind, {length}):
            raise _Unclear
        if kind == b"IHDR":
            colour = data[at + 17]
            _check_png_head(data[at + 16 : at + 21])
        elif kind == b"PLTE":
            colours = length // 3
        elif kind == b"tRNS" and length != PNG_KEY_BYTES.get(colour, length if 0 < length <= colours else -1):
            raise _Unclear
        if kind in PNG_KEPT:
            yield data[at:end]
        elif kind[:1].isupper():
            raise _Unclear  # critical and unknown
        at = end


def _check_png_head(head: bytes) -> None:
    """Depth, colour type, compression, filter and interlace as the specification has them; strict readers insist on it."""
    bits, colour, compression, filtering, interlace = head
    if bits not in PNG_DEPTHS.get(colour, ()) or compression or filtering or interlace > 1:
        raise _Unclear


def _jpeg(data: bytes) -> Iterator[bytes]:
    yield _expect(data, 0, b"\xff\xd8")
    at, marker = 2, 0
    while True:
        while data[at : at + 2] == b"\xff\xff":
            at += 1
        if data[at] != 0xFF:
            raise _Unclear
        marker = data[at + 1]
        if marker == 0xD9:
            yield b"\xff\xd9"
            return
        end = at + 2 + int.from_bytes(data[at + 2 : at + 4], "big")
        if marker < 0xC0 or marker in JPEG_FRAMES_REFUSED or end > len(data) or end < at + 4:
            raise _Unclear
        content = data[at + 4 : end]
        if marker == 0xE0 and content.startswith(b"JFIF\0") and len(content) >= JFIF_BYTES:
            yield b"\xff\xe0" + (JFIF_BYTES + 2).to_bytes(2, "big") + content[: JFIF_BYTES - 2] + b"\0\0"
        elif marker in JPEG_KEPT or (marker == 0xEE and content.startswith(b"Adobe")):
            yield data[at:end]
        at = end
        if marker == 0xDA:  # entropy-coded data runs to the next marker
            found = _MARKER.search(data, at)
            if found is None:
                raise _Unclear
            yield data[at : found.start()]
            at = found.start()


def _webp(data: bytes) -> Iterator[bytes]:
    _expect(data, 0, b"RIFF")
    _expect(data, 8, b"WEBP")
    parts: list[bytes] = []
    at, stop = 12, min(len(data), 8 + int.from_bytes(data[4:8], "little"))
    while at + 8 <= stop:
        kind, length = data[at : at + 4], int.from_bytes(data[at + 4 : at + 8], "little")
        end = at + 8 + length + (length & 1)
        if at + 8 + length > stop or kind in (b"ANIM", b"ANMF"):
            raise _Unclear
        if kind == b"VP8X":
            parts.append(data[at : at + 8] + bytes([data[at + 8] & WEBP_FLAGS_KEPT]) + data[at + 9 : end])
        elif kind in WEBP_KEPT:
            parts.append(data[at:end].ljust(end - at, b"\0"))
        at = end
    if not parts:
        raise _Unclear
    body = b"".join(parts)
    yield b"RIFF" + (len(body) + 4).to_bytes(4, "little") + b"WEBP" + body


def _gif(data: bytes) -> Iterator[bytes]:
    if data[:6] not in (b"GIF87a", b"GIF89a"):
        raise _Unclear
    at = 13 + _colour_table(data[10])
    yield data[:at]
    while data[at] != 0x3B:
        if data[at] == 0x21:
            end = _after_blocks(data, at + 2)
            if data[at + 1] == GIF_GRAPHIC_CONTROL:
                yield data[at:end]
        elif data[at] == 0x2C:
            end = _after_blocks(data, at + 10 + _colour_table(data[at + 9]) + 1)
            yield data[at:end]
        else:
            raise _Unclear
        at = end
    yield b";"


def _colour_table(packed: int) -> int:
    """Bytes of the colour table that a packed field announces."""
    return 3 << (packed & 7) + 1 if packed & 0x80 else 0


def _after_blocks(data: bytes, at: int) -> int:
    """Offset after a row of data sub-blocks and its terminator."""
    while data[at]:
        at += 1 + data[at]
    return at + 1


def _expect(data: bytes, at: int, value: bytes) -> bytes:
    if data[at : at + len(value)] != value:
        raise _Unclear
    return value


CUTTERS: dict[str, Callable[[bytes], Iterator[bytes]]] = {
    "image/png": _png,
    "image/jpeg": _jpeg,
    "image/webp": _webp,
    "image/gif": _gif,
}
