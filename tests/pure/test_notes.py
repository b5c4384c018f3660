"""Nothing is silent: every code of the registry has an input that raises it, and every change of a picture has its note.

A new code needs a row in `RAISED_BY`: the code, the bytes, and the recipe where the default one does not do.
"""

from __future__ import annotations

import io
from collections.abc import Callable

import numpy as np
import pytest
from PIL import Image

from pixlane import Recipe, normalize
from pixlane.imaging import icc
from pixlane.rendition import NOTE_CODES, Rendition
from tests.pure import make, make_pictures


def svg(body: str, attributes: str = 'width="100" height="100"') -> bytes:
    names = 'xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink"'
    return f"<svg {names} {attributes}>{body}</svg>".encode()


def clear(colour: tuple[int, ...]) -> bytes:
    pixels = np.zeros((32, 32, 4), np.uint8)
    pixels[8:24, 8:24] = colour
    return make.array(pixels)


def frames() -> bytes:
    first, *others = (Image.new("RGB", (8, 8), shade) for shade in (make.RED, make.BLUE))
    return make.encode(first, "GIF", save_all=True, append_images=others)


RED_BOX = '<rect width="60" height="60" fill="red"/>'
FONT = "<style>@font-face{font-family:own;src:url(data:font/woff2;base64,AAAA)}</style><text y='50' font-family='own'>Hi</text>"

RAISED_BY: dict[str, Callable[[], Rendition]] = {
    "target_clamped": lambda: normalize(make.flat(make.RED), Recipe(target_bytes=10)),
    "target_missed": lambda: normalize(
        make.array(make.noise(200, 200)), Recipe(target_bytes=300, embed=False, on_miss="smallest", max_halvings=0)
    ),
    "declared_type_wrong": lambda: normalize(make.flat(make.RED), name="a.jpg"),
    "resized": lambda: normalize(make.array(make.smooth()), Recipe(max_side=20)),
    "turned_upright": lambda: normalize(make.tiff(make.smooth(), bits=8, photometric=2, t274=[6])),
    "beyond_reading": lambda: normalize(make.array(make_pictures.text(900, 4000)), Recipe(max_side=600)),
    "palette_reduced": lambda: normalize(
        make.array(make_pictures.text(700, 500, ink=(20, 60, 200))),
        Recipe(accept=("image/png",), target_bytes=9_000, embed=False, on_miss="smallest"),
    ),
    "frames_dropped": lambda: normalize(frames()),
    "alpha_flattened": lambda: normalize(clear((255, 0, 0, 255))),
    "background_dark": lambda: normalize(clear((255, 255, 255, 255))),
    "depth_reduced": lambda: normalize(make.png(np.full((8, 8), 9999, np.uint16), bits=16)),
    "cmyk_converted": lambda: normalize(make.flat((0, 255, 255, 0), form="JPEG", mode="CMYK")),
    "profile_converted": lambda: normalize(make.flat(make.RED, icc_profile=icc.matrix_profile(icc.DISPLAY_P3))),
    "profile_broken": lambda: normalize(make.flat(make.RED, icc_profile=b"none" * 100)),
    "tone_mapped": lambda: normalize(make.png(make.smooth(), make.chunk(b"cICP", bytes([9, 16, 0, 1])))),
    "metadata_removed": lambda: normalize(make.png(make.smooth(), make.chunk(b"tEXt", b"Author\0me"))),
    "trailing_data_dropped": lambda: normalize(make.flat(make.RED) + b"more"),
    "repaired": lambda: normalize(make.flat(make.RED, form="JPEG")[:-2]),
    "truncated": lambda: normalize(make.array(make.noise(), "JPEG")[:-900], Recipe(allow_truncated=True)),
    "vector_scaled": lambda: normalize(svg(RED_BOX)),
    "vector_size_assumed": lambda: normalize(svg(RED_BOX, "")),
    "svg_repaired": lambda: normalize(b'<svg width="100" height="100">' + RED_BOX.encode() + b"</svg>"),
    "svg_reference_removed": lambda: normalize(svg('<image href="http://127.0.0.1:9/a.png" width="9" height="9"/>' + RED_BOX)),
    "svg_script_removed": lambda: normalize(svg("<script>alert(1)</script>" + RED_BOX)),
    "svg_foreign_removed": lambda: normalize(svg('<foreignObject width="9" height="9"><p>a</p></foreignObject>' + RED_BOX)),
    "svg_animation_ignored": lambda: normalize(
        svg('<rect width="9" height="9"><animate attributeName="x" to="9" dur="1s"/></rect>')
    ),
    "svg_font_replaced": lambda: normalize(svg(FONT)),
    "svg_text_not_drawn": lambda: normalize(svg("<text y='50' font-size='40'>\U000e1234\U000e1235</text>" + RED_BOX)),
    "svg_image_unreadable": lambda: normalize(svg('<image href="data:image/png;base64,AAAA" width="9" height="9"/>' + RED_BOX)),
    "svg_filter_limited": lambda: normalize(
        svg(
            '<filter id="f"><feTurbulence baseFrequency="0.1" numOctaves="40"/></filter>'
            '<rect width="9" height="9" filter="url(#f)"/>'
        )
    ),
}
ELSEWHERE = {"svg_engine_fallback"}  # needs an engine that is missing; tests/pure/test_svg_draw.py


@pytest.mark.parametrize("code", NOTE_CODES)
def test_every_code_has_an_input_that_raises_it(code: str) -> None:
    if code in ELSEWHERE:
        return
    assert code in RAISED_BY, f"nothing reaches {code}: add a row, or remove the code"
    rendition = RAISED_BY[code]()
    assert code in make.codes(rendition)
    note = next(note for note in rendition.notes if note.code == code)
    assert note.text


def test_no_row_stands_for_a_code_that_is_gone() -> None:
    assert set(RAISED_BY) | ELSEWHERE == set(NOTE_CODES)


CHANGES = {
    "frames": ({"frames_dropped"}, frames),
    "alpha": ({"alpha_flattened"}, lambda: clear((0, 0, 255, 255))),
    "depth": ({"depth_reduced"}, lambda: make.png(np.full((8, 8), 9999, np.uint16), bits=16)),
    "ink": ({"cmyk_converted"}, lambda: make.flat((9, 9, 9, 9), form="TIFF", mode="CMYK")),
    "profile": (
        {"profile_converted", "metadata_removed"},
        lambda: make.flat(make.RED, icc_profile=icc.matrix_profile(icc.BT2020)),
    ),
    "metadata": ({"metadata_removed"}, lambda: make.array(make.smooth(), "JPEG", exif=make.exif(1))),
    "orientation": ({"turned_upright"}, lambda: make.tiff(make.smooth(), bits=8, photometric=2, t274=[8])),
    "size": ({"resized"}, lambda: make.flat(make.RED, (2000, 30))),
}


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("accept", [("image/png",), ("image/jpeg",), ("image/png", "image/jpeg", "image/gif", "image/webp")])
def test_a_change_never_comes_without_its_note(change: str, accept: tuple[str, ...]) -> None:
    codes, source = CHANGES[change]
    assert codes <= make.codes(normalize(source(), Recipe(accept=accept)))


def test_a_picture_that_needs_nothing_has_no_notes() -> None:
    for data in (make.png(make.smooth()), make.flat(make.RED, form="GIF"), make.array(make.smooth(), "WEBP")):
        assert normalize(data).notes == ()


def test_what_leaves_carries_nothing_that_came_in() -> None:
    data = make.array(make.smooth(), "JPEG", exif=make.exif(6), icc_profile=icc.matrix_profile(icc.DISPLAY_P3), comment=b"me")
    for accept in ("image/png", "image/jpeg", "image/webp"):
        out = Image.open(io.BytesIO(normalize(data, Recipe(accept=(accept,))).data))
        assert not {"exif", "icc_profile", "comment", "xmp"} & set(out.info)
