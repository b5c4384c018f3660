"""`pixlane retry`: another try for what was put aside."""

from __future__ import annotations

from typing import Annotated

import typer

from pixlane import health, settings
from pixlane.cli import exits, output
from pixlane.cli.options import Json
from pixlane.deadletters import Office


def command(
    key: Annotated[
        str, typer.Argument(metavar="KEY", help="Of a job, or the SHA-256 of a source: all its jobs.", show_default=False)
    ],
    redis: Annotated[
        str | None, typer.Option(metavar="URL", help="Ask this Redis. [PIXLANE_REDIS_URL]", show_default=False)
    ] = None,
    json: Json = False,
) -> int:
    """Open again a job that was put aside as `crashed`, with its tries counted from nothing. `pixlane stats --dead` lists them.

    \b
    Exit codes: 0 it is open again, 1 no job of that name was put aside, 3 its source is gone: submit it again.

    \b
    Examples:
      pixlane retry 3f1c9a...e07b-5d41402abc4b2a76
      pixlane retry 3f1c9a...e07b
    """
    knobs = settings.current()
    with Office(health.find(knobs, redis).servers, knobs) as office:
        fates = office.retry(key)
    for job_key, fate in fates.items():
        output.record({"key": job_key, "state": fate}) if json else output.line(f"{job_key}: {_SAID[fate]}")
    if not fates:
        output.say(f"retry: no job named {output.printable(key)} was put aside; `pixlane stats --dead` lists those that were")
        return exits.NOT_THERE
    return exits.SOME_FAILED if "no_source" in fates.values() else exits.DONE


_SAID = {
    "open": "open again",
    "running": "is open already",
    "no_source": "the source is gone; submit it again",
    "no_letter": "somebody else has just opened it",
}
