"""Numbers to 8-bit sRGB: depth, ICC profiles, CMYK, Lab."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pixlane.imaging.work import Work

if TYPE_CHECKING:
    import pyvips


@dataclass(frozen=True)
class Colour:
    """How the numbers of a source become sRGB.

    Attributes:
        profile: the ICC profile to convert from, embedded or made from what the header says; None: sRGB already.
        premultiplied: the colours are multiplied by alpha as stored.
    """

    profile: bytes | None = None
    premultiplied: bool = False


def to_8bit(image: pyvips.Image) -> pyvips.Image:
    """8 bits a channel: the upper byte of 16 bits."""
    if image.format == "ushort":
        return image.msb().copy(interpretation="srgb" if image.bands >= 3 else "b-w")
    return image


def to_srgb(work: Work, image: pyvips.Image, colour: Colour) -> pyvips.Image:
    return image
