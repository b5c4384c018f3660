"""Small whole files of every format that is decoded, and a few of their kinds; made in code."""

from __future__ import annotations

import gzip
import io
import struct
import zlib

import numpy as np
import pillow_heif
from PIL import Image

from pixlane.imaging import icc
from tests.pure import make, make_svg

SIDE = 24


def seeds() -> dict[str, bytes]:
    """Name, of which the part before the dash is the file's extension, to bytes. The same in every run."""
    pillow_heif.register_heif_opener()
    picture, grey, clear = make.noise(SIDE, SIDE), make.noise(SIDE, SIDE, 1), make.noise(SIDE, SIDE, 4)
    wide = grey.astype(np.uint16) * 257
    profile, exif = icc.matrix_profile(icc.DISPLAY_P3), make.exif(6)
    cmyk = Image.fromarray(clear, "CMYK")
    found = {
        "png": make.array(picture),
        "png-clear": make.array(clear),
        "png-palette": make.encode(Image.fromarray(picture).quantize(16), "PNG", transparency=3),
        "png-wide": make.png(wide, make.chunk(b"gAMA", struct.pack(">I", 100_000)), bits=16),
        "png-profile": make.array(picture, icc_profile=profile, exif=exif),
        "png-hdr": make.png(picture, make.chunk(b"cICP", bytes((9, 16, 0, 1)))),
        "png-moving": _moving("PNG"),
        "jpg": make.array(picture, "JPEG", exif=exif),
        "jpg-progressive": make.array(picture, "JPEG", progressive=True, icc_profile=profile),
        "jpg-cmyk": make.encode(cmyk, "JPEG"),
        "jpg-grey": make.array(grey, "JPEG"),
        "jpg-mpo": _moving("MPO"),
        "gif": make.array(picture, "GIF"),
        "gif-moving": _moving("GIF", disposal=2),
        "webp": make.array(picture, "WEBP", exif=exif, icc_profile=profile),
        "webp-lossless": make.array(clear, "WEBP", lossless=True),
        "webp-moving": _moving("WEBP"),
        "tif": make.array(picture, "TIFF"),
        "tif-lzw": make.array(picture, "TIFF", compression="tiff_lzw"),
        "tif-jpeg": make.array(picture, "TIFF", compression="jpeg"),
        "tif-fax": make.encode(Image.fromarray(grey > 128), "TIFF", compression="group4"),
        "tif-float": make.tiff(grey.astype(np.float32) / 255, bits=32, sample_format=3),
        "tif-big": make.tiff(wide, bits=16, order=">", big=True),
        "tif-lab": make.tiff(picture, bits=8, photometric=9),
        "tif-zstd": make.array(picture, "TIFF", compression="zstd"),
        "tif-pages": _moving("TIFF"),
        "tif-cmyk": make.encode(cmyk, "TIFF"),
        "avif": make.array(picture, "AVIF"),
        "avif-clear": make.array(clear, "AVIF", icc_profile=profile),
        "avif-moving": _moving("AVIF"),
        "heic": make.array(picture, "HEIF"),
        "heic-clear": make.array(clear, "HEIF"),
        "bmp": make.array(picture, "BMP"),
        "bmp-clear": make.array(clear, "BMP"),
        "bmp-palette": make.array(grey, "BMP"),
        "ico": make.array(clear, "ICO", sizes=[(16, 16), (24, 24)]),
        "ico-bitmap": make.array(clear, "ICO", sizes=[(16, 16)], bitmap_format="bmp"),
        "icns": _icns(make.flat((9, 99, 199, 128), (128, 128), mode="RGBA")),
        "psd": b"8BPS" + struct.pack(">H6xHIIHHIIIH", 1, 3, SIDE, SIDE, 8, 3, 0, 0, 0, 0) + picture.tobytes(),
        "jp2": make.array(picture, "JPEG2000"),
        "j2k": make.array(picture, "JPEG2000", no_jp2=True),
        "ppm": make.array(picture, "PPM"),
        "pgm": b"P2\n4 2\n255\n0 10 20 30 40 50 60 70\n",
        "pfm": b"Pf\n4 2\n-1.0\n" + np.linspace(0, 1, 8).astype("<f4").tobytes(),
        "tga": make.array(picture, "TGA"),
        "tga-rle": make.array(clear, "TGA", compression="tga_rle"),
        "dds": make.array(clear, "DDS"),
        "pcx": make.array(picture, "PCX"),
        "qoi": make.array(clear, "QOI"),
        "sgi": make.array(picture, "SGI"),
        "svg": _svg(),
        "svgz": gzip.compress(_svg(), mtime=0),
        "pdf": _pdf(),
    }
    cursor = bytearray(found["ico-bitmap"])
    cursor[2] = 2
    return {**found, "cur": bytes(cursor)}


def _moving(form: str, **options: int) -> bytes:
    frames = [Image.fromarray(make.noise(SIDE, SIDE, seed=seed)) for seed in (1, 2, 3)]
    return make.encode(frames[0], form, save_all=True, append_images=frames[1:], **options)


def _icns(picture: bytes) -> bytes:
    """A picture of 128 x 128 px as Apple's icons hold it."""
    return b"icns" + struct.pack(">I4sI", 16 + len(picture), b"ic07", 8 + len(picture)) + picture


def _svg() -> bytes:
    return make_svg.svg(
        "<defs><linearGradient id='g'><stop offset='.2' stop-color='red'/><stop offset='1'/></linearGradient>"
        "<filter id='f'><feGaussianBlur stdDeviation='2'/></filter><clipPath id='c'><circle r='40'/></clipPath></defs>"
        "<style>.a{fill:url(#g)}</style><g class='a' filter='url(#f)' clip-path='url(#c)'><rect width='80' height='80'/></g>"
        f"<use href='#c'/><text x='9' y='50'>words</text><image href='{make_svg.data_url(make_svg.png(1, 2, 3))}' width='9'/>"
    )


def _pdf() -> bytes:
    parts = [
        b"<</Type/Catalog/Pages 2 0 R>>",
        b"<</Type/Pages/Kids[3 0 R]/Count 1>>",
        b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 90 60]/Contents 4 0 R/Rotate 90>>",
        b"<</Length 48/Filter/FlateDecode>>\nstream\n" + zlib.compress(b"1 0 0 rg 10 10 50 30 re f") + b"\nendstream",
    ]
    out, offsets = io.BytesIO(b"%PDF-1.4\n"), []
    out.seek(0, io.SEEK_END)
    for number, part in enumerate(parts, 1):
        offsets.append(out.tell())
        out.write(b"%d 0 obj\n%s\nendobj\n" % (number, part))
    start = out.tell()
    rows = b"".join(b"%010d 00000 n \n" % offset for offset in offsets)
    out.write(b"xref\n0 5\n0000000000 65535 f \n" + rows + b"trailer<</Size 5/Root 1 0 R>>\nstartxref\n%d\n%%%%EOF" % start)
    return out.getvalue()
