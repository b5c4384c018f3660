"""What goes where: results to stdout, everything a person should know to stderr, one line each, never a traceback.

File names and messages come from outside: control characters in them are shown, not obeyed.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any, TextIO

from pixlane.errors import PixlaneError
from pixlane.rendition import Note, Rendition


class ReaderGone(Exception):
    """Nobody reads stdout or stderr any more. Not the BrokenPipeError itself: Typer would end the process with exit code 1."""


def line(text: str) -> None:
    """One line of result. Raises ReaderGone."""
    _write(sys.stdout, text)


def record(values: dict[str, Any]) -> None:
    """One JSON object as a line of result."""
    line(to_json(values))


def rendition_record(rendition: Rendition) -> dict[str, Any]:
    """A rendition as JSON values, without its bytes."""
    return {**rendition.to_meta(), "scale": list(rendition.scale), "bytes_after": len(rendition.data), "cached": rendition.cached}


def to_json(values: dict[str, Any]) -> str:
    """ASCII only, so that a file name which is not Unicode survives too."""
    return json.dumps(values, separators=(", ", ": "))


def failure(name: str, error: PixlaneError) -> None:
    """`pixlane: <name>: <code>: <sentence>` on stderr."""
    say(f"{name}: {error.code}: {error.message}" if name else f"{error.code}: {error.message}")


def notes(name: str, raised: Iterable[Note]) -> None:
    for note in raised:
        say(f"{name}: note {note.code}: {note.text}")


def say(text: str) -> None:
    """One line to the person at the terminal."""
    _write(sys.stderr, f"pixlane: {printable(text)}")


@contextmanager
def waiting(what: str) -> Iterator[None]:
    """Says on a terminal what takes a moment, as long as it does; elsewhere nothing."""
    if not sys.stderr.isatty():
        yield
        return
    from rich.console import Console

    with Console(stderr=True, highlight=False).status(what):
        yield


def _write(stream: TextIO, text: str) -> None:
    try:
        stream.write(text + "\n")
        stream.flush()
    except BrokenPipeError:
        # Python would complain once more when it flushes at the end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
        raise ReaderGone from None


def printable(text: str) -> str:
    """The text on one line, safe for a terminal: anything that is not printable shows as its escape."""
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode("ascii") for char in text)


def size(byte_count: float) -> str:
    """`1.2 MB`, in powers of 1000 as file managers count."""
    for unit in ("B", "kB", "MB", "GB"):
        if byte_count < 999.5:
            return f"{byte_count:.0f} B" if unit == "B" else f"{byte_count:.3g} {unit}"
        byte_count /= 1000
    return f"{byte_count:.3g} TB"


def duration(seconds: float) -> str:
    """`0:07`, `12:34`, `1:02:03`."""
    whole = round(seconds)
    hours, minutes = divmod(whole // 60, 60)
    return f"{hours}:{minutes:02d}:{whole % 60:02d}" if hours else f"{minutes}:{whole % 60:02d}"
