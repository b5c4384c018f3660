"""Runs cases one after another under limits and tells each outcome as a line of JSON; may crash or hang at any of them.

`python -m tests.fuzz.child FIRST COUNT`, or `python -m tests.fuzz.child --file FILE NUMBER` for one input of that case's recipe.
"""

from __future__ import annotations

import json
import resource
import sys
import time
import traceback
from pathlib import Path
from typing import Any

from pixlane import normalize
from pixlane.errors import PixlaneError
from pixlane.settings import Limits
from tests.fuzz.cases import Case, case

MAX_DATA_BYTES = 1 << 30  # RLIMIT_DATA
LIMITS = Limits(max_pixels=4_000_000, max_decode_bytes=256 << 20, soft_timeout_s=5.0, svg_timeout_s=3.0)
ENCODED = {"image/png": b"\x89PNG", "image/jpeg": b"\xff\xd8\xff", "image/webp": b"RIFF", "image/gif": b"GIF8"}


def main() -> None:
    resource.setrlimit(resource.RLIMIT_DATA, (MAX_DATA_BYTES, MAX_DATA_BYTES))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if sys.argv[1] == "--file":
        number = int(sys.argv[3])
        _tell(outcome(case(number), Path(sys.argv[2]).read_bytes()))
        return
    first, count = int(sys.argv[1]), int(sys.argv[2])
    for number in range(first, first + count):
        _tell({"begins": number})
        found = case(number)
        _tell(outcome(found, found.data()))


def outcome(found: Case, data: bytes) -> dict[str, Any]:
    """What came of it: `rendition`, the code of a typed error, or `untyped` with the traceback."""
    began = time.perf_counter()
    record: dict[str, Any] = {"number": found.number, "seed": found.seed}
    try:
        rendition = normalize(data, found.recipe, name=found.name, limits=LIMITS)
        sound = rendition.data.startswith(ENCODED[rendition.mime]) and rendition.width > 0 and rendition.height > 0
        record["outcome"] = "rendition" if sound else "untyped"
    except PixlaneError as error:
        record["outcome"] = error.code
    except Exception:  # noqa: BLE001 - finding these is what it is for
        record |= {"outcome": "untyped", "why": traceback.format_exc(limit=-6)}
    return record | {"seconds": round(time.perf_counter() - began, 3), "rss": _resident_bytes()}


def _resident_bytes() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()


def _tell(record: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(record) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
