"""Vectors are drawn in a process that may die; the picture is lost, never the caller."""

from __future__ import annotations

import io
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from PIL import Image, ImageFont

from pixlane.errors import DeadlineExceeded, EngineMissing, PixlaneError, RenderFailed
from pixlane.imaging.svg.draw_process import Pool, ProcessDied, pool
from pixlane.recipe import Recipe, Region
from pixlane.settings import Limits
from tests.pure.make_svg import NOTED, codes, drawn, opened, share, svg

GREEN = (0, 128, 0)
SQUARE = svg('<rect width="100" height="100" fill="green"/>')
# About ten seconds of noise; small steps of the engine, so that a kill lands in the middle.
SLOW = svg(
    '<filter id="f" x="0" y="0" width="1" height="1"><feTurbulence baseFrequency="0.9" numOctaves="9"/></filter>'
    + '<rect width="100" height="100" filter="url(#f)"/>' * 40,
    'width="1000" height="1000" viewBox="0 0 100 100"',
)
NESTED = b'<svg xmlns="http://www.w3.org/2000/svg">' + b"<g>" * 100_000 + b"</g>" * 100_000 + b"</svg>"
ASKED = {"op": "svg", "engine": "resvg", "width": 100, "height": 100, "text": False, "font_dirs": []}


@pytest.fixture
def own_pool() -> Iterator[Pool]:
    mine = Pool()
    yield mine
    mine.close()


@pytest.fixture
def fresh_processes() -> Iterator[None]:
    """Processes that see the environment of this test, and none of it later."""
    pool().close()
    yield
    pool().close()


def is_green(picture: bytes) -> bool:
    return Image.open(io.BytesIO(picture), formats=["PNG"]).convert("RGB").getpixel((50, 50)) == GREEN


# Death ------------------------------------------------------------------------------------------------------------------------


def test_a_real_crash_of_the_engine_costs_one_picture(own_pool: Pool) -> None:
    with pytest.raises(ProcessDied) as death:
        own_pool.ask(ASKED, NESTED, 10)
    assert death.value.code == "render_failed"
    assert death.value.details["signal"] in (signal.SIGSEGV, signal.SIGABRT, signal.SIGBUS)
    assert is_green(own_pool.ask(ASKED, SQUARE, 10)[1])


def test_a_picture_beyond_memory_costs_one_picture(own_pool: Pool) -> None:
    with pytest.raises(PixlaneError) as death:
        own_pool.ask(ASKED, svg("<g/>", 'width="100000" height="100000"'), 20)
    assert death.value.code in ("render_failed", "timeout")
    assert is_green(own_pool.ask(ASKED, SQUARE, 10)[1])


def test_a_replacement_waits_as_soon_as_one_died(own_pool: Pool) -> None:
    with pytest.raises(ProcessDied):
        own_pool.ask(ASKED, NESTED, 10)
    assert len(own_pool.idle) == 1
    assert own_pool.idle[0].alive


def test_a_slow_drawing_ends_at_its_limit_and_the_next_is_drawn() -> None:
    with pytest.raises(DeadlineExceeded) as over:
        drawn(opened(SLOW, limits=Limits(svg_timeout_s=0.5)))
    assert over.value.limit == pytest.approx(0.5, abs=0.01)
    assert over.value.retryable
    assert share(drawn(opened(SQUARE)), GREEN) == 1


@pytest.mark.slow
def test_the_deadline_of_the_image_counts_too() -> None:
    with pytest.raises(DeadlineExceeded):
        drawn(opened(SLOW, limits=Limits(soft_timeout_s=1.0)))


def test_a_process_killed_from_outside_is_replaced_and_asked_again_once(own_pool: Pool) -> None:
    killed = []

    def kill_twice() -> None:
        while len(killed) < 2:
            for process in list(own_pool.all):
                if process.draws and process.alive and process.process.pid not in killed:
                    time.sleep(0.2)
                    process.process.send_signal(signal.SIGKILL)
                    killed.append(process.process.pid)
            time.sleep(0.01)

    thread = threading.Thread(target=kill_twice)
    thread.start()
    with pytest.raises(ProcessDied) as death:
        own_pool.ask(ASKED, SLOW, 60)
    thread.join()
    assert len(set(killed)) == 2
    assert death.value.details["signal"] == signal.SIGKILL
    assert is_green(own_pool.ask(ASKED, SQUARE, 10)[1])


def test_an_idle_process_that_was_killed_is_not_noticed(own_pool: Pool) -> None:
    own_pool.warm()
    own_pool.idle[0].process.kill()
    assert is_green(own_pool.ask(ASKED, SQUARE, 10)[1])


def test_an_exception_in_the_middle_leaves_no_answer_to_the_next_question(own_pool: Pool) -> None:
    class Interrupted(Exception):
        pass

    def interrupt(*_: object) -> None:
        raise Interrupted

    before = signal.signal(signal.SIGALRM, interrupt)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.4)
        with pytest.raises(Interrupted):
            own_pool.ask(ASKED, SLOW, 30)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert is_green(own_pool.ask(ASKED, SQUARE, 10)[1])


def test_nothing_is_left_open_by_processes_that_died(own_pool: Pool) -> None:
    own_pool.ask(ASKED, SQUARE, 10)
    before = len(os.listdir("/dev/fd"))
    for _ in range(3):
        with pytest.raises(ProcessDied):
            own_pool.ask(ASKED, NESTED, 10)
    assert len(os.listdir("/dev/fd")) <= before + 1


# Whose process it is ------------------------------------------------------------------------------------------------------------


def test_threads_draw_side_by_side_and_get_their_own_pictures(own_pool: Pool) -> None:
    def draw(level: int) -> bool:
        picture = own_pool.ask(ASKED, svg(f'<rect width="100" height="100" fill="rgb({level},0,0)"/>'), 30)[1]
        return Image.open(io.BytesIO(picture), formats=["PNG"]).convert("RGB").getpixel((50, 50)) == (level, 0, 0)

    with ThreadPoolExecutor(4) as threads:
        assert all(threads.map(draw, range(0, 240, 10)))


PARENT = """
    import os, sys
    from pixlane.imaging.svg.draw_process import pool
    asked = {"op": "svg", "engine": "resvg", "width": 9, "height": 9, "text": False, "font_dirs": []}
    markup = b'<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"/>'
"""


def run(script: str) -> str:
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", textwrap.dedent(PARENT) + textwrap.dedent(script)],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.stderr == ""
    return done.stdout


@pytest.mark.slow
def test_the_process_ends_with_its_parent_however_that_ends() -> None:
    pid = int(
        run("""
        pool().ask(asked, markup, 10)
        print(pool().idle[0].process.pid, flush=True)
        os.kill(os.getpid(), 9)
        """)
    )
    for _ in range(500):
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return
        time.sleep(0.01)
    pytest.fail("the process outlived its parent")


def test_a_forked_process_draws_with_its_own_and_leaves_its_parents_alone() -> None:
    printed = run("""
        pool().ask(asked, markup, 10)
        mine = pool().idle[0].process.pid
        if (child := os.fork()) == 0:
            pool().ask(asked, markup, 10)
            print(pool().idle[0].process.pid != mine, flush=True)
            pool().close()
            os._exit(0)
        os.waitpid(child, 0)
        pool().ask(asked, markup, 10)
        print(pool().idle[0].process.pid == mine, flush=True)
    """)
    assert printed.split() == ["True", "True"]


def test_a_daemonic_process_may_draw() -> None:
    printed = run("""
        import multiprocessing
        def draw():
            pool().ask(asked, markup, 10)
            print("drawn", flush=True)
        process = multiprocessing.get_context("fork").Process(target=draw, daemon=True)
        process.start()
        process.join()
    """)
    assert printed.split() == ["drawn"]


def test_a_module_of_the_same_name_in_the_current_folder_is_not_imported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, own_pool: Pool
) -> None:
    for name in ("resvg_py", "json", "struct", "draw_child"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit('wrong module')")
    monkeypatch.chdir(tmp_path)
    assert is_green(own_pool.ask(ASKED, SQUARE, 10)[1])


# Engines ----------------------------------------------------------------------------------------------------------------------


def block(folder: Path, monkeypatch: pytest.MonkeyPatch, *names: str) -> None:
    for name in names:
        (folder / f"{name}.py").write_text("raise ImportError('blocked')")
    monkeypatch.setenv("PYTHONPATH", str(folder))


@pytest.mark.slow  # it wants the system's libcairo, which a machine of a reader may not have
@pytest.mark.usefixtures("fresh_processes")
def test_cairosvg_draws_where_resvg_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    block(tmp_path, monkeypatch, "resvg_py")
    body = '<g transform="translate(50 0)"><rect width="50" height="100" fill="green"/></g>'
    work = opened(svg(body, 'viewBox="0 0 100 100"'))
    pixels = drawn(work)
    assert pixels.shape == (512, 512, 3)
    assert share(pixels[:, 260:], GREEN) == 1
    assert share(pixels[:, :250], (255, 255, 255)) == 1
    assert "svg_engine_fallback" in codes(work)


@pytest.mark.usefixtures("fresh_processes")
def test_without_any_engine_the_error_names_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    block(tmp_path, monkeypatch, "resvg_py", "cairosvg")
    with pytest.raises(EngineMissing, match="resvg-py nor CairoSVG"):
        drawn(opened(SQUARE))


def test_where_no_engine_can_the_error_says_what_each_said(monkeypatch: pytest.MonkeyPatch) -> None:
    work = opened(SQUARE)
    monkeypatch.setattr("pixlane.imaging.svg.tree.markup", lambda root: "<svg")
    with pytest.raises(RenderFailed, match=r"resvg: .*cairosvg: "):
        drawn(work)


# Text -------------------------------------------------------------------------------------------------------------------------

HELLO = svg('<text x="5" y="60" font-size="40" font-family="Nobody Has This, serif">Hi</text>')


@pytest.fixture
def no_fonts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A system without a font, as slim containers are."""
    (tmp_path / "none").mkdir()
    (tmp_path / "fonts.conf").write_text(f'<?xml version="1.0"?><fontconfig><dir>{tmp_path}/none</dir></fontconfig>')
    monkeypatch.setenv("FONTCONFIG_FILE", str(tmp_path / "fonts.conf"))


@pytest.fixture
def one_font(tmp_path: Path) -> str:
    """A folder with the one font that Pillow carries, which no document names."""
    folder = tmp_path / "fonts"
    folder.mkdir()
    font = ImageFont.load_default(20)
    assert isinstance(font, ImageFont.FreeTypeFont)
    (folder / "a.ttf").write_bytes(font.path.getvalue())
    return str(folder)


@pytest.mark.usefixtures("fresh_processes", "no_fonts")
def test_text_that_no_font_could_draw_is_noted() -> None:
    work = opened(HELLO)
    assert share(drawn(work), (255, 255, 255)) == 1
    assert "svg_text_not_drawn" in codes(work)


@pytest.mark.usefixtures("fresh_processes", "no_fonts")
def test_any_font_is_better_than_none(one_font: str) -> None:
    work = opened(HELLO, limits=Limits(svg_font_dirs=one_font))
    assert share(drawn(work), (0, 0, 0)) > 0.02
    assert "svg_text_not_drawn" not in codes(work)


@pytest.mark.usefixtures("fresh_processes", "no_fonts")
def test_letters_that_no_font_has_are_named(one_font: str) -> None:
    work = opened(svg('<text x="5" y="60" font-size="40">Hi\u6f22</text>'), limits=Limits(svg_font_dirs=one_font))
    drawn(work)
    assert [note.text for note in work.notes if note.code == "svg_text_not_drawn" and "\u6f22" in note.text]


# What is drawn ------------------------------------------------------------------------------------------------------------------


def test_a_region_shows_that_part_at_the_size_that_is_wanted() -> None:
    body = '<rect width="50" height="50" fill="green"/><rect x="50" y="50" width="50" height="50" fill="blue"/>'
    work = opened(svg(body, 'width="1000" height="1000" viewBox="0 0 100 100"'))
    corner = drawn(work, Region(250, 250, 500, 500), (500, 500))
    whole = drawn(work)
    assert np.abs(corner.astype(int) - whole[250:750, 250:750]).max() <= 1
    zoomed = drawn(work, Region(450, 450, 100, 100), (300, 300))
    assert zoomed.shape == (300, 300, 3)
    assert share(zoomed[:145, :145], GREEN) == 1
    assert share(zoomed[155:, 155:], (0, 0, 255)) == 1


@pytest.mark.slow
def test_a_zoom_is_drawn_within_bounds() -> None:
    work = opened(svg('<rect width="100" height="100" fill="green"/>', 'width="1000" height="1000"'))
    assert drawn(work, Region(0, 0, 10, 10), (1500, 1500)).shape == (1500, 1500, 3)


def test_what_is_white_on_nothing_stays_visible() -> None:
    work = opened(svg('<circle cx="50" cy="50" r="40" fill="white"/>'))
    pixels = drawn(work)
    assert share(pixels, (255, 255, 255)) == pytest.approx(0.5, abs=0.02)
    assert "background_dark" in codes(work)


def test_the_background_is_the_recipes() -> None:
    assert share(drawn(opened(svg("<g/>"), Recipe(background="#008000"))), GREEN) == 1


def test_a_vector_is_drawn_at_each_size_and_never_resized() -> None:
    work = opened(svg("".join(f'<rect x="{2 * n}" width="1" height="100"/>' for n in range(50))))
    assert work.opened is not None
    for side in (100, 200, 400):
        pixels = drawn(work, size=(side, side))
        assert share(pixels, (0, 0, 0)) == pytest.approx(0.5)
        assert share(pixels, (255, 255, 255)) == pytest.approx(0.5)
    assert work.opened.prove() is False


@pytest.mark.parametrize("code", NOTED)
def test_each_note_on_vectors_has_a_source_that_raises_it(code: str) -> None:
    work = opened(NOTED[code])
    drawn(work)
    assert code in codes(work)
