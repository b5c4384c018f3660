"""Data URLs: taken apart as senders really write them, put together as receivers want them (RFC 2397, RFC 4648)."""

from __future__ import annotations

import base64
import binascii
from urllib.parse import unquote_to_bytes

_SCHEME = "data:"
_LONGEST_HEADER = 512  # characters; beyond it there is no comma that belongs to a header
_SPACE = str.maketrans("", "", " \t\r\n\f\v")
_URL_SAFE = str.maketrans("-_", "+/")


def build(mime: str, data: bytes) -> str:
    """`data:<mime>;base64,<data>`."""
    return f"{_SCHEME}{mime};base64,{encode(data)}"


def encode(data: bytes) -> str:
    """Base64 in the standard alphabet, padded, on one line."""
    return base64.b64encode(data).decode("ascii")


def split(url: str) -> tuple[str | None, str | bytes] | None:
    """The declared type (lower case, without parameters) and the base64 text, or the bytes of a URL that is percent-encoded.

    None where it is no data URL. Upper case, white space around it and parameters are taken.
    """
    head = url[:_LONGEST_HEADER].lstrip()
    if head[: len(_SCHEME)].lower() != _SCHEME:
        return None
    url = url.strip()
    header, comma, body = url[len(_SCHEME) :].partition(",")
    mime, *parameters = [word.strip().lower() for word in header.split(";")]
    if not comma:
        return mime or None, ""
    return mime or None, body if "base64" in parameters else unquote_to_bytes(body)


def decode(text: str) -> bytes | None:
    """The bytes of base64 text: line breaks, the URL-safe alphabet, missing padding, and percent-encoding anywhere are taken.

    None where it is no base64.
    """
    plain = unquote_to_bytes(text).decode("latin-1") if "%" in text and text.isascii() else text
    compact = plain.translate(_SPACE) if any(space in plain for space in " \t\r\n\f\v") else plain
    if "-" in compact or "_" in compact:
        compact = compact.translate(_URL_SAFE)
    compact = compact.rstrip("=")
    try:
        return binascii.a2b_base64(compact + "=" * (-len(compact) % 4), strict_mode=True)
    except ValueError:  # binascii.Error, and text that is not ASCII
        return None
