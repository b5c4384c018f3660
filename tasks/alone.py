"""The last try of an image that broke its process before: alone, in a process that has done nothing else.

What an earlier image left behind in a child (memory, a broken state of a library) is so not charged to this one. `python -P -m
tasks.alone` reads one JSON line and the bytes of the source from stdin, and writes one JSON line and the data URL to stdout.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import threading
from contextlib import suppress
from dataclasses import asdict
from typing import Any, Final

from pixlane.errors import Crashed, InternalError, PixlaneError
from pixlane.recipe import Recipe
from pixlane.rendition import Rendition
from pixlane.settings import Limits, Settings
from tasks.alarm import alarm

COMMAND: Final = (sys.executable, "-P", "-m", "tasks.alone")


def normalize_alone(data: bytes, recipe: Recipe, limits: Limits, settings: Settings) -> Rendition:
    """As `pixlane.normalize`. Raises its errors, MemoryError, and Crashed when the process died."""
    given = {
        "recipe": recipe.to_dict(),
        "limits": asdict(limits),
        "byte_count": len(data),
        "max_bytes": settings.max_child_bytes,
        "timeout_s": settings.hard_timeout_s,
    }
    with subprocess.Popen(COMMAND, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        with suppress(BrokenPipeError):  # it died before it had read all
            process.stdin.write(json.dumps(given).encode() + b"\n" + data)
            process.stdin.flush()
        answer = process.stdout.read()  # its stdin stays open: the end of it tells the process that we are gone
        with suppress(BrokenPipeError):
            process.stdin.close()
    head, _, url = answer.partition(b"\n")
    if process.returncode != 0 or not head:
        raise Crashed(f"the process of its own ended with {process.returncode}", actual=process.returncode)
    said: dict[str, Any] = json.loads(head)
    if said.get("out_of_memory"):
        raise MemoryError
    if "error" in said:
        raise PixlaneError.from_dict(said["error"])
    return Rendition.from_meta(said["meta"], url.decode("ascii"), cached=False)


def main() -> None:
    """The process itself."""
    given = json.loads(sys.stdin.buffer.readline())
    data = sys.stdin.buffer.read(given["byte_count"])
    threading.Thread(target=_end_with_parent, daemon=True).start()
    _, hard = resource.getrlimit(resource.RLIMIT_DATA)
    wanted: int = given["max_bytes"]
    resource.setrlimit(resource.RLIMIT_DATA, (wanted if hard == resource.RLIM_INFINITY else min(wanted, hard), hard))
    with alarm(given["timeout_s"]):
        said, url = _answer(data, given)
    sys.stdout.buffer.write(json.dumps(said).encode() + b"\n" + url.encode("ascii"))
    sys.stdout.buffer.flush()
    os._exit(0)  # not through the engines' own ends: the answer is out


def _answer(data: bytes, given: dict[str, Any]) -> tuple[dict[str, Any], str]:
    from pixlane.imaging import normalize

    try:
        rendition = normalize(data, Recipe.from_dict(given["recipe"]), limits=Limits(**given["limits"]))
    except PixlaneError as error:
        return {"error": error.to_dict()}, ""
    except MemoryError:
        return {"out_of_memory": True}, ""
    except Exception as error:  # noqa: BLE001 - told to the one that waits for it
        fault = InternalError(f"a fault of the pipeline: {type(error).__name__}: {error}")
        return {"error": fault.to_dict()}, ""
    return {"meta": rendition.to_meta()}, rendition.data_url


def _end_with_parent() -> None:
    sys.stdin.buffer.read()
    os._exit(1)


if __name__ == "__main__":
    main()
