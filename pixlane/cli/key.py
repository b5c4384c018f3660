"""`pixlane key`: under which names the results of a file are stored."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from pixlane import settings
from pixlane.cli import exits, output, sources
from pixlane.cli.options import Json, takes_recipe
from pixlane.recipe import PIPELINE_VERSION, Recipe
from pixlane.store.keys import Keys, job_key


@takes_recipe
def command(
    file: Annotated[str, typer.Argument(metavar="FILE", help="A file, or - for stdin.", show_default=False)],
    recipe: Recipe,
    url: Annotated[bool, typer.Option("--url", help="Only the Redis key of the data URL.")] = False,
    json: Json = False,
) -> int:
    """Print the SHA-256 of a file, the fingerprint of the recipe and the Redis keys that go with them.

    \b
    Examples:
      pixlane key shot.png
      redis-cli GET "$(pixlane key --url shot.png)"
    """
    names = describe(sources.sha256(file), recipe)
    if url:
        output.line(names["redis"]["url"])
        return exits.DONE
    if json:
        output.record({"path": file, **names})
        return exits.DONE
    flat = {**names, **{f"redis {name}": key for name, key in names["redis"].items()}}
    del flat["redis"]
    for name, value in flat.items():
        output.line(f"{name:<14} {output.printable(str(value))}")
    return exits.DONE


def describe(sha256: str, recipe: Recipe) -> dict[str, Any]:
    """Every name of one (source, recipe)."""
    keys, job = Keys(settings.current().key_prefix), job_key(sha256, recipe.fingerprint)
    return {
        "sha256": sha256,
        "recipe": recipe.fingerprint,
        "pipeline": PIPELINE_VERSION,
        "key": job,
        "redis": {
            "url": keys.url(sha256, recipe.fingerprint),
            "meta": keys.meta(sha256, recipe.fingerprint),
            "error": keys.error(sha256, recipe.fingerprint),
            "source": keys.source(sha256),
            "job": keys.job(job),
        },
    }
