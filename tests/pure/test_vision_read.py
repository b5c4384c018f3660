"""Reading a file in one step: words and picture in one result, a PDF's text or pages, and the truth about anything else."""

from __future__ import annotations

import io
import os
import resource
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from pixlane.errors import InvalidArgument
from pixlane.messages import CallBudget, ToolResult
from pixlane.messages.admission import AdmissionLimits
from pixlane.messages.call_counts import RedisCounts
from pixlane.vision import read_image
from pixlane.vision.looking import MAX_FILE_BYTES
from pixlane.vision.memory import LocalMemory
from pixlane.vision.reading import MAX_TEXT_CHARS
from pixlane.vision.results import CODES
from tests.pure import make
from tests.pure.test_pdf import LOCKED, pdf
from tests.pure.tools import CLOSED, HTML, OPEN, codes
from tests.stubs.vision import FINDINGS, GOOD, Provider

SCREEN = make.array(make.smooth(1920, 1080))
FONT = "/MediaBox[0 0 400 300]/Resources<</Font<</F<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>>>>>"


@pytest.fixture
def provider() -> Iterator[Provider]:
    with Provider("ollama", [GOOD]) as provider:
        yield provider


def read(tmp_path: Path, data: bytes, name: str = "shot.png", gate: Any = OPEN, **options: Any) -> ToolResult:
    (tmp_path / name).write_bytes(data)
    return read_image(tmp_path / name, gate=gate, **options)


def written(count: int = 3) -> bytes:
    """A PDF whose pages hold a line of text each."""
    return pdf(*((FONT, f"BT /F 24 Tf 40 200 Td (Text of page {page}) Tj ET") for page in range(1, count + 1)))


# An image ------------------------------------------------------------------------------------------------------------------


def test_a_model_that_sees_gets_words_and_picture_in_one_result(tmp_path: Path) -> None:
    result = read(tmp_path, SCREEN, profile="anthropic")
    (image,) = result.images
    assert f"shot.png: image/png, {len(SCREEN):,} bytes, 1920 x 1080 px" in result.text
    assert "multiply x by" in result.claim
    assert image.path == str(tmp_path / "shot.png")
    assert result.meta["tokens"] > 0
    kinds = [part["type"] for part in result.parts("anthropic")]
    assert kinds == ["text", "text", "image"]


def test_a_model_that_does_not_see_gets_the_description(provider: Provider, tmp_path: Path) -> None:
    options = {"config": provider.config, "environ": provider.environ, "model": provider.model, "remembered": LocalMemory()}
    result = read(tmp_path, SCREEN, gate=CLOSED, **options)
    assert result.images == ()
    assert f"> {FINDINGS['summary']}" in result.text
    assert "1920 x 1080 px" in result.text
    assert codes(result) == ["answered"]


def test_where_nobody_can_look_the_text_says_so(tmp_path: Path) -> None:
    result = read(tmp_path, SCREEN, gate=CLOSED, config={}, environ={}, model="anthropic/some-vlm", remembered=LocalMemory())
    assert result.is_error
    assert codes(result) == ["no_answer"]
    assert "could NOT be described" in result.text
    assert "ANTHROPIC_API_KEY" in result.text


OTHERS = {
    "a page of HTML": (HTML, "text/html"),
    "text": (b"hello, world\n", "text/plain"),
    "nothing": (b"", ""),
    "an archive": (b"PK\x03\x04" + bytes(40), "application/zip"),
    "an executable": (b"\x7fELF" + bytes(60), ""),
}


@pytest.mark.parametrize(("data", "kind"), OTHERS.values(), ids=list(OTHERS))
@pytest.mark.parametrize("gate", [OPEN, CLOSED])
def test_what_is_no_image_is_said_by_its_bytes_whatever_its_name(tmp_path: Path, data: bytes, kind: str, gate: Any) -> None:
    result = read(tmp_path, data, gate=gate)
    assert result.is_error
    assert codes(result) == ["not_an_image"]
    assert "is not an image" in result.text
    assert kind in result.text
    assert f"{len(data):,} bytes" in result.text
    assert result.images == ()


FORMATS = {
    "bmp.bmp": make.flat(make.RED, form="BMP"),
    "tiff.tif": make.flat(make.RED, form="TIFF"),
    "webp.webp": make.flat(make.RED, form="WEBP"),
    "gif.gif": make.flat(make.RED, form="GIF"),
    "avif.avif": make.flat(make.RED, form="AVIF"),
    "heic.heic": make.flat(make.RED, size=(64, 64), form="HEIF"),
    "icon.ico": make.flat(make.RED, size=(32, 32), form="ICO"),
    "a jpeg named.png": make.flat(make.RED, form="JPEG"),
    "cmyk.jpg": make.flat((0, 255, 255, 0), form="JPEG", mode="CMYK"),
}


@pytest.mark.parametrize("name", FORMATS)
def test_every_format_becomes_one_that_the_wire_takes(tmp_path: Path, name: str) -> None:
    result = read(tmp_path, FORMATS[name], name)
    (image,) = result.images
    assert image.mime in ("image/png", "image/jpeg", "image/webp", "image/gif")
    assert not result.is_error


def test_a_broken_picture_is_an_error_with_its_reason(tmp_path: Path) -> None:
    result = read(tmp_path, SCREEN[: len(SCREEN) // 3])
    assert result.is_error
    assert codes(result) == ["not_loaded"]
    assert "truncated_input" in result.text


def test_a_file_of_50_mb_is_refused_before_it_is_read(tmp_path: Path) -> None:
    path = tmp_path / "large.png"
    with open(path, "wb") as file:
        file.write(SCREEN[:64])
        file.truncate(50_000_000)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    result = read_image(path, gate=OPEN)
    grown_kib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert result.is_error
    assert "50,000,000" in result.text
    assert f"{MAX_FILE_BYTES:,}" in result.text
    assert grown_kib < 20_000
    assert len(str(result.parts("anthropic"))) < 1_000


NOT_FILES = {"a folder": "folder", "nothing": "gone.png", "a pipe": "pipe"}


@pytest.mark.parametrize("name", NOT_FILES.values(), ids=list(NOT_FILES))
def test_what_is_no_file_is_an_error(tmp_path: Path, name: str) -> None:
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe")
    result = read_image(tmp_path / name, gate=OPEN)
    assert result.is_error
    assert "could NOT be read" in result.text


def test_the_budget_of_the_conversation_counts_reading_too(tmp_path: Path) -> None:
    budget = CallBudget(1)
    assert read(tmp_path, SCREEN, budget=budget).images
    again = read(tmp_path, SCREEN, budget=budget)
    assert again.images == ()
    assert codes(again) == ["calls_spent"]
    assert read(tmp_path, SCREEN[:5000], "half.png", budget=budget).is_error
    assert budget.calls(SCREEN[:5000]) == 0


# A PDF ---------------------------------------------------------------------------------------------------------------------


def test_the_text_of_a_pdf_is_read_page_by_page(tmp_path: Path) -> None:
    result = read(tmp_path, written(), "paper.pdf")
    assert "3 pages" in result.text
    assert result.images == ()
    assert [line for line in result.text.splitlines() if line.startswith("> ")] == [
        f"> Text of page {page}" for page in (1, 2, 3)
    ]
    assert "[page 2]" in result.text


def test_a_pdf_without_text_says_how_to_see_it(tmp_path: Path) -> None:
    result = read(tmp_path, pdf(("/MediaBox[0 0 200 100]", "1 0 0 rg 0 0 200 100 re f")), "scan.pdf")
    assert "holds no text: ask for pages" in result.text


def test_a_long_text_is_cut_and_says_so(tmp_path: Path) -> None:
    line = f"BT /F 4 Tf 4 200 Td ({'word ' * 3000}) Tj ET"
    result = read(tmp_path, pdf(*((FONT, line) for _ in range(12))), "long.pdf")
    assert len(result.text) < MAX_TEXT_CHARS + 2_000
    assert codes(result) == ["text_cut"]


def test_pages_are_drawn_on_request_in_the_order_asked_for(tmp_path: Path) -> None:
    colours = ["1 0 0", "0 1 0", "0 0 1"]
    data = pdf(*(("/MediaBox[0 0 200 100]", f"{colour} rg 0 0 200 100 re f") for colour in colours))
    result = read(tmp_path, data, "paper.pdf", pages="3,1")
    assert [corner(image.data) for image in result.images] == [(0, 0, 255), (255, 0, 0)]
    assert "Pages 3, 1." in result.text


def corner(data: bytes) -> tuple[int, ...]:
    return tuple(Image.open(io.BytesIO(data)).convert("RGB").getpixel((5, 5)))  # type: ignore[arg-type]


def test_more_pages_than_the_cap_are_named(tmp_path: Path) -> None:
    result = read(tmp_path, written(6), "paper.pdf", pages="1-6", max_pages=2)
    assert len(result.images) == 2
    assert "pages_left_out" in codes(result)
    assert "not drawn: 3 to 6" in result.text


def test_pages_beyond_what_a_request_may_carry_are_left_out_in_words(tmp_path: Path) -> None:
    result = read(tmp_path, written(4), "paper.pdf", pages="1-4", limits=AdmissionLimits(max_images=3))
    assert len(result.images) == 3
    assert "too_many_images" in codes(result)
    assert "image left out: page 4" in result.text


def test_a_page_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    result = read(tmp_path, written(), "paper.pdf", pages=[4])
    assert result.is_error
    assert "page_out_of_range" in result.text
    assert "3 pages" in result.text


@pytest.mark.parametrize("pages", ["", "0", "3-1", "a", "1;2", [], [0], [True], ["1"]])
def test_pages_are_numbers_from_one(tmp_path: Path, pages: Any) -> None:
    with pytest.raises(InvalidArgument):
        read(tmp_path, written(), "paper.pdf", pages=pages)


def test_the_pages_of_a_pdf_are_described_to_a_model_that_does_not_see(provider: Provider, tmp_path: Path) -> None:
    options = {"config": provider.config, "environ": provider.environ, "model": provider.model, "remembered": LocalMemory()}
    result = read(tmp_path, written(), "paper.pdf", gate=CLOSED, pages="1-2", **options)
    assert result.images == ()
    assert result.text.count(FINDINGS["summary"]) == 2
    assert len(provider.asked) == 2


BAD_PDFS = {
    "damaged": (b"%PDF-1.7\n%%EOF\n", "corrupt_input"),
    "locked": (pdf((FONT, ""), trailer=LOCKED), "encrypted_input"),
}


@pytest.mark.parametrize("pages", [None, "1"])
@pytest.mark.parametrize("gate", [OPEN, CLOSED])
@pytest.mark.parametrize(("data", "code"), BAD_PDFS.values(), ids=list(BAD_PDFS))
def test_a_damaged_and_a_locked_pdf_are_errors_and_cost_no_call(
    tmp_path: Path, data: bytes, code: str, gate: Any, pages: str | None
) -> None:
    budget = CallBudget(1)
    result = read(tmp_path, data, "bad.pdf", gate, pages=pages, budget=budget)
    assert result.is_error
    assert code in result.text
    assert budget.calls(data) == 0


def test_pages_that_look_the_same_are_shown_once_and_named(tmp_path: Path) -> None:
    result = read(tmp_path, pdf((FONT, ""), (FONT, "BT /F 24 Tf 40 200 Td (word) Tj ET"), (FONT, "")), "scan.pdf", pages="1-3")
    assert len(result.images) == 2
    assert "page 3 looks like page 1; shown once" in result.text
    assert "same_content" in codes(result)


def test_a_budget_that_cannot_be_asked_costs_nobody_the_picture(tmp_path: Path) -> None:
    budget = CallBudget(1, "c", RedisCounts("redis://127.0.0.1:1/0"))
    result = read(tmp_path, SCREEN, budget=budget)
    assert result.images
    assert "budget_unknown" in codes(result)


def test_a_pdf_of_very_many_pages_gives_the_first_of_them_and_says_so(tmp_path: Path) -> None:
    data = pdf(*((FONT, f"BT /F 24 Tf 40 200 Td (word {page}) Tj ET") for page in range(600)))
    text = read(tmp_path, data, "book.pdf")
    assert "100 of 600 pages" in text.text
    assert text.text.count("\n> word") == 100
    drawn = read(tmp_path, data, "book.pdf", pages="1-600", profile="anthropic")
    assert len(drawn.images) == 8
    assert "not drawn: 9 to 600" in drawn.text


def test_every_code_of_a_note_is_reached() -> None:
    here = Path(__file__).read_text() + Path(__file__).with_name("test_vision_analyze.py").read_text()
    assert [code for code in CODES if f'"{code}"' not in here] == []
