"""`pixlane up`: the embedded service in the foreground, with what it is doing in one line."""

from __future__ import annotations

import os
import shutil
import signal
import sys
import time
from contextlib import suppress
from typing import Annotated

import typer

from pixlane import embedded, health, settings
from pixlane.cli import exits, output
from pixlane.cli.options import Json
from pixlane.errors import InvalidArgument, PixlaneError
from pixlane.health import Found
from pixlane.store.servers import Servers, shown

STATUS_EVERY_S = 1.0
CLEAR_LINE = "\r\x1b[K"

PAGE = """\
The embedded service runs with {processes}; Ctrl-C leaves it.

  url     {url}
  folder  {folder}
  roots   {roots}

From Python on this machine, while it runs:

  from pixlane import Client

  with Client() as client:
      print(client.submit("shot.png").result().data_url)

From anything that speaks Redis: {reach}
"""


def command(
    concurrency: Annotated[
        int | None, typer.Option(metavar="N", min=1, help="Worker processes. [one per core]", show_default=False)
    ] = None,
    root: Annotated[
        str | None, typer.Option(metavar="DIR", help="Workers may read files below it by path. [none]", show_default=False)
    ] = None,
    json: Json = False,
) -> int:
    """Run the embedded service: a private store and a worker on this machine, until Ctrl-C.

    Other commands and clients of the same user share it; it goes on while one of them is there. What it has finished is kept
    in the user's cache folder and served again the next time.

    \b
    Examples:
      pixlane up
      pixlane up --concurrency 2 --root ~/screenshots
    """
    knobs = settings.current()
    if knobs.redis_url:
        raise InvalidArgument(
            f"PIXLANE_REDIS_URL names a Redis ({shown(knobs.redis_url)}), and the embedded service is for whoever names none; "
            "unset it, or run `pixlane worker` for that Redis",
            actual=shown(knobs.redis_url),
        )
    root = None if root is None else os.path.realpath(root)
    # A service manager ends with SIGTERM; leaving is the same then.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    with embedded.attach(paths_root=root, concurrency=concurrency) as service:
        if json:
            output.record({"url": service.url, "folder": str(service.dir), "concurrency": service.concurrency, "root": root})
        else:
            output.line(_page(service, root))
        if concurrency not in (None, service.concurrency):
            output.say(
                f"it was running already, with {service.concurrency} worker processes; --concurrency {concurrency} has no effect"
            )
        live = sys.stderr.isatty() and not json
        with suppress(KeyboardInterrupt):
            _watch(service, live=live)
    if live:
        sys.stderr.write(CLEAR_LINE)
    if not json:
        output.say("left; the service ends when nobody else uses it")
    return exits.DONE


def _page(service: embedded.Attachment, root: str | None) -> str:
    return PAGE.format(
        processes=_count(service.concurrency, "worker process", "worker processes"),
        url=service.url,
        folder=output.printable(str(service.dir)),
        roots=output.printable(root) if root else "none: sources travel as bytes",
        reach=_reach(service.url),
    )


def _reach(url: str) -> str:
    path = shown(url)
    return f"redis-cli -s {path}" if path.startswith("/") else f"redis-cli -u {url}"


def _watch(service: embedded.Attachment, *, live: bool) -> None:
    """Until interrupted: shows the state, and starts the service again should its supervisor be killed."""
    found = Found(Servers(service.url, service.url, service.url), "embedded service")
    told = ""
    while True:
        state = health.look(found, settings.current())
        try:
            if not state.reachable:
                service.ensure()
            service.check()
            problem = ""
        except PixlaneError as error:
            problem = error.message
        if problem != told:
            _say(problem or "the embedded service is well again", live)
            told = problem
        if live:
            width = shutil.get_terminal_size().columns - 1
            sys.stderr.write(CLEAR_LINE + _status(state)[:width])
            sys.stderr.flush()
        time.sleep(STATUS_EVERY_S)


def _status(state: health.Health) -> str:
    if not state.reachable:
        return "the store is being started again"
    workers = "the worker is starting" if not state.workers else _count(state.workers, "worker", "workers") + " alive"
    return f"{workers} · {_count(state.open_jobs or 0, 'open job', 'open jobs')}"


def _say(text: str, live: bool) -> None:
    if live:
        sys.stderr.write(CLEAR_LINE)
    output.say(text)


def _count(number: int, one: str, many: str) -> str:
    return f"{number} {one if number == 1 else many}"
