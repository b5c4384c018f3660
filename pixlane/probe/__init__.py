"""Size, orientation, transparency and frames from headers alone: no engine, at most 64 KiB read, seeking where it must."""

from __future__ import annotations

import io
import operator
import struct
from collections.abc import Callable
from dataclasses import dataclass
from typing import BinaryIO

from pixlane import formats
from pixlane.probe import isobmff, tiff

MAX_READ_BYTES = 64 * 1024
MAX_OFFSET = 1 << 62
HEAD_BYTES = 4096  # what the format is told from; the rest of the budget is for seeking
META_BYTES = 40 * 1024  # of the `meta` box of a HEIF or AVIF
TURNED = (5, 6, 7, 8)


@dataclass(frozen=True)
class Probe:
    """What a header says; None: it does not, or it lies beyond what is read.

    Attributes:
        format: what the bytes are.
        width, height: upright, px.
        orientation: the EXIF value that was applied to the size, 1 .. 8.
        alpha: has a channel or colour of transparency.
        frames: frames, pages or pictures; None where counting needs the whole file.
    """

    format: formats.Format
    width: int | None = None
    height: int | None = None
    orientation: int = 1
    alpha: bool | None = None
    frames: int | None = None


def probe(source: bytes | BinaryIO, *, name: str | None = None) -> Probe:
    """What the header of the source says. Never raises on its content; an OSError of the file passes.

    Args:
        source: the bytes, or a binary file that can seek; it is read from its start.
        name: a file name, asked where the bytes do not decide.
    """
    reader = _Reader(io.BytesIO(source) if isinstance(source, (bytes, bytearray, memoryview)) else source)
    found = formats.detect(reader(0, HEAD_BYTES), name=name).format
    read = _READERS.get(found.name)
    if read is None:
        return Probe(found)
    try:
        width, height, orientation, alpha, frames = read(reader)
    except (struct.error, IndexError, ValueError, KeyError, TypeError):  # what is missing, cut off or of another type
        return Probe(found)
    if orientation in TURNED:
        width, height = height, width
    return Probe(found, width, height, orientation, alpha, frames)


class _Reader:
    """Reads at an offset and counts; returns less when the budget is used up."""

    def __init__(self, file: BinaryIO) -> None:
        self.file = file
        self.left = MAX_READ_BYTES

    def __call__(self, at: int, size: int) -> bytes:
        size = min(size, self.left)
        if size <= 0 or not 0 <= at <= MAX_OFFSET:
            return b""
        self.file.seek(at)
        data = self.file.read(size)
        self.left -= len(data)
        return data


Found = tuple[int, int, int, bool | None, int | None]  # width, height as stored, orientation, alpha, frames


def _exif(read: _Reader, at: int) -> int:
    """The orientation in the TIFF structure that begins there."""
    first = next(tiff.directories(read, at), {})
    value = first.get(tiff.ORIENTATION, (1,))[0]
    return value if isinstance(value, int) and 1 <= value <= 8 else 1


def _png(read: _Reader) -> Found:
    kind, width, height, _, colour = struct.unpack(">4sIIBB", read(12, 14))
    if kind != b"IHDR":
        raise ValueError("the first chunk is not IHDR")
    at, orientation, frames, alpha = 33, 1, 1, colour in (4, 6)
    while (head := read(at, 8)) and len(head) == 8:
        length, kind = struct.unpack(">I4s", head)
        if kind in (b"IDAT", b"IEND"):
            break
        if kind == b"tRNS":
            alpha = True
        elif kind == b"acTL":
            frames = struct.unpack(">I", read(at + 8, 4))[0] or 1
        elif kind == b"eXIf":
            orientation = _exif(read, at + 8)
        at += 12 + length
    return width, height, orientation, alpha, frames


_START_OF_FRAME = {*range(0xC0, 0xD0)} - {0xC4, 0xC8, 0xCC}


def _jpeg(read: _Reader) -> Found:
    at, orientation = 2, 1
    while (head := read(at, 10)) and len(head) >= 4:
        if head[0] != 0xFF or head[1] in (0x00, 0xFF):
            at += 1
            continue
        marker, length = head[1], int.from_bytes(head[2:4], "big")
        if marker in _START_OF_FRAME:
            height, width = struct.unpack(">HH", read(at + 5, 4))
            return width, height, orientation, False, 1
        if marker == 0xE1 and head[4:10] == b"Exif\0\0" and orientation == 1:
            orientation = _exif(read, at + 10)
        at += 2 + (length if marker not in range(0xD0, 0xDA) else 0)
    raise ValueError("no frame header")


def _gif(read: _Reader) -> Found:
    width, height = struct.unpack("<HH", read(6, 4))
    return width, height, 1, None, None


def _webp(read: _Reader) -> Found:
    at, size, orientation, alpha, frames = 12, (0, 0), 1, False, 1
    while (head := read(at, 18)) and len(head) >= 18:
        kind, length = struct.unpack("<4sI", head[:8])
        body = head[8:]
        if kind == b"VP8X":
            alpha, animated = bool(body[0] & 0x10), bool(body[0] & 0x02)
            size = 1 + int.from_bytes(body[4:7], "little"), 1 + int.from_bytes(body[7:10], "little")
            frames = 0 if animated else 1
            if not body[0] & 0x08:
                break
        elif kind == b"VP8L" and size == (0, 0):
            bits = int.from_bytes(body[1:5], "little")
            size, alpha = (1 + (bits & 0x3FFF), 1 + (bits >> 14 & 0x3FFF)), bool(bits >> 28 & 1)
            break
        elif kind == b"VP8 " and size == (0, 0):
            raw = read(at + 14, 4)
            size = int.from_bytes(raw[:2], "little") & 0x3FFF, int.from_bytes(raw[2:], "little") & 0x3FFF
            break
        elif kind == b"EXIF":
            orientation = _exif(read, at + 8 + (6 if body[:6] == b"Exif\0\0" else 0))
            break
        at += 8 + length + length % 2
    if size == (0, 0):
        raise ValueError("no picture chunk")
    return *size, orientation, alpha, frames or None


def _tiff(read: _Reader) -> Found:
    pages = list(tiff.directories(read))
    first = pages[0]
    value = first.get(tiff.ORIENTATION, (1,))[0]
    return (
        operator.index(first[tiff.WIDTH][0]),
        operator.index(first[tiff.HEIGHT][0]),
        value if 1 <= value <= 8 else 1,
        first.get(tiff.EXTRA_SAMPLES, (0,))[0] in (1, 2),
        len(pages) if read.left > 0 else None,
    )


def _bmff(read: _Reader) -> Found:
    at = 0
    while (head := read(at, 8)) and len(head) == 8:
        size, kind = struct.unpack(">I4s", head)
        if kind == b"meta":
            items = isobmff.items(read(at, min(size or META_BYTES, META_BYTES)))
            if items is None or not items.width:
                break
            sequence = b"avis" in read(8, 24) or b"msf1" in read(8, 24)
            return *items.upright, 1, items.alpha, None if sequence else items.count or None
        if size < 8:
            break
        at += size
    raise ValueError("no meta box")


def _bmp(read: _Reader) -> Found:
    head = read(14, 16)
    if head[0] == 12:
        width, height = struct.unpack("<HH", head[4:8])
    else:
        width, height = struct.unpack("<ii", head[4:12])
    return width, abs(height), 1, False, 1


def _icon(read: _Reader) -> Found:
    (count,) = struct.unpack("<H", read(4, 2))
    entries = read(6, 16 * min(count, 256))
    sizes = [(entries[at] or 256, entries[at + 1] or 256) for at in range(0, len(entries) - 15, 16)]
    return *max(sizes, key=lambda size: size[0] * size[1]), 1, True, count


def _at(offset: int, form: str, alpha: bool | None = None, *, height_first: bool = False) -> Callable[[_Reader], Found]:
    """A reader of two numbers at an offset."""

    def read_there(read: _Reader) -> Found:
        first, second = struct.unpack(form, read(offset, struct.calcsize(form)))
        return (second, first, 1, alpha, 1) if height_first else (first, second, 1, alpha, 1)

    return read_there


def _pnm(read: _Reader) -> Found:
    words = [word for line in read(2, 1024).split(b"\n") for word in line.split(b"#")[0].split()]
    return int(words[0]), int(words[1]), 1, False, 1


def _pcx(read: _Reader) -> Found:
    left, top, right, bottom = struct.unpack("<4H", read(4, 8))
    return right - left + 1, bottom - top + 1, 1, False, 1


_READERS: dict[str, Callable[[_Reader], Found]] = {
    "png": _png,
    "jpeg": _jpeg,
    "gif": _gif,
    "webp": _webp,
    "tiff": _tiff,
    "avif": _bmff,
    "heif": _bmff,
    "bmp": _bmp,
    "ico": _icon,
    "cur": _icon,
    "psd": _at(14, ">II", height_first=True),
    "dds": _at(12, "<II", height_first=True),
    "qoi": _at(4, ">II"),
    "tga": _at(12, "<HH"),
    "sgi": _at(6, ">HH"),
    "pnm": _pnm,
    "pcx": _pcx,
}
