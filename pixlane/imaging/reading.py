"""When a downscale is beyond reading: the rule, and the note.

Measured with tesseract on words in DejaVu Sans of 16 px, shrunk with Lanczos, JPEG 85; share of the words that are read back,
as they are and enlarged three times before reading (nearer to what a model sees):

    scale      1     0.7   0.6   0.5   0.45  0.4   0.35  0.3
    as is      0.97  0.96  0.92  0.57  0.13  0.00  0.00  0.00
    enlarged   0.97  0.97  0.96  0.93  0.90  0.81  0.56  0.20
"""

from __future__ import annotations

from pixlane.imaging.traits import Traits
from pixlane.imaging.work import Encoded, Work
from pixlane.recipe import Region

TEXT_PX = 16  # common text of screens and pages
READABLE_SCALE = 0.45  # below it fewer than nine of ten words are read even enlarged
COMFORTABLE_SCALE = 0.7  # above it nearly all are read as they are


def note(work: Work, shown: Region, found: Encoded, traits: Traits) -> None:
    """Say so where text of the usual size cannot be read any more; not of photographs with a lossy source."""
    assert work.opened is not None
    factor = scale(shown.width, shown.height, found.width, found.height)
    if factor < READABLE_SCALE and (traits.drawn or work.opened.facts.lossless) and not work.opened.facts.vector:
        work.note(
            "beyond_reading",
            f"at {factor:.2f} of its size text of {TEXT_PX} px is {TEXT_PX * factor:.1f} px high and can hardly be read; "
            "use tiles() or a region",
        )


def scale(width: int, height: int, to_width: int, to_height: int) -> float:
    """Rendition px per source px along the longer side."""
    return to_width / width if width >= height else to_height / height
