"""`pixlane purge`: screenshots are private."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from pixlane.cli import exits, output, service, sources
from pixlane.cli.options import Json
from pixlane.errors import InvalidArgument


def command(
    source: Annotated[
        str | None, typer.Argument(metavar="SHA256|FILE", help="The hash of a source, or the source.", show_default=False)
    ] = None,
    everything: Annotated[bool, typer.Option("--all", help="All sources, results, errors and jobs.")] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask before --all.")] = False,
    json: Json = False,
) -> int:
    """Delete what the store holds of one image, or of all: source, results of every recipe, errors, open jobs.

    A run that is under way takes back what it stores. Files that `batch` or `fit` wrote are yours and stay.

    \b
    Examples:
      pixlane purge shot.png
      pixlane purge 3f1c9a...e07b
      pixlane purge --all --yes
    """
    if (source is None) != everything:
        raise InvalidArgument("purge takes either a SHA256 or FILE, or --all")
    if everything and not yes and not _confirmed():
        output.say("purge: nothing was deleted")
        return exits.NOT_THERE
    sha256 = None if source is None else sources.named_sha256(source)
    with service.opened() as reached:
        count = reached.client.purge_all() if sha256 is None else reached.client.forget(sha256)
    if json:
        output.record({"path": source, "sha256": sha256, "all": everything, "results_deleted": count})
    else:
        output.line(f"{count:,} result{'' if count == 1 else 's'} deleted, with source, errors and jobs")
    return exits.DONE


def _confirmed() -> bool:
    """Asks at a terminal; elsewhere there is nobody to ask, and --all needs --yes."""
    if not sys.stdin.isatty():
        raise InvalidArgument("purge --all asks before it deletes, and there is no terminal to ask at: add --yes")
    return typer.confirm("Delete every source, result, error and job of this store?", err=True)
