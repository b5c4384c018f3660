"""`pixlane health`: fast and without Celery, so that a container's health check may call it every few seconds."""

from __future__ import annotations

import socket
from typing import Annotated

import typer

from pixlane import health, settings
from pixlane.cli import exits, output
from pixlane.cli.options import Json
from pixlane.health import Health


def command(
    redis: Annotated[
        str | None, typer.Option(metavar="URL", help="Ask this Redis. [PIXLANE_REDIS_URL]", show_default=False)
    ] = None,
    here: Annotated[bool, typer.Option("--here", help="Only workers of this host count, as a container's check wants.")] = False,
    json: Json = False,
) -> int:
    """Say whether the service answers: each server, the live workers, the open jobs. Starts nothing.

    \b
    Exit codes: 0 all is well, 1 no live worker or the embedded service is in trouble, 4 no service.

    \b
    Examples:
      pixlane health
      pixlane health --redis redis://cache.example:6379/0 --json
      pixlane health --here
    """
    knobs = settings.current()
    state = health.look(health.find(knobs, redis), knobs, socket.gethostname() if here else None)
    if json:
        output.record(state.to_dict())
    else:
        _print(state)
    if not state.reachable:
        return exits.NO_SERVICE
    return exits.DONE if state.healthy else exits.NOT_THERE


def _print(state: Health) -> None:
    for role in state.roles:
        detail = f"{role.ms:g} ms" if role.error is None else role.error.message
        _row(role.name, "ok" if role.error is None else "fail", f"{role.server}  {detail}")
    if state.workers is not None:
        advice = "" if state.workers else "; start one: pixlane worker"
        _row("workers", "ok" if state.workers else "fail", f"{state.workers} alive{advice}")
        _row("jobs", "ok", f"{state.open_jobs} open")
    if state.trouble is not None:
        _row("trouble", "fail", state.trouble)


def _row(name: str, verdict: str, text: str) -> None:
    output.line(f"{name:<8} {verdict:<5} {output.printable(text)}")
