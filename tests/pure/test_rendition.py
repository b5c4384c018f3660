"""A rendition is its bytes, its data URL and its way back to the source, and survives JSON."""

from __future__ import annotations

import base64
import json

import pytest

from pixlane import normalize
from pixlane.recipe import Recipe, Region
from pixlane.rendition import Attempt, Note, Rendition, Source, data_url_length
from tests.pure import make_pictures as make

SOURCE = Source("ab" * 32, "image/png", 400, 300, 1234, 1)


def rendition(**changes):
    given = {"data": b"pixels", "mime": "image/jpeg", "width": 100, "height": 75, "source": SOURCE}
    return Rendition(**{**given, **changes})


def test_the_data_url_is_mime_and_base64():
    assert rendition().data_url == "data:image/jpeg;base64," + base64.b64encode(b"pixels").decode()


@pytest.mark.parametrize("byte_count", range(7))
def test_the_length_of_a_data_url_is_known_before_it_is_made(byte_count):
    made = rendition(data=bytes(byte_count))
    assert data_url_length("image/jpeg", byte_count) == len(made.data_url)


def test_a_point_maps_back_to_the_source():
    assert rendition().to_source(50, 75) == (200, 300)
    assert rendition().scale == (0.25, 0.25)


def test_a_point_maps_back_through_a_region():
    cropped = rendition(region=Region(10, 20, 200, 150))
    assert cropped.to_source(0, 0) == (10, 20)
    assert cropped.to_source(100, 75) == (210, 170)
    assert cropped.scale == (0.5, 0.5)


def test_a_rendition_survives_json():
    made = rendition(
        region=Region(1, 2, 3, 4),
        notes=(Note("resized", "smaller"),),
        attempts=(Attempt(100, 75, "jpeg", 85, 6, chosen=True), Attempt(100, 75, "jpeg", 90, 60)),
        fits=False,
        pipeline="1",
        recipe="00",
        elapsed_ms=1.5,
    )
    again = Rendition.from_meta(json.loads(json.dumps(made.to_meta())), made.data_url, cached=False)
    assert again == made
    assert again.data_url == made.data_url


def test_what_a_newer_version_wrote_is_read_without_its_new_fields():
    made = rendition(region=Region(1, 2, 3, 4), notes=(Note("resized", "smaller"),), attempts=(Attempt(100, 75, "jpeg", 85, 6),))
    meta = made.to_meta() | {"tiles": []}
    for part in (meta["source"], meta["region"], meta["notes"][0], meta["attempts"][0]):
        part["new"] = 1
    assert Rendition.from_meta(meta, made.data_url, cached=False) == made


def test_a_rendition_from_the_store_says_so():
    made = rendition()
    assert Rendition.from_meta(made.to_meta(), made.data_url).cached


@pytest.mark.parametrize(
    "recipe",
    [
        Recipe(),
        Recipe(max_side=200),
        Recipe(target_bytes=6_000, embed=False),
        Recipe(target_bytes=100, embed=False, on_miss="smallest"),
    ],
    ids=["untouched", "resized", "late in the ladder", "nothing fits"],
)
def test_exactly_one_attempt_is_marked_as_the_result(recipe: Recipe) -> None:
    made = normalize(make.save(make.photo(400, 300), "PNG"), recipe)
    (chosen,) = [attempt for attempt in made.attempts if attempt.chosen]
    assert (chosen.width, chosen.height, chosen.byte_count) == (made.width, made.height, len(made.data))
