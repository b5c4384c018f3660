"""Which candidate is chosen, what it costs, and what is said about it."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pixlane.errors import DeadlineExceeded, InvalidRecipe, TargetUnreachable
from pixlane.imaging import ladder, plan
from pixlane.imaging.deadline import Deadline
from pixlane.imaging.rungs import stages
from pixlane.imaging.traits import Traits
from pixlane.recipe import Recipe, Region
from pixlane.rendition import data_url_length

from . import make_pictures as make
from .make_ladder import JPEG, PICTURES, PNG, WEBP, codes, sizes, small


def chosen_by_trying_all(picture: np.ndarray, recipe: Recipe):
    """The rule in its plainest form: every candidate in order, each encoded to its end."""
    ladder_ = ladder._Ladder(
        make.work(picture, recipe),
        make.work(picture, recipe).opened,
        Region(0, 0, *picture.shape[1::-1]),
        sizes(picture, recipe),
    )
    for size in ladder_.sizes:
        traits = ladder_.traits(size)
        for rung in (rung for stage in stages(traits, recipe, ladder_.limits) for group in stage for rung in group):
            limit = ladder_.limits[rung.mime]
            if rung.after and rung.after.encode(traits, None).byte_count > rung.within * limit:
                continue
            outcome = rung.encode(traits, None) if rung.offered(traits, limit) else None
            if outcome is not None and data_url_length(rung.mime, outcome.byte_count) <= recipe.budget:
                return outcome.data, rung.mime, rung.name, rung.quality
    return None


def climbed(picture: np.ndarray, recipe: Recipe):
    try:
        found = ladder.climb(make.work(picture, recipe))
    except TargetUnreachable:
        return None
    return found.data, found.mime, found.encoder, found.quality


# What is chosen equals trying all ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", PICTURES)
@pytest.mark.parametrize("target", [1_500, 4_000, 10_000, 25_000, 80_000])
def test_what_is_chosen_equals_trying_all_in_order(name, target):
    recipe = small(target)
    assert climbed(PICTURES[name], recipe) == chosen_by_trying_all(PICTURES[name], recipe)


@pytest.mark.slow
@pytest.mark.parametrize("accept", [(JPEG,), (PNG,), (WEBP,), (PNG, WEBP), (JPEG, PNG), (JPEG, WEBP)])
@pytest.mark.parametrize("name", ["page", "photo", "half photo, half page"])
def test_it_does_for_every_receiver(accept, name):
    for target in (5_000, 18_000):
        recipe = small(target, accept=accept)
        assert climbed(PICTURES[name], recipe) == chosen_by_trying_all(PICTURES[name], recipe)


@pytest.mark.slow
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    seed=st.integers(0, 1000),
    grain=st.sampled_from([0.0, 2.0, 6.0, 25.0, 80.0]),
    page_share=st.sampled_from([0.0, 0.3, 0.8]),
    size=st.tuples(st.integers(64, 400), st.integers(64, 400)),
    bits_per_pixel=st.floats(0.2, 6),
    qualities=st.lists(st.integers(5, 98), min_size=1, max_size=5),
)
def test_it_does_for_generated_pictures_and_any_row_of_qualities(seed, grain, page_share, size, bits_per_pixel, qualities):
    picture = make.photo(*size, seed=seed, grain=grain)
    rows = int(size[1] * page_share)
    picture[:rows] = make.text(*size, ink=(seed % 256, 30, 30))[:rows]
    recipe = small(int(size[0] * size[1] * bits_per_pixel / 8) + 400, jpeg_qualities=tuple(qualities))
    assert climbed(picture, recipe) == chosen_by_trying_all(picture, recipe)


@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 10_000),
    grain=st.floats(0, 100),
    qualities=st.tuples(st.integers(1, 100), st.integers(1, 100)),
    full_chroma=st.booleans(),
    optimised=st.booleans(),
)
def test_a_lower_quality_never_has_more_bytes(seed, grain, qualities, full_chroma, optimised):
    picture = make.vips(make.photo(160, 120, seed=seed, grain=grain))
    low, high = sorted(qualities)
    sizes = [ladder.encode.jpeg(picture, None, quality, full_chroma, optimised).byte_count for quality in (low, high)]
    assert sizes[0] <= sizes[1]


# The order -----------------------------------------------------------------------------------------------------------------


def test_a_page_that_fits_stays_lossless():
    found = ladder.climb(make.work(make.text(1440, 900), Recipe()))
    assert (found.encoder, found.mime) == ("png", PNG)
    assert np.array_equal(make.pixels(found.data), make.text(1440, 900))


def test_a_page_of_grey_is_written_with_one_channel():
    found = ladder.climb(make.work(make.text(600, 400), Recipe()))
    assert found.data[25] == 0  # PNG colour type: grey


def test_a_dithered_drawing_with_few_colours_fits_losslessly_with_a_palette():
    random = np.random.default_rng(3)
    colours = np.array([[250, 250, 240], [30, 60, 120], [200, 40, 40]], np.uint8)
    picture = colours[np.where(random.random((700, 900)) < 0.7, 0, random.integers(0, 3, (700, 900)))]
    rgb, indexed = (encoder(make.vips(picture), None).byte_count for encoder in (ladder.encode.png, ladder.encode.exact))
    found = ladder.climb(make.work(picture, small((rgb + indexed) // 2 * 4 // 3)))
    assert found.encoder == "png"
    assert found.data[25] == 3  # PNG colour type: palette
    assert np.array_equal(make.pixels(found.data), picture)


def test_a_photograph_becomes_a_jpeg_at_the_first_quality_although_png_might_fit():
    found = ladder.climb(make.work(make.photo(300, 200), Recipe()))
    assert (found.encoder, found.quality) == ("jpeg", 85)


def test_coloured_text_keeps_its_colour_at_full_resolution():
    found = ladder.climb(make.work(make.text(700, 500, ink="#ff2020", paper="#2020ff"), small(120_000, accept=(JPEG,))))
    assert _sampling(found.data) == 0x11


def test_red_words_on_white_give_up_half_of_their_colour_before_the_next_quality():
    picture = PICTURES["red words"]
    full, half = (ladder.encode.jpeg(make.vips(picture), None, 85, chroma).byte_count for chroma in (True, False))
    found = ladder.climb(make.work(picture, small((full + half) // 2 * 4 // 3, accept=(JPEG,))))
    assert (found.quality, _sampling(found.data)) == (85, 0x22)
    next_quality = ladder.climb(make.work(picture, small(half * 4 // 3 - 30, accept=(JPEG,))))
    assert (next_quality.quality, _sampling(next_quality.data)) == (70, 0x11)


def test_red_words_on_blue_give_up_quality_before_colour():
    picture = PICTURES["coloured page"]
    half = ladder.encode.jpeg(make.vips(picture), None, 85, False).byte_count
    found = ladder.climb(make.work(picture, small(half * 4 // 3 + 100, accept=(JPEG,))))
    assert found.quality < 85
    assert _sampling(found.data) == 0x11


def test_a_quality_that_is_named_twice_changes_nothing():
    for target in (4_000, 10_000, 25_000):
        once, twice = (climbed(PICTURES["photo"], small(target, jpeg_qualities=row)) for row in ((60, 20), (60, 60, 20, 20)))
        assert once == twice


def test_a_photograph_has_its_colour_at_half_resolution():
    found = ladder.climb(make.work(make.photo(300, 200), Recipe()))
    assert _sampling(found.data) == 0x22


def _sampling(jpeg: bytes) -> int:
    """Horizontal and vertical sampling of the first component of a baseline JPEG."""
    return jpeg[jpeg.index(b"\xff\xc0") + 11]


def test_all_qualities_are_tried_before_the_first_halving():
    recipe = small(14_000, accept=(JPEG,))
    work = make.work(PICTURES["noise"], recipe)
    found = ladder.climb(work)
    assert found.width < 400
    # A prediction may pass over better qualities, never over the last: it is what proves that the size does not fit.
    for size in plan.sizes(400, 300, recipe):
        if size[0] > found.width:
            assert 50 in {attempt.quality for attempt in work.attempts if attempt.width == size[0]}


@pytest.mark.parametrize("qualities", [(85, 70, 50), (50, 85), (70, 90, 20), (40,)])
@pytest.mark.parametrize("name", ["page", "photo"])
def test_qualities_are_tried_in_the_order_of_the_recipe(name, qualities):
    recipe = Recipe(jpeg_qualities=qualities, accept=(JPEG, PNG))
    traits = Traits(make.vips(PICTURES[name]))
    order = [
        group[0].quality for stage in stages(traits, recipe, {JPEG: 9, PNG: 9}) for group in stage if group[0].encoder == "jpeg"
    ]
    assert order == list(qualities)


def test_webp_saves_a_size_that_jpeg_would_give_up():
    picture = PICTURES["photo"]
    last = ladder.encode.jpeg(make.vips(picture), None, 50).byte_count
    target = int(last * 0.9 * 4 / 3)
    assert ladder.climb(make.work(picture, small(target))).encoder == "webp"
    without = ladder.climb(make.work(picture, small(target, accept=(JPEG,))))
    assert (without.encoder, without.width) == ("jpeg", picture.shape[1] // 2)


def test_signs_on_a_texture_are_jpeg_at_full_colour_where_that_fits_and_webp_of_high_quality_before_it_is_lowered():
    picture = PICTURES["signs on a texture"]
    roomy = climbed(picture, small(120_000))
    assert roomy[1:] == (JPEG, "jpeg", 85)
    assert _sampling(roomy[0]) == 0x11
    best = climbed(picture, small(80_000))
    assert best[1:] == (WEBP, "webp", 95)
    jpeg = climbed(picture, small(len(best[0]) * 4 // 3 + 40, accept=(JPEG,)))
    error = [np.abs(make.luma(make.pixels(data)) - make.luma(picture)).mean() for data in (best[0], jpeg[0])]
    assert error[0] < 0.6 * error[1]


def test_a_photograph_and_a_page_that_jpeg_shows_well_do_not_wait_for_webp():
    for name in ("photo", "page"):
        assert climbed(PICTURES[name], small(60_000))[1] != WEBP


def test_a_drawing_is_webp_of_high_quality_before_jpeg_is_lowered():
    picture = np.concatenate([make.text(480, 240, px=13), make.photo(480, 120, grain=3)])
    fine = len(make.vips(picture).webpsave_buffer(Q=90, effort=0, keep="none"))
    assert climbed(picture, small(fine * 4 // 3 + 60, accept=(JPEG, WEBP)))[1:] == (WEBP, "webp", 90)
    lower = climbed(picture, small(fine * 4 // 3 + 60, accept=(JPEG,)))
    assert lower[3] < 85


def test_a_receiver_of_png_alone_gets_smaller_pngs():
    found = ladder.climb(make.work(PICTURES["photo"], small(50_000, accept=(PNG,))))
    assert found.mime == PNG


def test_a_receiver_of_gif_alone_is_refused_by_the_recipe():
    with pytest.raises(InvalidRecipe):
        Recipe(accept=("image/gif",))


@pytest.mark.parametrize("name", ["photo", "noise", "page"])
@pytest.mark.parametrize("accept", [(JPEG,), (WEBP,), (PNG,)])
def test_the_result_is_only_ever_of_an_accepted_type(name, accept):
    found = ladder.climb(make.work(PICTURES[name], small(20_000, accept=accept)))
    assert found.mime in accept


def test_a_side_beyond_webp_is_not_given_to_webp():
    picture = make.noise(20_000, 8)
    work = make.work(picture, small(40_000, max_side=20_000, min_side=1, max_halvings=1))
    ladder.climb(work)
    assert {attempt.width for attempt in work.attempts if attempt.encoder == "webp"} <= {10_000}


# The budget ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["page", "photo"])
def test_the_whole_data_url_counts_and_one_character_decides(name):
    picture = PICTURES[name]
    first = ladder.climb(make.work(picture, small(10**7)))
    length = data_url_length(first.mime, len(first.data))
    assert ladder.climb(make.work(picture, small(length))).data == first.data
    less = ladder.climb(make.work(picture, small(length - 1)))
    assert less.data != first.data
    assert data_url_length(less.mime, len(less.data)) <= length - 1


@pytest.mark.parametrize("mime", [JPEG, PNG, WEBP])
@pytest.mark.parametrize("budget", [0, 3, 26, 27, 30, 1000, 65_536, 262_144])
def test_bytes_that_fit_is_the_largest_number(budget, mime):
    most = ladder.bytes_that_fit(budget, mime)
    assert most == 0 or data_url_length(mime, most) <= budget
    assert data_url_length(mime, most + 1) > budget


def test_no_budget_takes_the_first_candidate():
    found = ladder.climb(make.work(PICTURES["noise"], Recipe(embed=False)))
    assert (found.encoder, found.quality, found.width) == ("jpeg", 85, 400)


def test_a_target_out_of_reach_is_an_error_with_limit_and_nearest_value():
    with pytest.raises(TargetUnreachable) as caught:
        ladder.climb(make.work(PICTURES["noise"], small(700, max_halvings=1)))
    error = caught.value
    assert error.limit == 700
    assert error.actual == data_url_length(JPEG, error.details["smallest_bytes"]) or error.actual > 700
    assert error.actual > error.limit


def test_on_miss_smallest_gives_the_smallest_of_all_candidates_and_says_so():
    recipe = small(700, max_halvings=1, on_miss="smallest")
    work = make.work(PICTURES["noise"], recipe)
    found = ladder.climb(work)
    assert "target_missed" in codes(work)
    search = ladder._Ladder(work, work.opened, Region(0, 0, 400, 300), sizes(PICTURES["noise"], recipe))
    lengths = []
    for size in search.sizes:
        traits = search.traits(size)
        for rung in (rung for stage in stages(traits, recipe, search.limits) for group in stage for rung in group):
            outcome = rung.encode(traits, None) if rung.offered(traits, None) else None
            if outcome is not None:
                lengths.append(outcome.byte_count)
    assert len(found.data) == min(lengths)


def test_a_shape_that_the_receiver_refuses_is_an_error_with_both_values():
    with pytest.raises(TargetUnreachable) as caught:
        ladder.climb(make.work(make.text(1000, 20), Recipe(max_aspect=20)))
    assert (caught.value.limit, caught.value.actual) == (20, 50)


def test_a_shape_that_the_receiver_refuses_comes_with_a_note_where_it_is_wanted_all_the_same():
    work = make.work(make.text(1000, 20), Recipe(max_aspect=20, on_miss="smallest"))
    assert ladder.climb(work).width == 1000
    assert "target_missed" in codes(work)


def test_no_halving_goes_below_the_side_that_the_receiver_takes():
    with pytest.raises(TargetUnreachable):
        ladder.climb(make.work(PICTURES["noise"], small(5_000, min_accepted_side=200)))


def test_the_deadline_is_looked_at_between_candidates():
    work = make.work(PICTURES["noise"], small(3_000))
    work.deadline = Deadline(-1)
    with pytest.raises(DeadlineExceeded):
        ladder.climb(work)
