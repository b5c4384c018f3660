"""What bytes are: one table of formats, one of signatures, and the rule that bytes come before name before declared type.

Decided outcomes:
- A signature counts at byte 0. White space, NUL bytes or a byte order mark before it (at most 1,024 bytes) are skipped with a
  note, as some web servers put them there; anything else in front means that it is not an image.
- A polyglot is what its first bytes say: a GIF that is also a script is a GIF, its rest is trailing data and is dropped.
- A text is SVG when its first element is `svg`, after a byte order mark, UTF-16, comments, a DOCTYPE or gzip; a page of HTML
  with an SVG in it is HTML.
"""

from __future__ import annotations

import re
import zlib
from dataclasses import dataclass

from pixlane.formats import text
from pixlane.formats.registry import FORMATS, Format
from pixlane.formats.signatures import SIGNATURES, Signature

__all__ = ["FORMATS", "SIGNATURES", "Detection", "Format", "Signature", "contradiction", "detect", "said_by_name", "said_by_type"]

HEAD_BYTES = 64 * 1024  # a detection never looks further than this
MAX_LEADING_BYTES = 1024


AVIF_BRANDS = {b"avif", b"avis", b"avio"}
HEIF_BRANDS = {b"heic", b"heix", b"heim", b"heis", b"hevc", b"hevx", b"hevm", b"hevs", b"mif1", b"mif2", b"msf1", b"miaf"}


@dataclass(frozen=True)
class Detection:
    """The format and how many bytes of junk stand before it."""

    format: Format
    leading_bytes: int = 0


def detect(head: bytes, *, tail: bytes = b"", name: str | None = None, declared_type: str | None = None) -> Detection:
    """What the bytes are.

    Args:
        head: the first bytes, 64 KiB are enough; or all of them.
        tail: the last bytes, for TGA that is known only by its footer; 26 are enough.
        name, declared_type: are asked, in this order, only where the bytes allow what they say but do not prove it.
    """
    head = bytes(head[:HEAD_BYTES])
    found = _by_bytes(head, tail)
    if found not in (None, "text"):
        return Detection(FORMATS[str(found)])
    leading = _leading(head)
    if leading:
        behind = _by_signature(head[leading:])
        if behind and FORMATS[behind].image:
            return Detection(FORMATS[behind], leading)
    if _could_be_tga(head) and "tga" in (_by_extension(name), _by_type(declared_type)):
        return Detection(FORMATS["tga"])
    return Detection(FORMATS[found or "unknown"])


def said_by_name(name: str | None) -> Format | None:
    """The format that a file name claims."""
    claimed = _by_extension(name)
    return FORMATS[claimed] if claimed else None


def said_by_type(declared_type: str | None) -> Format | None:
    """The format that a declared MIME type claims; None where it claims nothing, as `application/octet-stream` does."""
    claimed = _by_type(declared_type)
    return FORMATS[claimed] if claimed and claimed != "unknown" else None


def contradiction(what: str, said: Format, mime: str) -> str:
    """The sentence of the note `declared_type_wrong`."""
    return f"{what} says {said.mime}, the bytes are {mime}"


# From the bytes -----------------------------------------------------------------------------------------------------------


def _by_bytes(head: bytes, tail: bytes) -> str | None:
    if not head:
        return "empty"
    found = _by_signature(head) or _by_structure(head)
    if found == "gzip":
        return "svg" if text.kind(_inflated(head)) == "svg" else "gzip"
    if found:
        return found
    if tail[-26:].endswith(b"TRUEVISION-XFILE.\x00") and _could_be_tga(head):
        return "tga"
    return text.kind(head)


def _by_signature(head: bytes) -> str | None:
    for signature in SIGNATURES:
        if signature.matches(head):
            return signature.format
    return _by_brands(head)


def _by_brands(head: bytes) -> str | None:
    """ISO-BMFF says what it is by all brands of its `ftyp` box; a generic brand leaves it to the codec of the items."""
    if head[4:8] != b"ftyp":
        return None
    end = min(int.from_bytes(head[:4], "big"), 4096, len(head))
    brands = {head[8:12], *(head[at : at + 4] for at in range(16, end - 3, 4))}
    if brands & AVIF_BRANDS:
        return "avif"
    if brands & HEIF_BRANDS:
        generic = not brands & (HEIF_BRANDS - {b"mif1", b"mif2", b"msf1", b"miaf"})
        return "avif" if generic and b"av01" in head and b"hvc1" not in head else "heif"
    return "raw" if b"crx " in brands else "mp4"


def _by_structure(head: bytes) -> str | None:
    """Formats whose signature is too short to stand alone: some fields must make sense as well."""
    if head[:2] == b"BM" and head[14:18] in _BMP_HEADERS:
        return "bmp"
    if head[:4] in (b"\x00\x00\x01\x00", b"\x00\x00\x02\x00") and head[4:6] != b"\x00\x00" and len(head) >= 22 and head[9] == 0:
        return "ico" if head[2] == 1 else "cur"
    if head[:1] == b"P" and head[1:2] in b"123456fF7" and re.match(rb"P[1-7fF]\s", head):
        return "pnm"
    if head[:1] == b"\x0a" and head[1:2] in b"\x00\x02\x03\x04\x05" and head[2:3] == b"\x01" and head[3:4] in b"\x01\x02\x04\x08":
        return "pcx" if len(head) >= 128 and head[64:65] == b"\x00" else None
    if head[:2] == b"MZ" and b"\x00" in head[:64]:
        return "exe"
    return None


_BMP_HEADERS = {size.to_bytes(4, "little") for size in (12, 16, 40, 52, 56, 64, 108, 124)}


def _could_be_tga(head: bytes) -> bool:
    if len(head) < 18:
        return False
    map_type, kind, bits = head[1], head[2], head[16]
    return (
        (map_type, kind) in {(1, 1), (0, 2), (0, 3), (1, 9), (0, 10), (0, 11)}
        and bits in (8, 15, 16, 24, 32)
        and head[12:14] != b"\x00\x00"
        and head[14:16] != b"\x00\x00"
    )


def _leading(head: bytes) -> int:
    """Bytes of white space, NUL or byte order mark at the start."""
    junk = re.match(rb"(?:\xef\xbb\xbf|[\s\x00])+", head[: MAX_LEADING_BYTES + 1])
    return junk.end() if junk and junk.end() <= MAX_LEADING_BYTES else 0


def _inflated(head: bytes) -> bytes:
    try:
        return zlib.decompressobj(wbits=31).decompress(head, HEAD_BYTES)
    except zlib.error:
        return b""


# From names -------------------------------------------------------------------------------------------------------------------

_EXTENSIONS = {extension: row.name for row in FORMATS.values() for extension in row.extensions}
_TYPES = {mime: row.name for row in FORMATS.values() for mime in (row.mime, *row.aliases)}


def _by_extension(name: str | None) -> str | None:
    if not name or "." not in name:
        return None
    return _EXTENSIONS.get(name.rpartition(".")[2].lower())


def _by_type(declared_type: str | None) -> str | None:
    return _TYPES.get(declared_type.partition(";")[0].strip().lower()) if declared_type else None
