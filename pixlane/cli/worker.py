"""`pixlane worker`: a worker against the Redis that is named; this process becomes it, so signals and exit code are its own."""

from __future__ import annotations

import os
from typing import Annotated

import typer

from pixlane import settings
from pixlane.embedded.python import module_command, module_environment
from pixlane.errors import InvalidArgument, ServiceUnavailable
from pixlane.store.connect import Server
from pixlane.store.servers import Servers


def command(
    redis: Annotated[
        str | None, typer.Option(metavar="URL", help="Work for this Redis. [PIXLANE_REDIS_URL]", show_default=False)
    ] = None,
    queues: Annotated[str | None, typer.Option(metavar="NAME,NAME", help="[interactive,batch]", show_default=False)] = None,
    concurrency: Annotated[
        int | None, typer.Option(metavar="N", min=1, help="Processes. [one per core]", show_default=False)
    ] = None,
) -> int:
    """Run a worker until SIGTERM or Ctrl-C; it finishes the images that it holds and then ends.

    Files by path are read only below the folders in PIXLANE_ALLOWED_ROOTS; sources that travel as bytes need none.

    \b
    Examples:
      pixlane worker --redis redis://127.0.0.1:6379/0
      PIXLANE_REDIS_URL=redis://127.0.0.1:6379/0 pixlane worker --queues interactive --concurrency 2
    """
    if os.name == "nt":
        raise ServiceUnavailable("workers run on Linux and macOS; start one there, or in WSL, against the same Redis")
    knobs = settings.current()
    url = redis or knobs.redis_url
    if not url:
        raise InvalidArgument("no Redis is named: give --redis or set PIXLANE_REDIS_URL; `pixlane up` needs none")
    server = Server(Servers.of(knobs, url).ledger, knobs.store_timeout_s)
    try:
        server.run([("PING",)])  # one sentence now, instead of a log full of attempts
    finally:
        server.close()
    arguments = ["--queues", queues] if queues else []
    changes = {"PIXLANE_REDIS_URL": url} | ({"PIXLANE_CONCURRENCY": str(concurrency)} if concurrency else {})
    line = module_command("worker", *arguments)
    os.execve(line[0], line, module_environment(os.environ, **changes))
