"""What engines say and do: their warnings, their words for too little memory, their time; and what is made of it."""

from __future__ import annotations

import errno
import os
import struct
import subprocess
import sys
import warnings

import pytest
from PIL import Image

from pixlane import normalize
from pixlane.errors import (
    CorruptInput,
    DeadlineExceeded,
    OutOfMemory,
    SourceError,
    TooManyPixels,
    UnsupportedFormat,
)
from pixlane.imaging import wording
from pixlane.settings import Limits
from tests.pure import make


@pytest.mark.slow
def test_a_bomb_inside_a_container_names_our_limit() -> None:
    inner = make.encode(Image.new("L", (14_000, 14_000)), "PNG")
    sources = (
        b"icns" + struct.pack(">I", 16 + len(inner)) + b"ic10" + struct.pack(">I", 8 + len(inner)) + inner,
        make.icon(1, inner),
    )
    for data in sources:
        with pytest.raises(TooManyPixels) as caught:
            normalize(data)
        assert (caught.value.limit, caught.value.actual) == (100_000_000, 196_000_000)
        assert "bomb" not in caught.value.message


def test_what_pillow_warns_of_is_a_note_and_no_line_on_stderr() -> None:
    data = make.icon(1, make.flat((255, 0, 0, 255), (64, 64), mode="RGBA"), side=16)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        rendition = normalize(data, make.LOSSLESS)
    assert (rendition.width, rendition.height) == (64, 64)
    assert "repaired" in make.codes(rendition)


def test_a_library_prints_nothing_on_stderr(capfd: pytest.CaptureFixture[str]) -> None:
    data = bytearray(make.array(make.noise(48, 32), "TIFF", compression="zstd"))
    data[8:40] = bytes(32)
    for bad in (bytes(data), make.tiff(make.noise(48, 32), bits=8, photometric=2, t277=[9_715], t259=[50_000])):
        with pytest.raises(SourceError):
            normalize(bad)
    assert capfd.readouterr().err == ""


@pytest.mark.timeout(60)
def test_the_deadline_holds_where_a_plugin_decodes_in_python() -> None:
    side = 4_000
    head = struct.pack("<4sIIIII", b"DDS ", 124, 0x100F, side, side, side * 4) + bytes(52)
    kind = struct.pack("<IIIIIIII", 32, 0x41, 0, 32, 0xFF0000, 0xFF00, 0xFF, 0xFF000000) + struct.pack("<I", 0x1000) + bytes(16)
    with pytest.raises(DeadlineExceeded):
        normalize(head + kind + bytes(range(256)) * (side * side // 64), limits=Limits(64 << 20, soft_timeout_s=0.3))


IN_LITTLE_MEMORY = """
import resource, sys
from pixlane import normalize
from pixlane.errors import PixlaneError
from pixlane.settings import Limits
import numpy, pyvips, PIL.Image
resource.setrlimit(resource.RLIMIT_DATA, (int(sys.argv[1]) << 20,) * 2)
try:
    normalize(sys.stdin.buffer.read(), limits=Limits(max_source_bytes=1 << 30))
except PixlaneError as error:
    print(error.code, error.retryable, error.cacheable)
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("form", "side", "limit_mib"),
    [
        ("JPEG", 8_000, 256),
        ("WEBP", 8_000, 256),
        ("PCX", 8_000, 256),
        ("HEIF", 4_000, 80),
        ("HEIF", 4_000, 100),
        ("HEIF", 4_000, 130),
    ],
)
def test_too_little_memory_is_said_and_no_verdict_on_the_picture(form: str, side: int, limit_mib: int) -> None:
    options = {"progressive": True} if form == "JPEG" else {}
    data = make.flat((9, 99, 199), (side, side), form, **options)
    done = subprocess.run(
        [sys.executable, "-c", IN_LITTLE_MEMORY, str(limit_mib)],
        input=data,
        capture_output=True,
        check=False,
        env={**os.environ, "VIPS_CONCURRENCY": "1"},
    )
    assert done.stdout.split() == [b"out_of_memory", b"True", b"False"], done.stderr[-500:]


@pytest.mark.parametrize(
    "said", ["glib: Error creating thread: Resource temporarily unavailable", "Allocating 16000015 bytes failed"]
)
def test_what_only_a_machine_without_memory_says_is_no_verdict(said: str) -> None:
    with pytest.raises(OutOfMemory):
        wording.unreadable(said)


def test_a_bound_of_the_codec_is_no_lack_of_memory() -> None:
    data = bytearray(make.array(make.smooth(48, 32), "HEIF"))
    at = data.index(b"iloc")
    data[at + 10 : at + 12] = b"\xff\xff"  # items
    with pytest.raises(SourceError):
        normalize(bytes(data))


@pytest.mark.parametrize(
    ("said", "kind"),
    [
        ("VipsJpeg: Insufficient memory (case 4)", OutOfMemory),
        ("vips_tracked: out of memory -- size == 244MB", OutOfMemory),
        ("heif: Invalid input: Unspecified: Memory allocation error (2.0)", OutOfMemory),
        ("Memory allocation error: Security limit exceeded: iloc box contains 20291 items", CorruptInput),
        ('tiff2vips: Out of memory reading of "Compression"', CorruptInput),  # a tag that claims more values than there can be
        ("tiff2vips: LZMA compression support is not configured", UnsupportedFormat),
    ],
)
def test_what_an_engine_says_is_understood(said: str, kind: type[Exception]) -> None:
    with pytest.raises(kind):
        raise wording.unreadable(said)


def test_names_of_parts_that_are_cut_off_are_passed_over() -> None:
    items = make.box(b"infe", b"\2\0\0\0") + b"\0\0\0\x40infe"
    meta = make.box(b"meta", bytes(4) + make.box(b"iinf", bytes(4) + b"\0\2" + items))
    with pytest.raises(SourceError):
        normalize(make.ftyp(b"heic", b"mif1") + meta)


@pytest.mark.parametrize(
    ("error", "lacks"),
    [
        (MemoryError(), True),
        (OSError(errno.ENOMEM, "Cannot allocate memory"), True),
        (ImportError("libheif.so: failed to map segment from shared object"), True),
        (RuntimeError("can't start new thread"), True),
        (OSError(errno.ENOENT, "No such file"), False),
        (ImportError("No module named 'pillow_heif'"), False),
        (RuntimeError("dictionary changed size during iteration"), False),
    ],
)
def test_a_lack_of_memory_is_told_from_other_faults(error: Exception, lacks: bool) -> None:
    assert wording.lacks_memory(error) is lacks
