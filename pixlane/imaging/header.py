"""What headers say about colour and orientation, where an engine does not say it."""

from __future__ import annotations

import struct
from itertools import islice

from pixlane.imaging import colour, icc, orient
from pixlane.imaging.anatomy import Anatomy
from pixlane.imaging.colour import Colour
from pixlane.probe import isobmff, tiff

PLAIN_GAMMA = 1 / 2.2
GAMMA_TOLERANCE = 0.05  # relative; libpng's own threshold
PRIMARIES_TOLERANCE = 0.01
DEEP_GAMMA = 0.7  # numbers this near to linear light need more than 8 bits until they are converted


def exif_orientation(block: bytes) -> int:
    """The orientation in an EXIF block, with or without its `Exif` head; 1 where there is none or nonsense."""
    block = block.removeprefix(b"Exif\0\0")
    first = next(tiff.directories(lambda at, size: block[at : at + size]), {})
    return orient.valid(first.get(tiff.ORIENTATION, (1,))[0])


def container_orientation(items: isobmff.Items | None) -> int:
    """The EXIF value that means the same as the rotation and mirror of a HEIF or AVIF container."""
    if items is None:
        return 1
    return _CONTAINER_ORIENTATION[items.turns, items.mirror]


_CONTAINER_ORIENTATION = {
    (0, None): 1, (1, None): 8, (2, None): 3, (3, None): 6,
    (0, 0): 4, (1, 0): 5, (2, 0): 2, (3, 0): 7,
    (0, 1): 2, (1, 1): 7, (2, 1): 4, (3, 1): 5,
}  # fmt: skip


def container_colour(items: isobmff.Items | None, profile: bytes | None, space: str) -> Colour:
    """The colour of a HEIF or AVIF: high dynamic range by its code points, else the profile, else the code points."""
    coded = colour.from_cicp(*items.cicp) if items and items.cicp else Colour()
    profile = profile or (items.profile if items else None)
    return colour.from_profile(profile, space) if profile and not coded.hdr else coded


def tiff_tags(data: bytes, page: int) -> tiff.Tags:
    """The tags of one page; empty where there is no such page."""
    return next(islice(tiff.directories(lambda at, size: data[at : at + size]), page, None), {})


def png_colour(parts: Anatomy, profile: bytes | None, space: str) -> Colour:
    """cICP before iCCP before sRGB before gAMA and cHRM (PNG third edition, 4.3)."""
    coded = parts.parts.get(b"cICP", b"")
    if len(coded) >= 4:
        return colour.from_cicp(coded[0], coded[1])
    if b"iCCP" in parts.parts:
        return colour.from_profile(profile, space) if profile else Colour(broken=True)
    if b"sRGB" in parts.parts or b"gAMA" not in parts.parts:
        return Colour()
    return _gamma_and_chromaticities(parts.parts[b"gAMA"], parts.parts.get(b"cHRM", b""))


def _gamma_and_chromaticities(gama: bytes, chrm: bytes) -> Colour:
    gamma = int.from_bytes(gama[:4], "big") / 100_000
    if len(gama) < 4 or not 0.05 < gamma < 5:
        return Colour()
    white, primaries = icc.D65, icc.SRGB
    if len(chrm) >= 32:
        values = [value / 100_000 for value in struct.unpack(">8I", chrm[:32])]
        points = [(values[at], values[at + 1]) for at in range(0, 8, 2)]
        if all(0 < x < 1 and 0 < y < 1 and x + y <= 1 for x, y in points):
            white, primaries = points[0], (points[1], points[2], points[3])
    plain = all(
        abs(a - b) < PRIMARIES_TOLERANCE
        for point, wanted in zip((white, *primaries), (icc.D65, *icc.SRGB), strict=True)
        for a, b in zip(point, wanted, strict=True)
    )
    usual = abs(gamma / PLAIN_GAMMA - 1) < GAMMA_TOLERANCE
    if plain and usual:
        return Colour()
    try:
        made = icc.matrix_profile(primaries, white, None if usual else 1 / gamma)
    except ZeroDivisionError:  # the primaries lie on a line
        return Colour(broken=True)
    return Colour(profile=made, origin="gAMA and cHRM", deep=gamma > DEEP_GAMMA)
