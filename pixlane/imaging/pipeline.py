"""The whole order of work: bytes and a recipe in, a rendition or a typed error out."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Sequence
from dataclasses import replace

from pixlane import formats, settings
from pixlane.errors import InvalidArgument, NotAnImage, OutOfMemory
from pixlane.imaging import decoders, guard, ladder, plan, untouched, wording
from pixlane.imaging.deadline import Deadline
from pixlane.imaging.work import Encoded, Work
from pixlane.recipe import PIPELINE_VERSION, Recipe, Region
from pixlane.rendition import Attempt, Rendition, Source, data_url_length
from pixlane.settings import Limits


def normalize(
    data: bytes,
    recipe: Recipe | None = None,
    *,
    name: str | None = None,
    declared_type: str | None = None,
    limits: Limits | None = None,
    sha256: str | None = None,
) -> Rendition:
    """The source as a rendition that satisfies the recipe.

    Args:
        data: the bytes of the source.
        recipe: what the result must satisfy; None: the defaults.
        name, declared_type: file name and MIME type that came along; used for the note `declared_type_wrong`, and where the
            bytes alone do not decide.
        limits: what the image may cost; None: the settings.
        sha256: of `data`, where the caller has computed it; it is taken without a check.

    Raises:
        PixlaneError: one of its kinds; the source is bad, a limit is passed, or no candidate fits (`target_unreachable`).
    """
    began = time.perf_counter()
    work = start(data, recipe, name=name, declared_type=declared_type, limits=limits)
    work.sha256 = sha256 or ""
    try:
        for step in STEPS:
            step(work)
            work.deadline.check()
        encoded = untouched.keep(work) or ladder.climb(work)
    except (MemoryError, OSError, ImportError, RuntimeError) as error:
        if not wording.lacks_memory(error):
            raise
        raise OutOfMemory("there was not enough memory for the picture") from error
    return seal(work, encoded, began)


def start(data: bytes, recipe: Recipe | None, *, name: str | None, declared_type: str | None, limits: Limits | None) -> Work:
    """The work as it begins, with its deadline running. Raises InvalidArgument where `data` is no bytes."""
    if isinstance(data, (bytearray, memoryview)):
        data = bytes(data)
    if not isinstance(data, bytes):
        kind = type(data).__name__
        raise InvalidArgument(f"data must be bytes, got {kind}; read a file first: Path(...).read_bytes()", actual=kind)
    limits = limits or Limits.of(settings.current())
    return Work(data, recipe or Recipe(), limits, Deadline(limits.soft_timeout_s), name=name, declared_type=declared_type)


def identify(work: Work) -> None:
    """What the source is: its hash and its format. Bytes before name before declared type."""
    work.sha256 = work.sha256 or hashlib.sha256(work.data).hexdigest()
    work.source_bytes = len(work.data)
    found = formats.detect(work.data, tail=work.data[-26:], name=work.name, declared_type=work.declared_type)
    work.detected = found.format
    for what, said in (
        (f"the file name {work.name!r}", formats.said_by_name(work.name)),
        (f"the declared type {work.declared_type!r}", formats.said_by_type(work.declared_type)),
    ):
        if said and said != found.format:
            work.note("declared_type_wrong", formats.contradiction(what, said, found.format.mime))
    if not found.format.image:
        raise NotAnImage(_no_image(found.format), actual=found.format.mime)
    if found.leading_bytes:
        work.data = work.data[found.leading_bytes :]
        work.note("repaired", f"{found.leading_bytes} bytes of white space before the picture were skipped")


def note_clamp(work: Work) -> None:
    """Say so where the recipe's target was moved into its bounds."""
    asked, budget = work.recipe.target_bytes, work.recipe.budget
    if asked != budget:
        work.note("target_clamped", f"target_bytes {asked:,} became {budget:,}")


def open_source(work: Work) -> None:
    """The first opener that can read the header; from here the size is known and nothing is decoded yet."""
    work.opened = decoders.open_source(work)
    facts = work.opened.facts
    if facts.frames is not None and facts.frames > 1:
        work.note("frames_dropped", f"{facts.frames} frames or pages, number {work.recipe.page} is shown")


STEPS = (guard.check_bytes, note_clamp, identify, open_source, guard.check_region)


def seal(work: Work, encoded: Encoded, began: float) -> Rendition:
    """The rendition, with the truth about its size and its limits."""
    assert work.opened is not None
    facts = work.opened.facts
    shown = work.region or Region(0, 0, facts.width, facts.height)
    if (encoded.width, encoded.height) != (shown.width, shown.height):
        work.note("resized", f"{shown.width} x {shown.height} px became {encoded.width} x {encoded.height}")
    source = Source(work.sha256, facts.mime, facts.width, facts.height, work.source_bytes, facts.frames)
    return Rendition(
        data=encoded.data,
        mime=encoded.mime,
        width=encoded.width,
        height=encoded.height,
        source=source,
        region=work.region,
        fits=fits(work.recipe, encoded),
        notes=tuple(work.notes),
        attempts=_marked(work.attempts, encoded),
        pipeline=PIPELINE_VERSION,
        recipe=work.recipe.fingerprint,
        elapsed_ms=round((time.perf_counter() - began) * 1000, 3),
    )


def _marked(attempts: Sequence[Attempt], encoded: Encoded) -> tuple[Attempt, ...]:
    """The attempts, the one that became the result marked; the search for the smallest candidate does not list its own."""
    result = Attempt(encoded.width, encoded.height, encoded.encoder, encoded.quality, len(encoded.data))
    listed = [*attempts, *(() if result in attempts else (result,))]
    last = len(listed) - 1 - listed[::-1].index(result)
    listed[last] = replace(result, chosen=True)
    return tuple(listed)


def fits(recipe: Recipe, encoded: Encoded) -> bool:
    """Whether the candidate meets every limit of the recipe."""
    return (
        encoded.mime in recipe.accept
        and (recipe.budget is None or data_url_length(encoded.mime, len(encoded.data)) <= recipe.budget)
        and plan.meets(encoded.width, encoded.height, recipe)
    )


def _no_image(found: formats.Format) -> str:
    if found.name == "unknown":
        return "the bytes are of no known image format"
    return f"the bytes are {found.name} ({found.mime}), not an image"
