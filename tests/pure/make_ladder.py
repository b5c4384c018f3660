"""Pictures, recipes and sizes for the tests of the ladder."""

from __future__ import annotations

import numpy as np

from pixlane.imaging import plan
from pixlane.imaging.work import Work
from pixlane.recipe import Recipe

from . import make_pictures

JPEG, PNG, WEBP = "image/jpeg", "image/png", "image/webp"

PICTURES = {
    "page": make_pictures.text(500, 360),
    "coloured page": make_pictures.text(500, 360, ink="#ff2020", paper="#2020ff"),
    "red words": make_pictures.text(500, 360, ink="#cc2211"),
    "signs on a texture": make_pictures.signs_on_a_texture(480, 360),
    "photo": make_pictures.photo(400, 300),
    "soft photo": make_pictures.photo(400, 300, grain=0),
    "noise": make_pictures.noise(400, 300),
    "gradient": make_pictures.gradient(480, 360),
    "half photo, half page": np.concatenate([make_pictures.text(400, 200, px=13), make_pictures.photo(400, 200, seed=4)]),
    "blank": np.full((400, 500, 3), 255, np.uint8),
    "stripes": np.tile(np.array([[[0], [255]]], np.uint8).repeat(3, axis=2), (300, 200, 1)),
}


def small(target: int, **fields) -> Recipe:
    """A recipe outside the clamp, so that small pictures have to work for it."""
    return Recipe(target_bytes=target, embed=False, **{"min_side": 16, **fields})


def sizes(picture: np.ndarray, recipe: Recipe):
    return plan.sizes(picture.shape[1], picture.shape[0], recipe)


def codes(work: Work) -> set[str]:
    return {note.code for note in work.notes}
