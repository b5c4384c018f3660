"""Whether a file ends before its own lengths say: the choice between `truncated_input` and `corrupt_input`."""

from __future__ import annotations

import struct
from collections.abc import Callable

from pixlane.imaging import anatomy
from pixlane.probe import isobmff, tiff

END_OF_IMAGE = b"\xff\xd9"  # of a JPEG, and of a JPEG 2000 code stream
START_OF_SCAN = 0xDA
QOI_END = bytes(7) + b"\x01"
END_BYTES = 64  # an end marker is looked for in so many last bytes


def ends_early(name: str, data: bytes) -> bool:
    """Whether the parts that the file announces lie behind its end."""
    look = _LOOKS.get(name)
    try:
        return look is not None and look(data)
    except (struct.error, IndexError):
        return True  # not even the announcement is all there


def whole_segments(data: bytes) -> bytes:
    """The JPEG without a segment that its end cuts through; entropy-coded data stays as far as it goes."""
    at = scan = 2
    for marker, start, length in anatomy.jpeg_segments(data):
        at, scan = start - 4, start + length
        if marker == START_OF_SCAN:
            break
    while at >= 0 and scan <= len(data):
        at = anatomy.next_marker(data, scan)
        if at < 0 or data[at : at + 2] == END_OF_IMAGE:
            return data
        if at + 4 > len(data):
            break
        scan = at + 2 + int.from_bytes(data[at + 2 : at + 4], "big")
    return data[:at]


def _riff(data: bytes) -> bool:
    return 8 + int(struct.unpack_from("<I", data, 4)[0]) > len(data)


def _jpeg(data: bytes) -> bool:
    return b"SOS" not in anatomy.dissect("jpeg", data).parts and END_OF_IMAGE not in data[-END_BYTES:]


def _png(data: bytes) -> bool:
    return anatomy.dissect("png", data).end is None


def _jpeg_2000(data: bytes) -> bool:
    return isobmff.is_cut_off(data) if data[4:8] == b"jP  " else END_OF_IMAGE not in data[-END_BYTES:]


def _tiff(data: bytes) -> bool:
    pages = list(tiff.directories(lambda at, size: data[at : at + size], max_values=1 << 16))
    if not pages:
        return True
    ends = (
        offset + size
        for page in pages
        for offsets, sizes in ((tiff.STRIP_OFFSETS, tiff.STRIP_BYTES), (tiff.TILE_OFFSETS, tiff.TILE_BYTES))
        for offset, size in zip(tiff.numbers(page, offsets), tiff.numbers(page, sizes), strict=False)
    )
    return any(end > len(data) for end in ends)


def _icon(data: bytes) -> bool:
    (count,) = struct.unpack_from("<H", data, 4)
    entries = (struct.unpack_from("<II", data, 6 + 16 * index + 8) for index in range(count))
    return any(size + start > len(data) for size, start in entries)


def _icns(data: bytes) -> bool:
    return int(struct.unpack_from(">I", data, 4)[0]) > len(data)


def _qoi(data: bytes) -> bool:
    return QOI_END not in data[-END_BYTES:]


_LOOKS: dict[str, Callable[[bytes], bool]] = {
    "webp": _riff,
    "avif": isobmff.is_cut_off,
    "heif": isobmff.is_cut_off,
    "jpeg": _jpeg,
    "png": _png,
    "jp2": _jpeg_2000,
    "tiff": _tiff,
    "ico": _icon,
    "cur": _icon,
    "icns": _icns,
    "qoi": _qoi,
}
