"""HEIC and HEIF through pillow-heif, which applies what the container says about rotation; an EXIF value never counts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pixlane.errors import CorruptInput, EngineMissing
from pixlane.imaging import anatomy, damage, guard, header, wording
from pixlane.imaging.picture import Picture, sentence
from pixlane.imaging.work import Facts, Work
from pixlane.probe import isobmff

if TYPE_CHECKING:
    import pyvips

UNREADABLE = (OSError, SyntaxError, ValueError, EOFError, RuntimeError, IndexError)

_BYTES_PER_PIXEL = 4  # that a decode needs at the very least: the planes in half colour, and the pixels made of them


def open_heif(work: Work) -> HeifPicture:
    """The source with its header read; the primary picture comes first, then the others in the order of the file."""
    try:
        import pillow_heif
    except ImportError as error:
        raise EngineMissing(f"pillow-heif is not installed: {error}") from error
    items = isobmff.items(work.data)
    if items and items.width and items.height:
        guard.check_size(work.limits, *items.upright)
    try:
        container = pillow_heif.open_heif(work.data, convert_hdr_to_8bit=False)
    except UNREADABLE as error:
        damage.check_header(work, "heif", sentence(error))
        raise wording.unreadable(sentence(error), "the header of the HEIF cannot be read") from error
    order = [container.primary_index, *(index for index in range(len(container)) if index != container.primary_index)]
    guard.check_page(work.recipe.page, len(order))
    try:
        image = container[order[work.recipe.page]]
    except UNREADABLE as error:
        raise CorruptInput(f"the HEIF names a picture that it does not hold: {sentence(error)}") from error
    return HeifPicture(work, image, len(order), items)


class HeifPicture(Picture):
    """A picture of a HEIF container; libheif decodes it whole."""

    def __init__(self, work: Work, image: Any, count: int, items: isobmff.Items | None) -> None:
        self.image = image
        profile = image.info.get("icc_profile")
        mode = image.mode.partition(";")[0]
        nclx = image.info.get("nclx_profile") or {}
        if items is not None and work.recipe.page == 0 and items.cicp is None and nclx:
            items.cicp = (int(nclx.get("color_primaries", 2)), int(nclx.get("transfer_characteristics", 2)))
        metadata = [
            kind for field, kind in (("exif", "EXIF"), ("xmp", "XMP"), ("icc_profile", "profile")) if image.info.get(field)
        ]
        colours = header.container_colour(items if work.recipe.page == 0 else None, profile, "GRAY" if mode[0] == "L" else "RGB")
        width, height = image.size
        facts = Facts(
            mime=work.detected.mime,
            width=width,
            height=height,
            frames=count,
            bits=int(image.info.get("bit_depth", 8)),
            alpha=mode in ("RGBA", "LA", "RGBa", "La"),
            srgb=colours.srgb,
            turned=header.container_orientation(items if work.recipe.page == 0 else None),
            lossless=False,
            trailing_bytes=anatomy.dissect("heif", work.data).trailing_bytes(len(work.data)),
        )
        super().__init__(work, facts, colours, cost="heif", metadata=tuple(metadata))

    def load(self, shrink: float) -> pyvips.Image:
        import numpy as np
        import pyvips

        try:
            pixels = np.asarray(self.image)
        except UNREADABLE as error:
            wording.check_room(sentence(error), self.facts.width * self.facts.height * _BYTES_PER_PIXEL)
            damage.check_header(self.work, "heif", sentence(error))
            raise wording.unreadable(sentence(error)) from error
        wide = pixels.dtype == np.uint16
        grey = pixels.ndim == 2 or pixels.shape[2] < 3
        space = ("grey16" if grey else "rgb16") if wide else ("b-w" if grey else "srgb")
        return pyvips.Image.new_from_array(pixels, interpretation=space)
