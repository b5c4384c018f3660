"""Proof that a file is a whole picture: one decode of every pixel, nothing drawn and nothing encoded.

A header says nothing about the rest of a file. What decodes here may go to a receiver as it is.
"""

from __future__ import annotations

from dataclasses import dataclass

from pixlane.imaging import guard, pipeline
from pixlane.recipe import Recipe
from pixlane.settings import Limits

FULL_SIDE_PX = 65_500  # the largest side that a recipe can name
DAMAGE = ("repaired", "truncated")


@dataclass(frozen=True)
class Proof:
    """What one decode showed.

    Attributes:
        sha256: of the bytes.
        mime: what the bytes are.
        width, height: upright, px.
        frames: None where counting needs the whole file.
        whole: every pixel is there, nothing had to be mended and nothing stands before the picture.
    """

    sha256: str
    mime: str
    width: int
    height: int
    frames: int | None
    whole: bool


def prove(data: bytes, *, name: str | None = None, limits: Limits | None = None) -> Proof:
    """Decodes the first picture of the source once.

    Raises:
        PixlaneError: it is no picture, is damaged beyond drawing, or passes a limit.
    """
    # A damaged picture that can be drawn is not whole, and not refused here either.
    work = pipeline.start(data, _RECIPE, name=name, declared_type=None, limits=limits)
    for step in (guard.check_bytes, pipeline.identify, pipeline.open_source):
        step(work)
        work.deadline.check()
    assert work.opened is not None
    facts = work.opened.facts
    work.opened.prove()
    whole = not any(note.code in DAMAGE for note in work.notes)
    return Proof(work.sha256, facts.mime, facts.width, facts.height, facts.frames, whole)


_RECIPE = Recipe(target_bytes=None, embed=False, max_side=FULL_SIDE_PX)
