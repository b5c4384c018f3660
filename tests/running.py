"""Runs an example or a command as a user would: in a folder of its own, with nothing of the tests' environment but the PATH."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryFile

from tests.readme import ROOT

BIN = Path(sys.executable).parent


def clean_environment(home: Path, **more: str) -> dict[str, str]:
    """An empty HOME, this interpreter's commands first on the PATH, no settings."""
    home.mkdir(exist_ok=True)
    return {"HOME": str(home), "PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}", "LANG": "C.UTF-8", "TERM": "dumb", **more}


def folder_with_examples(folder: Path) -> Path:
    """A working folder as the examples expect it, apart from the repository."""
    shutil.copytree(ROOT / "examples" / "images", folder / "examples" / "images")
    return folder


def run(command: Sequence[str], cwd: Path, environment: Mapping[str, str], limit_s: float = 90) -> str:
    """The standard output; fails with both outputs when the command does. What it left in the background is ended."""
    # Files, not pipes: a pipe would stay open as long as anything in the background holds it.
    with TemporaryFile("w+") as out, TemporaryFile("w+") as said:
        process = subprocess.Popen(
            command, cwd=cwd, env=dict(environment), stdin=subprocess.DEVNULL, stdout=out, stderr=said, start_new_session=True
        )
        try:
            code: object = process.wait(limit_s)
        except subprocess.TimeoutExpired:
            code = f"nothing within {limit_s:g} s"
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        out.seek(0)
        said.seek(0)
        printed = out.read()
        assert code == 0, f"{command} ended with {code}\n{printed}\n{said.read()}"
    return printed


def wait_until(condition: Callable[[], object], what: str, limit_s: float = 30) -> None:
    """Returns when the condition is true; fails with `what` when it is not in time."""
    end = time.monotonic() + limit_s
    while not condition():
        assert time.monotonic() < end, f"not within {limit_s:g} s: {what}"
        time.sleep(0.05)
