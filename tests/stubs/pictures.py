"""What a provider sees in the bytes of an image: its own look at the header, and Pillow's decode. Nothing of pixlane."""

from __future__ import annotations

import base64
import binascii
import io
import warnings
from dataclasses import dataclass
from functools import lru_cache

from PIL import Image

SIGNATURES = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
    (b"BM", "image/bmp"),
    (b"II*\x00", "image/tiff"),
    (b"MM\x00*", "image/tiff"),
)
HEIF_BRANDS = {b"heic": "image/heic", b"heix": "image/heic", b"mif1": "image/heif", b"msf1": "image/heif", b"avif": "image/avif"}


@dataclass(frozen=True)
class Picture:
    """`mime` is "" for bytes that no header claims; size and frames are 0 where unreadable; `whole`: decoded to the end."""

    mime: str
    width: int = 0
    height: int = 0
    frames: int = 0
    whole: bool = False

    def __str__(self) -> str:
        return f"{self.mime.removeprefix('image/')} {self.width}x{self.height}"


@lru_cache(maxsize=512)
def look(data: bytes) -> Picture:
    """What the bytes are."""
    mime = _claimed(data)
    if not mime or mime in HEIF_BRANDS.values():
        return Picture(mime, whole=bool(mime))  # HEIF is taken by its header: no stub needs its pixels
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of decompression bombs: the stubs only ever see the tests' own pictures
            with Image.open(io.BytesIO(data)) as image:
                width, height, frames = *image.size, getattr(image, "n_frames", 1)
                try:
                    image.load()
                except (OSError, SyntaxError, ValueError):
                    return Picture(mime, width, height, frames)
    except (OSError, SyntaxError, ValueError):
        return Picture(mime)
    return Picture(mime, width, height, frames, whole=True)


def _claimed(data: bytes) -> str:
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return "image/webp"
    if data[4:8] == b"ftyp":
        return HEIF_BRANDS.get(data[8:12], "")
    return next((mime for signature, mime in SIGNATURES if data.startswith(signature)), "")


def from_base64(text: str, *, url_safe: bool = False) -> bytes | None:
    """The bytes of strict base64; None where it is broken. `url_safe`: that alphabet is taken too."""
    if url_safe:
        text = text.translate(str.maketrans("-_", "+/"))
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return None


def from_data_url(url: str) -> tuple[str, bytes | None] | None:
    """Declared type and bytes (None: broken base64) of a data URL; None for any other URL."""
    if not url.startswith("data:"):
        return None
    head, comma, body = url[5:].partition(",")
    mime, _, encoding = head.partition(";")
    return mime, from_base64(body) if comma and encoding == "base64" else None
