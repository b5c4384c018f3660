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

HEAD_BYTES = 64 * 1024  # a detection never looks further than this
MAX_LEADING_BYTES = 1024


@dataclass(frozen=True)
class Format:
    """One row of the registry; `docs/formats.md` is generated from it.

    Attributes:
        name: short and stable; stands in error messages and in the table of openers.
        mime: the type that is reported.
        extensions: lower case, without the dot; the first is the usual one.
        engines: names of the openers in order of preference; empty: named but not decoded.
        kept, noted, refused: sentences for the documentation.
        image: False for what is no picture at all.
        pages: what `page=` counts, or "".
    """

    name: str
    mime: str
    extensions: tuple[str, ...] = ()
    engines: tuple[str, ...] = ()
    kept: str = ""
    noted: str = ""
    refused: str = ""
    image: bool = True
    pages: str = ""
    aliases: tuple[str, ...] = ()  # other MIME types that mean the same

    @property
    def title(self) -> str:
        """As a person writes it."""
        return {"heif": "HEIC/HEIF", "jp2": "JPEG 2000", "jxl": "JPEG XL", "webp": "WebP", "cgbi": "CgBI PNG"}.get(
            self.name, self.name.upper()
        )


_TRUNCATED = "Truncated picture data (drawn with `allow_truncated`)"
_TRUNCATED_HARD = "Truncated picture data, also with `allow_truncated`: the codec gives all or nothing"

FORMATS: dict[str, Format] = {
    row.name: row
    for row in (
        Format(
            "png",
            "image/png",
            ("png", "apng"),
            ("vips", "pillow"),
            "Colour by cICP, iCCP, sRGB, gAMA and cHRM; palette and colour-key transparency; eXIf orientation; APNG frames",
            "16 bits, transparency, profile, metadata, frames left out, wrong check sums, data after IEND",
            _TRUNCATED,
            pages="APNG frame, as shown",
            aliases=("image/apng", "image/x-png", "image/vnd.mozilla.apng"),
        ),
        Format(
            "jpeg",
            "image/jpeg",
            ("jpg", "jpeg", "jpe", "jfif", "mpo"),
            ("vips", "pillow"),
            "EXIF orientation, CMYK and YCCK, ICC profile; of MPO, Motion Photo and gain-map files the base picture",
            "CMYK, profile, metadata, missing end marker, damaged entropy data, data after the picture",
            _TRUNCATED,
            aliases=("image/jpg", "image/pjpeg", "image/mpo"),
        ),
        Format(
            "gif",
            "image/gif",
            ("gif",),
            ("vips", "pillow"),
            "The whole canvas of the frame, as shown",
            "Frames left out, transparency, data after the trailer",
            _TRUNCATED,
            pages="frame, as shown",
        ),
        Format(
            "webp",
            "image/webp",
            ("webp",),
            ("vips", "pillow"),
            "EXIF orientation, ICC profile, the whole canvas of the frame",
            "Frames left out, transparency, profile, metadata, data after the RIFF chunk",
            _TRUNCATED_HARD,
            pages="frame, as shown",
        ),
        Format(
            "tiff",
            "image/tiff",
            ("tif", "tiff", "btf", "tf8"),
            ("vips", "pillow"),
            "Orientation, CMYK, Lab, 1 to 32 bits, float, BigTIFF, tiles, fax, LZW, JPEG",
            "Depth and range, pages left out, profile, transparency, metadata",
            _TRUNCATED,
            pages="page",
        ),
        Format(
            "avif",
            "image/avif",
            ("avif", "avifs"),
            ("vips", "avif", "pillow"),
            "The container's rotation and mirror, ICC and CICP colour, 8 to 12 bits",
            "HDR is tone-mapped, frames left out, profile, depth, transparency, metadata",
            _TRUNCATED_HARD,
            pages="frame of a sequence",
            aliases=("image/avif-sequence",),
        ),
        Format(
            "heif",
            "image/heic",
            ("heic", "heif", "hif", "heics"),
            ("heif",),
            "The container's rotation and mirror, ICC and CICP colour, 8 to 12 bits",
            "HDR is tone-mapped, pictures left out, profile, depth, transparency, metadata",
            _TRUNCATED_HARD,
            pages="picture, the primary one first",
            aliases=("image/heif", "image/heic-sequence", "image/heif-sequence"),
        ),
        Format(
            "svg",
            "image/svg+xml",
            ("svg", "svgz"),
            ("svg",),
            "Drawn at its intrinsic size, at least 512 px on the longer side",
            "What the sanitizer removed, text that could not be drawn",
            "Unsafe references, too deep, too many elements, no drawable size",
            aliases=("image/svg",),
        ),
        Format(
            "pdf",
            "application/pdf",
            ("pdf",),
            ("pdf",),
            "The page at a resolution that fits the ceiling",
            "Pages left out",
            "Encrypted, empty and huge pages",
            pages="page",
            aliases=("application/x-pdf",),
        ),
        Format(
            "bmp",
            "image/bmp",
            ("bmp", "dib"),
            ("pillow",),
            "1 to 32 bits, RLE, bit fields",
            "An alpha byte that is used; one that is zero everywhere is ignored",
            _TRUNCATED,
            aliases=("image/x-ms-bmp", "image/x-bmp"),
        ),
        Format(
            "ico",
            "image/x-icon",
            ("ico",),
            ("pillow",),
            "The largest picture",
            "Pictures left out, transparency",
            _TRUNCATED,
            pages="picture, the largest first",
            aliases=("image/vnd.microsoft.icon", "image/ico"),
        ),
        Format(
            "cur",
            "image/x-win-bitmap",
            ("cur",),
            ("pillow",),
            "The largest picture",
            "Pictures left out, transparency",
            "A cursor without a picture",
            pages="picture, the largest first",
        ),
        Format("icns", "image/icns", ("icns",), ("pillow",), "The largest picture", "Transparency", _TRUNCATED),
        Format(
            "psd",
            "image/vnd.adobe.photoshop",
            ("psd", "psb"),
            ("pillow",),
            "The flattened composite",
            "CMYK, depth, transparency, layers",
            "Files without a composite",
            aliases=("application/x-photoshop", "image/x-photoshop"),
        ),
        Format(
            "jp2",
            "image/jp2",
            ("jp2", "j2k", "j2c", "jpx", "jpf", "jpc"),
            ("pillow",),
            "8 and 16 bits, grey and RGB",
            "Depth, transparency",
            _TRUNCATED_HARD,
            aliases=("image/jpx", "image/j2c"),
        ),
        Format(
            "pnm",
            "image/x-portable-anymap",
            ("ppm", "pgm", "pbm", "pnm", "pfm"),
            ("pillow",),
            "P1 to P6, 8 and 16 bits, float",
            "Depth",
            _TRUNCATED,
            aliases=("image/x-portable-pixmap", "image/x-portable-graymap", "image/x-portable-bitmap"),
        ),
        Format(
            "tga",
            "image/x-tga",
            ("tga", "icb", "vda", "vst"),
            ("pillow",),
            "8 to 32 bits, RLE",
            "Transparency",
            _TRUNCATED,
            aliases=("image/x-targa", "image/targa"),
        ),
        Format(
            "dds",
            "image/vnd-ms.dds",
            ("dds",),
            ("pillow",),
            "The largest level",
            "Transparency",
            _TRUNCATED,
            aliases=("image/x-dds",),
        ),
        Format("pcx", "image/x-pcx", ("pcx",), ("pillow",), "1 to 24 bits", "", _TRUNCATED, aliases=("image/vnd.zbrush.pcx",)),
        Format("qoi", "image/qoi", ("qoi",), ("pillow",), "RGB and RGBA", "Transparency", _TRUNCATED),
        Format("sgi", "image/sgi", ("sgi", "rgb", "rgba", "bw"), ("pillow",), "8 bits", "Transparency", _TRUNCATED),
        # Named, so that the error can say what it is.
        Format(
            "cgbi",
            "image/x-apple-cgbi",
            refused="this is Apple's variant of PNG from an app bundle: send the original, or convert it with "
            "`xcrun pngcrush -revert-iphone-optimizations`",
        ),
        Format("jxl", "image/jxl", ("jxl",)),
        Format("jxr", "image/jxr", ("jxr", "wdp", "hdp"), aliases=("image/vnd.ms-photo",)),
        Format("jls", "image/jls", ("jls",)),
        Format("bpg", "image/bpg", ("bpg",)),
        Format("flif", "image/flif", ("flif",)),
        Format("exr", "image/x-exr", ("exr",)),
        Format("hdr", "image/vnd.radiance", ("hdr",)),
        Format("fits", "image/fits", ("fits", "fit")),
        Format("mng", "video/x-mng", ("mng", "jng")),
        Format("xcf", "image/x-xcf", ("xcf",)),
        Format("djvu", "image/vnd.djvu", ("djvu", "djv")),
        Format("eps", "application/postscript", ("eps", "ps")),
        Format("emf", "image/emf", ("emf",)),
        Format("wmf", "image/wmf", ("wmf",)),
        Format("ani", "application/x-navi-animation", ("ani",)),
        Format("raw", "image/x-raw", ("cr2", "cr3", "raf", "orf", "rw2", "x3f")),
        Format("ktx", "image/ktx", ("ktx", "ktx2")),
        Format("dicom", "application/dicom", ("dcm",)),
        # No pictures at all.
        Format("empty", "application/x-empty", image=False),
        Format("text", "text/plain", ("txt", "md", "csv", "log"), image=False),
        Format("json", "application/json", ("json",), image=False),
        Format("html", "text/html", ("html", "htm"), image=False),
        Format("xml", "application/xml", ("xml",), image=False, aliases=("text/xml",)),
        Format("zip", "application/zip", ("zip", "docx", "xlsx", "pptx", "jar"), image=False),
        Format("gzip", "application/gzip", ("gz", "tgz"), image=False),
        Format("7z", "application/x-7z-compressed", ("7z",), image=False),
        Format("rar", "application/vnd.rar", ("rar",), image=False),
        Format("xz", "application/x-xz", ("xz",), image=False),
        Format("zstd", "application/zstd", ("zst",), image=False),
        Format("bzip2", "application/x-bzip2", ("bz2",), image=False),
        Format("mp4", "video/mp4", ("mp4", "mov", "m4v", "3gp", "m4a"), image=False, aliases=("video/quicktime",)),
        Format("webm", "video/webm", ("webm", "mkv"), image=False),
        Format("riff", "application/x-riff", ("wav", "avi"), image=False),
        Format("ogg", "application/ogg", ("ogg", "ogv", "oga"), image=False),
        Format("mp3", "audio/mpeg", ("mp3",), image=False),
        Format("elf", "application/x-elf", image=False),
        Format("exe", "application/vnd.microsoft.portable-executable", ("exe", "dll"), image=False),
        Format("sqlite", "application/vnd.sqlite3", ("sqlite", "db"), image=False),
        Format("lfs", "text/x-git-lfs-pointer", image=False),
        Format("unknown", "application/octet-stream", image=False),
    )
}


@dataclass(frozen=True)
class Signature:
    """Bytes that must stand at an offset; where a bit of the mask is 0 the bit of the file may be anything."""

    format: str
    magic: bytes
    offset: int = 0
    mask: bytes | None = None

    def matches(self, head: bytes) -> bool:
        there = head[self.offset : self.offset + len(self.magic)]
        if self.mask is None or len(there) < len(self.magic):
            return there == self.magic
        return all(byte & bits == wanted for byte, bits, wanted in zip(there, self.mask, self.magic, strict=True))


_ANY4 = b"\x00\x00\x00\x00"
_ALL4 = b"\xff\xff\xff\xff"

SIGNATURES = (
    Signature("cgbi", b"\x89PNG\r\n\x1a\n" + _ANY4 + b"CgBI", mask=_ALL4 * 2 + _ANY4 + _ALL4),
    Signature("png", b"\x89PNG\r\n\x1a\n"),
    Signature("jls", b"\xff\xd8\xff\xf7"),
    Signature("jpeg", b"\xff\xd8\xff"),
    Signature("gif", b"GIF87a"),
    Signature("gif", b"GIF89a"),
    Signature("webp", b"RIFF" + _ANY4 + b"WEBP", mask=_ALL4 + _ANY4 + _ALL4),
    Signature("ani", b"RIFF" + _ANY4 + b"ACON", mask=_ALL4 + _ANY4 + _ALL4),
    Signature("riff", b"RIFF"),
    Signature("raw", b"II*\x00" + _ANY4 + b"CR\x02\x00", mask=_ALL4 + _ANY4 + _ALL4),
    Signature("tiff", b"II*\x00"),
    Signature("tiff", b"MM\x00*"),
    Signature("tiff", b"II+\x00\x08\x00\x00\x00"),
    Signature("tiff", b"MM\x00+\x00\x08\x00\x00"),
    Signature("raw", b"IIRO"),
    Signature("raw", b"IIU\x00"),
    Signature("raw", b"FUJIFILMCCD-RAW"),
    Signature("raw", b"FOVb"),
    Signature("jxr", b"II\xbc"),
    Signature("jp2", b"\x00\x00\x00\x0cjP  \r\n\x87\n"),
    Signature("jp2", b"\xff\x4f\xff\x51"),
    Signature("jxl", b"\x00\x00\x00\x0cJXL \r\n\x87\n"),
    Signature("jxl", b"\xff\x0a"),
    Signature("pdf", b"%PDF-"),
    Signature("eps", b"%!PS"),
    Signature("eps", b"\xc5\xd0\xd3\xc6"),
    Signature("psd", b"8BPS\x00\x01"),
    Signature("psd", b"8BPS\x00\x02"),
    Signature("icns", b"icns"),
    Signature("dds", b"DDS "),
    Signature("qoi", b"qoif"),
    Signature("bpg", b"BPG\xfb"),
    Signature("flif", b"FLIF"),
    Signature("exr", b"\x76\x2f\x31\x01"),
    Signature("hdr", b"#?RADIANCE"),
    Signature("hdr", b"#?RGBE"),
    Signature("fits", b"SIMPLE  ="),
    Signature("mng", b"\x8aMNG\r\n\x1a\n"),
    Signature("mng", b"\x8bJNG\r\n\x1a\n"),
    Signature("xcf", b"gimp xcf"),
    Signature("djvu", b"AT&TFORM"),
    Signature("emf", b"\x01\x00\x00\x00" + bytes(36) + b" EMF", mask=_ALL4 + bytes(36) + _ALL4),
    Signature("wmf", b"\xd7\xcd\xc6\x9a"),
    Signature("ktx", b"\xabKTX 11\xbb"),
    Signature("ktx", b"\xabKTX 20\xbb"),
    Signature("dicom", b"DICM", offset=128),
    Signature("sgi", b"\x01\xda\x00\x01", mask=b"\xff\xff\xfe\xff"),
    Signature("sgi", b"\x01\xda\x00\x02", mask=b"\xff\xff\xfe\xff"),
    Signature("zip", b"PK\x03\x04"),
    Signature("zip", b"PK\x05\x06"),
    Signature("7z", b"7z\xbc\xaf\x27\x1c"),
    Signature("rar", b"Rar!\x1a\x07"),
    Signature("xz", b"\xfd7zXZ\x00"),
    Signature("zstd", b"\x28\xb5\x2f\xfd"),
    Signature("bzip2", b"BZh"),
    Signature("gzip", b"\x1f\x8b\x08"),
    Signature("webm", b"\x1a\x45\xdf\xa3"),
    Signature("ogg", b"OggS"),
    Signature("mp3", b"ID3"),
    Signature("elf", b"\x7fELF"),
    Signature("sqlite", b"SQLite format 3\x00"),
    Signature("lfs", b"version https://git-lfs.github.com/spec"),
)

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
    """The format that a declared MIME type claims."""
    claimed = _by_type(declared_type)
    return FORMATS[claimed] if claimed else None


# From the bytes -----------------------------------------------------------------------------------------------------------


def _by_bytes(head: bytes, tail: bytes) -> str | None:
    if not head:
        return "empty"
    found = _by_signature(head) or _by_structure(head)
    if found == "gzip":
        return "svg" if _text_kind(_inflated(head)) == "svg" else "gzip"
    if found:
        return found
    if tail[-26:].endswith(b"TRUEVISION-XFILE.\x00") and _could_be_tga(head):
        return "tga"
    return _text_kind(head)


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


# Text -----------------------------------------------------------------------------------------------------------------------

_ROOT = re.compile(
    r"(?:\s+|<\?.*?\?>|<!--.*?-->|<!DOCTYPE(?:[^\[<>]|\"[^\"]*\"|'[^']*')*(?:\[(?:[^\]\"'<]|\"[^\"]*\"|'[^']*'|<!--.*?-->|<[^>]*>)*\]\s*)?>)*",
    re.DOTALL | re.IGNORECASE,
)
_ROOT = re.compile(r"<(?:[A-Za-z_][\w.-]*:)?([A-Za-z!][\w.-]*)")
_SPACE = re.compile(r"\s*")
_MARK = re.compile(r"<!--|[\"'\[\]<>]")
_HTML_DOCTYPE = re.compile(r"\s*<!DOCTYPE\s+html", re.IGNORECASE)


def _text_kind(head: bytes) -> str | None:
    """ "svg", "html", "xml", "json", "text", or None where it is no text."""
    text = _as_text(head)
    if text is None:
        return None
    root = _root(text)
    if root == "svg":
        return "svg"
    if _HTML_DOCTYPE.match(text) or root in _HTML_ELEMENTS:
        return "html"
    if text.lstrip().startswith("<?xml"):
        return "xml"
    return "json" if text.lstrip()[:1] in ("{", "[") else "text"


def _root(text: str) -> str:
    """The local name of the first element, lower case; "" where there is none. Takes time in proportion to the text."""
    at = 0
    while True:
        at = _SPACE.match(text, at).end()  # type: ignore[union-attr]
        if text.startswith("<?", at):
            at = text.find("?>", at) + 2
        elif text.startswith("<!--", at):
            at = text.find("-->", at) + 3
        elif text[at : at + 9].upper() == "<!DOCTYPE":
            at = _after_doctype(text, at)
        else:
            found = _ROOT.match(text, at)
            return found[1].lower() if found else ""
        if at < 4:  # nothing closes it
            return ""


def _after_doctype(text: str, at: int) -> int:
    """Offset after a DOCTYPE with its internal subset, in which quotes and comments may hold any bracket; 0: it never ends."""
    open_angles = open_brackets = 0
    while mark := _MARK.search(text, at):
        kind, at = mark[0], mark.end()
        if kind in ('"', "'", "<!--"):
            closing = "-->" if kind == "<!--" else kind
            at = text.find(closing, at) + len(closing)
            if at < len(closing) + 1:
                return 0
        elif kind in "[]":
            open_brackets += 1 if kind == "[" else -1
        else:
            open_angles += 1 if kind == "<" else -1
            if open_angles == 0 and open_brackets <= 0:
                return at
    return 0


_HTML_ELEMENTS = {"html", "head", "body", "div", "p", "script", "title", "meta", "table", "span", "a", "h1"}


def _as_text(head: bytes) -> str | None:
    if head.startswith((b"\xff\xfe", b"\xfe\xff")):
        return head[: len(head) & ~1].decode("utf-16", "replace").lstrip("\ufeff")
    if head[:2] == b"<\x00":
        return head[: len(head) & ~1].decode("utf-16-le", "replace")
    if head[:2] == b"\x00<":
        return head[: len(head) & ~1].decode("utf-16-be", "replace")
    sample = head.removeprefix(b"\xef\xbb\xbf")
    if any(byte in _BINARY for byte in sample[:512]):
        return None
    return sample.decode("utf-8", "replace")


_BINARY = frozenset(range(32)) - frozenset(b"\t\n\r\f\x1b")


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
