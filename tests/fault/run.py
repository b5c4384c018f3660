"""`python -m tests.fault.run`: the fault ring in its long form, or a part of it; what was counted as JSON on stdout.

python -m tests.fault.run                          everything, with 10 minutes of load (about 30 minutes)
python -m tests.fault.run kills rolling --short    two scenarios in their short form
python -m tests.fault.run load --minutes 2
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
import time
from typing import Any

from tests.fault import load, scenarios, tiny


def main(arguments: list[str] | None = None) -> int:
    """Exit code 0 when every promise was kept, 1 when one was broken; the rest is run all the same."""
    options = _parser().parse_args(arguments)
    measure = scenarios.short() if options.short else scenarios.long()
    parts: dict[str, Any] = {
        **{name: (lambda told=told: told(measure)) for name, told in scenarios.SCENARIOS.items()},
        "load": lambda: load.run(options.minutes * 60),
        "load_apart": lambda: load.run(min(options.minutes, 2) * 60, apart=True),
        "tiny": lambda: tiny.run(1_000 if options.short else 10_000),
    }
    report: dict[str, Any] = {"machine": f"{os.cpu_count()} cores, Python {platform.python_version()}"}
    broken = False
    for name in options.parts or parts:
        print(f"{name} ...", file=sys.stderr, flush=True)
        began = time.monotonic()
        try:
            report[name] = parts[name]()
        except AssertionError as error:
            broken = True
            report[name] = {"broken": str(error)}
        print(f"{name}: {time.monotonic() - began:.0f} s, {json.dumps(report[name])}", file=sys.stderr, flush=True)
    print(json.dumps(report, indent=2))
    return 1 if broken else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.fault.run", description="Fires at a service and counts what is lost.")
    parser.add_argument(
        "parts", nargs="*", choices=[[], *scenarios.SCENARIOS, "load", "load_apart", "tiny"], help="nothing: all of them"
    )
    parser.add_argument("--short", action="store_true", help="fewer jobs and short limits")
    parser.add_argument("--minutes", type=float, default=10.0, help="of the mixed load")
    return parser


if __name__ == "__main__":
    sys.exit(main())
