"""Variants of a format that no engine here knows: refused by name, as they are not damaged."""

from __future__ import annotations

from pixlane.errors import CorruptInput, UnsupportedFormat
from pixlane.imaging import anatomy, header
from pixlane.imaging.work import Work
from pixlane.probe import tiff

UNKNOWN: dict[str, tuple[tuple[str, int, bytes], ...]] = {
    "psd": (
        ("the large form of PSD (PSB)", 4, b"\x00\x02"),
        ("a PSD of 16 bits a channel", 22, b"\x00\x10"),
        ("a PSD of 32 bits a channel", 22, b"\x00\x20"),
    ),
    "pnm": (("PAM (P7)", 0, b"P7"), ("a PFM in colour (PF)", 0, b"PF")),
}
"""Format to the name of a variant, an offset, and the bytes that stand there."""

WIDEST_BITS = 32
OLD_JPEG, JPEG, LZMA, ZSTD = 6, 7, 34925, 50000
TIFF_CODINGS = (1, 2, 3, 4, 5, OLD_JPEG, JPEG, 8, 32773, 32946, LZMA, ZSTD)  # fax, LZW, JPEG, Deflate, PackBits
YCBCR, ICC_LAB, ITU_LAB = 6, 9, 10  # photometric interpretations
SENSOR = {32803: "the colour filters of a sensor", 34892: "the linear light of a sensor"}
INDEXED = 3  # colour type of a PNG


def check(work: Work) -> None:
    """Raise UnsupportedFormat for one of them, or CorruptInput for what engines would show although a part is missing."""
    name, data = work.detected.name, work.data
    for variant, start, mark in UNKNOWN.get(name, ()):
        if data[start : start + len(mark)] == mark:
            raise UnsupportedFormat(f"{variant} is not decoded; convert it to PNG or JPEG first", actual=variant)
    if name == "tiff":
        _check_raw(header.tiff_tags(data, 0))
        _check_tiff(header.tiff_tags(data, work.recipe.page))
    elif name == "png" and data[25:26] == bytes([INDEXED]) and b"PLTE" not in anatomy.dissect(name, data).parts:
        raise CorruptInput("the PNG counts colours of a palette that is not there")


def _check_raw(tags: tiff.Tags) -> None:
    """A photograph as its camera stored it begins with a thumbnail: that alone would pass for the picture."""
    thumbnail = first(tags, tiff.SUBFILE, 0) & 1 and tiff.SUB_DIRECTORIES in tags
    if thumbnail or tiff.DNG_VERSION in tags:
        raise UnsupportedFormat(
            "the TIFF is the raw photograph of a camera, of which only the thumbnail is a picture; convert it to JPEG first"
        )


def _check_tiff(tags: tiff.Tags) -> None:
    coding, photometric, bits = first(tags, tiff.COMPRESSION), first(tags, tiff.PHOTOMETRIC), first(tags, tiff.BITS)
    if photometric in SENSOR:
        raise UnsupportedFormat(f"a TIFF that holds {SENSOR[photometric]} is not decoded", actual=photometric)
    if coding not in TIFF_CODINGS:
        raise UnsupportedFormat(f"the TIFF is compressed in a way that is not decoded, number {coding}", actual=coding)
    if photometric == ITU_LAB:
        raise UnsupportedFormat("colours as ITU Lab are not decoded", actual=photometric)
    if bits > WIDEST_BITS:
        raise UnsupportedFormat(f"numbers of {bits} bits are not decoded", limit=WIDEST_BITS, actual=bits)


def first(tags: tiff.Tags, tag: int, missing: int = 1) -> int:
    """The first value of a tag; `missing` where it is not there or no number."""
    return next(iter(tiff.numbers(tags, tag)), missing)
