"""`python -P -m worker`: a worker with the settings of the environment. `-P` keeps the current folder off the path."""

from __future__ import annotations

import argparse
import os
import sys

from pixlane import settings
from pixlane.errors import PixlaneError
from pixlane.settings import environment_name


def main(arguments: list[str] | None = None) -> int:
    """Runs until it is told to end. Exit code 0 after a clean end, 2 for a wrong option or setting."""
    options = _parser().parse_args(arguments)
    for name in ("redis_url", "broker_url", "cache_url", "concurrency", "allowed_roots"):
        value = getattr(options, name)
        if value is not None:
            # Into the environment: the children, and whatever they start, read the same settings.
            os.environ[environment_name(name)] = str(value)
    from worker.run import run

    try:
        return run(settings.load(os.environ), options.queues.split(","), options.loglevel)
    except PixlaneError as error:
        print(f"{error.code}: {error.message}", file=sys.stderr)
        return 2


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -P -m worker", description="Answers jobs from the queues of pixlane.")
    parser.add_argument("--queues", default="interactive,batch", help="comma-separated, the first served first")
    parser.add_argument("--concurrency", type=int, help="child processes; 0: one per core")
    parser.add_argument("--redis", dest="redis_url", help="ledger and sources, and the other roles where they are not named")
    parser.add_argument("--broker", dest="broker_url")
    parser.add_argument("--cache", dest="cache_url")
    parser.add_argument("--allowed-roots", help="folders whose files may be read by path")
    parser.add_argument("--loglevel", default="INFO", choices=["DEBUG", "INFO", "WARNING", "ERROR"])
    return parser


if __name__ == "__main__":
    sys.exit(main())
