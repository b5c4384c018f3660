"""Boxes of the ISO base media file format as HEIF and AVIF use them: the properties of the primary picture.

Specifications: ISO/IEC 14496-12 (boxes), 23008-12 (items and properties).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field


@dataclass
class Items:
    """What the `meta` box says.

    Attributes:
        width, height: of the primary picture before its rotation, px; 0 where it does not say.
        turns: quarter turns counter-clockwise.
        mirror: 0: top and bottom change places; 1: left and right; None: no mirror.
        bits: per channel; 0 where it does not say.
        cicp: primaries, transfer; None where there is none.
        alpha: an auxiliary picture holds transparency.
        count: pictures that are no parts, thumbnails or auxiliary ones.
    """

    width: int = 0
    height: int = 0
    turns: int = 0
    mirror: int | None = None
    bits: int = 0
    cicp: tuple[int, int] | None = None
    profile: bytes | None = None
    alpha: bool = False
    hidden: set[int] = field(default_factory=set)
    count: int = 0

    @property
    def upright(self) -> tuple[int, int]:
        return (self.height, self.width) if self.turns % 2 else (self.width, self.height)


def boxes(data: bytes, at: int = 0, end: int | None = None) -> Iterator[tuple[bytes, int, int]]:
    """Type, offset of the content and offset after it; the end may lie behind the data. Stops at what is no box."""
    end = len(data) if end is None else end
    while at + 8 <= min(end, len(data)):
        size, start = int.from_bytes(data[at : at + 4], "big"), at + 8
        if size == 1:
            size, start = int.from_bytes(data[at + 8 : at + 16], "big"), at + 16
        after = end if size == 0 else at + size
        if after < start:
            return
        yield data[at + 4 : at + 8], start, after
        at = after


def items(data: bytes) -> Items | None:
    """What the `meta` box says about the primary picture; None where there is none. Never raises."""
    for kind, at, end in boxes(data):
        if kind == b"meta":
            return _meta(data, at + 4, min(end, len(data)))
    return None


def has_sequence(data: bytes) -> bool:
    """Whether the file holds a track of pictures."""
    return any(kind == b"moov" for kind, _, _ in boxes(data))


def is_cut_off(data: bytes) -> bool:
    """Whether a top-level box ends behind the data."""
    return any(end > len(data) for _, _, end in boxes(data))


def _meta(data: bytes, at: int, end: int) -> Items:
    parts = {kind: (start, min(after, end)) for kind, start, after in boxes(data, at, end)}
    found = Items()
    primary = _primary(data, *parts[b"pitm"]) if b"pitm" in parts else 1
    if b"iref" in parts:
        _references(data, *parts[b"iref"], found)
    if b"iinf" in parts:
        found.count = sum(1 for item in _pictures(data, *parts[b"iinf"]) if item not in found.hidden)
    if b"iprp" in parts:
        inner = {kind: (start, after) for kind, start, after in boxes(data, *parts[b"iprp"])}
        if b"ipco" in inner and b"ipma" in inner:
            properties = list(boxes(data, *inner[b"ipco"]))
            wanted = _associations(data, *inner[b"ipma"]).get(primary, [])
            for index in wanted:
                if 1 <= index <= len(properties):
                    _apply(found, data, *properties[index - 1])
            found.alpha = any(b"auxid:1" in data[s:e] or b"alpha" in data[s:e] for kind, s, e in properties if kind == b"auxC")
    return found


def _apply(found: Items, data: bytes, kind: bytes, at: int, end: int) -> None:
    if kind == b"ispe":
        found.width, found.height = _int(data, at + 4, 4), _int(data, at + 8, 4)
    elif kind == b"clap" and _int(data, at + 4, 4) and _int(data, at + 12, 4):
        found.width = round(_int(data, at, 4) / _int(data, at + 4, 4))
        found.height = round(_int(data, at + 8, 4) / _int(data, at + 12, 4))
    elif kind == b"irot":
        found.turns = _int(data, at, 1) & 3
    elif kind == b"imir":
        found.mirror = _int(data, at, 1) & 1
    elif kind == b"pixi" and end - at > 5:
        found.bits = max(data[at + 5 : end], default=0)
    elif kind == b"colr" and data[at : at + 4] == b"nclx":
        found.cicp = _int(data, at + 4, 2), _int(data, at + 6, 2)
    elif kind == b"colr" and data[at : at + 4] in (b"prof", b"rICC"):
        found.profile = data[at + 4 : end]


def _primary(data: bytes, at: int, end: int) -> int:
    return _int(data, at + 4, 2 if data[at : at + 1] == b"\0" else 4)


def _references(data: bytes, at: int, end: int, found: Items) -> None:
    """Items that are thumbnails, auxiliary pictures or parts of a grid, by the references between items."""
    width = 4 if data[at : at + 1] != b"\0" else 2
    for kind, start, _ in boxes(data, at + 4, end):
        source, count = _int(data, start, width), _int(data, start + width, 2)
        targets = [_int(data, start + width + 2 + width * index, width) for index in range(min(count, 10_000))]
        if kind in (b"thmb", b"auxl"):
            found.hidden.add(source)
        elif kind == b"dimg":
            found.hidden.update(targets)


_PICTURES = {b"hvc1", b"av01", b"grid", b"iden", b"iovl", b"jpeg", b"avc1", b"j2k1", b"vvc1", b"unci"}


def _pictures(data: bytes, at: int, end: int) -> Iterator[int]:
    start = at + (6 if data[at : at + 1] == b"\0" else 8)
    for kind, inner, after in boxes(data, start, end):
        if kind != b"infe" or not min(after, len(data)) - inner >= 12 or data[inner] < 2:
            continue
        wide = data[inner] > 2
        hidden = data[inner + 3] & 1
        if not hidden and data[inner + (8 if wide else 6) + 2 :][:4] in _PICTURES:
            yield _int(data, inner + 4, 4 if wide else 2)


def _associations(data: bytes, at: int, end: int) -> dict[int, list[int]]:
    version, wide = _int(data, at, 1), _int(data, at + 3, 1) & 1
    found: dict[int, list[int]] = {}
    entries, at = min(_int(data, at + 4, 4), 65_536), at + 8
    for _ in range(entries):
        if at >= end:
            break
        width = 4 if version else 2
        item, count, at = _int(data, at, width), _int(data, at + width, 1), at + width + 1
        indexes = []
        for _ in range(count):
            indexes.append(_int(data, at, 2) & 0x7FFF if wide else _int(data, at, 1) & 0x7F)
            at += 2 if wide else 1
        found[item] = indexes
    return found


def _int(data: bytes, at: int, size: int) -> int:
    return int.from_bytes(data[at : at + size], "big")
