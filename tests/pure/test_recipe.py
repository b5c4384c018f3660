"""A recipe is immutable, checks every field with its name and bounds, and has a fingerprint that only its content decides."""

from __future__ import annotations

import dataclasses
import json
import subprocess
import sys

import pytest

from pixlane.errors import InvalidRecipe
from pixlane.recipe import MAX_TARGET_BYTES, MIN_TARGET_BYTES, PIPELINE_VERSION, Recipe, Region


def test_the_default_budget_is_256_kib_of_data_url():
    assert Recipe().target_bytes == 262_144
    assert Recipe().budget == 262_144


def test_the_environment_sets_the_default_budget():
    code = "from pixlane import Recipe; r = Recipe(); print(r.target_bytes, r.budget)"
    run = subprocess.run(
        [sys.executable, "-P", "-c", code], env={"PIXLANE_EMBED_TARGET_BYTES": "100"}, capture_output=True, text=True, check=True
    )
    assert run.stdout.split() == ["100", "65536"]


@pytest.mark.parametrize(
    ("asked", "given"), [(1, MIN_TARGET_BYTES), (65_536, 65_536), (65_535, 65_536), (2**30, MAX_TARGET_BYTES)]
)
def test_a_budget_outside_the_clamp_moves_to_the_nearer_bound(asked, given):
    assert Recipe(target_bytes=asked).budget == given


def test_without_embed_the_budget_is_taken_as_it_is():
    assert Recipe(target_bytes=100, embed=False).budget == 100
    assert Recipe(embed=False).budget is None


def test_equal_recipes_have_equal_fingerprints_however_they_were_written():
    one = Recipe(accept=["image/png"], region={"x": 1, "y": 2, "width": 3, "height": 4})
    two = Recipe(accept=("image/png",), region=Region(1, 2, 3, 4))
    assert one == two
    assert one.fingerprint == two.fingerprint
    assert len(one.fingerprint) == 16
    assert int(one.fingerprint, 16) >= 0


def test_every_field_changes_the_fingerprint():
    changes = {
        "target_bytes": 100_000,
        "max_side": 100,
        "size_rule": "openai_tile512",
        "accept": ("image/png",),
        "max_halvings": 1,
        "min_side": 10,
        "jpeg_qualities": (60,),
        "shrink": "fine",
        "background": "#00ff00",
        "region": Region(0, 0, 1, 1),
        "page": 3,
        "on_miss": "smallest",
        "allow_truncated": True,
        "embed": False,
        "min_accepted_side": 11,
        "max_aspect": 200.0,
        "max_total_pixels": 10,
    }
    assert set(changes) == {item.name for item in dataclasses.fields(Recipe) if item.init}
    fingerprints = {Recipe(**{name: value}).fingerprint for name, value in changes.items()}
    assert len(fingerprints | {Recipe().fingerprint}) == len(changes) + 1


def test_a_recipe_survives_json():
    recipe = Recipe(region=Region(1, 2, 3, 4), accept=("image/jpeg",), page=2)
    again = Recipe.from_dict(json.loads(json.dumps(recipe.to_dict())))
    assert again == recipe
    assert again.fingerprint == recipe.fingerprint


def test_a_recipe_cannot_be_changed():
    with pytest.raises(dataclasses.FrozenInstanceError):
        Recipe().max_side = 3  # type: ignore[misc]


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("max_side", 0),
        ("max_side", True),
        ("max_side", 1.5),
        ("max_halvings", -1),
        ("min_side", 0),
        ("page", -1),
        ("target_bytes", 0),
        ("target_bytes", "256"),
        ("jpeg_qualities", ()),
        ("jpeg_qualities", (0,)),
        ("jpeg_qualities", "85"),
        ("accept", ()),
        ("accept", ("image/gif",)),
        ("accept", "image/png"),
        ("accept", ("image/png", 1)),
        ("accept", ("image/png", [])),
        ("shrink", "fast"),
        ("on_miss", None),
        ("background", "red"),
        ("background", "#12345"),
        ("allow_truncated", 1),
        ("region", {"x": 0}),
        ("region", (0, 0, 0, 5)),
        ("region", (0, 0, 5)),
        ("region", (0, 0, 5, 5, 5)),
        ("region", "0,0,5,5"),
        ("region", 5),
        ("size_rule", "no such rule"),
        ("max_aspect", 0.5),
        ("max_aspect", True),
        ("max_aspect", float("inf")),
        ("max_aspect", float("nan")),
        ("min_accepted_side", 0),
    ],
)
def test_a_value_out_of_bounds_is_refused_by_name(field, value):
    with pytest.raises(InvalidRecipe, match=field.split(".")[0]):
        Recipe(**{field: value})


def test_an_unknown_field_is_refused():
    with pytest.raises(InvalidRecipe, match="max_sides"):
        Recipe.from_dict({"max_sides": 3})


def test_an_unknown_field_is_refused_beside_a_profile_too():
    with pytest.raises(InvalidRecipe, match="max_sidee"):
        Recipe.for_profile("anthropic", max_sidee=3)


def test_the_fingerprint_is_the_documented_formula():
    import hashlib

    canonical = json.dumps(Recipe().to_dict(), sort_keys=True, separators=(",", ":"))
    assert Recipe().fingerprint == hashlib.sha256(f"{PIPELINE_VERSION}\n{canonical}".encode()).hexdigest()[:16]
