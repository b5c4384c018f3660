"""Reading what a command line names: a file, or `-` for stdin."""

from __future__ import annotations

import hashlib
import os
import re
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import BinaryIO

from pixlane import settings
from pixlane.errors import NotAFile, SourceMissing, SourceTooLarge, SourceUnreadable

_SHA256 = re.compile(r"[0-9a-fA-F]{64}")
_CHUNK_BYTES = 1024 * 1024


def read(name: str) -> bytes:
    """The bytes of a file or of stdin; never more than `max_source_bytes` and one.

    Raises:
        SourceMissing, NotAFile, SourceUnreadable: the file cannot be read.
        SourceTooLarge: there is more than `max_source_bytes`.
    """
    limit = settings.current().max_source_bytes
    with _opened(name) as file:
        # A file tells its size; a pipe does not, and gets read to one byte past the limit.
        told = os.fstat(file.fileno()).st_size
        data = b"" if told > limit else file.read(limit + 1)
    actual = max(told, len(data))
    if actual > limit:
        more = "" if told > limit else " or more"
        raise SourceTooLarge(f"the source has {actual:,} bytes{more}, {limit:,} are allowed", limit=limit, actual=actual)
    return data


def sha256(name: str) -> str:
    """SHA-256 of the bytes of a file or of stdin, lower-case hex; reads in chunks, whatever the size."""
    digest = hashlib.sha256()
    with _opened(name) as file:
        while chunk := file.read(_CHUNK_BYTES):
            digest.update(chunk)
    return digest.hexdigest()


def named_sha256(name: str) -> str:
    """For `SHA256|FILE`: a file of that name first, then 64 hex digits as they are."""
    if _SHA256.fullmatch(name) and not os.path.exists(name):
        return name.lower()
    return sha256(name)


@contextmanager
def _opened(name: str) -> Iterator[BinaryIO]:
    if name == "-":
        yield sys.stdin.buffer
        return
    try:
        # A pipe without a writer or a tape drive would block in open() itself.
        with open(os.open(name, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)), "rb") as file:
            mode = os.fstat(file.fileno()).st_mode
            if not stat.S_ISREG(mode):
                kind = next((kind for test, kind in _KINDS if test(mode)), "a special file")
                raise NotAFile(f"{name} is {kind}, not a file", limit="file", actual=kind)
            yield file
    except (FileNotFoundError, NotADirectoryError):
        raise SourceMissing(f"there is no file {name}", actual=name) from None
    except OSError as error:
        raise SourceUnreadable(f"{name} cannot be read: {error.strerror}", actual=error.strerror) from None


_KINDS = (
    (stat.S_ISDIR, "a folder"),
    (stat.S_ISFIFO, "a pipe"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
)
