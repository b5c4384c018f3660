"""Size and token rules of the providers, as pure functions of a picture's width and height.

A rule is named by a string that travels in JSON, `family` or `family:parameter:parameter...` (whole numbers, the multiplier a
decimal; what is left out takes its default):

    claude_patch28:EDGE:TOKENS               1568, 1568    Claude; the high-resolution models have 2576, 4784
    openai_patch32:PATCHES:EDGE:MULTIPLIER   1536, 2048, 1 OpenAI's patch models; 0 patches or edge: no such limit
    openai_tile512:BASE:TILE                 85, 170       OpenAI's tile models
    gemini_tile768                                         Gemini 2.0 and 2.5
    gemini_media_resolution:TOKENS           1120          Gemini 3: a fixed price, no published size
    mistral:EDGE:PATCH                       1540, 28      Mistral; Pixtral has 1024, 16
    cohere_tile512                                         Cohere Command A Vision

`rule(name)` gives the sizing, `tokens(name)` the price.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from math import ceil, inf, isqrt
from typing import TYPE_CHECKING, Any

from pixlane.errors import InvalidRecipe

if TYPE_CHECKING:
    from pixlane.profiles import Profile

CLAUDE_PATCH_PX = 28
OPENAI_PATCH_PX = 32
OPENAI_FIT_PX, OPENAI_SHORT_PX, OPENAI_TILE_PX = 2048, 768, 512
GEMINI_SMALL_PX, GEMINI_TILE_PX, GEMINI_TILE_TOKENS = 384, 768, 258
COHERE_SHORT_PX, COHERE_LONG_PX, COHERE_LOW_PX = 1536, 2048, 768
COHERE_TILE_PX, COHERE_TILE_TOKENS = 512, 256

MAX_PARAMETER = 1_000_000

Size = tuple[int, int]


def rule(name: str) -> Callable[[int, int], Size]:
    """The sizing of that name: (width, height) in px to the size that the provider will not resample.

    The result is the largest such size of the same shape, within a pixel: no side grows, each is at least 1 px. It is its own
    result. Raises InvalidRecipe for a name that is none.
    """
    family, parameters = _parse(name)
    return lambda width, height: family.fit(width, height, *parameters)


def tokens(name: str) -> Callable[[int, int], int]:
    """The price of that name: (width, height) in px, as sent, to input tokens. Raises InvalidRecipe for a name that is none."""
    family, parameters = _parse(name)
    return lambda width, height: family.tokens(width, height, *parameters)


def estimate_tokens(width: int, height: int, profile: str | Profile) -> int | None:
    """Input tokens of a picture of that size, px, for a profile or the name of one; None where no rule is published.

    The provider's own resize is part of the price: a picture may be given at any size. Raises UnknownProfile.
    """
    from pixlane import profiles

    known = profiles.get(profile) if isinstance(profile, str) else profile
    return tokens(known.token_rule)(width, height) if known.token_rule else None


def largest(width: int, height: int, fits: Callable[[int, int], bool]) -> Size:
    """The largest size with the shape of width x height, and no larger, that `fits`; a search over the longer side.

    `fits` must say yes to every size that is smaller than one it says yes to. The search and the rounding (half to even) are
    those of the code that Anthropic publishes, see `_claude_tokens`.
    """
    if fits(width, height):
        return width, height
    long, short = max(width, height), min(width, height)

    def at(side: int) -> Size:
        other = max(_round_half_even(side * short, long), 1)
        return (side, other) if width >= height else (other, side)

    passes, fails = 1, long
    while passes + 1 < fails:
        middle = (passes + fails) // 2
        if fits(*at(middle)):
            passes = middle
        else:
            fails = middle
    return at(passes)


def into(width: int, height: int, long: float, short: float) -> Size:
    """The size with the shape of width x height whose longer and shorter sides are at most those, to the nearest pixel."""
    longer, shorter = max(width, height), min(width, height)
    if longer <= long and shorter <= short:
        return width, height
    # One side becomes its limit: long / longer or short / shorter, whichever is the smaller scale.
    limit, side = (long, longer) if long * shorter <= short * longer else (short, shorter)
    return max(_round_half_even(width * int(limit), side), 1), max(_round_half_even(height * int(limit), side), 1)


# Claude -------------------------------------------------------------------------------------------------------------------


def _claude_fit(width: int, height: int, edge: float, most: float) -> Size:
    def fits(width: int, height: int) -> bool:
        columns, rows = ceil(width / CLAUDE_PATCH_PX), ceil(height / CLAUDE_PATCH_PX)
        return max(columns, rows) * CLAUDE_PATCH_PX <= edge and columns * rows <= most

    return largest(width, height, fits)


def _claude_tokens(width: int, height: int, edge: float, most: float) -> int:
    """One token per 28 px patch of the picture after the resize.

    The resize is to the largest size whose sides, rounded up to 28, are at most `edge` and whose patches are at most `most`;
    then the picture is padded (not stretched) at the right and the bottom to a multiple of 28, so that coordinates stay.
    1920x1080 becomes 1456x819, 1,560 tokens; on the high-resolution models it stays, 2,691 tokens; 1075x1520 becomes 924x1307.
    Source: https://platform.claude.com/docs/en/build-with-claude/vision, and .../vision-coordinates for the code.
    """
    width, height = _claude_fit(width, height, edge, most)
    return ceil(width / CLAUDE_PATCH_PX) * ceil(height / CLAUDE_PATCH_PX)


# OpenAI -------------------------------------------------------------------------------------------------------------------


def _patches(width: int, height: int) -> int:
    return ceil(width / OPENAI_PATCH_PX) * ceil(height / OPENAI_PATCH_PX)


def _patch32_fit(width: int, height: int, budget: float, edge: float, multiplier: float) -> Size:
    width, height = into(width, height, edge, edge) if edge else (width, height)
    return largest(width, height, lambda w, h: _patches(w, h) <= budget) if budget else (width, height)


def _patch32_tokens(width: int, height: int, budget: float, edge: float, multiplier: float) -> int:
    """One token per 32 px patch after the resize, times the model's multiplier, to the nearest whole token.

    The picture is first brought inside `edge`. Over the budget P it is scaled by s = sqrt(32^2 P / (w h)), and then by what makes
    one side a whole number of patches: s * min(floor(w s / 32) / (w s / 32), floor(h s / 32) / (h s / 32)). 1024x1024 costs
    1,024, 1800x2400 becomes 1056x1408 and costs 1,452. A larger size may pass unscaled (1080x1440 has 1,530 patches): `rule`
    gives that one. The page writes no rounding; bills that were compared agree with the nearest (1,452 x 1.62 as 2,352).
    Source: https://developers.openai.com/api/docs/guides/images-vision; bills: https://community.openai.com/t/1230130, /1281361.
    """
    if edge:
        width, height = into(width, height, edge, edge)
    count = _patches(width, height)
    if budget and count > budget:
        # floor(w s / 32) = isqrt(P w / h): exact, where floating point would fall beside a whole number of patches.
        columns = max(isqrt(int(budget) * width // height), 1)
        rows = max(isqrt(int(budget) * height // width), 1)
        if columns * height <= rows * width:  # columns / width is the smaller scale: the width becomes whole patches
            rows = -(-columns * height // width)
        else:
            columns = -(-rows * width // height)
        count = columns * rows
    return round(count * multiplier)


def _tile512_fit(width: int, height: int, base: float, per_tile: float) -> Size:
    return into(width, height, OPENAI_FIT_PX, OPENAI_SHORT_PX)


def _tile512_tokens(width: int, height: int, base: float, per_tile: float) -> int:
    """A base and a price per 512 px tile of the picture after the resize: into 2048 x 2048, then the shorter side to 768.

    1024x1024 costs 85 + 4 * 170 = 765, 2048x4096 1,105. Nothing is enlarged. The cut into tiles is part of the model, not a
    resampling. Source: https://developers.openai.com/api/docs/guides/images-vision; that sides are rounded to whole pixels was
    seen in bills (2049x513 costs 8 tiles, 2050x513 costs 4): https://community.openai.com/t/1281361.
    """
    width, height = _tile512_fit(width, height, base, per_tile)
    return int(base + per_tile * ceil(width / OPENAI_TILE_PX) * ceil(height / OPENAI_TILE_PX))


# Gemini -------------------------------------------------------------------------------------------------------------------


def _gemini_tile_fit(width: int, height: int) -> Size:
    return into(width, height, inf, GEMINI_TILE_PX * 3 // 2)


def _gemini_tile_tokens(width: int, height: int) -> int:
    """258 tokens up to 384 x 384; else 258 per crop, the crop unit being floor(min(w, h) / 1.5), each crop scaled to 768 x 768.

    960x540 has a unit of 360 and 3 x 2 tiles, 1,548 tokens. A crop unit above 768 px loses detail, so `rule` holds the shorter
    side at 1152 px, where the unit is 768 rounded or not; a smaller unit is enlarged by the provider, which no size avoids
    without enlarging.
    Source: https://ai.google.dev/gemini-api/docs/image-understanding (the page calls it rough).
    """
    if max(width, height) <= GEMINI_SMALL_PX:
        return GEMINI_TILE_TOKENS
    unit = max(min(width, height) * 2 // 3, 1)
    return ceil(width / unit) * ceil(height / unit) * GEMINI_TILE_TOKENS


def _gemini_media_tokens(width: int, height: int, price: float) -> int:
    """A fixed price per picture by `media_resolution`: low 280, medium 560, high (and unspecified) 1,120, ultra high 2,240.

    These are approximate maxima, and no size is published that the model takes unscaled: as a size rule it changes nothing.
    Source: https://ai.google.dev/gemini-api/docs/media-resolution.
    """
    return int(price)


# Mistral and Cohere ---------------------------------------------------------------------------------------------------------


def _mistral_fit(width: int, height: int, edge: float, patch: float) -> Size:
    return into(width, height, edge, edge)


def _mistral_tokens(width: int, height: int, edge: float, patch: float) -> int:
    """Area over patch^2 after a fit into edge x edge, rounded up: 1540x1540 costs 3,025, Pixtral's 1024x1024 4,096.

    The published formula is an approximation. The tokenizer then stretches (does not pad) the picture to the next multiple of the
    patch on each side, at most 27 px, and adds a token per row; only a size with both sides on that grid escapes the stretch, and
    an aspect kept within a pixel seldom allows one, so `rule` answers for the downscale alone.
    Source: mistralai/platform-docs-public@222f4ba public/studio-api/conversations/vision.md; mistralai/mistral-common@05a47dc
    src/mistral_common/tokens/tokenizers/image.py.
    """
    width, height = into(width, height, edge, edge)
    return ceil(width * height / (patch * patch))


def _cohere_fit(width: int, height: int) -> Size:
    return into(width, height, COHERE_LONG_PX, COHERE_SHORT_PX)


def _cohere_tokens(width: int, height: int) -> int:
    """256 up to 768 px (detail "auto" means low there); else, fitted into 1536 x 2048, 256 per 512 px tile and for a preview.

    10000x20000 becomes 1024x2048 and costs 9 * 256 = 2,304. The page names the limit as an area: a picture that is wider than
    high gets the box turned. Source: cohere-ai/cohere-developer-experience@e814c8a fern/pages/text-generation/image-inputs.mdx.
    """
    if max(width, height) <= COHERE_LOW_PX:
        return COHERE_TILE_TOKENS
    width, height = _cohere_fit(width, height)
    return (ceil(width / COHERE_TILE_PX) * ceil(height / COHERE_TILE_PX) + 1) * COHERE_TILE_TOKENS


# The table --------------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Family:
    """Rules of one kind: both functions take width, height and the parameters; `least` bounds each parameter from below."""

    fit: Callable[..., Size]
    tokens: Callable[..., int]
    defaults: tuple[float, ...] = ()
    least: tuple[float, ...] = ()


FAMILIES: dict[str, Family] = {
    "claude_patch28": Family(_claude_fit, _claude_tokens, (1568, 1568), (CLAUDE_PATCH_PX, 1)),
    "openai_patch32": Family(_patch32_fit, _patch32_tokens, (1536, 2048, 1), (0, 0, 0.01)),
    "openai_tile512": Family(_tile512_fit, _tile512_tokens, (85, 170), (0, 0)),
    "gemini_tile768": Family(_gemini_tile_fit, _gemini_tile_tokens),
    "gemini_media_resolution": Family(lambda width, height, price: (width, height), _gemini_media_tokens, (1120,), (1,)),
    "mistral": Family(_mistral_fit, _mistral_tokens, (1540, 28), (1, 1)),
    "cohere_tile512": Family(_cohere_fit, _cohere_tokens),
}


def _parse(name: str) -> tuple[Family, tuple[float, ...]]:
    if not isinstance(name, str):
        raise InvalidRecipe(f"size_rule must be a text, got {name!r}", actual=str(name))
    return _parsed(name)


@lru_cache(maxsize=256)
def _parsed(name: str) -> tuple[Family, tuple[float, ...]]:
    kind, *given = name.split(":")
    family = FAMILIES.get(kind)
    if family is None:
        raise InvalidRecipe(f"unknown size_rule {kind!r}; known are {', '.join(FAMILIES)}", actual=str(name))
    if len(given) > len(family.defaults):
        raise InvalidRecipe(
            f"size_rule {name!r} has {len(given)} parameters; {kind} takes at most {len(family.defaults)}",
            limit=len(family.defaults),
            actual=len(given),
        )
    values = [_number(name, text, low) for text, low in zip(given, family.least, strict=False)]
    return family, (*values, *family.defaults[len(values) :])


def _number(name: str, text: str, low: float) -> float:
    decimal = low != int(low)  # only the multiplier may be one
    try:
        value: float = float(text) if decimal else int(text)
    except ValueError:
        kind = "a number" if decimal else "a whole number"
        raise InvalidRecipe(f"size_rule {name!r}: {text!r} is not {kind}", actual=text) from None
    if not low <= value <= MAX_PARAMETER:
        bound: Any = low if value < low else MAX_PARAMETER
        raise InvalidRecipe(f"size_rule {name!r}: {value} must be between {low} and {MAX_PARAMETER}", limit=bound, actual=value)
    return value


def _round_half_even(numerator: int, denominator: int) -> int:
    whole, rest = divmod(numerator, denominator)
    return whole + (2 * rest > denominator or (2 * rest == denominator and whole % 2 == 1))
