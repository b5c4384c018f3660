"""`pixlane get`: a finished result out of the cache."""

from __future__ import annotations

from typing import Annotated

import typer

from pixlane.cli import exits, output, service, sources
from pixlane.cli.options import Json, Quiet, takes_recipe
from pixlane.recipe import Recipe


@takes_recipe
def command(
    source: Annotated[
        str, typer.Argument(metavar="SHA256|FILE", help="The hash of a source, or the source.", show_default=False)
    ],
    recipe: Recipe,
    json: Json = False,
    quiet: Quiet = False,
) -> int:
    """Print the finished data URL of a source from the cache; never starts work.

    Exit code 1 says that the cache does not hold it for this recipe: `pixlane submit --wait` makes it.

    \b
    Examples:
      pixlane get shot.png
      pixlane get 3f1c9a...e07b --profile anthropic
      pixlane get shot.png --json | jq '.notes'
    """
    sha256 = sources.named_sha256(source)
    with service.opened() as reached:
        rendition = reached.client.fetch(sha256, recipe)
    if rendition is None:
        output.say(f"{source}: not in the cache for recipe {recipe.fingerprint}; `pixlane submit --wait FILE` makes it")
        if json:
            output.record({"path": source, "sha256": sha256, "recipe": recipe.fingerprint, "found": False})
        return exits.NOT_THERE
    if not quiet:
        output.notes(source, rendition.notes)
    if json:
        record = output.rendition_record(rendition)
        output.record({"path": source, "sha256": sha256, "found": True, **record, "data_url": rendition.data_url})
    else:
        output.line(rendition.data_url)
    return exits.DONE
