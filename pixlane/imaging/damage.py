"""What is shown of a damaged file: all that a browser would show in full, with a note; missing picture data is an error.

`allow_truncated` turns missing data into a picture and a note where the format can be decoded from the front: JPEG, PNG, GIF,
TIFF strips and the raw formats. WebP, AVIF and HEIC give all or nothing.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING

from pixlane.errors import TruncatedInput
from pixlane.imaging import anatomy, cut_off, wording
from pixlane.imaging.work import Work
from pixlane.probe import tiff

if TYPE_CHECKING:
    from pixlane.imaging.decoders.vips import VipsPicture

FORGIVING = "none"
PIECE_BYTES = 1 << 20
STEP_BYTES = 64
GREY = 128  # what libjpeg gives for blocks that are not there


def truncated(work: Work, fraction: float | None, *, drawable: bool = True) -> None:
    """Raise TruncatedInput, or note it where the recipe allows it and the format can."""
    part = "an unknown part" if fraction is None else f"{fraction:.0%}"
    if not (work.recipe.allow_truncated and drawable):
        raise TruncatedInput(
            f"the picture data ends early, {part} of it is there; {_WAYS_OUT[drawable]}", decoded_fraction=fraction
        )
    work.note("truncated", f"the picture data ends early, {part} of it is there; the rest is blank")


_WAYS_OUT = {
    True: "allow_truncated (`--allow-truncated`) draws that part",
    False: "that cannot be drawn, send it whole",
}


def check_header(work: Work, name: str, said: str) -> None:
    """Raise TruncatedInput where a header cannot be read because the file ends too early."""
    if len(work.data) < _SHORTEST.get(name, 0):
        raise TruncatedInput(
            f"the file ends inside its header, after {len(work.data)} bytes", actual=len(work.data), decoded_fraction=0.0
        )
    wording.check_memory(said)
    if wording.means_cut_off(said) or cut_off.ends_early(name, work.data):
        truncated(work, None, drawable=False)


_SHORTEST = {"png": 57, "gif": 14, "jpeg": 100}


def cut_to_whole_pages(work: Work) -> None:
    """A TIFF that ends early behind the page that is wanted, without the pages that are not there."""
    loose = tiff.loose_link(work.data) if work.detected.name == "tiff" else None
    if loose is None or work.recipe.page >= loose[0]:
        return
    pages, at, width = loose
    work.data = work.data[:at] + bytes(width) + work.data[at + width :]
    work.note("repaired", f"the file ends early, behind {pages} whole pages")


def cut_to_whole_chunks(work: Work) -> None:
    """A WebP that ends early behind its pixels, without what is cut off; browsers show it."""
    data = work.data
    if work.detected.name != "webp" or len(data) < 12 or 8 + struct.unpack_from("<I", data, 4)[0] <= len(data):
        return
    chunks = [(kind, data[at : at + size]) for kind, at, size in anatomy.riff_chunks(data)]
    names = {kind for kind, _ in chunks}
    if not names & {b"VP8 ", b"VP8L", b"ANMF"}:
        return
    body = b""
    for kind, content in chunks:
        if kind == b"VP8X":
            flags = sum(bit for bit, needed in _WEBP_FLAGS if needed in names)
            content = bytes([content[0] & (0xFF - 0x2C) | flags]) + content[1:]
        body += kind + struct.pack("<I", len(content)) + content + bytes(len(content) % 2)
    work.data = b"RIFF" + struct.pack("<I", 4 + len(body)) + b"WEBP" + body
    work.note("repaired", "the file ends early, behind the pixels")


_WEBP_FLAGS = ((0x20, b"ICCP"), (0x08, b"EXIF"), (0x04, b"XMP "))


class Cure:
    """Makes the next load of a picture succeed, or raises what is wrong with it. Each step is taken once."""

    def __init__(self, picture: VipsPicture) -> None:
        self.picture = picture
        self.tried: set[str] = set()

    def next(self, said: str) -> None:
        """After the engine said this: another attempt, or an error."""
        picture = self.picture
        step = {"png": self._png, "jpeg": self._jpeg, "tiff": self._tiff, "gif": self._gif}.get(picture.name)
        if step is None:
            check_header(picture.work, picture.name, said)
            raise wording.unreadable(said)
        step(said)

    def _once(self, step: str, said: str) -> None:
        if step in self.tried:
            raise wording.unreadable(said)
        self.tried.add(step)

    # JPEG: libjpeg goes on after damage and leaves grey where data is missing.

    def _jpeg(self, said: str) -> None:
        picture = self.picture
        if cut_off.ends_early("jpeg", picture.work.data):
            truncated(picture.work, 0.0, drawable=False)
        if "premature end of JPEG image" in said and "end marker" not in self.tried:
            self._once("end marker", said)
            picture.data = cut_off.whole_segments(picture.data) + cut_off.END_OF_IMAGE
            if not _lacks_scans(picture.data):
                picture.mended("repaired", "the end marker is missing")
                return
            truncated(picture.work, None)
            picture.mended("truncated", picture.work.notes[-1].text)
            picture.fail_on = FORGIVING
            return
        self._once("forgive", said)
        picture.fail_on = FORGIVING
        if "premature end" in said:
            self._forget("the end marker is missing")
            fraction = _jpeg_fraction(picture)
            truncated(picture.work, fraction)
            picture.mended("truncated", picture.work.notes[-1].text)
        else:
            picture.mended("repaired", f"damaged data inside the picture was passed over: {said}")

    def _forget(self, text: str) -> None:
        self.picture.work.notes[:] = [note for note in self.picture.work.notes if note.text != text]

    # PNG: the compressed stream is taken out and read as far as it goes, then put into a sound file.

    def _png(self, said: str) -> None:
        self._once("rebuild", said)
        picture = self.picture
        rebuilt, there, wanted = _rebuilt_png(picture.data)
        if there < wanted:
            truncated(picture.work, there / wanted if wanted else 0.0)
            picture.mended("truncated", picture.work.notes[-1].text)
        else:
            picture.mended("repaired", "check sums or the end of the compressed data are wrong, all pixels are there")
        picture.data = rebuilt

    # TIFF and GIF: decoded again without complaint.

    def _tiff(self, said: str) -> None:
        self._once("forgive", said)
        fraction = _tiff_fraction(self.picture.data, self.picture.work.recipe.page)
        if "tag" in said and fraction == 1:
            self.picture.mended("repaired", f"a tag makes no sense and was passed over: {said}")
            self.picture.fail_on = FORGIVING
            return
        if fraction is None or fraction >= 1:
            raise wording.unreadable(said)
        truncated(self.picture.work, fraction)
        self.picture.mended("truncated", self.picture.work.notes[-1].text)
        self.picture.fail_on = FORGIVING

    def _gif(self, said: str) -> None:
        self._once("forgive", said)
        self.picture.fail_on = FORGIVING
        if "Unexpected end" in said or "end of" in said.lower():
            truncated(self.picture.work, None)
            self.picture.mended("truncated", self.picture.work.notes[-1].text)
        else:
            self.picture.mended("repaired", f"damaged data inside the picture was passed over: {said}")


# JPEG -----------------------------------------------------------------------------------------------------------------------


def _lacks_scans(data: bytes) -> bool:
    """Whether a progressive JPEG does not hold every coefficient of every component to the last bit."""
    frame = anatomy.dissect("jpeg", data).parts.get(b"SOF", b"")
    if not frame or frame[0] not in (0xC2, 0xC6, 0xCA, 0xCE):
        return False
    components = frame[7::3][: frame[6]]
    missing = {(component, at) for component in components for at in range(64)}
    for scan in anatomy.jpeg_scans(data):
        count = scan[0] if scan else 0
        if len(scan) < 4 + 2 * count:
            continue
        first, last, approximation = scan[1 + 2 * count : 4 + 2 * count]
        if approximation & 15 == 0:
            missing -= {(component, at) for component in scan[1 : 1 + 2 * count : 2] for at in range(first, last + 1)}
    return bool(missing)


def _jpeg_fraction(picture: VipsPicture) -> float | None:
    """The part of the rows above those that libjpeg filled with grey; None for a progressive one, which has all of them."""
    import numpy as np

    frame = anatomy.dissect("jpeg", picture.data).parts.get(b"SOF", b"")
    if not frame or frame[0] not in (0xC0, 0xC1, 0xC3):
        return None
    rows = np.asarray(picture.load(8 if min(picture.width, picture.height) >= 64 else 1).copy_memory())
    flat = rows.reshape(rows.shape[0], -1)
    seen = np.flatnonzero((np.abs(flat.astype(np.int16) - GREY) > 1).any(axis=1))
    return round((int(seen[-1]) + 1) / len(flat), 4) if seen.size else 0.0


# TIFF -----------------------------------------------------------------------------------------------------------------------


def _tiff_fraction(data: bytes, page: int) -> float | None:
    """The part of the bytes of strips or tiles that lies inside the file; None where the page has none."""
    pages = tiff.directories(lambda at, size: data[at : at + size], max_values=1 << 20)
    tags = next(islice(pages, page, None), {})
    offsets = tiff.numbers(tags, tiff.STRIP_OFFSETS) or tiff.numbers(tags, tiff.TILE_OFFSETS)
    sizes = tiff.numbers(tags, tiff.STRIP_BYTES) or tiff.numbers(tags, tiff.TILE_BYTES)
    there = sum(max(0, min(size, len(data) - offset)) for offset, size in zip(offsets, sizes, strict=False))
    wanted = sum(sizes)
    return round(there / wanted, 4) if wanted else None


# PNG ------------------------------------------------------------------------------------------------------------------------

_CHANNELS = {0: 1, 2: 3, 3: 1, 4: 2, 6: 4}
_ADAM7 = ((0, 0, 8, 8), (4, 0, 8, 8), (0, 4, 4, 8), (2, 0, 4, 4), (0, 2, 2, 4), (1, 0, 2, 2), (0, 1, 1, 2))
_KEPT = {b"IHDR", b"PLTE", b"tRNS", b"iCCP", b"sRGB", b"gAMA", b"cHRM", b"cICP", b"eXIf"}


def _rebuilt_png(data: bytes) -> tuple[bytes, int, int]:
    """A sound PNG of the same pixels, zeros for what is missing; bytes of raw picture data that were there, and wanted."""
    chunks = {kind: data[at : at + size] for kind, at, size in anatomy.png_chunks(data) if kind in _KEPT}
    width, height, bits, colour, _, _, interlace = struct.unpack(">IIBBBBB", chunks[b"IHDR"][:13])
    wanted = _raw_bytes(width, height, bits * _CHANNELS.get(colour, 4), interlace)
    pack, packed, there = zlib.compressobj(1), bytearray(), 0
    for piece in _inflated(_image_data(data)):
        piece = piece[: wanted - there]
        there += len(piece)
        packed += pack.compress(piece)
        if there >= wanted:
            break
    for left in range(wanted - there, 0, -PIECE_BYTES):
        packed += pack.compress(bytes(min(left, PIECE_BYTES)))
    packed += pack.flush()
    order = [b"IHDR", *sorted(set(chunks) - {b"IHDR", b"PLTE", b"tRNS"}), b"PLTE", b"tRNS"]
    body = b"".join(_chunk(kind, chunks[kind]) for kind in order if kind in chunks)
    return anatomy.PNG_SIGNATURE + body + _chunk(b"IDAT", bytes(packed)) + _chunk(b"IEND", b""), there, wanted


def _image_data(data: bytes) -> Iterator[bytes]:
    """The bare deflate data of the IDAT chunks, the last one as far as it goes."""
    at, head = len(anatomy.PNG_SIGNATURE), 2
    while at + 8 <= len(data):
        length = int.from_bytes(data[at : at + 4], "big")
        kind = data[at + 4 : at + 8]
        if kind == b"IEND":
            return
        if kind == b"IDAT":
            content = data[at + 8 : min(at + 8 + length, len(data))]
            yield content[head:]
            head = max(0, head - len(content))
        at += 12 + length


def _inflated(stream: Iterator[bytes]) -> Iterator[bytes]:
    unpack = zlib.decompressobj(-15)  # without its head, the check sum at the end is not asked
    # Where the data turns bad, what the same call gave before is lost: so the calls are small.
    for rest in (compressed[at : at + STEP_BYTES] for compressed in stream for at in range(0, len(compressed), STEP_BYTES)):
        while rest and not unpack.eof:
            try:
                yield unpack.decompress(rest, PIECE_BYTES)
            except zlib.error:
                return
            rest = unpack.unconsumed_tail
    if not unpack.eof:
        yield unpack.flush()


def _raw_bytes(width: int, height: int, bits: int, interlace: int) -> int:
    """Bytes of the filtered rows."""
    if not interlace:
        return height * (1 + (width * bits + 7) // 8)
    total = 0
    for x, y, across, down in _ADAM7:
        columns, rows = -(-(width - x) // across), -(-(height - y) // down)
        if columns > 0 and rows > 0:
            total += rows * (1 + (columns * bits + 7) // 8)
    return total


def _chunk(kind: bytes, content: bytes) -> bytes:
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(content, zlib.crc32(kind)))
