"""Directories of a TIFF, BigTIFF or EXIF block, read by seeking. Specification: TIFF 6.0; BigTIFF as in libtiff."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from typing import Any

MAX_ENTRIES = 1000
MAX_VALUES = 64  # more values of one tag are not read
MAX_DIRECTORIES = 10_001

SUBFILE, SUB_DIRECTORIES, DNG_VERSION = 254, 330, 50706
WIDTH, HEIGHT, BITS, COMPRESSION, PHOTOMETRIC, ORIENTATION = 256, 257, 258, 259, 262, 274
YCBCR_SUBSAMPLING = 530
SAMPLES, EXTRA_SAMPLES, SAMPLE_FORMAT = 277, 338, 339
STRIP_OFFSETS, STRIP_BYTES, TILE_OFFSETS, TILE_BYTES = 273, 279, 324, 325

_SIZES = {1: ("B", 1), 2: ("s", 1), 3: ("H", 2), 4: ("I", 4), 6: ("b", 1), 7: ("s", 1), 8: ("h", 2), 9: ("i", 4), 16: ("Q", 8)}

Read = Callable[[int, int], bytes]  # offset, length

Tags = dict[int, tuple[Any, ...]]


def directories(read: Read, start: int = 0, *, max_values: int = MAX_VALUES) -> Iterator[Tags]:
    """The tags of each directory: tag number to whole-number values. Stops where the chain ends, loops or makes no sense.

    Args:
        read: gives bytes at an offset, fewer where there are no more.
        start: where the structure begins.
        max_values: more values of one tag are not read.
    """
    head = read(start, 16)
    order = {b"II": "<", b"MM": ">"}.get(head[:2], "")
    if not order or len(head) < 8:
        return
    big = struct.unpack_from(order + "H", head, 2)[0] == 43
    offset = struct.unpack_from(order + ("Q" if big else "I"), head, 8 if big else 4)[0] if not big or len(head) == 16 else 0
    seen: set[int] = set()
    while offset and offset not in seen and len(seen) < MAX_DIRECTORIES:
        seen.add(offset)
        tags, offset, _ = _directory(read, start, offset, order, big, max_values)
        if tags is None:
            return
        yield tags


def numbers(tags: Tags, tag: int) -> tuple[int, ...]:
    """The values of a tag; none where it is not there, or says that it holds letters or raw bytes."""
    return tuple(value for value in tags.get(tag, ()) if isinstance(value, int))


def loose_link(data: bytes) -> tuple[int, int, int] | None:
    """Where the chain of directories leads out of the file: directories before that, offset and width of the pointer.

    None where it ends as it should, or where not even the first directory is there.
    """

    def read(at: int, size: int) -> bytes:
        return data[at : at + size]

    order, big = {b"II": "<", b"MM": ">"}.get(data[:2], ""), data[2:4] in (b"+\0", b"\0+")
    if not order or len(data) < 16:
        return None
    width = 8 if big else 4
    here, count, seen = (8 if big else 4), 0, set[int]()
    while len(raw := data[here : here + width]) == width:
        offset = int.from_bytes(raw, "little" if order == "<" else "big")
        if not offset or offset in seen or count >= MAX_DIRECTORIES:
            return None
        seen.add(offset)
        tags, _, link = _directory(read, 0, offset, order, big, 1)
        if tags is None or link + width > len(data):
            break
        here, count = link, count + 1
    return (count, here, width) if count else None


def _directory(read: Read, start: int, offset: int, order: str, big: bool, max_values: int) -> tuple[Tags | None, int, int]:
    """The tags, the offset of the next directory, and where that offset stands."""
    counter, entry = ("Q", 20) if big else ("H", 12)
    width = struct.calcsize(counter)
    raw = read(start + offset, width)
    if len(raw) < width:
        return None, 0, 0
    (count,) = struct.unpack(order + counter, raw)
    if not 0 < count <= MAX_ENTRIES:
        return None, 0, 0
    block = read(start + offset + width, entry * count + (8 if big else 4))
    tags: Tags = {}
    for index in range(min(count, len(block) // entry)):
        tag, kind = struct.unpack_from(order + "HH", block, entry * index)
        (values,) = struct.unpack_from(order + ("Q" if big else "I"), block, entry * index + 4)
        if kind in _SIZES and values:
            inline = block[entry * index + (12 if big else 8) : entry * (index + 1)]
            tags[tag] = _values(read, start, inline, kind, min(values, max_values), order, big)
    tail = block[entry * count :]
    following = struct.unpack(order + ("Q" if big else "I"), tail)[0] if len(tail) == (8 if big else 4) else 0
    return tags, following, start + offset + width + entry * count


def _values(read: Read, start: int, inline: bytes, kind: int, count: int, order: str, big: bool) -> tuple[Any, ...]:
    code, size = _SIZES[kind]
    raw = inline[: size * count]
    if size * count > len(inline):
        (at,) = struct.unpack(order + ("Q" if big else "I"), inline)
        raw = read(start + at, size * count)
    if code == "s":
        return (raw,)
    return struct.unpack(f"{order}{len(raw) // size}{code}", raw[: len(raw) // size * size])
