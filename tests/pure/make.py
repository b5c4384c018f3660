"""Files made in code: chunks, segments, tags and boxes put together by hand, and pictures encoded by Pillow."""

from __future__ import annotations

import io
import struct
import zlib
from typing import Any

import numpy as np
from PIL import Image

from pixlane import Recipe, Rendition, normalize
from pixlane.errors import EngineMissing
from pixlane.rendition import NOTE_CODES

PNG = b"\x89PNG\r\n\x1a\n"
RED, GREEN, BLUE, WHITE, BLACK = (255, 0, 0), (0, 255, 0), (0, 0, 255), (255, 255, 255), (0, 0, 0)
LOSSLESS = Recipe(accept=("image/png",), target_bytes=4 << 20)


def encode(image: Image.Image, form: str, **options: Any) -> bytes:
    if form == "HEIF":
        import pillow_heif

        pillow_heif.register_heif_opener()
    out = io.BytesIO()
    image.save(out, form, **options)
    return out.getvalue()


def array(pixels: Any, form: str = "PNG", **options: Any) -> bytes:
    return encode(Image.fromarray(np.asarray(pixels)), form, **options)


def flat(colour: Any, size: tuple[int, int] = (32, 16), form: str = "PNG", mode: str = "RGB", **options: Any) -> bytes:
    return encode(Image.new(mode, size, colour), form, **options)


def noise(width: int = 64, height: int = 64, bands: int = 3, seed: int = 1) -> np.ndarray:
    shape = (height, width, bands) if bands > 1 else (height, width)
    return np.random.default_rng(seed).integers(0, 256, shape, dtype=np.uint8)


def smooth(width: int = 64, height: int = 64) -> np.ndarray:
    across, down = np.meshgrid(np.linspace(0, 255, width), np.linspace(0, 255, height))
    return np.stack([across, down, 255 - across], axis=-1).astype(np.uint8)


def seen(data: bytes, recipe: Recipe = LOSSLESS, **options: Any) -> np.ndarray:
    """The pixels of the rendition, as Pillow reads them, height x width x 3."""
    return shown(normalize(data, recipe, **options))


def shown(rendition: Rendition) -> np.ndarray:
    return np.asarray(Image.open(io.BytesIO(rendition.data)).convert("RGB")).astype(int)


def codes(rendition: Rendition) -> set[str]:
    found = {note.code for note in rendition.notes}
    assert found <= set(NOTE_CODES)
    return found


def near(pixel: Any, wanted: Any, tolerance: int = 3) -> bool:
    return bool(np.abs(np.asarray(pixel).astype(int) - np.asarray(wanted)).max() <= tolerance)


# EXIF and TIFF ------------------------------------------------------------------------------------------------------------


def exif(orientation: int, *, order: str = "<") -> bytes:
    """A TIFF block with one orientation tag."""
    head = (b"II*\0" if order == "<" else b"MM\0*") + struct.pack(order + "I", 8)
    return head + struct.pack(order + "HHHIHHI", 1, 0x0112, 3, 1, orientation, 0, 0)


def tiff(
    pixels: np.ndarray,
    *,
    bits: int,
    photometric: int = 1,
    order: str = "<",
    sample_format: int = 1,
    big: bool = False,
    **extra: Any,
) -> bytes:
    """An uncompressed TIFF of one strip; `extra` are further tags by number as `t338=[1]`."""
    kind = pixels.dtype.newbyteorder(order)
    body = pixels.astype(kind).tobytes()
    samples = pixels.shape[2] if pixels.ndim == 3 else 1
    tags: dict[int, list[int]] = {
        256: [pixels.shape[1]],
        257: [pixels.shape[0]],
        258: [bits] * samples,
        259: [1],
        262: [photometric],
        277: [samples],
        278: [pixels.shape[0]],
        279: [len(body)],
        339: [sample_format] * samples,
    }
    tags.update({int(name[1:]): list(values) for name, values in extra.items()})
    head_size, entry = (16, 20) if big else (8, 12)
    tags[273] = [head_size]
    directory = head_size + len(body)
    after = directory + (8 + 20 * len(tags) + 8 if big else 2 + 12 * len(tags) + 4)
    entries, values_area = b"", b""
    for tag, values in sorted(tags.items()):
        code, kind_number = ("H", 3) if all(value < 65536 for value in values) else ("I", 4)
        raw = struct.pack(f"{order}{len(values)}{code}", *values)
        room = 8 if big else 4
        if len(raw) > room:
            stored = struct.pack(order + ("Q" if big else "I"), after + len(values_area))
            values_area += raw
        else:
            stored = raw.ljust(room, b"\0")
        entries += struct.pack(order + ("HHQ" if big else "HHI"), tag, kind_number, len(values)) + stored
    assert len(entries) == entry * len(tags)
    mark = b"II" if order == "<" else b"MM"
    if big:
        head = mark + struct.pack(order + "HHHQ", 43, 8, 0, directory)
        return head + body + struct.pack(order + "Q", len(tags)) + entries + bytes(8) + values_area
    return (
        mark
        + struct.pack(order + "HI", 42, directory)
        + body
        + struct.pack(order + "H", len(tags))
        + entries
        + bytes(4)
        + values_area
    )


# PNG ----------------------------------------------------------------------------------------------------------------------


def chunk(kind: bytes, content: bytes) -> bytes:
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))


def png(
    pixels: np.ndarray, *chunks: bytes, colour: int | None = None, bits: int = 8, after: bytes = b"", level: int = 6
) -> bytes:
    """A PNG of rows without filter; `chunks` stand before the picture data."""
    bands = pixels.shape[2] if pixels.ndim == 3 else 1
    colour = {1: 0, 2: 4, 3: 2, 4: 6}[bands] if colour is None else colour
    rows = pixels.astype(">u2") if bits == 16 else pixels.astype(np.uint8)
    raw = b"".join(b"\0" + row.tobytes() for row in rows)
    head = struct.pack(">IIBBBBB", pixels.shape[1], pixels.shape[0], bits, colour, 0, 0, 0)
    return PNG + chunk(b"IHDR", head) + b"".join(chunks) + chunk(b"IDAT", zlib.compress(raw, level)) + chunk(b"IEND", b"") + after


# JPEG ---------------------------------------------------------------------------------------------------------------------


def segment(marker: int, content: bytes) -> bytes:
    return struct.pack(">BBH", 0xFF, marker, len(content) + 2) + content


def with_segment(jpeg: bytes, marker: int, content: bytes) -> bytes:
    """The segment right after SOI."""
    return jpeg[:2] + segment(marker, content) + jpeg[2:]


def without_adobe(jpeg: bytes) -> bytes:
    at = jpeg.index(b"Adobe") - 4
    return jpeg[:at] + jpeg[at + 2 + int.from_bytes(jpeg[at + 2 : at + 4], "big") :]


# Icons --------------------------------------------------------------------------------------------------------------------


def icon(kind: int, data: bytes, side: int = 32) -> bytes:
    return struct.pack("<HHHBBBBHHII", 0, kind, 1, side, side, 0, 0, 1, 32, len(data), 22) + data


# ISO-BMFF -----------------------------------------------------------------------------------------------------------------


def box(kind: bytes, content: bytes = b"") -> bytes:
    return struct.pack(">I", 8 + len(content)) + kind + content


def ftyp(major: bytes, *compatible: bytes) -> bytes:
    return box(b"ftyp", major + bytes(4) + b"".join(compatible))


def missing(work: Any) -> Any:
    """An opener whose package is not installed."""
    raise EngineMissing("blocked by a test")
