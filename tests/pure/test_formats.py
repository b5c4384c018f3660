"""What bytes are: by signature, by brand, by first element; and what happens when a name says otherwise."""

from __future__ import annotations

import gzip
import hashlib
import struct

import pytest

from pixlane import normalize
from pixlane.errors import EmptyInput, NotAnImage, UnsupportedFormat
from pixlane.formats import FORMATS, SIGNATURES, detect
from tests.pure import make

SVG = '<svg xmlns="http://www.w3.org/2000/svg" width="10" height="10"/>'


def name_of(data: bytes, **options: str) -> str:
    return detect(data, tail=data[-26:], **options).format.name


@pytest.mark.parametrize(
    "form", ["PNG", "JPEG", "GIF", "WEBP", "BMP", "TIFF", "ICO", "AVIF", "PPM", "TGA", "PCX", "SGI", "DDS", "QOI"]
)
def test_what_pillow_writes_is_told_by_its_bytes(form: str) -> None:
    wanted = {"PPM": "pnm"}.get(form, form.lower())
    assert name_of(make.flat(make.RED, form=form), name="picture.tga" if form == "TGA" else "") == wanted


@pytest.mark.parametrize(
    ("brands", "wanted"),
    [
        ([b"avif", b"mif1", b"miaf"], "avif"),
        ([b"avis", b"msf1"], "avif"),
        ([b"mif1", b"avif"], "avif"),
        ([b"heic", b"mif1"], "heif"),
        ([b"heix", b"mif1"], "heif"),
        ([b"hevc", b"msf1"], "heif"),
        ([b"mif1"], "heif"),
        ([b"msf1", b"hevc"], "heif"),
        ([b"isom", b"mp42"], "mp4"),
        ([b"qt  "], "mp4"),
        ([b"crx ", b"isom"], "raw"),
    ],
)
def test_iso_containers_are_told_by_all_their_brands(brands: list[bytes], wanted: str) -> None:
    assert name_of(make.ftyp(*brands) + make.box(b"meta", bytes(60))) == wanted


def test_a_generic_brand_with_av1_items_is_avif() -> None:
    assert name_of(make.ftyp(b"mif1", b"miaf") + make.box(b"meta", bytes(20) + b"av01" + bytes(20))) == "avif"


@pytest.mark.parametrize(
    "data",
    [
        SVG.encode(),
        b"\xef\xbb\xbf" + SVG.encode(),
        SVG.encode("utf-16"),
        SVG.encode("utf-16-le"),
        b'<?xml version="1.0"?>\n<!-- a comment <html> -->\n' + SVG.encode(),
        b'<!DOCTYPE svg PUBLIC "-//W3C//DTD SVG 1.1//EN" "http://x/svg11.dtd">' + SVG.encode(),
        b'<!DOCTYPE svg [ <!ENTITY ns "http://a/"> <!-- ] --> <!ENTITY b "]>"> ]>\n' + SVG.encode(),
        b'<svg:svg xmlns:svg="http://www.w3.org/2000/svg"/>',
        gzip.compress(SVG.encode(), mtime=0),
        b"  \n" + SVG.encode(),
    ],
)
def test_svg_is_told_by_its_first_element(data: bytes) -> None:
    assert name_of(data) == "svg"


@pytest.mark.parametrize(
    ("data", "wanted"),
    [
        (b"<!DOCTYPE html><html><body><svg></svg></body></html>", "html"),
        (b"<html><svg/></html>", "html"),
        (b"<?xml version='1.0'?><note>svg</note>", "xml"),
        (b"just some words about <svg", "text"),
        (b'{"error": "not found"}', "json"),
        (b"PK\x03\x04" + bytes(30), "zip"),
        (gzip.compress(b"a log", mtime=0), "gzip"),
        (b"%PDF-1.7\n", "pdf"),
        (b"\x7fELF" + bytes(30), "elf"),
        (b"", "empty"),
        (bytes(range(1, 200)), "unknown"),
    ],
)
def test_what_is_no_picture_is_named(data: bytes, wanted: str) -> None:
    assert name_of(data) == wanted


@pytest.mark.parametrize(
    ("data", "wanted"),
    [
        (b"\xff\x0a" + bytes(20), "jxl"),
        (b"\x00\x00\x00\x0cJXL \r\n\x87\n", "jxl"),
        (b"\x00\x00\x00\x0cjP  \r\n\x87\n", "jp2"),
        (b"8BPS\x00\x01" + bytes(20), "psd"),
        (b"II+\x00\x08\x00\x00\x00" + bytes(8), "tiff"),
        (b"MM\x00+\x00\x08\x00\x00" + bytes(8), "tiff"),
        (b"\x00\x00\x02\x00\x01\x00" + b"\x20\x20\x00\x00" + bytes(12), "cur"),
        (b"\xff\xd8\xff\xf7" + bytes(20), "jls"),
        (b"RIFF\x10\x00\x00\x00WAVE", "riff"),
    ],
)
def test_formats_are_named_even_where_they_are_not_decoded(data: bytes, wanted: str) -> None:
    assert name_of(data) == wanted


def test_a_format_that_is_not_decoded_is_refused_by_name() -> None:
    with pytest.raises(UnsupportedFormat, match="jxl"):
        normalize(b"\xff\x0a" + bytes(200), name="photo.jpg")


def test_bytes_come_before_the_name_and_the_contradiction_is_noted() -> None:
    rendition = normalize(make.flat(make.RED), name="photo.jpg", declared_type="image/webp; charset=binary")
    assert rendition.source.mime == "image/png"
    said = [note.text for note in rendition.notes if note.code == "declared_type_wrong"]
    assert len(said) == 2
    assert "image/jpeg" in said[0]
    assert "image/webp" in said[1]


def test_a_true_name_and_an_unknown_one_raise_no_note() -> None:
    for name in ("a.PNG", "a.apng", "a.bin", "a", None):
        assert "declared_type_wrong" not in make.codes(normalize(make.flat(make.RED), name=name, declared_type="image/x-png"))


def test_an_html_page_named_png_is_refused_as_html() -> None:
    with pytest.raises(NotAnImage, match="html"):
        normalize(b"<!doctype html><title>404</title>", name="shot.png")


def test_a_hash_that_the_caller_knows_is_not_computed_again() -> None:
    data = make.flat(make.RED)
    assert normalize(data, sha256="ab" * 32).source.sha256 == "ab" * 32
    assert normalize(data).source.sha256 == hashlib.sha256(data).hexdigest()


def test_nothing_is_refused_as_empty() -> None:
    with pytest.raises(EmptyInput):
        normalize(b"")


def test_white_space_before_a_picture_is_skipped_with_a_note() -> None:
    plain = normalize(make.flat(make.RED))
    rendition = normalize(b"\r\n\r\n" + make.flat(make.RED))
    assert "repaired" in make.codes(rendition)
    assert rendition.data == plain.data
    assert rendition.source.byte_count == plain.source.byte_count + 4


def test_other_junk_before_a_picture_makes_it_no_picture() -> None:
    with pytest.raises(NotAnImage):
        normalize(b"Warning: something\n" + make.flat(make.RED))


def test_a_polyglot_is_what_its_first_bytes_say_and_the_rest_is_never_forwarded() -> None:
    rendition = normalize(make.flat(make.RED, form="GIF") + b"PK\x03\x04secret")
    assert rendition.source.mime == "image/gif"
    assert "trailing_data_dropped" in make.codes(rendition)
    assert b"secret" not in rendition.data


def test_a_mask_lets_bits_differ() -> None:
    webp = next(signature for signature in SIGNATURES if signature.format == "webp")
    assert webp.matches(b"RIFF" + struct.pack("<I", 12345) + b"WEBP")
    assert not webp.matches(b"RIFF" + struct.pack("<I", 12345) + b"WAVE")


def test_every_signature_leads_to_a_row_and_every_type_is_claimed_once() -> None:
    assert {signature.format for signature in SIGNATURES} <= set(FORMATS)
    claims = [mime for row in FORMATS.values() for mime in (row.mime, *row.aliases)]
    assert len(claims) == len(set(claims))
    extensions = [extension for row in FORMATS.values() for extension in row.extensions]
    assert len(extensions) == len(set(extensions))
