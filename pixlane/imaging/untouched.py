"""Pixels that already satisfy the recipe stay as they are; only metadata is cut away."""

from __future__ import annotations

from pixlane.imaging import plan
from pixlane.imaging.ladder import bytes_that_fit
from pixlane.imaging.strip import strip
from pixlane.imaging.work import Encoded, Facts, Work
from pixlane.recipe import Recipe, Region
from pixlane.rendition import Attempt


def keep(work: Work) -> Encoded | None:
    """The source without metadata where its pixels may stay; None where they have to be drawn.

    The cheap questions come first; the last one decodes every pixel: a header says nothing about the rest of a file, nor
    whether an alpha channel is used.
    """
    assert work.opened is not None
    facts = work.opened.facts
    whole = Region(0, 0, facts.width, facts.height)
    if (
        not _presentable(facts, work.recipe)
        or work.region not in (None, whole)
        or not plan.meets(facts.width, facts.height, work.recipe)
    ):
        return None
    data = strip(facts.mime, work.data)
    limit = bytes_that_fit(work.recipe.budget, facts.mime)
    if data is None or (limit is not None and len(data) > limit) or not work.opened.prove():
        return None
    if len(data) < len(work.data) and not any(note.code == "metadata_removed" for note in work.notes):
        work.note("metadata_removed", f"{len(work.data) - len(data):,} bytes that are not picture were cut away")
    work.attempts.append(Attempt(facts.width, facts.height, "untouched", None, len(data)))
    return Encoded(data, facts.mime, facts.width, facts.height, "untouched", None)


def _presentable(facts: Facts, recipe: Recipe) -> bool:
    """Whether a receiver sees the stored pixels as they are meant."""
    return (
        facts.mime in recipe.accept
        and facts.bits <= 8
        and facts.srgb
        and facts.orientation == 1
        and facts.frames == 1
        and not facts.vector
        and facts.trailing_bytes == 0
    )
