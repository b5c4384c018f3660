"""Transparency onto a background; "auto" is white unless what is visible would vanish on it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pixlane.imaging.work import Work

if TYPE_CHECKING:
    import pyvips

WHITE = (255, 255, 255)
DARK = (32, 32, 32)
VANISHING = 48  # levels of luma below white that the visible content must reach to be seen on white


def is_opaque(image: pyvips.Image) -> bool:
    """Whether the last band of an 8-bit image in memory is 255 everywhere."""
    return bool(image[image.bands - 1].min() == 255)


def without_alpha(image: pyvips.Image) -> pyvips.Image:
    return image.extract_band(0, n=image.bands - 1)


def flatten(image: pyvips.Image, background: tuple[int, ...], premultiplied: bool = False) -> pyvips.Image:
    """8-bit colour with alpha as its last band, onto the background. Flattening before a resize equals resizing premultiplied."""
    colours = image.bands - 1
    if colours == 1 and len(set(background)) > 1:
        image = image[0].bandjoin([image[0], image[0], image[1]]).copy(interpretation="srgb")
        colours = 3
    onto = [float(level) for level in background[:colours]]
    if not premultiplied:
        return image.flatten(background=onto)
    rest = 255 - image[colours]
    parts = [image[band] + rest * (onto[band] / 255) for band in range(colours)]
    joined = parts[0].bandjoin(parts[1:]) if colours > 1 else parts[0]
    return joined.rint().cast("uchar").copy(interpretation="srgb" if colours > 1 else "b-w")


def choose_background(work: Work, image: pyvips.Image) -> tuple[int, int, int]:
    """The background of the recipe; adds the notes. `image` is the finished picture with its alpha, 8-bit sRGB or grey."""
    wanted = work.recipe.background
    if wanted.startswith("#"):
        colour = (int(wanted[1:3], 16), int(wanted[3:5], 16), int(wanted[5:7], 16))
    else:
        colour = {"white": WHITE, "dark": DARK}.get(wanted) or (DARK if _vanishes_on_white(image) else WHITE)
    work.note("alpha_flattened", "transparency was laid onto #{:02x}{:02x}{:02x}".format(*colour))
    if wanted == "auto" and colour == DARK:
        work.note("background_dark", "what is visible would vanish on white")
    return colour


def _vanishes_on_white(image: pyvips.Image) -> bool:
    """Whether nearly nothing that is visible is darker than white by enough to be seen.

    What counts is the part of the visible pixels (weighted by their alpha) that stands out from white, and whether the
    picture has pixels that are fully or half clear at all.
    """
    import numpy as np

    pixels = np.asarray(image)
    colours = pixels[..., :-1].astype(np.float32)
    alpha = pixels[..., -1].astype(np.float32) / 255
    luma = colours @ np.array([0.299, 0.587, 0.114], np.float32) if colours.shape[-1] == 3 else colours[..., 0]
    visible = float(alpha.sum())
    if visible < 1:
        return False
    stands_out = float((alpha * ((255 - luma) * alpha > VANISHING)).sum())
    return stands_out < 0.02 * visible
