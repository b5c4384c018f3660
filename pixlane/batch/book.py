"""The working memory of a batch: what was listed, what an earlier manifest said, what is finished.

It lies in a temporary database on disk that has no name and ends with the process, so a folder of a hundred thousand files
needs no more memory than one of a thousand. Paths are kept as the bytes of the file system and sorted by them.
"""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Iterator
from typing import Any

from pixlane.batch.files import Found

_CACHE_KIB = 2048
_PAGE_ROWS = 256

_SCHEMA = f"""
PRAGMA journal_mode = OFF;
PRAGMA synchronous = OFF;
PRAGMA cache_size = -{_CACHE_KIB};
PRAGMA temp_store = FILE;
CREATE TABLE found (path BLOB PRIMARY KEY, byte_count INTEGER, mtime_ns INTEGER) WITHOUT ROWID;
CREATE TABLE earlier (path BLOB PRIMARY KEY, line TEXT) WITHOUT ROWID;
CREATE TABLE finished (path BLOB PRIMARY KEY, line TEXT) WITHOUT ROWID;
BEGIN;
"""

_NEXT_PAGE = """
SELECT * FROM found WHERE path > ? AND NOT EXISTS (SELECT 1 FROM finished WHERE finished.path = found.path)
ORDER BY path LIMIT ?
"""


class Book:
    """Used by one thread."""

    def __init__(self) -> None:
        self._db = sqlite3.connect("", isolation_level=None)
        self._db.executescript(_SCHEMA)

    def close(self) -> None:
        self._db.close()

    def list(self, found: Found) -> None:
        self._db.execute(
            "INSERT OR REPLACE INTO found VALUES (?, ?, ?)", (os.fsencode(found.path), found.byte_count, found.mtime_ns)
        )

    def listed(self) -> Iterator[Found]:
        """All that was listed and is not finished, by path."""
        after = b""
        # Page by page: an open query would be disturbed by what is written in between.
        while rows := self._db.execute(_NEXT_PAGE, (after, _PAGE_ROWS)).fetchall():
            for path, byte_count, mtime_ns in rows:
                yield Found(os.fsdecode(path), byte_count, mtime_ns)
            after = rows[-1][0]

    def remember(self, path: str, line: str) -> None:
        """A line of an earlier manifest."""
        self._db.execute("INSERT OR REPLACE INTO earlier VALUES (?, ?)", (os.fsencode(path), line))

    def earlier(self, path: str) -> dict[str, Any] | None:
        row = self._db.execute("SELECT line FROM earlier WHERE path = ?", (os.fsencode(path),)).fetchone()
        return json.loads(row[0]) if row else None

    def finish(self, path: str, line: str) -> None:
        """The line of this run."""
        self._db.execute("INSERT OR REPLACE INTO finished VALUES (?, ?)", (os.fsencode(path), line))

    def lines(self) -> Iterator[str]:
        """The manifest, by path: what this run finished, and for listed files that it did not reach what was known of them."""
        rows = self._db.execute(
            "SELECT path, line FROM finished UNION ALL "
            "SELECT earlier.path, earlier.line FROM earlier JOIN found USING (path) "
            "WHERE NOT EXISTS (SELECT 1 FROM finished WHERE finished.path = earlier.path) ORDER BY path"
        )
        for _, line in rows:
            yield line
