"""The table of signatures."""

from __future__ import annotations

from dataclasses import dataclass


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
