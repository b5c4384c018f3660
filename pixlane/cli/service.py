"""Which service a command talks to: the Redis that is named, or the embedded service of this user."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from pixlane import settings
from pixlane.cli import output

if TYPE_CHECKING:
    from pixlane.client import Client


def is_named() -> bool:
    """True when the settings name a Redis."""
    return bool(settings.current().redis_url)


@dataclass
class Opened:
    """A client, and for the embedded service the way to start it again when somebody killed all of it."""

    client: Client
    revive: Callable[[], None] | None = None


@contextmanager
def opened(*, paths_root: Path | None = None, workers: int | None = None) -> Iterator[Opened]:
    """The service. The embedded service is joined or started, and may read `paths_root` and nothing else.

    Raises ServiceUnavailable, StoreUnavailable.
    """
    from pixlane.client import Client

    if is_named():
        if workers is not None:
            output.say("note: --workers is for the embedded service; PIXLANE_REDIS_URL names one that runs its own workers")
        with Client() as client:
            yield Opened(client)
        return
    from pixlane import embedded

    root = None if paths_root is None else os.path.realpath(paths_root)
    with ExitStack() as leaving:
        with output.waiting("starting the embedded service"):
            service = leaving.enter_context(embedded.attach(paths_root=root, concurrency=workers))
        if workers is not None and service.concurrency != workers:
            output.say(f"note: the embedded service runs already, with {service.concurrency} processes and not {workers}")
        knobs = replace(settings.current(), broker_url="", cache_url="")
        with Client(service.url, send=None if root is None else "path", settings=knobs) as client:
            yield Opened(client, service.ensure)
