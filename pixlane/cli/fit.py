"""`pixlane fit`: images made ready in this process, without queue or Redis."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated
from uuid import uuid4

import typer

from pixlane.batch import manifest
from pixlane.cli import exits, output, sources
from pixlane.cli.options import Json, Quiet, takes_recipe
from pixlane.errors import InvalidArgument, PixlaneError
from pixlane.recipe import Recipe
from pixlane.sources import file_name


@takes_recipe
def command(
    files: Annotated[list[str], typer.Argument(metavar="FILE...", help="Files, or - for stdin.", show_default=False)],
    recipe: Recipe,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", metavar="DIR", help="Write DIR/<name>.jpg (.png, .webp) instead of a data URL.")
    ] = None,
    json: Json = False,
    quiet: Quiet = False,
) -> int:
    """Make images ready in this process: one data URL a line on stdout, or files with -o.

    Notes and errors go to stderr, one line each; a file that fails does not keep the others from being done. With --json each
    file is one line: the rendition without its bytes, `data_url` or `path_out`, or `error`.

    \b
    Examples:
      pixlane fit shot.png
      pixlane fit *.png -o ready --profile anthropic
      curl -s https://example.org/a.heic | pixlane fit - --json | jq -r .data_url
    """
    from pixlane.batch.writing import write_whole
    from pixlane.imaging import normalize

    part_name = f".pixlane-{uuid4().hex}.part"  # of this run alone: several may write into one folder
    if out is not None:
        _check_names(files)
    failed = 0
    for name in files:
        try:
            rendition = normalize(sources.read(name), recipe, name=None if name == sources.STDIN else file_name(name))
            written = None if out is None else out / (_base(name) + manifest.EXTENSIONS[rendition.mime])
            if written is not None:
                write_whole(written, rendition.data, part_name)
        except PixlaneError as error:
            failed += 1
            output.failure(name, error)
            if json:
                output.record({"path": name, "error": error.to_dict()})
            continue
        if not quiet:
            output.notes(name, rendition.notes)
        if json:
            place = {"data_url": rendition.data_url} if written is None else {"path_out": str(written)}
            output.record({"path": name, **output.rendition_record(rendition), **place})
        else:
            output.line(rendition.data_url if written is None else str(written))
    return exits.SOME_FAILED if failed else exits.DONE


def _base(name: str) -> str:
    return "stdin" if name == sources.STDIN else file_name(name) or "url"


def _check_names(files: list[str]) -> None:
    """Two files of one name would be written over each other."""
    seen: dict[str, str] = {}
    for name in files:
        other = seen.setdefault(_base(name), name)
        if other != name:
            raise InvalidArgument(
                f"{other} and {name} would both be written as {_base(name)}; use another -o for one", actual=_base(name)
            )
