"""`pixlane batch`: a whole folder through the queue."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from pixlane.batch import manifest
from pixlane.batch.files import Listing
from pixlane.batch.patterns import Patterns
from pixlane.batch.totals import Totals
from pixlane.cli import exits, output, service
from pixlane.cli.options import Json, Quiet, takes_recipe
from pixlane.errors import OutputUnwritable, ServiceError
from pixlane.recipe import Recipe

_SIGNAL_EXIT = 128


@takes_recipe
def command(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="The folder; all folders in it count.", show_default=False)],
    recipe: Recipe,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", metavar="DIR", help="Where the results go. [./<name of DIR>-ready]", show_default=False),
    ] = None,
    include: Annotated[
        list[str] | None,
        typer.Option(
            metavar="GLOB", help="Only these: a name (*.png), or a path (a/**/*.png). May be repeated.", show_default=False
        ),
    ] = None,
    exclude: Annotated[
        list[str] | None, typer.Option(metavar="GLOB", help="Not these files or folders. May be repeated.", show_default=False)
    ] = None,
    workers: Annotated[
        int | None, typer.Option(metavar="N", min=1, help="Processes of the embedded service. [one per core]", show_default=False)
    ] = None,
    data_urls: Annotated[bool, typer.Option("--data-urls", help="Also write <path>.dataurl, the finished data URL.")] = False,
    json: Json = False,
    quiet: Quiet = False,
) -> int:
    """Make a whole folder ready: sub/a.png becomes OUT/sub/a.png.jpg (or .png, .webp), beside OUT/manifest.jsonl.

    Input is every file whose extension or first bytes say image; hidden files and folders and OUT itself are not, and links
    are followed to files inside DIR only. What is skipped is counted. With no PIXLANE_REDIS_URL the embedded service does the
    work, and may read DIR and nothing else.

    The manifest has one line a file, by path: what was done, or the error. It is replaced as a whole at the end. A second run
    leaves alone what is listed there with the same bytes and recipe and a result of the listed size; anything else comes
    from the cache or is made. Ctrl-C ends early with a manifest of all that is done.

    With --json each line of the manifest is printed as it is finished, at the end one object {"summary": ...}; its `error` is
    what ended the batch early, or null.

    \b
    Examples:
      pixlane batch screenshots
      pixlane batch screenshots -o ready --profile anthropic --data-urls
      pixlane batch . --include '*.png' --exclude node_modules --max-side 1024
    """
    from pixlane.batch.run import Batch
    from pixlane.cli import progress, summary

    out = out or Path(f"{folder.resolve().name}-ready".lstrip("-"))
    listing = Listing(folder, out, Patterns(include or ()), Patterns(exclude or ()))
    totals = Totals()
    with (
        service.opened(paths_root=folder, workers=workers) as reached,
        progress.shown(totals, folder.resolve().name or "/", quiet=quiet or (json and sys.stdout.isatty())),
    ):
        try:
            on_line = output.record if json else None
            Batch(listing, out, recipe, reached.client, totals, data_urls=data_urls, on_line=on_line, revive=reached.revive).run()
        except (ServiceError, OutputUnwritable) as error:  # what was done until then is shown all the same
            totals.ended_by = error
    if json:
        output.record({"summary": {**totals.to_dict(), "out": str(out), "manifest": str(out / manifest.NAME)}})
    else:
        summary.show(totals, out)
    if totals.ended_by is not None:
        output.failure("", totals.ended_by)
        return exits.of(totals.ended_by)
    if totals.stopped_by:
        return _SIGNAL_EXIT + totals.stopped_by
    return exits.SOME_FAILED if totals.failed else exits.DONE
