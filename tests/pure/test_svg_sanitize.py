"""Nothing in a sanitized SVG leads out of it, and nothing in it costs without bound."""

from __future__ import annotations

import gzip
import re
import socket
import threading
from contextlib import suppress
from pathlib import Path
from urllib.parse import quote

import pytest

from pixlane.errors import CorruptInput, PixlaneError, SourceTooLarge, TooManyPixels, UnsafeSvg
from pixlane.imaging.deadline import Deadline
from pixlane.imaging.svg import tree
from pixlane.imaging.svg.sanitize import sanitize
from pixlane.recipe import Region
from pixlane.settings import Limits
from tests.pure.make_svg import NAMESPACES, codes, data_url, drawn, flat_png, opened, png, share, svg

RED, GREEN = (255, 0, 0), (0, 128, 0)
SHAPE = '<rect x="60" y="60" width="30" height="30" fill="green"/>'


def clean(data: bytes, limits: Limits | None = None) -> tuple[str, dict[str, str]]:
    """The markup that an engine would see, and the notes."""
    notes: dict[str, str] = {}
    drawing = sanitize(data, limits or Limits(), notes.__setitem__, Deadline(20))
    return tree.markup(drawing.root), notes


# References ---------------------------------------------------------------------------------------------------------------

# {0} is the path of a red PNG that lies there. All of these name it, or would if anything were resolved.
REFERENCES = {
    "absolute": '<image width="50" height="50" href="{0}"/>',
    "xlink": '<image width="50" height="50" xlink:href="{0}"/>',
    "file url": '<image width="50" height="50" href="file://{0}"/>',
    "upper case scheme": '<image width="50" height="50" href="FILE://{0}"/>',
    "relative": '<image width="50" height="50" href="red.png"/>',
    "parent": '<image width="50" height="50" href="../{1}/red.png"/>',
    "feImage": '<filter id="f"><feImage href="{0}"/></filter><rect width="50" height="50" filter="url(#f)"/>',
    "entity": '<image width="50" height="50" href="&red;"/>',
    "character references": '<image width="50" height="50" href="&#x2f;{2}"/>',
    "mixed case attribute": '<image width="50" height="50" HREF="{0}" xlink:HrEf="{0}"/>',
    "mixed case element": '<IMAGE width="50" height="50" href="{0}"/>',
    "another prefix": '<image width="50" height="50" q:href="{0}" xmlns:q="http://www.w3.org/1999/xlink"/>',
    "prefixed element": '<s:image xmlns:s="http://www.w3.org/2000/svg" width="50" height="50" s:href="{0}" href="{0}"/>',
    "undeclared prefix": '<image width="50" height="50" nobody:href="{0}" src="{0}"/>',
    "use of a file": '<use href="{0}#a"/>',
    "space before": '<image width="50" height="50" href="&#10; {0}"/>',
    "css paint": '<rect width="50" height="50" style="fill:url({0}#a) none"/>',
    "css paint upper case": '<rect width="50" height="50" fill="URL( \'{0}#a\' ) none"/>',
    "css escape": '<style>rect.a{{fill:u\\72l({0}#a) none}}</style><rect class="a" width="50" height="50"/>',
    "css import": "<style>@import url('{0}'); @IMPORT '{0}';</style>",
    "css font": "<style>@font-face{{font-family:x;src:url('{0}')}}</style>",
    "image-set": '<rect width="50" height="50" style="mask-image:image-set(\'{0}\' 1x);fill:none"/>',
    "unclosed url": '<rect width="50" height="50" style="fill:none;mask:url({0}"/>',
    "inside an SVG": '<image width="50" height="50" href="{3}"/>',
    "base": '<g xml:base="file://{0}"><image width="50" height="50" href="red.png"/></g>',
    "animation": '<image width="50" height="50"><set attributeName="href" to="{0}"/></image>',
    "default attribute": '<image width="50" height="50"/>',
    "html": '<foreignObject width="50" height="50"><img xmlns="http://www.w3.org/1999/xhtml" src="{0}"/></foreignObject>',
}


@pytest.fixture
def planted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A red picture beside the current folder's files, where a relative reference would find it."""
    file = tmp_path / "red.png"
    file.write_bytes(png(*RED))
    monkeypatch.chdir(tmp_path)
    return file


def referring(name: str, planted: Path) -> bytes:
    path = str(planted)
    inner = data_url(svg(f'<image width="100" height="100" href="{path}"/>'), "image/svg+xml")
    body = REFERENCES[name].format(path, planted.parent.name, path[1:], inner)
    declared = f'<!ENTITY red "{path}"><!ATTLIST image href CDATA "{path}">'
    return svg(body + SHAPE, before=f"<!DOCTYPE svg [{declared}]>" if name in ("entity", "default attribute") else "")


@pytest.mark.parametrize("name", REFERENCES)
def test_a_planted_file_is_never_drawn_and_its_path_never_reaches_an_engine(name: str, planted: Path) -> None:
    data = referring(name, planted)
    markup, _ = clean(data)
    assert "red.png" not in re.sub(r"data:[^\"]*", "", markup)
    work = opened(data)
    pixels = drawn(work)
    assert share(pixels, RED) == 0
    assert share(pixels, GREEN) > 0.08
    assert codes(work) & {
        "svg_reference_removed",
        "svg_font_replaced",
        "svg_foreign_removed",
        "svg_animation_ignored",
    } or name in (
        "mixed case element",  # draws nothing in any program
        "undeclared prefix",
    )


def test_the_planted_file_would_be_drawn_without_the_sanitizer(planted: Path) -> None:
    from pixlane.imaging.svg.draw_process import pool

    asked = {"op": "svg", "engine": "resvg", "width": 100, "height": 100, "text": False, "font_dirs": []}
    _, picture = pool().ask(asked, referring("absolute", planted), 10)
    import pyvips

    assert pyvips.Image.new_from_buffer(picture, "")(10, 10)[:3] == [255, 0, 0]


def test_no_one_is_called() -> None:
    calls = []
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(0.1)
        done = threading.Event()

        def listen() -> None:
            while not done.is_set():
                try:
                    listener.accept()[0].close()
                    calls.append(1)
                except TimeoutError:
                    continue

        thread = threading.Thread(target=listen)
        thread.start()
        url = f"http://127.0.0.1:{listener.getsockname()[1]}/x"
        body = (
            f'<image width="50" height="50" href="{url}.png"/><image width="50" height="50" xlink:href="{url}.svg"/>'
            f"<style>@import '{url}.css'; @font-face{{font-family:f;src:url({url}.ttf)}} rect{{fill:url({url}#p) green}}</style>"
            f'<filter id="f"><feImage href="{url}"/></filter><use href="{url}.svg#a"/>{SHAPE}'
        )
        before = f'<?xml-stylesheet href="{url}.xsl"?><!DOCTYPE svg PUBLIC "x" "{url}.dtd">'
        try:
            work = opened(svg(body, before=before))
            drawn(work)
        finally:
            done.set()
            thread.join()
    assert calls == []
    assert "svg_reference_removed" in codes(work)


def test_references_inside_the_document_stay() -> None:
    body = (
        '<defs><linearGradient id="g"><stop stop-color="green"/></linearGradient><rect id="r" width="50" height="50"/></defs>'
        '<style>.a{fill:url("#g")}</style><use xlink:href="#r" class="a"/><rect x="50" width="50" height="50" fill="url( #g )"/>'
    )
    work = opened(svg(body))
    assert share(drawn(work), GREEN) == pytest.approx(0.5, abs=0.02)
    assert "svg_reference_removed" not in codes(work)


def test_a_paint_that_was_removed_leaves_its_fallback_colour() -> None:
    body = '<rect width="100" height="100" fill="url(http://a.b/c#d) green"/>'
    assert share(drawn(opened(svg(body))), GREEN) > 0.99


# What does not draw ---------------------------------------------------------------------------------------------------------


def test_scripts_and_handlers_go_with_a_note() -> None:
    markup, notes = clean(svg('<script>alert(1)</script><rect onclick="x()" OnLoad="y()" width="9" height="9"/>'))
    assert "script" not in markup
    assert "onclick" not in markup.lower()
    assert "3 scripts and event handlers" in notes["svg_script_removed"]


def test_html_goes_with_a_note_and_its_fallback_is_drawn() -> None:
    body = f"<switch><foreignObject><p xmlns='http://www.w3.org/1999/xhtml'>words</p></foreignObject>{SHAPE}</switch>"
    work = opened(svg(body))
    assert share(drawn(work), GREEN) > 0.08
    assert "svg_foreign_removed" in codes(work)


def test_an_animation_stands_still_with_a_note() -> None:
    work = opened(svg(SHAPE.replace("/>", '><animate attributeName="fill" to="red"/></rect>')))
    assert share(drawn(work), GREEN) > 0.08
    assert "svg_animation_ignored" in codes(work)


def test_fonts_of_the_document_are_replaced_with_a_note() -> None:
    _, notes = clean(svg("<style>@font-face{font-family:x;src:url(data:font/woff2;base64,AA)}</style>" + SHAPE))
    assert "svg_font_replaced" in notes


# The text of the document -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32"])
def test_every_unicode_encoding_is_read(encoding: str) -> None:
    text = svg(SHAPE + "<!-- ü -->", before='<?xml version="1.0"?>\n').decode()
    markup, notes = clean(text.encode(encoding))
    assert 'fill="green"' in markup
    assert notes == {}


def test_a_declared_encoding_is_read() -> None:
    data = f'<?xml version="1.0" encoding="ISO-8859-1"?><svg {NAMESPACES} id="\xe4"/>'.encode("latin-1")
    assert 'id="\xe4"' in clean(data)[0]


@pytest.mark.parametrize("encoding", ["zip", "rot13", "idna", "unicode_escape", "nonsense"])
def test_what_is_no_character_set_is_refused(encoding: str) -> None:
    with pytest.raises(CorruptInput):
        clean(f'<?xml version="1.0" encoding="{encoding}"?><svg {NAMESPACES}/>'.encode())


def test_svgz_is_inflated_within_its_limit() -> None:
    assert 'fill="green"' in clean(gzip.compress(svg(SHAPE)))[0]
    with pytest.raises(SourceTooLarge) as refusal:
        clean(gzip.compress(svg(" " * 100_000)), Limits(max_inflated_bytes=50_000))
    assert refusal.value.limit == 50_000
    with pytest.raises(CorruptInput):
        clean(gzip.compress(svg(SHAPE))[:-12])


def test_the_source_has_a_limit() -> None:
    with pytest.raises(SourceTooLarge) as refusal:
        clean(svg(" " * 2_000), Limits(max_svg_bytes=1_000))
    assert (refusal.value.limit, refusal.value.actual) == (1_000, len(svg(" " * 2_000)))


@pytest.mark.parametrize("data", [b"<svg", b"<svg></svg", b"<svg><g></svg>", b"<html/>", b"text", svg("&nbsp;")])
def test_what_is_no_svg_is_corrupt(data: bytes) -> None:
    with pytest.raises(CorruptInput):
        clean(data)


def test_markup_copied_out_of_a_page_is_drawn_with_a_note() -> None:
    markup, notes = clean(b'<svg width="9" height="9"><use xlink:href="#a"/><rect id="a" width="9" height="9"/></svg>')
    assert 'xmlns="http://www.w3.org/2000/svg"' in markup
    assert 'xlink:href="#a"' in markup
    assert "svg_repaired" in notes


# Entities -------------------------------------------------------------------------------------------------------------------


def test_harmless_internal_entities_are_expanded_as_illustrator_writes_them() -> None:
    before = (
        '<!DOCTYPE svg PUBLIC "-//W3C//DTD SVG 1.1//EN" "http://www.w3.org/Graphics/SVG/1.1/DTD/svg11.dtd" ['
        '<!ENTITY ns_svg "http://www.w3.org/2000/svg"><!ENTITY st0 "fill:green;">]>'
    )
    data = f'{before}<svg xmlns="&ns_svg;" width="9" height="9"><rect style="&st0;" width="9" height="9"/></svg>'.encode()
    markup, notes = clean(data)
    assert 'style="fill:green;"' in markup
    assert notes == {}


@pytest.mark.parametrize(
    "declared",
    [
        '<!ENTITY a "&#38;b;"><!ENTITY b "b">',
        '<!ENTITY a "&b;&b;"><!ENTITY b "b">',
        '<!ENTITY % a "b">',
        '<!ENTITY a SYSTEM "file:///etc/passwd">',
        '<!ENTITY a PUBLIC "x" "http://127.0.0.1/">',
        f'<!ENTITY a "{"x" * 20_000}">',
    ],
    ids=["encoded", "nested", "parameter", "file", "public", "grown"],
)
def test_other_entities_are_refused(declared: str) -> None:
    with pytest.raises(UnsafeSvg) as refusal:
        clean(svg("<text>" + "&a;" * 60 + "</text>", before=f"<!DOCTYPE svg [{declared}]>"))
    assert refusal.value.limit is not None
    assert refusal.value.actual is not None


# Bounds ---------------------------------------------------------------------------------------------------------------------


def uses(levels: int) -> str:
    row = "".join(f'<g id="g{n + 1}">' + f'<use xlink:href="#g{n}"/>' * 10 + "</g>" for n in range(levels))
    return '<rect id="g0" width="9" height="9"/>' + row


BOMBS = {
    "depth": "<g>" * 100_000 + "</g>" * 100_000,
    "elements": "<g/>" * 60_000,
    "attributes": "<g " + " ".join(f'a{n}=""' for n in range(300)) + "/>",
    "use ten times, eight levels": uses(8),
    "a chain of uses": "".join(f'<g id="g{n}"><use href="#g{n + 1}"/></g>' for n in range(500)),
    "a chain of uses backwards": "".join(f'<g id="g{n + 1}"><use href="#g{n}"/></g>' for n in range(500)),
    "patterns": "".join(
        f'<pattern id="p{n}" width="2" height="2"><rect width="9" height="9" fill="url(#p{n + 1})"/></pattern>' for n in range(10)
    ),
    "markers": '<marker id="m">' + "<g/>" * 100 + '</marker><path marker-mid="url(#m)" d="' + "L1 2" * 9_000 + '"/>',
    "blur": '<filter id="f"><feGaussianBlur stdDeviation="1000"/></filter>',
    "filter region": '<filter id="f" width="10000%"/>',
    "filter region in user units": '<filter id="f" filterUnits="userSpaceOnUse" width="9000" height="9"/>',
    "convolution": '<filter id="f"><feConvolveMatrix order="500"/></filter>',
    "css brackets": "<style>@" + "(" * 50_000 + "</style>",
    "css": "<style>\\" + "a" * 600_000 + "</style>",
}


@pytest.mark.parametrize("name", BOMBS)
def test_a_bomb_is_refused_with_limit_and_actual(name: str) -> None:
    with pytest.raises(UnsafeSvg) as refusal:
        clean(svg(BOMBS[name]))
    if name != "css brackets":
        assert refusal.value.actual > refusal.value.limit


def test_a_use_of_itself_draws_the_rest() -> None:
    work = opened(svg(f'<g id="a"><use href="#a"/>{SHAPE}</g>'))
    assert share(drawn(work), GREEN) > 0.08


def test_noise_that_cannot_be_seen_is_left_out_with_a_note() -> None:
    markup, notes = clean(svg('<filter id="f"><feTurbulence baseFrequency="0.1" numOctaves="1000"/></filter>'))
    assert 'numOctaves="10"' in markup
    assert "svg_filter_limited" in notes


def thickened(radius: str, times: int = 1) -> bytes:
    """3000 px of 100 units."""
    effect = f'<feMorphology operator="dilate" radius="{radius}"/>' * times
    body = f'<filter id="f">{effect}</filter><rect filter="url(#f)" x="40" y="40" width="20" height="20" fill="green"/>'
    return svg(body, 'width="3000" height="3000" viewBox="0 0 100 100"')


@pytest.mark.parametrize(("radius", "longer"), [("0.5", 1568), ("0", 1568), ("10", 427), ("9 0", 450), ("9999", 135)])
def test_a_morphology_that_would_take_too_long_is_drawn_smaller_and_says_so(radius: str, longer: int) -> None:
    work = opened(thickened(radius))
    assert max(drawn(work).shape) == longer
    said = [note.text for note in work.notes if "feMorphology" in note.text]
    assert len(said) == (longer < 1568)


def test_a_zoom_into_a_morphology_is_enlarged_without_a_fringe() -> None:
    pixels = drawn(opened(thickened("10")), Region(100, 100, 227, 227), size=(900, 900))
    assert pixels.shape == (900, 900, 3)
    assert share(pixels, GREEN) > 0.19, "24 of 53 units, in the filter region"
    assert pixels[..., 1].min() >= 120, "no darker than what is drawn"


def test_a_morphology_is_bounded() -> None:
    with pytest.raises(UnsafeSvg) as refusal:
        opened(thickened("9999", times=30))
    assert refusal.value.actual > refusal.value.limit


# Pictures inside --------------------------------------------------------------------------------------------------------------


def picture(reference: str) -> bytes:
    return svg(f'<image width="50" height="50" href="{reference}"/>' + SHAPE)


def test_a_picture_inside_is_drawn_with_its_transparency() -> None:
    half = data_url(png(255, 0, 0, alpha=128))
    body = f'<rect width="100" height="100" fill="blue"/><image width="100" height="100" href="{half}"/>'
    pixels = drawn(opened(svg(body)))
    assert share(pixels, (128, 0, 127), within=3) > 0.95


def test_a_picture_inside_reaches_the_engine_as_our_own_png() -> None:
    original = data_url(png(255, 0, 0))
    markup, _ = clean(picture(original.replace("image/png", "image/jpeg")))
    assert "data:image/png;base64," in markup
    assert original.partition(",")[2] not in markup


def test_a_picture_inside_may_be_url_encoded_or_carry_white_space() -> None:
    packed = data_url(png(*RED))
    spaced = packed[:60] + "\n  " + packed[60:]
    assert share(drawn(opened(picture(spaced))), RED) > 0.2
    inner = "data:image/svg+xml;utf8," + quote(svg("<rect width='100' height='100' fill='red'/>"), safe="/: =")
    assert share(drawn(opened(picture(inner))), RED) > 0.2


@pytest.mark.parametrize("content", [b"", b"text", b"\x89PNG\r\n\x1a\n", b"%PDF-1.4", b"<html/>"])
def test_a_picture_inside_that_cannot_be_read_is_missing_with_a_note(content: bytes) -> None:
    work = opened(picture(data_url(content)))
    assert share(drawn(work), GREEN) > 0.08
    assert "svg_image_unreadable" in codes(work)


def test_a_huge_picture_inside_is_refused_from_its_header() -> None:
    with pytest.raises(TooManyPixels) as refusal:
        opened(picture(data_url(flat_png(2_000))), limits=Limits(max_pixels=3_000_000))
    assert (refusal.value.limit, refusal.value.actual) == (3_000_000, 4_000_000)


def test_pictures_inside_count_together() -> None:
    body = "".join(f'<image href="{data_url(png(n, 0, 0, side=100))}"/>' for n in range(10))
    with pytest.raises(TooManyPixels):
        opened(svg(body), limits=Limits(max_pixels=50_000))


@pytest.mark.slow
def test_an_svg_inside_is_sanitized_and_counts() -> None:
    nested = svg(SHAPE)
    for _ in range(6):
        nested = picture(data_url(nested, "image/svg+xml"))
    with pytest.raises(UnsafeSvg):
        opened(nested)
    inner = gzip.compress(svg("<g/>" * 26_000))
    body = "".join(f'<image href="{data_url(inner + bytes(n), "image/svg+xml")}"/>' for n in range(2))
    with pytest.raises(UnsafeSvg) as refusal:
        opened(svg(body))
    assert refusal.value.limit == 50_000


def test_every_refusal_is_typed_whatever_the_bytes() -> None:
    import random

    dice = random.Random(7)
    seeds = [svg(body) for name, body in BOMBS.items() if len(body) < 10_000] + [svg(SHAPE), picture(data_url(png(*RED)))]
    for _ in range(300):
        data = bytearray(dice.choice(seeds))
        for _ in range(dice.randint(1, 6)):
            place = dice.randrange(len(data))
            data[place : place + dice.randint(0, 3)] = bytes(dice.choices(b"<>&\"'#/ ;:()\x00\xffax", k=dice.randint(0, 3)))
        with suppress(PixlaneError):
            clean(bytes(data))
