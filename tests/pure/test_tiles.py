"""Long pages as readable tiles, and the way back from a rendition to its source."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from pixlane import normalize, tiles
from pixlane.errors import TargetUnreachable
from pixlane.imaging.tiles import MIN_TILE_PX, OVERLAP_PX, layout, spans
from pixlane.recipe import Recipe, Region

from . import make_pictures as make

LONG = make.text(1200, 4200)


def test_a_page_that_can_be_read_in_one_rendition_is_one_tile():
    data = make.save(make.text(1440, 900), "PNG")
    (tile,) = tiles(data)
    assert tile.data == normalize(data).data
    assert tile.region is None


def test_a_long_page_becomes_tiles_at_its_own_size_that_cover_it_and_overlap():
    found = tiles(make.save(LONG, "PNG"))
    assert len(found) > 1
    end = 0
    for tile in found:
        assert (tile.width, tile.height) == (tile.region.width, tile.region.height)
        assert tile.fits
        assert tile.region.y <= max(0, end - OVERLAP_PX)
        end = tile.region.y + tile.region.height
    assert end == 4200


def test_each_tile_shows_its_region_of_the_source():
    for tile in tiles(make.save(LONG, "PNG"), Recipe(target_bytes=4 << 20)):
        part = LONG[tile.region.y : tile.region.y + tile.region.height]
        assert np.array_equal(make.pixels(tile.data), part)


def test_a_tile_is_what_normalize_makes_of_its_region():
    data = make.save(LONG, "PNG")
    for tile in tiles(data):
        one = normalize(data, Recipe(region=tile.region))
        assert (one.data, one.recipe, one.region) == (tile.data, tile.recipe, tile.region)


def test_the_tiles_of_a_region_lie_inside_it():
    region = Region(100, 300, 800, 3700)
    found = tiles(make.save(LONG, "PNG"), Recipe(region=region))
    assert min(tile.region.y for tile in found) == 300
    assert max(tile.region.y + tile.region.height for tile in found) == 4000
    assert {(tile.region.x, tile.region.width) for tile in found} == {(100, 800)}


def test_a_page_that_is_wide_and_long_is_cut_both_ways():
    regions = layout(Region(0, 0, 5000, 6000), Recipe())
    assert len({region.x for region in regions}) > 1
    assert len({region.y for region in regions}) > 1
    assert regions == sorted(regions, key=lambda region: (region.y, region.x))


def test_a_tile_whose_budget_would_halve_it_is_cut_in_two():
    noisy = make.noise(600, 1800)
    found = tiles(make.save(noisy, "PNG"), Recipe(target_bytes=65_536, max_side=600, accept=("image/jpeg",)))
    assert all(tile.fits for tile in found)
    assert all(tile.scale[1] >= 0.7 or max(tile.region.width, tile.region.height) < 2 * MIN_TILE_PX for tile in found)
    assert len(found) > len(layout(Region(0, 0, 600, 1800), Recipe(max_side=600)))


def test_more_tiles_than_anybody_wants_is_an_error_with_both_numbers():
    with pytest.raises(TargetUnreachable) as caught:
        layout(Region(0, 0, 10_000, 10_000), Recipe(max_side=128))
    assert caught.value.limit == 400
    assert caught.value.actual > 400


@settings(max_examples=100, deadline=None)
@given(length=st.integers(1, 100_000), longest=st.integers(2, 5000), overlap=st.integers(0, 200))
def test_spans_cover_a_length_without_a_gap(length, longest, overlap):
    found = list(spans(length, longest, overlap))
    overlap = min(overlap, longest // 2)
    assert found[0][0] == 0
    assert sum(found[-1]) == length
    assert all(0 < size <= max(longest, 1) for _, size in found)
    for (start, size), (following, _) in pairwise(found):
        assert start < following <= start + size - overlap


@settings(max_examples=50, deadline=None)
@given(
    width=st.integers(1, 30_000),
    height=st.integers(1, 30_000),
    fields=st.sampled_from([{}, {"size_rule": "claude_patch28"}, {"size_rule": "openai_tile512"}, {"max_total_pixels": 10**6}]),
)
def test_every_tile_can_be_read(width, height, fields):
    from pixlane.imaging import plan

    recipe = Recipe(**fields)
    try:
        regions = layout(Region(0, 0, width, height), recipe)
    except TargetUnreachable:
        return
    for region in regions:
        top = plan.sizes(region.width, region.height, recipe)[0]
        assert max(top) / max(region.width, region.height) >= 0.45


# Back to the source --------------------------------------------------------------------------------------------------------

ORIENTATIONS = range(1, 9)
UPRIGHT = {  # EXIF value -> how the stored picture is made from the upright one
    1: None,
    2: Image.Transpose.FLIP_LEFT_RIGHT,
    3: Image.Transpose.ROTATE_180,
    4: Image.Transpose.FLIP_TOP_BOTTOM,
    5: Image.Transpose.TRANSPOSE,
    6: Image.Transpose.ROTATE_90,
    7: Image.Transpose.TRANSVERSE,
    8: Image.Transpose.ROTATE_270,
}


def marked(width: int, height: int, x: int, y: int, orientation: int, side: int = 9) -> bytes:
    """A grey picture with one red square whose centre is at (x, y) of the upright picture, stored turned."""
    picture = np.full((height, width, 3), 128, np.uint8)
    half = side // 2
    picture[y - half : y + half + 1, x - half : x + half + 1] = 255, 0, 0
    stored = Image.fromarray(picture)
    if UPRIGHT[orientation] is not None:
        stored = stored.transpose(UPRIGHT[orientation])
    exif = Image.Exif()
    exif[0x0112] = orientation
    return make.save(stored, "PNG", exif=exif)


def found_at(rendition) -> tuple[float, float] | None:
    """Where the red square is in the rendition, by its centre of mass."""
    seen = make.pixels(rendition.data).astype(float)
    red = np.clip(seen[..., 0] - seen[..., 1] - 20, 0, None)
    if red.sum() < 200:
        return None
    ys, xs = np.indices(red.shape)
    return float((red * (xs + 0.5)).sum() / red.sum()), float((red * (ys + 0.5)).sum() / red.sum())


def assert_back(rendition, x: int, y: int) -> None:
    at = found_at(rendition)
    assert at is not None
    back = rendition.to_source(*at)
    for axis, (got, meant) in enumerate(zip(back, (x + 0.5, y + 0.5), strict=True)):
        assert abs(got - meant) * rendition.scale[axis] <= 0.5


@pytest.mark.parametrize("orientation", ORIENTATIONS)
@pytest.mark.parametrize("max_side", [700, 301, 150])
@pytest.mark.parametrize("region", [None, Region(101, 53, 333, 217)], ids=["whole", "region"])
def test_the_marker_is_found_back_over_orientation_region_and_size(orientation, max_side, region):
    data = marked(700, 400, 222, 131, orientation)
    rendition = normalize(data, Recipe(max_side=max_side, region=region))
    assert (rendition.source.width, rendition.source.height) == (700, 400)
    assert_back(rendition, 222, 131)


@pytest.mark.parametrize("orientation", ORIENTATIONS)
def test_the_marker_is_found_back_down_the_ladder(orientation):
    data = marked(700, 400, 222, 131, orientation, side=41)
    whole = normalize(data, Recipe(accept=("image/jpeg",)))
    recipe = Recipe(target_bytes=len(whole.data_url) // 2, embed=False, accept=("image/jpeg",), jpeg_qualities=(85,))
    rendition = normalize(data, recipe)
    assert rendition.width < 700
    assert_back(rendition, 222, 131)


@pytest.mark.parametrize("orientation", ORIENTATIONS)
@pytest.mark.parametrize("region", [None, Region(40, 300, 400, 2000)], ids=["whole", "region"])
def test_the_marker_is_found_back_in_the_tiles_that_show_it(orientation, region):
    x, y = 222, 1231
    data = marked(500, 2400, x, y, orientation)
    seen = 0
    for tile in tiles(data, Recipe(max_side=420, region=region)):
        inside = all(
            start + 9 <= point < start + size - 9
            for point, start, size in ((x, tile.region.x, tile.region.width), (y, tile.region.y, tile.region.height))
        )
        if inside:
            assert_back(tile, x, y)
            seen += 1
    assert seen >= 1
