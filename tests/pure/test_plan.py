"""The sizes of the ladder."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pixlane import sizing
from pixlane.imaging import plan
from pixlane.recipe import Recipe

RULES = ("claude_patch28", "openai_patch32", "openai_tile512", "gemini_tile768", "mistral", "cohere_tile512")


@pytest.mark.parametrize(
    ("size", "fields", "expected"),
    [
        ((3000, 2000), {}, [(1568, 1045), (784, 523), (392, 261), (196, 131), (98, 65)]),
        ((1568, 1568), {}, [(1568, 1568), (784, 784), (392, 392), (196, 196), (98, 98)]),
        ((1920, 1080), {"max_halvings": 1}, [(1568, 882), (784, 441)]),
        ((1920, 1080), {"max_halvings": 0}, [(1568, 882)]),
        ((100, 80), {}, [(100, 80)]),  # half of 80 is below 64
        ((128, 128), {}, [(128, 128), (64, 64)]),  # not below 64
        ((126, 500), {}, [(126, 500)]),  # 63 is
        ((20_000, 1), {}, [(1568, 1), (784, 1), (392, 1), (196, 1), (98, 1)]),  # below at the ceiling: the longer side counts
        ((60, 400), {}, [(60, 400), (30, 200), (15, 100)]),
        ((40, 20_000), {}, [(3, 1568), (2, 784), (1, 392), (1, 196), (1, 98)]),
        ((65_536, 10), {}, [(1568, 1), (784, 1), (392, 1), (196, 1), (98, 1)]),
        ((1, 1), {}, [(1, 1)]),
        ((4000, 1000), {"min_side": 1, "max_side": 8}, [(8, 2), (4, 1), (2, 1), (1, 1)]),  # both of the last are 1
        ((2000, 2000), {"max_total_pixels": 1_000_000}, [(1000, 1000), (500, 500), (250, 250), (125, 125)]),
    ],
)
def test_the_sizes_of_a_source(size, fields, expected):
    assert list(plan.sizes(*size, Recipe(**fields))) == expected


@settings(max_examples=150, deadline=None)
@given(
    width=st.integers(1, 70_000),
    height=st.integers(1, 70_000),
    max_side=st.integers(1, 9000),
    min_side=st.integers(1, 300),
    total=st.none() | st.integers(1, 10_000_000),
    rule=st.none() | st.sampled_from(RULES),
)
def test_every_size_keeps_the_limits_and_the_aspect(width, height, max_side, min_side, total, rule):
    recipe = Recipe(max_side=max_side, min_side=min_side, max_total_pixels=total, size_rule=rule)
    sizes = plan.sizes(width, height, recipe)
    for w, h in sizes:
        assert 1 <= w <= width
        assert 1 <= h <= height
        assert max(w, h) <= max_side
        assert total is None or w * h <= total or (w, h) == (1, 1)
        assert rule is None or sizing.rule(rule)(w, h) == (w, h)
        exact = h * width / height, w * height / width
        assert abs(exact[0] - w) <= 1 or abs(exact[1] - h) <= 1
    for before, after in pairwise(sizes):
        assert abs(max(after) - max(before) / 2) <= 1 or rule is not None or total is not None
        assert max(after) < max(before)
    assert len(sizes) <= recipe.max_halvings + 1
    floor = min if min(sizes[0]) >= min_side else max
    assert all(floor(size) >= min_side for size in sizes[1:])


@settings(max_examples=100, deadline=None)
@given(width=st.integers(1, 5000), height=st.integers(1, 5000))
def test_a_source_within_all_limits_keeps_its_size(width, height):
    assert plan.sizes(width, height, Recipe(max_side=5000))[0] == (width, height)


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("size", [(3000, 2000), (900, 4000), (8000, 100), (1920, 1080)])
def test_one_pixel_more_on_the_longer_side_would_be_resampled(rule, size):
    recipe = Recipe(max_side=65_500, size_rule=rule)
    top = plan.sizes(*size, recipe)[0]
    if top != size:
        longer = max(top) + 2  # within 1 px of the largest
        other = max(1, round(longer * min(size) / max(size)))
        larger = (longer, other) if size[0] >= size[1] else (other, longer)
        assert sizing.rule(rule)(*larger) != larger


def test_a_shape_that_is_too_long_is_named_with_its_values():
    found = plan.violation((400, 10), Recipe(max_aspect=20))
    assert found == plan.Violation("max_aspect", 20, 40)
    assert plan.violation((200, 10), Recipe(max_aspect=20)) is None


def test_a_side_that_is_too_short_is_named_with_its_values():
    assert plan.violation((400, 7), Recipe(min_accepted_side=8)) == plan.Violation("min_accepted_side", 8, 7)
    assert plan.violation((400, 8), Recipe(min_accepted_side=8)) is None


def test_the_size_at_a_side_is_the_largest_that_is_allowed():
    assert plan.at_side(3000, 2000, Recipe(), 600) == (600, 400)
    assert plan.at_side(3000, 2000, Recipe(), 5000) == (1568, 1045)


def test_where_the_rule_alone_decides_its_own_answer_counts():
    recipe = Recipe(max_side=4096, size_rule="openai_tile512")
    assert plan.sizes(2048, 4096, recipe)[0] == sizing.rule("openai_tile512")(2048, 4096) == (768, 1536)


def test_a_source_may_keep_its_size_when_it_is_the_first_of_the_ladder():
    for size in ((1568, 882), (1569, 882), (768, 1536), (768, 1537), (10, 10)):
        for recipe in (Recipe(), Recipe(size_rule="openai_tile512"), Recipe(max_total_pixels=1_200_000)):
            assert plan.fits(*size, recipe) == (plan.sizes(*size, recipe)[0] == size)
