"""Reading what a command line names: a file, a URL, or `-` for stdin."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator

from pixlane import settings, sources
from pixlane.errors import SourceTooLarge

STDIN = "-"
_SHA256 = re.compile(r"[0-9a-fA-F]{64}")


def read(name: str) -> bytes:
    """The bytes of a file, of a URL or of stdin.

    Raises:
        SourceMissing, NotAFile, SourceUnreadable: the file cannot be read.
        UrlNotAllowed, FetchFailed: the URL cannot be followed.
        SourceTooLarge: there is more than the setting `max_source_bytes`.
    """
    return b"".join(_blocks(name))


def sha256(name: str) -> str:
    """SHA-256 of the bytes of a file or of stdin, lower-case hex. Raises as `read` does."""
    return sources.sha256_of(_blocks(name))


def named_sha256(name: str) -> str:
    """For `SHA256|FILE`: a file of that name first, then 64 hex digits as they are."""
    if _SHA256.fullmatch(name) and not os.path.exists(name):
        return name.lower()
    return sha256(name)


def _blocks(name: str) -> Iterator[bytes]:
    limit = settings.current().max_source_bytes
    if sources.is_url(name):
        from pixlane.fetching import fetch_url

        yield fetch_url(name, settings.current())
        return
    if name != STDIN:
        yield from sources.blocks(name, limit)
        return
    left = limit + 1
    while left > 0 and (block := sys.stdin.buffer.read(min(left, sources.BLOCK_BYTES))):
        left -= len(block)
        yield block
    if left <= 0:
        raise SourceTooLarge(f"stdin has more than the {limit:,} bytes that are allowed", limit=limit, actual=limit + 1)
