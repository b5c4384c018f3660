"""Which candidates are tried at a size, and in which order; a pure function of what the picture is like and of the recipe.

The order is the one in which text stays readable (OCR word recall on real screenshots at 1568 px against the lossless picture):
lossless 1.00, JPEG 85 1.00, palette 0.98 to 1.06, JPEG 70 0.88 to 1.05, JPEG 50 0.84 to 1.05, WebP 50 0.89 to 1.00, half the size
0.03. Half of the colour costs less than the next quality (see `_chroma`). A palette costs ten times the time of JPEG 85 and reads
no better, so it comes when that does not fit (and where a sample leaves it in doubt, at the end).

WebP is smaller, five to ten times as slow. At high quality it comes before the quality of JPEG is lowered for a drawing: in as
many bytes it is nearer to the brightness of the lossless picture (two desktops: 48 dB against 39 and 43) and reads more words
(0.73 and 0.91 against 0.70 and 0.86). Before JPEG 85 it would gain one word of 22 for three times the time and half of the
colour. At the lowest quality it is the last stand before pixels are given up.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import takewhile

from pixlane.imaging import encode
from pixlane.imaging.encode import Outcome
from pixlane.imaging.traits import Traits
from pixlane.recipe import Recipe

READS_LIKE_LOSSLESS = 80  # lossy quality from which on a palette has nothing to add
WEBP_QUALITIES = (95, 90)  # that read better than JPEG in the same bytes
DRAWN_GAIN, PHOTO_GAIN = 1.3, 1.08  # how much smaller optimised Huffman tables make a JPEG: 15 to 25 % and 1 to 7 % measured
WEBP_GAIN = 2.0  # how much smaller WebP is than JPEG at the lowest quality: 1.3 to 2.6 times measured


@dataclass(frozen=True)
class Rung:
    """One way to encode a picture.

    Attributes:
        encoder: a name in `encode.MIME`.
        quality: of a lossy encoder; None: lossless.
        full_chroma: colour at full resolution (JPEG only).
        optimised: Huffman tables made for this picture (JPEG only).
        early: offered only where a sample makes it likely to fit; False: only where it leaves that in doubt (a palette).
        after, within: offered only where that rung came within so many times the limit: it helps by about this factor.
    """

    encoder: str
    quality: int | None = None
    full_chroma: bool = False
    optimised: bool = False
    early: bool | None = None
    after: Rung | None = None
    within: float = 1.0

    @property
    def mime(self) -> str:
        return encode.MIME[self.encoder]

    @property
    def name(self) -> str:
        """The encoder as attempts name it; a palette that holds every colour is a lossless PNG like any other."""
        return "png" if self.encoder == "exact" else self.encoder

    def tops(self, other: Rung) -> bool:
        """Whether it is the same at no lower quality, and so has no fewer bytes."""
        assert self.quality is not None
        assert other.quality is not None
        return (self.encoder, self.full_chroma) == (other.encoder, other.full_chroma) and self.quality >= other.quality

    def offered(self, traits: Traits, limit: int | None) -> bool:
        """Whether the picture is one for this rung."""
        if self.encoder == "exact":
            return traits.few_colours
        if self.early is None or limit is None:
            return True
        if self.encoder == "webp":
            return traits.webp_likely(self.quality, limit)
        return traits.palette_likely(limit) if self.early else traits.palette_possible(limit)

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
"""Groups of falling quality, of which a sample says where to begin."""

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

    qualities = recipe.jpeg_qualities
    chroma = _chroma(lossy, traits)
    palette = "png" in takes and traits.drawn
    fine = tuple(takewhile(lambda quality: quality >= READS_LIKE_LOSSLESS, qualities)) if palette else ()
    webp = lossy == "jpeg" and "webp" in takes and traits.drawn
    fine_webp = tuple((Rung("webp", quality, early=True),) for quality in WEBP_QUALITIES) if webp else ()
    by_quality = [_at_quality(lossy, quality, traits, chroma, recipe) for quality in qualities]
    yield from _in_order(by_quality[: len(fine)])
    if palette:
        yield ((Rung("palette", early=True),),)
    if fine_webp:
        yield fine_webp
    yield from _in_order(by_quality[len(fine) :])
    if chroma == (True,):
        yield _at_quality(lossy, min(qualities), traits, (False,), recipe)
    if palette:
        yield ((Rung("palette", early=False),),)
    if lossy == "jpeg" and "webp" in takes:
        yield ((Rung("webp", min(qualities), after=Rung("jpeg", min(qualities)), within=WEBP_GAIN),),)


def reach(rung: Rung, recipe: Recipe, traits: Traits) -> float:
    """How many times the limit a rung must be followed for the rungs that are offered after it."""
    if rung.encoder != "jpeg" or rung.optimised:
        return 1.0
    before_webp = rung.quality == min(recipe.jpeg_qualities) and not rung.full_chroma and "image/webp" in recipe.accept
    return max(_gain(rung, recipe, traits), WEBP_GAIN if before_webp else 1.0)


def _chroma(encoder: str, traits: Traits) -> tuple[bool, ...]:
    """Whether colour keeps its full resolution, in the order that is tried at each quality.

    Half of it costs most coloured text less than the next lower quality does (editor 1.00 against 0.99 of the words, phone 0.73
    against 0.68), but all of it where nothing but colour tells it from its ground.
    """
    if encoder != "jpeg" or not traits.coloured_edges:
        return (False,)
    return (True,) if traits.colour_alone else (True, False)


def _at_quality(encoder: str, quality: int, traits: Traits, chroma: tuple[bool, ...], recipe: Recipe) -> Stage:
    """One quality, as a group for each resolution of colour."""
    if encoder == "webp":
        return ((Rung("webp", quality),),)
    return tuple(_with_tables(Rung("jpeg", quality, full_chroma), recipe, traits) for full_chroma in chroma)


def _with_tables(rung: Rung, recipe: Recipe, traits: Traits) -> Group:
    """A JPEG, and where it is worth it the same one with optimised tables."""
    gain = _gain(rung, recipe, traits)
    return (rung, replace(rung, optimised=True, after=rung, within=gain)) if gain > 1 else (rung,)


def _gain(rung: Rung, recipe: Recipe, traits: Traits) -> float:
    """How much smaller optimised tables may make a JPEG; 1 where that is not worth two to three times its time.

    They save a photograph little, and a coloured drawing whose colour was halved to make it smaller: for these only at the last
    quality.
    """
    last = rung.quality == min(recipe.jpeg_qualities)
    if not last and (not traits.drawn or (traits.coloured_edges and not rung.full_chroma)):
        return 1.0
    return DRAWN_GAIN if traits.drawn else PHOTO_GAIN


def _in_order(by_quality: list[Stage]) -> Iterator[Stage]:
    """One stage where the qualities fall, as they should; each on its own where they do not."""
    qualities = [stage[0][0].quality or 0 for stage in by_quality]
    if qualities == sorted(set(qualities), reverse=True):
        if by_quality:
            yield tuple(group for stage in by_quality for group in stage)
    else:
        yield from by_quality
