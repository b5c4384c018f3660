"""Recipe: what a rendition must satisfy, and the fingerprint under which the result is stored."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any, Literal

from pixlane import settings
from pixlane.errors import InvalidRecipe

PIPELINE_VERSION = "1"
"""Changes whenever the same source and recipe may give other bytes; part of every fingerprint."""

MIN_TARGET_BYTES = 64 * settings.KIB
MAX_TARGET_BYTES = 4 * settings.MIB

OUTPUT_TYPES = ("image/png", "image/jpeg", "image/gif", "image/webp")
ENCODABLE_TYPES = ("image/png", "image/jpeg", "image/webp")


@dataclass(frozen=True)
class Region:
    """A rectangle in the upright source, px."""

    x: int
    y: int
    width: int
    height: int


@dataclass(frozen=True)
class Recipe:
    """What the result must satisfy. Immutable; equal recipes have equal fingerprints.

    Args:
        target_bytes: longest data URL, characters; None: the setting `embed_target_bytes`. Clamped to 65,536 .. 4,194,304
            (see `budget`), unless `embed` is False.
        max_side: longest side, px.
        size_rule: name of a provider's resize rule in `pixlane.sizing`: the rendition gets a size that the provider
            will not resample.
        accept: MIME types that the receiver takes.
        max_halvings, min_side: the ladder's floor; a halving that takes the shorter side below `min_side` is not made.
        jpeg_qualities: tried in this order at each size.
        shrink: "halve", or "fine" for the largest size that fits.
        background: "auto", "white", "dark" or "#rrggbb"; what shows through transparency.
        region: a crop in the upright source, at full detail.
        page: frame, page or image of the source, from 0.
        on_miss: "error" raises `target_unreachable`; "smallest" gives the smallest candidate with `fits=False`.
        allow_truncated: draw what is there of a source whose picture data ends early, with a note.
        embed: False takes `target_bytes` as it is, outside the clamp; None then limits nothing.
        min_accepted_side, max_aspect: a provider's smallest side (px) and largest ratio of sides; None limits nothing.
        max_total_pixels: a provider's largest number of pixels; None limits nothing.

    Raises:
        InvalidRecipe: a field is out of its bounds; the message names it.
    """

    target_bytes: int | None = None
    max_side: int = 1568
    size_rule: str | None = None
    accept: tuple[str, ...] = OUTPUT_TYPES
    max_halvings: int = 4
    min_side: int = 64
    jpeg_qualities: tuple[int, ...] = (85, 70, 50)
    shrink: Literal["halve", "fine"] = "halve"
    background: str = "auto"
    region: Region | None = None
    page: int = 0
    on_miss: Literal["error", "smallest"] = "error"
    allow_truncated: bool = False
    embed: bool = True
    min_accepted_side: int | None = None
    max_aspect: float | None = None
    max_total_pixels: int | None = None
    _fingerprint: str = field(default="", init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if self.target_bytes is None and self.embed:
            self._put("target_bytes", settings.current().embed_target_bytes)
        for name in ("accept", "jpeg_qualities"):
            value = getattr(self, name)
            if isinstance(value, (str, bytes)) or not isinstance(value, (list, tuple)):
                raise InvalidRecipe(f"{name} must be a list, got {value!r}", actual=str(value))
            self._put(name, tuple(value))
        if self.region is not None and not isinstance(self.region, Region):
            self._put("region", _region(self.region))
        _check(self)
        # Equal recipes have one fingerprint, also where JSON was written by a language that has one kind of number.
        self._put("background", self.background.lower())
        if self.max_aspect is not None and self.max_aspect == int(self.max_aspect):
            self._put("max_aspect", int(self.max_aspect))

    def _put(self, name: str, value: Any) -> None:
        object.__setattr__(self, name, value)  # the one way to fill a field of a frozen instance

    @property
    def budget(self) -> int | None:
        """The length of the data URL that is really required, characters: `target_bytes` inside the clamp."""
        if self.target_bytes is None or not self.embed:
            return self.target_bytes
        return min(max(self.target_bytes, MIN_TARGET_BYTES), MAX_TARGET_BYTES)

    @property
    def fingerprint(self) -> str:
        """16 hex digits over the canonical JSON of all fields and the pipeline version."""
        if not self._fingerprint:
            canonical = json.dumps(self.to_dict(), sort_keys=True, separators=(",", ":"))
            digest = hashlib.sha256(f"{PIPELINE_VERSION}\n{canonical}".encode()).hexdigest()
            self._put("_fingerprint", digest[:16])
        return self._fingerprint

    def to_dict(self) -> dict[str, Any]:
        """All fields as JSON values."""
        record = asdict(self)
        del record["_fingerprint"]
        record["accept"] = list(self.accept)
        record["jpeg_qualities"] = list(self.jpeg_qualities)
        return record

    @classmethod
    def from_dict(cls, record: Mapping[str, Any]) -> Recipe:
        """A recipe from JSON values; absent fields take their defaults. Raises InvalidRecipe on an unknown field."""
        known = {item.name for item in fields(cls) if item.init}
        for name in record:
            if name not in known:
                raise InvalidRecipe(f"unknown recipe field {name!r}; known are {', '.join(sorted(known))}", actual=str(name))
        return cls(**record)

    @classmethod
    def for_profile(cls, name: str, *, many_images: bool = False, embed: bool = True, **changes: Any) -> Recipe:
        """The recipe for a provider: its limits, within the embed budget; `embed=False` takes its own byte limit.

        `changes` are recipe fields that override the profile's. Raises UnknownProfile, and InvalidRecipe for an unknown field.
        """
        from pixlane import profiles

        return cls.from_dict({**profiles.recipe_fields(name, many_images=many_images, embed=embed), **changes})


_COLOUR = re.compile(r"auto|white|dark|#[0-9a-fA-F]{6}")


def _check(recipe: Recipe) -> None:
    _whole("max_side", recipe.max_side, 1, 65_500)
    _whole("max_halvings", recipe.max_halvings, 0, 16)
    _whole("min_side", recipe.min_side, 1, 65_500)
    _whole("page", recipe.page, 0, 1_000_000)
    for name in ("target_bytes", "min_accepted_side", "max_total_pixels"):
        if getattr(recipe, name) is not None:
            _whole(name, getattr(recipe, name), 1, 2**40)
    for quality in recipe.jpeg_qualities:
        _whole("jpeg_qualities", quality, 1, 100)
    if not recipe.jpeg_qualities:
        raise InvalidRecipe("jpeg_qualities must name at least one quality")
    if not any(mime in recipe.accept for mime in ENCODABLE_TYPES) or not all(isinstance(mime, str) for mime in recipe.accept):
        given = ", ".join(map(str, recipe.accept))
        raise InvalidRecipe(f"accept must hold one of {', '.join(ENCODABLE_TYPES)}, got {given or 'nothing'}", actual=given)
    _one_of("shrink", recipe.shrink, ("halve", "fine"))
    _one_of("on_miss", recipe.on_miss, ("error", "smallest"))
    for name in ("allow_truncated", "embed"):
        _one_of(name, getattr(recipe, name), (True, False))
    if not isinstance(recipe.background, str) or not _COLOUR.fullmatch(recipe.background):
        raise InvalidRecipe(
            f'background must be "auto", "white", "dark" or "#rrggbb", got {recipe.background!r}', actual=str(recipe.background)
        )
    if recipe.size_rule is not None:
        from pixlane import sizing

        sizing.rule(recipe.size_rule)  # raises InvalidRecipe for a name that is none
    if recipe.max_aspect is not None:
        _ratio("max_aspect", recipe.max_aspect)
    if recipe.region is not None:
        _whole("region.x", recipe.region.x, 0, 2**31)
        _whole("region.y", recipe.region.y, 0, 2**31)
        _whole("region.width", recipe.region.width, 1, 2**31)
        _whole("region.height", recipe.region.height, 1, 2**31)


_MAX_RATIO = 2**31

_SIDES = ("x", "y", "width", "height")


def _region(given: Any) -> Region:
    """From a mapping of the four names, or the four numbers in that order."""
    if isinstance(given, Mapping) and set(given) == set(_SIDES):
        return Region(**given)
    if isinstance(given, (list, tuple)) and len(given) == len(_SIDES):
        return Region(*given)
    raise InvalidRecipe(f"region must have x, y, width and height, got {given!r}", actual=str(given))


def _whole(name: str, value: Any, low: int, high: int) -> None:
    if isinstance(value, bool) or not isinstance(value, int):
        raise InvalidRecipe(f"{name} must be a whole number, got {value!r}", actual=str(value))
    if not low <= value <= high:
        bound = low if value < low else high
        raise InvalidRecipe(f"{name} must be between {low} and {high}, got {value}", limit=bound, actual=value)


def _ratio(name: str, value: Any) -> None:
    """Bounded, so that every language writes it without an exponent."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 1 <= value <= _MAX_RATIO:
        raise InvalidRecipe(f"{name} must be a number from 1 to {_MAX_RATIO:,}, got {value!r}", limit=1, actual=str(value))


def _one_of(name: str, value: Any, allowed: tuple[Any, ...]) -> None:
    if value not in allowed or (isinstance(value, bool) != isinstance(allowed[0], bool)):
        raise InvalidRecipe(f"{name} must be one of {', '.join(map(str, allowed))}, got {value!r}", actual=str(value))
