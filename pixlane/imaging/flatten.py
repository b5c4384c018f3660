"""Transparency onto a background; "auto" is white unless what is visible would vanish on it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from pixlane.imaging.work import Work

if TYPE_CHECKING:
    import pyvips
    from PIL import Image

WHITE = (255, 255, 255)
DARK = (32, 32, 32)
OPAQUE = 255
NEARLY_OPAQUE = 248  # from here on it makes no visible difference whether the resize weighted colours by their alpha
FEW = 0.1  # of the pixels, beyond which looking at all of them is cheaper
VANISHING = 48  # levels of luma by which an outline must differ from the background to be seen
LOSS_WORTH_DARK = 0.05  # part of the outlines that may be lost on white before dark is looked at
FAINT = 32  # alpha from which a pixel counts as visible; a shadow does, its last trace does not
LUMA_WEIGHTS = (0.299, 0.587, 0.114)


def take(image: pyvips.Image) -> tuple[pyvips.Image, int]:
    """An image with alpha as its last band, evaluated into memory, and its smallest alpha; without it where that is 255."""
    import pyvips

    if image.bands != 4 or image.format != "uchar":
        image = image.copy_memory()
        least = int(image[image.bands - 1].min())
        return (image.extract_band(0, n=image.bands - 1).copy_memory() if least == OPAQUE else image), least
    pixels = image.write_to_memory()
    least, _ = cast("tuple[int, int]", _rgba(pixels, image).getchannel(3).getextrema())
    if least == OPAQUE:
        return _without_alpha(pixels, image), least
    held = pyvips.Image.new_from_memory(pixels, image.width, image.height, 4, "uchar")
    return held.copy(interpretation=image.interpretation), least


def flatten(image: pyvips.Image, background: tuple[int, ...]) -> pyvips.Image:
    """8-bit colour with alpha as its last band, onto the background. Flattening before a resize equals resizing premultiplied."""
    if image.bands == 2 and len(set(background)) > 1:
        image = image[0].bandjoin([image[0], image[0], image[1]]).copy(interpretation="srgb")
    return image.flatten(background=[float(level) for level in background[: image.bands - 1]])


def fill_traces(image: pyvips.Image, background: tuple[int, int, int]) -> pyvips.Image:
    """As `flatten`, of four 8-bit bands in memory of which few pixels are not opaque: only those are looked at."""
    import numpy as np

    pixels = image.write_to_memory()
    packed = np.frombuffer(pixels, "<u4")
    here = np.flatnonzero(packed < OPAQUE << 24)
    if len(here) > FEW * len(packed):
        return flatten(image, background).copy_memory()
    bands = np.frombuffer(pixels, np.uint8).reshape(-1, 4)
    touched = bands[here].astype(np.float32)
    alpha = touched[:, 3:] / OPAQUE
    bands[here, :3] = np.rint(touched[:, :3] * alpha + np.array(background, np.float32) * (1 - alpha)).astype(np.uint8)
    return _without_alpha(pixels, image)


def choose_background(work: Work, image: pyvips.Image, least: int = 0) -> tuple[int, int, int]:
    """The background of the recipe; adds the notes.

    Args:
        image: the finished picture with its alpha, 8-bit sRGB or grey.
        least: its smallest alpha, where it is known.
    """
    wanted = work.recipe.background
    if wanted.startswith("#"):
        colour = (int(wanted[1:3], 16), int(wanted[3:5], 16), int(wanted[5:7], 16))
    else:
        colour = {"white": WHITE, "dark": DARK}.get(wanted) or (DARK if least < FAINT and _vanishes_on_white(image) else WHITE)
    work.note("alpha_flattened", "transparency was laid onto #{:02x}{:02x}{:02x}".format(*colour))
    if wanted == "auto" and colour == DARK:
        work.note("background_dark", "what is visible would vanish on white")
    return colour


def _vanishes_on_white(image: pyvips.Image) -> bool:
    """Whether white hides more of the outlines than dark does: the visible pixels that border on clear ones.

    What lies inside a shape keeps its own surroundings, whatever the background: the white page of a window with round corners
    stays legible on white, a white word on nothing does not.
    """
    import numpy as np

    pixels = np.asarray(image)
    visible = pixels[..., -1] >= FAINT
    inside = visible.copy()
    for axis in (0, 1):
        for step in (1, -1):  # a pixel is inside when all four neighbours are visible; the picture's own edge is no outline
            neighbour = np.roll(visible, step, axis)
            neighbour[(slice(None),) * axis + (0 if step == 1 else -1,)] = True
            inside &= neighbour
    edge = pixels[visible & ~inside][:, :-1].astype(np.float32)
    outline = edge @ np.array(LUMA_WEIGHTS, np.float32) if edge.shape[1] == 3 else edge[:, 0]
    if not outline.size:
        return False
    lost_on_white = float((outline > 255 - VANISHING).mean())
    lost_on_dark = float((abs(outline - DARK[0]) < VANISHING).mean())
    return lost_on_white > LOSS_WORTH_DARK and lost_on_white > 2 * lost_on_dark


def _rgba(pixels: Any, image: pyvips.Image) -> Image.Image:
    """The bytes of an image of four 8-bit bands as a Pillow image, which splits bands several times as fast as libvips."""
    from PIL import Image

    return Image.frombuffer("RGBA", (image.width, image.height), pixels, "raw", "RGBA", 0, 1)


def _without_alpha(pixels: Any, image: pyvips.Image) -> pyvips.Image:
    """The first three of four 8-bit bands, in memory."""
    import pyvips

    bands = _rgba(pixels, image).tobytes("raw", "RGB")
    return pyvips.Image.new_from_memory(bands, image.width, image.height, 3, "uchar").copy(interpretation=image.interpretation)
