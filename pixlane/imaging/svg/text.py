"""The characters of an SVG: inflated when it is svgz, decoded by its byte order mark or its XML declaration."""

from __future__ import annotations

import re
import zlib

from pixlane.errors import CorruptInput, SourceTooLarge
from pixlane.settings import Limits

GZIP_MAGIC = b"\x1f\x8b"

# A mark, or how "<" looks without one (XML 1.0, appendix F).
_MARKS: tuple[tuple[bytes, str], ...] = (
    (b"\xff\xfe\x00\x00", "utf-32"),
    (b"\x00\x00\xfe\xff", "utf-32"),
    (b"\xef\xbb\xbf", "utf-8-sig"),
    (b"\xff\xfe", "utf-16"),
    (b"\xfe\xff", "utf-16"),
    (b"<\x00", "utf-16-le"),
    (b"\x00<", "utf-16-be"),
)
_DECLARED = re.compile(rb"""\A\s*<\?xml[^>]{0,200}?\bencoding\s*=\s*["']([A-Za-z0-9._-]{1,40})["']""")
# Encodings of real documents. Python knows more, and some of those are slow or are no character sets at all.
_KNOWN = re.compile(
    r"utf-?8|us-?ascii|ascii|iso-?8859-?\d{1,2}|latin-?1|windows-?\d{3,4}|cp\d{3,4}|shift[_-]?jis|euc-(jp|kr)"
    r"|iso-2022-jp|gb2312|gbk|gb18030|big5|koi8-[ru]|macintosh",
    re.IGNORECASE,
)
_XML_DECLARATION = re.compile(r"\A\s*<\?xml\s[^>]*\?>")


def characters(data: bytes, limits: Limits) -> str:
    """The document as text, without byte order mark and XML declaration.

    Raises:
        SourceTooLarge: more bytes than `max_svg_bytes`, or than `max_inflated_bytes` once inflated.
        CorruptInput: the gzip stream or the characters are damaged, or the encoding is unknown.
    """
    if len(data) > limits.max_svg_bytes:
        raise SourceTooLarge(
            f"the SVG has {len(data)} bytes, allowed are {limits.max_svg_bytes}", limit=limits.max_svg_bytes, actual=len(data)
        )
    if data.startswith(GZIP_MAGIC):
        data = inflate(data, limits.max_inflated_bytes)
    encoding = _encoding(data)
    try:
        text = data.decode(encoding)
    except (UnicodeDecodeError, LookupError) as error:
        raise CorruptInput(f"the SVG is not valid {encoding}: {error}") from None
    return _XML_DECLARATION.sub("", text.removeprefix("\ufeff"), count=1).lstrip()


def inflate(data: bytes, limit_bytes: int) -> bytes:
    """The content of a gzip stream. Raises SourceTooLarge beyond the limit, CorruptInput for a damaged or cut stream."""
    inflater = zlib.decompressobj(wbits=31)
    try:
        content = inflater.decompress(data, limit_bytes + 1)
    except zlib.error as error:
        raise CorruptInput(f"the compressed SVG is damaged: {error}") from None
    if len(content) > limit_bytes:
        raise SourceTooLarge(
            f"the SVG inflates to more than {limit_bytes} bytes", limit=limit_bytes, actual=f"more than {limit_bytes}"
        )
    if not inflater.eof:
        raise CorruptInput("the compressed SVG ends early")
    return content


def _encoding(data: bytes) -> str:
    for mark, encoding in _MARKS:
        if data.startswith(mark):
            return encoding
    declared = _DECLARED.match(data)
    if declared is None:
        return "utf-8"
    name = declared[1].decode("ascii")
    if name.lower().startswith(("utf-16", "utf16")):
        return "utf-8"  # it says UTF-16 in single bytes, so it is not
    if not _KNOWN.fullmatch(name):
        raise CorruptInput(f"the SVG names the encoding {name!r}, which is not known", actual=name)
    return name
