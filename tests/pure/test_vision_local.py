"""The eye that needs no model: text with boxes in reading order, plain facts, and what it says of itself."""

from __future__ import annotations

import io
import math
import random
import subprocess
import sys

import numpy
import pytest
from PIL import ExifTags, Image, ImageDraw, ImageFont

from pixlane.errors import DeadlineExceeded, EngineMissing
from pixlane.recipe import Region
from pixlane.vision import Observation, view_image
from pixlane.vision.local import engine
from pixlane.vision.local.engine import Piece, bands, search_scale
from pixlane.vision.local.facts import facts
from pixlane.vision.local.lines import lines
from pixlane.vision.memory import LocalMemory

slow = pytest.mark.slow


def drawn(size: tuple[int, int], *texts: tuple[int, int, str], font: int = 22, ground: str = "white") -> bytes:
    image = Image.new("RGB", size, ground)
    draw = ImageDraw.Draw(image)
    for x, y, text in texts:
        draw.text((x, y), text, fill="black", font=ImageFont.load_default(font))
    out = io.BytesIO()
    image.save(out, "PNG")
    return out.getvalue()


def seen(data: bytes, **options: object) -> Observation:
    return view_image(data, "What does it say?", model="local", remembered=LocalMemory(), **options)  # type: ignore[arg-type]


def piece(text: str, x: float, y: float, width: float | None = None, height: float = 20, degrees: float = 0) -> Piece:
    right, bottom = x + (width or 10 * len(text)), y + height
    turn = math.radians(degrees)
    corners = [(x, y), (right, y), (right, bottom), (x, bottom)]
    return Piece(
        text, tuple((a * math.cos(turn) - b * math.sin(turn), a * math.sin(turn) + b * math.cos(turn)) for a, b in corners), 0.9
    )


def read(*pieces: Piece) -> list[str]:
    shuffled = list(pieces)
    random.Random(4).shuffle(shuffled)
    return [line.text for line in lines(shuffled)]


# Lines ---------------------------------------------------------------------------------------------------------------------


def test_words_beside_each_other_are_one_line_and_its_box_is_theirs() -> None:
    (line,) = lines([piece("disk full", 120, 52, 90), piece("Error 42:", 20, 50, 90)])
    assert line.text == "Error 42: disk full"
    assert line.box is not None
    assert (line.box.x, line.box.y, line.box.width, line.box.height) == (20, 50, 190, 22)


def test_a_table_is_read_row_by_row() -> None:
    rows = [[f"item {row}", f"{row}.50"] for row in range(5)]
    assert read(
        *(piece(cell, 20 + 300 * place, 40 * at, 60) for at, row in enumerate(rows) for place, cell in enumerate(row))
    ) == [cell for row in rows for cell in row]


def test_columns_of_prose_are_read_one_after_the_other_though_their_lines_stand_beside_each_other() -> None:
    left, right = ([f"{side} {at}" for at in range(6)] for side in ("left", "right"))
    pieces = [
        piece(text, 500 * place, 30 * at, 400) for place, column in enumerate((left, right)) for at, text in enumerate(column)
    ]
    assert read(*pieces) == [*left, *right]


def test_a_side_bar_with_lines_of_its_own_is_read_before_the_text_beside_it() -> None:
    bar = [piece(f"file {at}", 0, 47 * at, 60) for at in range(6)]
    text = [piece(f"code {at}", 200, 8 + 31 * at, 500) for at in range(9)]
    assert read(*bar, *text) == [one.text for one in (*bar, *text)]


def test_a_title_across_columns_comes_first() -> None:
    columns = [piece(f"{side} {at}", 500 * side, 100 + 30 * at, 400) for side in (0, 1) for at in range(4)]
    assert read(piece("title", 0, 0, 900, 40), *columns) == ["title", *(one.text for one in columns)]


@pytest.mark.parametrize("degrees", [-8, 6])
def test_a_receipt_that_lies_askew_keeps_its_rows(degrees: float) -> None:
    rows = [[f"thing number {row}", f"{row}.90"] for row in range(6)]
    pieces = [piece(cell, 600 * at, 45 * row, degrees=degrees) for row, cells in enumerate(rows) for at, cell in enumerate(cells)]
    assert read(*pieces) == [cell for row in rows for cell in row]


def test_nothing_is_no_line() -> None:
    assert lines([]) == ()


# Where text is looked for --------------------------------------------------------------------------------------------------


def test_a_screen_is_reduced_for_the_search_and_a_small_picture_is_not() -> None:
    assert search_scale(1920, 1080) == pytest.approx(2 / 3)
    assert search_scale(1170, 2532) == pytest.approx(720 / 1170)  # a phone
    assert search_scale(400, 300) == 1
    assert search_scale(1280, 60_000) == pytest.approx(720 / 1280)  # a long page keeps its width


def test_the_bands_of_a_long_page_overlap_and_each_row_counts_in_one() -> None:
    found = list(bands(20_000, 0.5))
    assert len(found) > 4
    assert found[0][0] == 0
    assert found[-1][1] == 20_000
    assert all(end - start <= 1.2 * engine.BAND_PX / 0.5 for start, end, _, _ in found)
    for at in range(20_000):
        (own,) = [band for band in found if band[2] <= at < band[3]]
        assert own[0] <= at < own[1]


# Facts ---------------------------------------------------------------------------------------------------------------------


def test_a_drawn_and_a_photographed_picture_are_told_apart() -> None:
    screen = numpy.asarray(Image.open(io.BytesIO(drawn((800, 600), (20, 20, "Settings")))))
    noise = numpy.random.default_rng(1).integers(0, 255, (600, 800, 3), numpy.uint8)
    assert facts(screen).kind == "drawn"
    assert facts(noise).kind == "photographed"


def test_the_main_colours_have_names_and_shares() -> None:
    pixels = numpy.zeros((100, 100, 3), numpy.uint8)
    pixels[:30] = (220, 30, 30)
    pixels[30:, ::2] = (3, 2, 1)  # as good as black
    assert facts(pixels).colours == (("black", "#020100", 0.7), ("red", "#dc1e1e", 0.3))


@pytest.mark.parametrize("shape", [(1, 1, 3), (1, 900, 3), (900, 1, 3)])
def test_the_smallest_pictures_have_facts_too(shape: tuple[int, int, int]) -> None:
    assert facts(numpy.zeros(shape, numpy.uint8)).colours == (("black", "#000000", 1.0),)


# The eye -------------------------------------------------------------------------------------------------------------------


@slow
def test_it_reads_a_screen_and_says_what_it_is() -> None:
    found = seen(drawn((900, 500), (40, 30, "Error 42: disk full"), (40, 200, "Free space on /var and try again")))
    assert [line.text for line in found.ocr] == ["Error 42: disk full", "Free space on /var and try again"]
    first = found.ocr[0].box
    assert first is not None
    assert first.x == pytest.approx(40, abs=8)
    assert first.y == pytest.approx(30, abs=10)
    assert found.ocr[0].confidence is not None
    assert found.ocr[0].confidence > 0.8
    assert found.generated_by.mode == "local_ocr"
    assert found.generated_by.attempts == 0
    assert "900 x 500 px" in found.summary
    assert any("No model looked" in said for said in found.uncertainties)
    assert found.selection is not None
    assert found.selection.reason == "requested_model"


@slow
def test_text_in_a_region_and_at_the_very_edge_is_found_with_its_place_in_the_source() -> None:
    data = drawn((1200, 800), (700, 500, "Quota exceeded"), font=18)
    found = seen(data, region=Region(698, 498, 140, 24))
    (line,) = found.ocr
    assert line.text == "Quota exceeded"
    assert line.box is not None
    assert 690 <= line.box.x <= 710
    assert 490 <= line.box.y <= 510


@slow
def test_a_photograph_that_lies_on_its_side_has_its_boxes_in_the_upright_picture() -> None:
    upright = Image.open(io.BytesIO(drawn((900, 300), (600, 220, "Lower right"))))
    exif = Image.Exif()
    exif[ExifTags.Base.Orientation] = 6
    out = io.BytesIO()
    upright.transpose(Image.Transpose.ROTATE_90).save(out, "JPEG", quality=95, exif=exif)
    (line,) = seen(out.getvalue()).ocr
    assert line.text == "Lower right"
    assert line.box is not None
    assert 590 <= line.box.x <= 612
    assert 210 <= line.box.y <= 235


@slow
def test_a_long_page_is_read_to_its_end() -> None:
    texts = [f"paragraph number {at}" for at in range(11)]
    lines_on_page = [(60, 32 + 381 * at, text) for at, text in enumerate(texts)]  # the sixth lies across the seam of two bands
    found = seen(drawn((1000, 3900), *lines_on_page, font=26))
    assert [line.text for line in found.ocr] == texts


@slow
def test_a_picture_without_text_has_a_summary_and_no_lines() -> None:
    found = seen(drawn((300, 200), ground="#2864dc"))
    assert found.ocr == ()
    assert "no text was found" in found.summary
    assert "blue" in found.summary


@slow
def test_another_question_is_answered_from_memory_since_the_answer_is_the_same() -> None:
    data, kept = drawn((400, 100), (10, 30, "once")), LocalMemory()
    assert not view_image(data, "What is it?", model="local", remembered=kept).reused
    again = view_image(data, "Any errors?", model="local", remembered=kept)
    assert again.reused
    assert again.prompt == "Any errors?"


@slow
def test_a_deadline_ends_the_reading() -> None:
    data = drawn((1000, 6000), *((60, 30 + 30 * at, "one line of many in here") for at in range(190)))
    with pytest.raises(DeadlineExceeded) as raised:
        seen(data, timeout_s=0.05)
    assert raised.value.limit == 0.05


@slow
def test_a_forked_process_reads_too() -> None:
    """Threads do not survive a fork, and the sessions of the parent have some."""
    script = """
import multiprocessing, sys
from pixlane.vision.adapter import Deadline
from pixlane.vision.local import engine
import numpy
pixels = numpy.full((60, 200, 3), 255, numpy.uint8)
engine.engine().read(pixels, Deadline.after(60))
child = multiprocessing.get_context("fork").Process(target=lambda: engine.engine().read(pixels, Deadline.after(60)))
child.start(); child.join(60)
sys.exit(child.exitcode)
"""
    assert subprocess.run([sys.executable, "-W", "ignore", "-c", script], timeout=110).returncode == 0


def test_without_the_extra_the_error_says_what_to_install() -> None:
    """In a process of its own, in which the packages of the extra cannot be found."""
    script = """
import sys
sys.modules |= dict.fromkeys(("rapidocr", "onnxruntime"))  # None: cannot be imported
from pixlane.errors import EngineMissing
from pixlane.vision.local import engine
try:
    engine.engine()
except EngineMissing as error:
    print(error.code, error.message)
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.startswith(EngineMissing.code)
    assert "pip install 'pixlane[ocr]'" in done.stdout
