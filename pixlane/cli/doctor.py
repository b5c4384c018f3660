"""`pixlane doctor`: what this machine has of all that pixlane uses, and what to do about the rest."""

from __future__ import annotations

from collections import Counter
from typing import Annotated

import typer

from pixlane import doctor
from pixlane.cli import exits, output
from pixlane.cli.options import Json
from pixlane.doctor import Check


def command(
    redis: Annotated[
        str | None, typer.Option(metavar="URL", help="Look at this Redis. [PIXLANE_REDIS_URL]", show_default=False)
    ] = None,
    json: Json = False,
) -> int:
    """Check versions, codecs, rasterizers, fonts, folders, broker and store; each with a verdict and what to do.

    Every codec decodes a small picture in a process of its own. Nothing is changed or started.

    \b
    Exit codes: 0 nothing failed (warnings do not count), 1 something failed.

    \b
    Examples:
      pixlane doctor
      pixlane doctor --json | jq -r '.checks[] | select(.verdict != "ok") | .advice'
    """
    checks: list[Check] = []
    for check in doctor.examine(redis):
        if not json:
            _print(check, new_area=not checks or checks[-1].area != check.area)
        checks.append(check)
    verdicts = Counter(check.verdict for check in checks)
    if json:
        output.record({"ok": not verdicts["fail"], "checks": [check.to_dict() for check in checks]})
    else:
        output.line(f"\n{verdicts['ok']} ok, {verdicts['warn']} warn, {verdicts['fail']} fail")
    return exits.NOT_THERE if verdicts["fail"] else exits.DONE


def _print(check: Check, *, new_area: bool) -> None:
    if new_area:
        output.line(f"\n{check.area}")
    output.line(f"  {check.verdict:<5} {check.name:<18} {output.printable(check.found)}")
    if check.advice:
        output.line(f"        {'':<18} -> {check.advice}")
