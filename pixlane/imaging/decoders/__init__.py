"""Which engine opens what: the registry names the engines of a format in order, the next comes where one is missing or fails."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module

from pixlane import probe
from pixlane.errors import CorruptInput, EngineMissing, PixlaneError, UnsupportedFormat
from pixlane.imaging import guard
from pixlane.imaging.decoders import gif, variants
from pixlane.imaging.work import Opened, Work

OPENERS: dict[str, str] = {
    "vips": "pixlane.imaging.decoders.vips:open_vips",
    "pillow": "pixlane.imaging.decoders.pillow:open_pillow",
    "avif": "pixlane.imaging.decoders.pillow:open_avif",
    "heif": "pixlane.imaging.decoders.heif:open_heif",
    "svg": "pixlane.imaging.decoders.svg:open_svg",
    "pdf": "pixlane.imaging.decoders.pdf:open_pdf",
}
"""Engine name to the function `(work) -> Opened`, as module:function; imported when it is first needed.

An opener reads the header only. It raises EngineMissing where its package is not installed, CorruptInput or UnsupportedFormat
where it cannot read this one (then the next engine is asked), and any other error for good.
"""


def open_source(work: Work) -> Opened:
    """The source, opened by the first engine that can. Raises what the first engine said where none can."""
    found = work.detected
    if not found.engines:
        advice = found.refused or "convert it to PNG or JPEG first"
        raise UnsupportedFormat(f"{found.name} ({found.mime}) is not decoded; {advice}", actual=found.mime)
    gif.mend_screen(work)
    _check_header(work)
    variants.check(work)
    refusals: list[PixlaneError] = []
    for engine in found.engines:
        try:
            return _opener(engine)(work)
        except (EngineMissing, CorruptInput, UnsupportedFormat) as error:
            refusals.append(error)
    refusals.sort(key=lambda error: isinstance(error, EngineMissing))  # what an engine saw says more than that one is missing
    raise refusals[0]


def _check_header(work: Work) -> None:
    """The size that the header of the first page promises, before an engine sees it; openers check what they open once more."""
    said = probe.probe(work.data, name=work.name)
    if said.width is not None and said.height is not None and work.recipe.page == 0:
        guard.check_size(work.limits, said.width, said.height)


def _opener(engine: str) -> Callable[[Work], Opened]:
    module, _, function = OPENERS[engine].partition(":")
    found: Callable[[Work], Opened] = getattr(import_module(module), function)
    return found
