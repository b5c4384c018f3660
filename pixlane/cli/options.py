"""Every option that more than one command takes; each field of the recipe is one, `--profile` comes before them.

A command asks for the recipe with one parameter, `recipe: Recipe`, and `@takes_recipe`:

    @takes_recipe
    def command(files: ..., recipe: Recipe) -> int: ...

What was not given on the command line comes from the profile, then from the recipe's own defaults.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Annotated, Any

import typer

from pixlane.errors import InvalidArgument, InvalidRecipe
from pixlane.recipe import Recipe

RECIPE_PANEL = "Recipe (what the result must satisfy)"


def _option(kind: Any, help: str, *names: str, metavar: str | None = None) -> Any:
    return Annotated[
        kind | None, typer.Option(*names, help=help, metavar=metavar, rich_help_panel=RECIPE_PANEL, show_default=False)
    ]


RECIPE_OPTIONS: dict[str, Any] = {
    "target_bytes": _option(int, "Longest data URL, characters. [262144]", metavar="N"),
    "max_side": _option(int, "Longest side, px. [1568]", metavar="PX"),
    "size_rule": _option(str, "A provider's resize rule: a size that it will not resample.", metavar="RULE"),
    "accept": _option(str, "MIME types that the receiver takes. [png, jpeg, gif, webp]", metavar="TYPE,TYPE"),
    "max_halvings": _option(int, "Most halvings. [4]", metavar="N"),
    "min_side": _option(int, "No halving below this shorter side, px. [64]", metavar="PX"),
    "jpeg_qualities": _option(str, "JPEG qualities, tried in this order. [85,70,50]", metavar="Q,Q"),
    "shrink": _option(str, "How to shrink. [halve]", metavar="halve|fine"),
    "background": _option(str, "What shows through transparency. [auto]", metavar="auto|white|dark|#rrggbb"),
    "region": _option(str, "A crop in the upright source, px.", metavar="X,Y,WIDTH,HEIGHT"),
    "page": _option(int, "Frame, page or image of the source, from 0. [0]", metavar="N"),
    "on_miss": _option(str, "When nothing fits. [error]", metavar="error|smallest"),
    "allow_truncated": _option(bool, "Draw what is there of a source that ends early.", "--allow-truncated/--no-allow-truncated"),
    "embed": _option(bool, "Hold the budget inside 65536 .. 4194304. [embed]", "--embed/--no-embed"),
    "min_accepted_side": _option(int, "Smallest side that the receiver takes, px.", metavar="PX"),
    "max_aspect": _option(float, "Largest ratio of the sides that the receiver takes.", metavar="RATIO"),
    "max_total_pixels": _option(int, "Most pixels that the receiver takes.", metavar="N"),
}

PROFILE_OPTIONS: dict[str, Any] = {
    "profile": _option(str, "Limits of a provider; the options below override them.", metavar="NAME"),
    "many_images": _option(bool, "The profile's limits for requests with many images.", "--many-images"),
}


def takes_recipe(command: Callable[..., int]) -> Callable[..., int]:
    """Give a command the recipe's options in place of its parameter `recipe`."""
    offered = {**PROFILE_OPTIONS, **RECIPE_OPTIONS}

    @functools.wraps(command)
    def with_recipe(**given: Any) -> int:
        chosen = {name: given.pop(name) for name in offered}
        return command(recipe=build(chosen), **given)

    own = [each for each in inspect.signature(command, eval_str=True).parameters.values() if each.name != "recipe"]
    added = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=kind) for name, kind in offered.items()
    ]
    with_recipe.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [each.replace(kind=inspect.Parameter.KEYWORD_ONLY) for each in own] + added
    )
    with_recipe.__annotations__ = {each.name: each.annotation for each in [*own, *added]}
    return with_recipe


def build(chosen: dict[str, Any]) -> Recipe:
    """The recipe for option values as they were typed; None is "not given".

    Raises:
        InvalidArgument: `many_images` without a profile.
        InvalidRecipe: a value is not of its form or out of its bounds.
        UnknownProfile: no profile has that name.
    """
    given = {name: _PARSERS.get(name, _same)(value) for name, value in chosen.items() if value is not None}
    profile, many_images = given.pop("profile", None), given.pop("many_images", False)
    if profile is None:
        if many_images:
            raise InvalidArgument("--many-images is a rule of a profile, and none is named: add --profile")
        return Recipe(**given)
    return Recipe.for_profile(profile, many_images=many_images, embed=given.pop("embed", True), **given)


def _same(value: Any) -> Any:
    return value


def _accept(typed: str) -> tuple[str, ...]:
    """`png,jpeg` and `image/png,image/jpeg` are the same."""
    names = [name.strip().lower() for name in typed.split(",") if name.strip()]
    short = {"jpg": "jpeg"}
    return tuple(name if "/" in name else f"image/{short.get(name, name)}" for name in names)


def _numbers(name: str, typed: str) -> tuple[int, ...]:
    try:
        return tuple(int(part) for part in typed.split(","))
    except ValueError:
        raise InvalidRecipe(f"{name} must be whole numbers separated by commas, got {typed!r}", actual=typed) from None


def _region(typed: str) -> tuple[int, ...]:
    numbers = _numbers("region", typed)
    if len(numbers) != 4:
        raise InvalidRecipe(f"region must be X,Y,WIDTH,HEIGHT, got {typed!r}", actual=typed)
    return numbers


_PARSERS: dict[str, Callable[[Any], Any]] = {
    "accept": _accept,
    "jpeg_qualities": lambda typed: _numbers("jpeg_qualities", typed),
    "region": _region,
}

Json = Annotated[bool, typer.Option("--json", help="Machine-readable: one JSON object a line on stdout.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No notes and no progress on stderr; errors still show.")]
