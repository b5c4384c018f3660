"""`pixlane look`: a question about one picture, answered by a model, or by what stands written in it."""

from __future__ import annotations

from typing import Annotated

import typer

from pixlane.cli import exits, output, sources
from pixlane.cli.options import Json, Quiet
from pixlane.errors import InvalidRecipe


def command(
    file: Annotated[str, typer.Argument(metavar="FILE", help="A file, or - for stdin.", show_default=False)],
    question: Annotated[
        str | None, typer.Argument(metavar="QUESTION", help="What to look for. [a description]", show_default=False)
    ] = None,
    model: Annotated[
        str | None,
        typer.Option("--model", "-m", help="Who looks, for this call alone.", metavar="PROVIDER/MODEL|local", show_default=False),
    ] = None,
    region: Annotated[
        str | None,
        typer.Option(help="Only this part, in full detail; px of the upright picture.", metavar="X,Y,WIDTH,HEIGHT"),
    ] = None,
    config: Annotated[str | None, typer.Option(help="The agent's configuration, YAML or JSON.", metavar="FILE")] = None,
    timeout: Annotated[
        float | None, typer.Option(help="All tries together. [PIXLANE_VISION_TIMEOUT_S]", metavar="SECONDS", min=0.1)
    ] = None,
    json: Json = False,
    quiet: Quiet = False,
) -> int:
    """Say what is to be seen in a picture, in this process.

    A model looks: the one that is named, that of `vision.default`, or whoever is configured and can see. Where nobody can, its
    text is read on this machine, without a network (pip install 'pixlane[ocr]'). Who looked goes to stderr; with --json
    all of it is one object: the observation, and under `instead_of` why no model looked.

    \b
    Examples:
      pixlane look shot.png "What does the error say?"
      pixlane look shot.png --model local --region 0,0,800,200
      pixlane look shot.png "Which button is active?" --model anthropic/claude-sonnet-4-5 --json
    """
    from pixlane.messages.config import load_config
    from pixlane.vision import telling
    from pixlane.vision.eyes import DESCRIBE, Eyes

    given = sources.read(file) if file == sources.STDIN else file
    eyes = Eyes(model, config=load_config(path=config), timeout_s=timeout)
    with output.waiting("looking"):
        seen, instead_of = eyes.look(given, DESCRIBE if question is None else question, region=_region(region))
    if not quiet:
        if instead_of is not None:
            output.say(f"note: {instead_of.message}")
        took = f", {seen.generated_by.elapsed_ms / 1000:.1f} s" if not seen.reused else ", remembered"
        output.say(f"looked: {telling.by(seen)}{took}")
        output.notes(file, seen.notes)
    if json:
        output.record({**seen.to_dict(), "path": file, "instead_of": instead_of.to_dict() if instead_of else None})
        return exits.DONE
    for line in telling.words(seen).splitlines():
        output.line(output.printable(line))
    return exits.DONE


def _region(typed: str | None) -> tuple[int, ...] | None:
    if typed is None:
        return None
    try:
        return tuple(int(part) for part in typed.split(","))
    except ValueError:
        raise InvalidRecipe(f"region must be X,Y,WIDTH,HEIGHT, got {typed!r}", actual=typed) from None
