"""Profiles: what each provider publishes of its limits, as dated data, and the recipe that stays inside them.

The facts, their evidence and their sources stand in `profiles.json` beside this file; nothing here knows a provider by name.

    get("anthropic")                           a profile by name
    get("openai_responses/gpt-4o")             a surface whose sizing depends on the model
    resolve("openai", "responses", "gpt-4o")   the same, from what an agent knows
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from difflib import get_close_matches
from fnmatch import fnmatchcase
from functools import cache
from importlib import resources
from typing import Any, Literal

from pixlane import settings
from pixlane.errors import UnknownProfile
from pixlane.recipe import MIN_TARGET_BYTES, OUTPUT_TYPES, Recipe
from pixlane.rendition import data_url_prefix

DEFAULT_CEILING_PX: int = Recipe.max_side


@dataclass(frozen=True)
class ManyImages:
    """A request of more than `above` images takes none with a side over `max_side_px`; documents may count as images."""

    above: int
    max_side_px: int
    documents_count: bool = False


@dataclass(frozen=True)
class Profile:
    """One surface's published limits. None is not confirmed and limits nothing. Sides in px.

    Attributes:
        accept: MIME types that it takes.
        max_image_bytes: largest image, counted as `bytes_basis` says: "raw" file bytes, "base64" characters, or "data_url"
            characters with the header; not stated (None) is counted as base64, the stricter reading.
        max_pixels: of a whole request.
        ceiling_px: the longer side above which pixels are wasted.
        max_images, max_request_bytes: of one request; `request_basis` as `bytes_basis`.
        size_rule, token_rule: names of `pixlane.sizing`.
        tool_result_images: images inside tool results reach the model.
        vision_models: patterns of the models that are published as seeing, for those that no catalog knows yet.
        remote_url: takes a remote URL instead of bytes.
        single_frame: refuses animations.
        evidence: by field, how it is known: D vendor page, M stored copy of one, C vendor source, O observed, T third party.
        reported: values of third-party readings, not used.
    """

    name: str
    as_of: str
    surface: str | None = None
    accept: tuple[str, ...] | None = None
    max_image_bytes: int | None = None
    bytes_basis: Literal["raw", "base64", "data_url"] | None = None
    max_side_px: int | None = None
    min_side_px: int | None = None
    max_aspect: float | None = None
    max_pixels: int | None = None
    many_images: ManyImages | None = None
    ceiling_px: int | None = None
    max_images: int | None = None
    max_images_detail: dict[str, Any] | None = None
    max_request_bytes: int | None = None
    request_basis: Literal["raw", "base64", "data_url"] | None = None
    size_rule: str | None = None
    token_rule: str | None = None
    tool_result_images: bool | None = None
    vision_models: tuple[str, ...] | None = None
    remote_url: bool | None = None
    single_frame: bool | None = None
    evidence: dict[str, str] | None = None
    sources: tuple[str, ...] = ()
    note: str | None = None
    reported: dict[str, Any] | None = None

    def sees(self, model: str) -> bool | None:
        """True for a model that is published as seeing on this surface; None where nothing is said of it."""
        return True if _matches(_plain(model), list(self.vision_models or ())) else None

    @property
    def max_data_url_chars(self) -> int | None:
        """The longest data URL that is inside the image limit, characters; None where there is none.

        A request that is counted in base64 limits each of its images too. The header is the shortest of the accepted types.
        """
        header = min(len(data_url_prefix(mime)) for mime in self.accepted_outputs)
        limits = [_characters(self.max_image_bytes, self.bytes_basis, header)]
        if self.request_basis == "base64":
            limits.append(_characters(self.max_request_bytes, self.request_basis, header))
        return min((limit for limit in limits if limit is not None), default=None)

    @property
    def accepted_outputs(self) -> tuple[str, ...]:
        """The accepted types among those that pixlane writes or passes on; all of them where no list is confirmed."""
        return OUTPUT_TYPES if self.accept is None else tuple(mime for mime in OUTPUT_TYPES if mime in self.accept)


def get(name: str) -> Profile:
    """The profile of that name, `surface` or `surface/model`. Raises UnknownProfile with the close names."""
    surface, slash, model = name.partition("/")
    record = _table()["profiles"].get(surface)
    if record is None:
        raise UnknownProfile(f"unknown profile {name!r}; {_close(surface)}", actual=name)
    profile = _profile(surface, record)
    if not slash:
        return profile
    sized = _with_model(profile, model)
    if sized is None:
        raise UnknownProfile(f"unknown profile {name!r}: no sizes are published for {model!r} on {surface}", actual=name)
    return sized


def names() -> tuple[str, ...]:
    """The names of all surfaces, sorted."""
    return tuple(sorted(_table()["profiles"]))


def resolve(provider: str, wire: str | None = None, model: str | None = None) -> Profile:
    """The one profile for what an agent knows of its route; never fails: a provider that no row names gets `safe`.

    Without a wire, the most restrictive one of the provider is meant ("openai" is Chat Completions).
    """
    route = (_plain(provider), _plain(wire or ""), _plain(model or ""))
    for row in _table()["routes"]:
        if all(_matches(value, row[column]) for value, column in zip(route, ("providers", "wires", "models"), strict=True)):
            profile = get(row["profile"])
            return (_with_model(profile, model) if model else None) or profile
    raise AssertionError("the last route takes everything")


def recipe_fields(name: str, many_images: bool = False, embed: bool = True) -> dict[str, Any]:
    """The recipe fields of a profile, for `Recipe.for_profile`. Raises UnknownProfile.

    With `embed` the byte target stays the setting `embed_target_bytes`, narrowed where the provider allows less; a limit below
    the recipe's clamp is taken outside of it. Without, it is the provider's own limit, None where it has none. `many_images`
    applies the rule for requests of many images.
    """
    profile = get(name)
    own = target = profile.max_data_url_chars
    if embed:
        target = min(filter(None, (settings.current().embed_target_bytes, own)))
        embed = own is None or own >= MIN_TARGET_BYTES
    sides = [profile.ceiling_px or DEFAULT_CEILING_PX, profile.max_side_px]
    if many_images and profile.many_images:
        sides.append(profile.many_images.max_side_px)
    return {
        "target_bytes": target,
        "embed": embed,
        "max_side": min(side for side in sides if side is not None),
        "size_rule": profile.size_rule,
        "accept": profile.accepted_outputs,
        "min_accepted_side": profile.min_side_px,
        "max_aspect": profile.max_aspect,
        "max_total_pixels": profile.max_pixels,
    }


def _characters(limit: int | None, basis: str | None, header: int) -> int | None:
    if limit is None or basis == "data_url":
        return limit
    return header + (4 * -(-limit // 3) if basis == "raw" else limit)


@cache
def _table() -> dict[str, Any]:
    table: dict[str, Any] = json.loads(resources.files(__name__).joinpath("profiles.json").read_text(encoding="utf-8"))
    return table


def _profile(name: str, record: dict[str, Any]) -> Profile:
    values = {**record, "name": name, "as_of": _table()["as_of"]}
    for field in ("accept", "sources", "vision_models"):
        if values.get(field) is not None:
            values[field] = tuple(values[field])
    if values.get("many_images"):
        values["many_images"] = ManyImages(**values["many_images"])
    return Profile(**values)


def _with_model(profile: Profile, model: str) -> Profile | None:
    tail = _plain(model).rpartition("/")[2]
    for row in _table()["models"]:
        if profile.name in row["of"] and _matches(tail, row["models"]):
            note = " ".join(filter(None, (profile.note, row.get("note"))))
            sizes = {field: row[field] for field in ("size_rule", "token_rule", "ceiling_px")}
            return replace(profile, name=f"{profile.name}/{tail}", note=note or None, **sizes)
    return None


def _plain(word: str) -> str:
    return word.strip().lower().replace("_", "-").replace(" ", "-")


def _matches(value: str, patterns: list[str]) -> bool:
    return any(fnmatchcase(value, pattern) for pattern in patterns)


def _close(name: str) -> str:
    known = names()
    plain = name.lower().replace("-", "_")
    routed = {row["profile"] for row in _table()["routes"] if plain in row["providers"]}
    near = [one for one in known if one.startswith(plain) or one in routed] or get_close_matches(plain, known, n=3, cutoff=0.5)
    return f"did you mean {', '.join(near)}?" if near else f"known are {', '.join(known)}"
