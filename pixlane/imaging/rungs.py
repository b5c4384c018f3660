"""Which candidates are tried at a size, and in which order; a pure function of what the picture is like and of the recipe.

The order is the one in which text stays readable (OCR word recall on real screenshots at 1568 px against the lossless picture):
lossless 1.00, JPEG 85 1.00, palette 0.98 to 1.06, JPEG 70 0.88 to 1.05, JPEG 50 0.84 to 1.05, WebP 50 0.89 to 1.00, half the size
0.03. A palette costs ten times the time of JPEG 85 and reads no better, so it comes when that does not fit (and where a
sample leaves it in doubt, at the end). WebP is the last stand before pixels are given up: a third smaller, ten times as slow.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import takewhile

from pixlane.imaging import encode
from pixlane.imaging.encode import Outcome
from pixlane.imaging.traits import SAMPLE_EXCESS, Traits
from pixlane.recipe import Recipe

READS_LIKE_LOSSLESS = 80  # lossy quality from which on a palette has nothing to add
DRAWN_GAIN, PHOTO_GAIN = 1.3, 1.08  # how much smaller optimised Huffman tables make a JPEG: 15 to 25 % and 1 to 7 % measured
LIKELY, POSSIBLE = (0.0, 1.25), (1.25, SAMPLE_EXCESS)  # what a sample says of a palette, in limits: tried early, or at the end
WEBP_GAIN = 2.0  # how much smaller WebP is than JPEG at the lowest quality: 1.3 to 2.6 times measured


@dataclass(frozen=True)
class Rung:
    """One way to encode a picture.

    Attributes:
        encoder: a name in `encode.MIME`.
        quality: of a lossy encoder; None: lossless.
        full_chroma: colour at full resolution (JPEG only).
        optimised: Huffman tables made for this picture (JPEG only).
        near: offered only where 256 colours look the same and a sample promises between so many times the limit (palette only).
        after, within: offered only where that rung came within so many times the limit: it helps by about this factor.
    """

    encoder: str
    quality: int | None = None
    full_chroma: bool = False
    optimised: bool = False
    near: tuple[float, float] | None = None
    after: Rung | None = None
    within: float = 1.0

    @property
    def mime(self) -> str:
        return encode.MIME[self.encoder]

    @property
    def name(self) -> str:
        """The encoder as attempts name it; a palette that holds every colour is a lossless PNG like any other."""
        return "png" if self.encoder == "exact" else self.encoder

    def offered(self, traits: Traits, limit: int | None) -> bool:
        """Whether the picture is one for this rung."""
        if self.encoder == "exact":
            return traits.few_colours
        if self.near is None or limit is None:
            return True
        return self.near[0] * limit <= traits.palette_bytes < self.near[1] * limit

    def encode(self, traits: Traits, limit: int | None) -> Outcome | None:
        """The picture of the traits in at most `limit` bytes; None where it turns out to be none for this rung."""
        picture = traits.picture
        if self.encoder == "jpeg":
            assert self.quality is not None
            return encode.jpeg(picture, limit, self.quality, self.full_chroma, self.optimised)
        if self.encoder == "webp":
            return encode.webp(picture, limit, self.quality)
        return {"png": encode.png, "exact": encode.exact, "palette": encode.palette}[self.encoder](picture, limit)


Group = tuple[Rung, ...]
"""Rungs of one quality; the later ones only make the first one smaller."""

Stage = tuple[Group, ...]
"""Groups of falling quality and size: where one does not fit, those before it do not either."""

Limits = Mapping[str, int | None]
"""Bytes that fit, by MIME type; None limits nothing."""


def stages(traits: Traits, recipe: Recipe, limits: Limits) -> Iterator[Stage]:
    """All candidates for a picture, best first. Judgements on the picture are made when their stage is reached."""
    side = traits.side
    takes = {name for name, mime in encode.MIME.items() if mime in recipe.accept and side <= encode.MAX_SIDE_PX.get(name, side)}
    lossy = "jpeg" if "jpeg" in takes else "webp" if "webp" in takes else None
    lossless = "png" if "png" in takes else "webp"

    if lossless in takes and (lossy is None or traits.may_fit_lossless(limits[encode.MIME[lossless]])):
        yield ((Rung(lossless), Rung("exact")) if lossless == "png" else (Rung(lossless),),)
    if lossy is None:
        if "png" in takes:
            yield ((Rung("palette"),),)
        return

    chroma = lossy == "jpeg" and traits.coloured_edges
    qualities = recipe.jpeg_qualities
    palette = "png" in takes and traits.drawn
    fine = tuple(takewhile(lambda quality: quality >= READS_LIKE_LOSSLESS, qualities)) if palette else ()
    rest = qualities[len(fine) :]
    yield from _families([_lossy(lossy, quality, traits, chroma, last=quality == min(qualities)) for quality in fine])
    if palette:
        yield ((Rung("palette", near=LIKELY),),)
    yield from _families([_lossy(lossy, quality, traits, chroma, last=quality == min(qualities)) for quality in rest])
    if chroma:
        yield (_lossy(lossy, min(qualities), traits, False, last=True),)
    if palette:
        yield ((Rung("palette", near=POSSIBLE),),)
    if lossy == "jpeg" and "webp" in takes:
        yield ((Rung("webp", min(qualities), after=Rung("jpeg", min(qualities)), within=WEBP_GAIN),),)


def reach(rung: Rung, recipe: Recipe, traits: Traits) -> float:
    """How many times the limit a rung must be followed for the rungs that are offered after it."""
    if rung.encoder != "jpeg" or rung.optimised:
        return 1.0
    last = rung.quality == min(recipe.jpeg_qualities) and not rung.full_chroma and "image/webp" in recipe.accept
    return max(_gain(traits), WEBP_GAIN if last else 1.0)


def _lossy(encoder: str, quality: int, traits: Traits, full_chroma: bool, *, last: bool) -> Group:
    """One quality. Optimised tables save a photograph so little that they are worth their time only at the last quality."""
    if encoder == "webp":
        return (Rung("webp", quality),)
    plain = Rung("jpeg", quality, full_chroma)
    if not (traits.drawn or last):
        return (plain,)
    return plain, replace(plain, optimised=True, after=plain, within=_gain(traits))


def _gain(traits: Traits) -> float:
    return DRAWN_GAIN if traits.drawn else PHOTO_GAIN


def _families(found: list[Group]) -> Iterator[Stage]:
    """One stage where the qualities fall, as they should; each on its own where they do not."""
    qualities = [group[0].quality or 0 for group in found]
    if qualities == sorted(set(qualities), reverse=True):
        if found:
            yield tuple(found)
    else:
        yield from ((group,) for group in found)
