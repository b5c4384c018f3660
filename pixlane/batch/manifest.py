"""`manifest.jsonl`: one line a file, by path, replaced as a whole; two batches never write one folder at a time.

A finished file:  path, sha256, source_mime, mime, bytes_before, bytes_after, width, height, scale, notes, key, cached, ms
A failed one:     path, error: {code, message, limit, actual}

`path` is relative to the folder of the batch. The result lies under `<path><extension of mime>` beside the manifest.
`bytes_before` and `bytes_after` are those of the two files; `scale` is [x, y], result px per source px; `notes` are objects with
`code` and `text`; `cached` is true when this run did not have to make it; `ms` is what making it took, whenever that was.
"""

from __future__ import annotations

import errno
import json
import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

from pixlane.batch.writing import unwritable
from pixlane.errors import InvalidArgument, OutputUnwritable, PixlaneError
from pixlane.recipe import Recipe
from pixlane.rendition import Rendition
from pixlane.store.keys import job_key

NAME = "manifest.jsonl"
_PART_NAME = ".manifest.jsonl.part"
_RESERVED_LINE_BYTES = 640

EXTENSIONS = {"image/jpeg": ".jpg", "image/png": ".png", "image/webp": ".webp", "image/gif": ".gif"}
DATA_URL_EXTENSION = ".dataurl"


def of_rendition(path: str, rendition: Rendition, recipe: Recipe) -> dict[str, Any]:
    source = rendition.source
    return {
        "path": path,
        "sha256": source.sha256,
        "source_mime": source.mime,
        "mime": rendition.mime,
        "bytes_before": source.byte_count,
        "bytes_after": len(rendition.data),
        "width": rendition.width,
        "height": rendition.height,
        "scale": [round(scale, 6) for scale in rendition.scale],
        "notes": [{"code": note.code, "text": note.text} for note in rendition.notes],
        "key": job_key(source.sha256, recipe.fingerprint),
        "cached": rendition.cached,
        "ms": round(rendition.elapsed_ms, 1),
    }


def of_error(path: str, error: PixlaneError) -> dict[str, Any]:
    said = error.to_dict()
    return {"path": path, "error": {name: said[name] for name in ("code", "message", "limit", "actual")}}


def output_name(record: dict[str, Any]) -> str:
    """The result's path beside the manifest."""
    return str(record["path"]) + EXTENSIONS[record["mime"]]


def read(out: Path) -> Iterator[tuple[str, str]]:
    """Path and line of each finished file of the manifest in `out`; nothing where there is none.

    A line that is no such record, because somebody wrote into the file, is left out: that file is done again.
    """
    try:
        with open(out / NAME, encoding="utf-8", errors="surrogateescape") as file:
            for line in file:
                if path := _finished_path(line):
                    yield path, line.rstrip("\n")
    except FileNotFoundError:
        return
    except OSError as error:
        raise OutputUnwritable(f"{out / NAME} cannot be read: {error.strerror}", actual=error.strerror) from None


def _finished_path(line: str) -> str | None:
    try:
        record = json.loads(line)
    except ValueError:
        return None
    whole = isinstance(record, dict) and record.get("mime") in EXTENSIONS and isinstance(record.get("path"), str)
    return record["path"] if whole and isinstance(record.get("bytes_after"), int) else None


class ManifestFile:
    """The next manifest, until `publish` puts it in the place of the old one."""

    def __init__(self, out: Path, file: BinaryIO) -> None:
        self.path = out / NAME
        self._part = out / _PART_NAME
        self._file = file

    def reserve(self, line_count: int) -> None:
        """Takes the space of that many lines now, so that the results cannot use up what their list needs."""
        if line_count and hasattr(os, "posix_fallocate"):
            try:
                os.posix_fallocate(self._file.fileno(), 0, line_count * _RESERVED_LINE_BYTES)
            except OSError as error:
                if error.errno not in (errno.EOPNOTSUPP, errno.EINVAL, errno.ENOSYS):
                    raise unwritable(self.path, error) from None

    def publish(self, lines: Iterable[str]) -> None:
        """Raises OutputUnwritable; the old manifest is then still there."""
        try:
            for line in lines:
                self._file.write(line.encode("ascii") + b"\n")
            self._file.truncate()
            self._file.flush()
            os.fsync(self._file.fileno())
            os.replace(self._part, self.path)
        except OSError as error:
            raise unwritable(self.path, error) from None


@contextmanager
def opened(out: Path) -> Iterator[ManifestFile]:
    """The next manifest of a folder, which is made where it is missing.

    Raises:
        OutputUnwritable: the folder cannot be made or written.
        InvalidArgument: another batch is writing there.
    """
    part = out / _PART_NAME
    try:
        out.mkdir(parents=True, exist_ok=True)
        # Not truncated before it is locked: it may be somebody else's.
        file = open(os.open(part, os.O_RDWR | os.O_CREAT, 0o666), "r+b")  # noqa: SIM115 - closed below
    except OSError as error:
        raise unwritable(out, error) from None
    try:
        # A batch that ended in between has made the file that was opened here into its manifest.
        if not _lock(file) or not _is_at(part, file):
            raise InvalidArgument(f"another batch is writing to {out}", actual=str(out))
        try:
            yield ManifestFile(out, file)
        finally:
            if _is_at(part, file):
                part.unlink()
    finally:
        file.close()


def _lock(file: BinaryIO) -> bool:
    if sys.platform == "win32":
        return True
    import fcntl

    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _is_at(path: Path, file: BinaryIO) -> bool:
    try:
        return os.path.samestat(path.stat(), os.fstat(file.fileno()))
    except FileNotFoundError:
        return False
