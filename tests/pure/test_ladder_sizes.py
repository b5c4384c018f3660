"""The sizes of the ladder: the fine search, the costs of drawing and encoding, and what is noted of a size."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from pixlane.errors import TargetUnreachable
from pixlane.imaging import ladder, plan
from pixlane.recipe import Recipe, Region
from pixlane.rendition import data_url_length

from . import make_pictures as make
from .make_ladder import JPEG, PICTURES, PNG, codes, sizes, small


@pytest.mark.parametrize(("name", "target"), list(product(["page", "photo", "noise"], [4_000, 9_000])))
def test_fine_finds_a_size_that_fits_and_one_pixel_more_does_not(name, target):
    picture = PICTURES[name]
    work = make.work(picture, small(target, shrink="fine", accept=(JPEG, PNG)))
    found = ladder.climb(work)
    assert data_url_length(found.mime, len(found.data)) <= target
    height, width = picture.shape[:2]
    if found.width < width:
        search = ladder._Ladder(work, work.opened, Region(0, 0, width, height), sizes(picture, work.recipe))
        assert search.at(plan.at_side(width, height, work.recipe, max(found.width, found.height) + 1)) is None


def test_fine_is_never_smaller_than_halving():
    for name in ("photo", "noise", "half photo, half page"):
        halved, fine = (ladder.climb(make.work(PICTURES[name], small(9_000, shrink=how))) for how in ("halve", "fine"))
        assert fine.width >= halved.width


def test_fine_where_the_ceiling_fits_is_the_ceiling():
    fine, halved = (ladder.climb(make.work(PICTURES["photo"], Recipe(shrink=how))) for how in ("fine", "halve"))
    assert fine == halved


def test_fine_out_of_reach_is_an_error():
    with pytest.raises(TargetUnreachable):
        ladder.climb(make.work(PICTURES["noise"], small(300, shrink="fine", max_halvings=1)))


def test_the_source_is_drawn_once_whatever_the_number_ofsizes():
    work = make.work(PICTURES["noise"], small(3_000))
    ladder.climb(work)
    assert len(work.opened.drawn) == 1


def test_a_smaller_size_looks_like_one_drawn_from_the_source():
    picture = make.text(1600, 1200, px=40)
    found = ladder.climb(make.work(picture, small(60_000, max_side=1600, accept=(PNG,), max_halvings=2)))
    assert found.width < 1600
    direct = make.pixels(make.vips(picture).resize(found.width / 1600, kernel="lanczos3").pngsave_buffer())
    assert np.abs(make.pixels(found.data).astype(int) - direct).mean() < 2


@pytest.mark.slow
def test_two_encodes_an_image_on_average():
    pictures = [make.photo(800, 600, seed=seed, grain=grain) for seed, grain in enumerate((0, 3, 8, 16, 30))]
    pictures += [make.text(1000, 700, ink=ink, px=px) for ink, px in (("black", 14), ("#aa2211", 20), ("#1133cc", 12))]
    counts = []
    for picture in pictures:
        work = make.work(picture, Recipe(target_bytes=98_304))
        ladder.climb(work)
        counts.append(len(work.attempts))
    assert sum(counts) / len(counts) <= 2.0


def test_the_attempts_name_what_was_tried_and_the_chosen_one_is_among_them():
    work = make.work(PICTURES["photo"], small(12_000))
    found = ladder.climb(work)
    tried = {(a.width, a.height, a.encoder, a.quality, a.byte_count) for a in work.attempts}
    assert (found.width, found.height, found.encoder, found.quality, len(found.data)) in tried


def test_a_reduced_palette_is_noted():
    work = make.work(PICTURES["photo"], small(60_000, accept=(PNG,), max_halvings=1))
    assert ladder.climb(work).encoder == "palette"
    assert "palette_reduced" in codes(work)


def test_a_long_page_in_one_rendition_is_noted_as_beyond_reading():
    work = make.work(make.text(700, 6000), Recipe())
    ladder.climb(work)
    assert "beyond_reading" in codes(work)


def test_a_page_just_above_the_limit_of_reading_is_not():
    work = make.work(make.text(1000, 3400), Recipe())  # 1568 / 3400 = 0.46
    ladder.climb(work)
    assert "beyond_reading" not in codes(work)


def test_a_shrunken_photograph_is_not_noted_as_beyond_reading():
    work = make.work(make.photo(800, 600), Recipe(max_side=300), lossless=False)
    ladder.climb(work)
    assert "beyond_reading" not in codes(work)
