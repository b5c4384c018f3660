"""`pixlane submit`: one image into the queue."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from pixlane.cli import exits, output, service, sources
from pixlane.cli.options import Json, Quiet, takes_recipe
from pixlane.recipe import Recipe


@takes_recipe
def command(
    file: Annotated[str, typer.Argument(metavar="FILE", help="A file, or - for stdin.", show_default=False)],
    recipe: Recipe,
    wait: Annotated[bool, typer.Option("--wait", "-w", help="Wait, and print the data URL instead of the key.")] = False,
    timeout: Annotated[float, typer.Option(metavar="SECONDS", min=0, help="How long --wait waits.")] = 60.0,
    queue: Annotated[str, typer.Option(metavar="interactive|batch", help="The queue.")] = "interactive",
    json: Json = False,
    quiet: Quiet = False,
) -> int:
    """Put one image into the queue and print its key, or with --wait the data URL.

    The key names the work: the same file and recipe have the same key, and are done once. With no PIXLANE_REDIS_URL the
    embedded service takes the job; it ends with its last user, so without --wait it keeps the job for its next start unless
    `pixlane up` or another command keeps it running.

    \b
    Examples:
      pixlane submit shot.png
      pixlane submit shot.png --wait --profile openai_chat
      pixlane submit - --wait --json < shot.png
    """
    # Where a link leads: the worker looks there.
    parent = Path(file).resolve().parent
    root = parent if file != sources.STDIN and parent.is_dir() else None
    with service.opened(paths_root=root) as reached:
        job = reached.client.submit(sources.read(file) if file == sources.STDIN else file, recipe, queue=queue)
        if not wait:
            if not service.is_named() and not quiet and sys.stderr.isatty():
                output.say(
                    "note: the embedded service ends with its last user and then keeps the job for its next start; see --wait"
                )
            output.record({"path": file, "key": job.key}) if json else output.line(job.key)
            return exits.DONE
        rendition = job.result(timeout=timeout)
    if not quiet:
        output.notes(file, rendition.notes)
    if json:
        output.record({"path": file, "key": job.key, **output.rendition_record(rendition), "data_url": rendition.data_url})
    else:
        output.line(rendition.data_url)
    return exits.DONE
