"""Pixels stay untouched only where nothing speaks against it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from PIL import Image

from pixlane.imaging.untouched import keep
from pixlane.recipe import Recipe, Region
from pixlane.rendition import data_url_length

from . import make_pictures as make

PAGE = make.text(200, 120)
DATA = make.save(PAGE, "PNG")
WHOLE = Region(0, 0, 200, 120)


def kept(recipe: Recipe | None = None, data: bytes = DATA, mime: str = "image/png", **facts):
    return keep(make.work(PAGE, recipe or Recipe(), data=data, mime=mime, **facts))


def test_a_plain_png_within_all_limits_keeps_every_byte():
    assert kept().data == DATA


@pytest.mark.parametrize("form", ["JPEG", "WEBP", "GIF"])
def test_so_do_the_other_accepted_types(form):
    data = make.save(Image.fromarray(PAGE).convert("P") if form == "GIF" else PAGE, form)
    found = kept(data=data, mime=f"image/{form.lower()}")
    assert np.array_equal(make.pixels(found.data), make.pixels(data))
    assert found.mime == f"image/{form.lower()}"


@pytest.mark.parametrize(
    "fact",
    [
        {"bits": 16},
        {"srgb": False},
        {"orientation": 6},
        {"frames": 2},
        {"frames": None},
        {"vector": True},
        {"trailing_bytes": 1},
    ],
    ids=str,
)
def test_one_fact_against_it_is_enough(fact):
    assert kept(**fact) is None


@pytest.mark.parametrize(
    "fields",
    [
        {"accept": ("image/jpeg",)},
        {"max_side": 199},
        {"max_total_pixels": 200 * 120 - 1},
        {"size_rule": "claude_patch28:112"},
        {"min_accepted_side": 121},
        {"max_aspect": 1.6},
        {"region": Region(0, 0, 200, 119)},
        {"region": Region(1, 0, 199, 120)},
    ],
    ids=str,
)
def test_one_limit_that_is_passed_is_enough(fields):
    assert kept(Recipe(**fields)) is None


@pytest.mark.parametrize(
    "fields",
    [
        {"max_side": 200},
        {"max_total_pixels": 200 * 120},
        {"min_accepted_side": 120},
        {"max_aspect": 1.7},
        {"region": WHOLE},
        {"size_rule": "claude_patch28"},
    ],
    ids=str,
)
def test_a_limit_that_is_just_met_does_not_matter(fields):
    assert kept(Recipe(**fields)).data == DATA


def test_the_budget_is_met_to_the_character():
    length = data_url_length("image/png", len(DATA))
    assert kept(Recipe(target_bytes=length, embed=False)).data == DATA
    assert kept(Recipe(target_bytes=length - 1, embed=False)) is None


def test_what_counts_against_the_budget_is_the_file_without_its_metadata():
    exif = Image.Exif()
    exif[0x010E] = "x" * 40_000
    data = make.save(PAGE, "PNG", exif=exif)
    limit = data_url_length("image/png", len(DATA))
    assert kept(Recipe(target_bytes=limit, embed=False), data=data).data == DATA


def test_a_picture_that_does_not_decode_whole_is_drawn_instead():
    work = make.work(PAGE, Recipe(), data=DATA)
    work.opened = replace(work.opened, sound=False)
    assert keep(work) is None
    assert work.attempts == []


def test_cut_metadata_is_noted_once():
    exif = Image.Exif()
    exif[0x010E] = "at home"
    work = make.work(PAGE, Recipe(), data=make.save(PAGE, "PNG", exif=exif))
    keep(work)
    assert [note.code for note in work.notes] == ["metadata_removed"]


def test_nothing_cut_is_not_noted():
    work = make.work(PAGE, Recipe(), data=DATA)
    keep(work)
    assert work.notes == []


def test_the_attempt_says_untouched():
    work = make.work(PAGE, Recipe(), data=DATA)
    keep(work)
    assert [(attempt.encoder, attempt.byte_count) for attempt in work.attempts] == [("untouched", len(DATA))]
