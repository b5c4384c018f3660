"""A page of a PDF is drawn at a resolution that fits the ceiling, in a process that may die."""

from __future__ import annotations

import numpy as np
import pytest

from pixlane.errors import (
    CorruptInput,
    EncryptedInput,
    EngineMissing,
    InvalidDimensions,
    PageOutOfRange,
    TooManyFrames,
)
from pixlane.imaging.svg.draw_process import pool
from pixlane.recipe import Recipe, Region
from pixlane.settings import Limits
from tests.pure.make_svg import drawn, opened, share

GREEN, BLUE = (0, 128, 0), (0, 0, 255)


def pdf(*pages: tuple[str, str], trailer: str = "") -> bytes:
    """A PDF of pages: attributes of the page, and its content."""
    objects = ["<</Type/Catalog/Pages 2 0 R>>", ""]
    kids = []
    for attributes, content in pages:
        objects.append(f"<</Length {len(content)}>>stream\n{content}\nendstream")
        objects.append(f"<</Type/Page/Parent 2 0 R/Contents {len(objects)} 0 R {attributes}>>")
        kids.append(f"{len(objects)} 0 R")
    objects[1] = f"<</Type/Pages/Count {len(kids)}/Kids[{' '.join(kids)}]>>"
    out, places = b"%PDF-1.7\n", []
    for number, body in enumerate(objects, 1):
        places.append(len(out))
        out += f"{number} 0 obj{body}endobj\n".encode()
    table = "".join(f"{place:010} 00000 n \n" for place in places)
    start = len(out)
    size = len(objects) + 1
    trailer = f"trailer<</Size {size}/Root 1 0 R{trailer}>>"
    out += f"xref\n0 {size}\n0000000000 65535 f \n{table}{trailer}\nstartxref\n{start}\n%%EOF".encode()
    return out


LETTER = "/MediaBox[0 0 612 792]"
TOP_HALF_GREEN = "0 0.502 0 rg 0 396 612 396 re f"
LOCKED = f"/ID[<{'00' * 16}><{'00' * 16}>]/Encrypt<</Filter/Standard/V 1/R 2/P -4/O<{'11' * 32}>/U<{'22' * 32}>>>"


def size_of(data: bytes, recipe: Recipe | None = None) -> tuple[int, int]:
    facts = opened(data, recipe).opened.facts  # type: ignore[union-attr]
    return facts.width, facts.height


def test_a_page_fills_the_ceiling_in_its_proportions() -> None:
    assert size_of(pdf((LETTER, ""))) == (1212, 1568)
    assert size_of(pdf((LETTER, "")), Recipe(max_side=800)) == (618, 800)
    assert size_of(pdf((LETTER, "")), Recipe(max_side=20_000)) == (2550, 3300)  # 300 dpi
    assert size_of(pdf(("/MediaBox[0 0 36 18]", ""))) == (512, 256)


def test_a_page_is_drawn_on_white_at_the_wanted_size() -> None:
    work = opened(pdf((LETTER, TOP_HALF_GREEN)))
    pixels = drawn(work)
    assert pixels.shape == (1568, 1212, 3)
    assert share(pixels[:780], GREEN) == 1
    assert share(pixels[790:], (255, 255, 255)) == 1
    assert drawn(work, size=(303, 392)).shape == (392, 303, 3)
    assert {note.code for note in work.notes} == {"vector_scaled"}


def test_a_region_shows_that_part() -> None:
    work = opened(pdf((LETTER, TOP_HALF_GREEN)))
    part = drawn(work, Region(100, 684, 200, 200), (200, 200))
    assert part.shape == (200, 200, 3)
    assert np.abs(part.astype(int) - drawn(work)[684:884, 100:300]).max() == 0


def test_the_page_is_the_recipes_and_is_turned_as_it_says() -> None:
    data = pdf((LETTER, ""), (f"{LETTER}/Rotate 90", "0 0 1 rg 0 0 612 792 re f"))
    work = opened(data, Recipe(page=1))
    assert work.opened is not None
    assert (work.opened.facts.width, work.opened.facts.height, work.opened.facts.frames) == (1568, 1212, 2)
    assert share(drawn(work), BLUE) == 1


def test_a_page_that_is_not_there_is_an_error_with_the_last_one() -> None:
    with pytest.raises(PageOutOfRange) as refusal:
        opened(pdf((LETTER, ""), (LETTER, "")), Recipe(page=2))
    assert (refusal.value.limit, refusal.value.actual) == (1, 2)


def test_a_pdf_that_wants_a_password_says_so() -> None:
    with pytest.raises(EncryptedInput):
        opened(pdf((LETTER, ""), trailer=LOCKED))


def test_a_pdf_without_pages_has_no_size() -> None:
    with pytest.raises((InvalidDimensions, CorruptInput)):
        opened(pdf())


@pytest.mark.parametrize("data", [b"%PDF-1.7\n", b"%PDF-1.7\n" + b"garbage " * 100, pdf((LETTER, ""))[:60]])
def test_a_damaged_pdf_is_corrupt(data: bytes) -> None:
    with pytest.raises(CorruptInput):
        opened(data)


def test_pages_have_a_limit() -> None:
    with pytest.raises(TooManyFrames) as refusal:
        opened(pdf(*[(LETTER, "")] * 3), limits=Limits(max_frames=2))
    assert (refusal.value.limit, refusal.value.actual) == (2, 3)


@pytest.mark.parametrize("box", ["0 0 0 0", "0 0 nan nan", "0 0 612 0", "0 0 1e30 1e30"])
def test_an_empty_page_has_no_size(box: str) -> None:
    with pytest.raises(InvalidDimensions, match="0 x 0 points"):
        opened(pdf((f"/MediaBox[{box}]", TOP_HALF_GREEN)))


@pytest.mark.parametrize(("box", "longer"), [("0 0 9999999 9999999", 9_999_999), ("0 0 1 14401", 14_401)])
def test_a_page_larger_than_a_pdf_may_have_is_refused(box: str, longer: int) -> None:
    with pytest.raises(InvalidDimensions) as refusal:
        opened(pdf((f"/MediaBox[{box}]", TOP_HALF_GREEN)))
    assert (refusal.value.limit, refusal.value.actual) == (14_400, longer)


def test_the_largest_page_and_one_without_a_box_are_drawn() -> None:
    assert max(drawn(opened(pdf(("/MediaBox[0 0 14400 7200]", TOP_HALF_GREEN)))).shape) == 1568
    assert drawn(opened(pdf(("", TOP_HALF_GREEN)))).shape[:2] == (1568, 1212), "as a Letter, as viewers do"


def test_without_pdfium_the_error_names_it(tmp_path: object, monkeypatch: pytest.MonkeyPatch) -> None:
    from pathlib import Path

    folder = Path(str(tmp_path))
    (folder / "pypdfium2.py").write_text("raise ImportError('blocked')")
    monkeypatch.setenv("PYTHONPATH", str(folder))
    pool().close()
    try:
        with pytest.raises(EngineMissing, match="pypdfium2"):
            opened(pdf((LETTER, "")))
    finally:
        pool().close()
