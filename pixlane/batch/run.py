"""The batch itself: list the folder, hand on what is new, write results as they come, publish the manifest."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any, Protocol

from pixlane import settings, sources
from pixlane.batch import manifest
from pixlane.batch.book import Book
from pixlane.batch.files import Found, Listing, Problem, Skipped
from pixlane.batch.totals import Totals
from pixlane.batch.writing import write_whole
from pixlane.errors import (
    OutputUnwritable,
    PixlaneError,
    QueueFull,
    ServiceUnavailable,
    SourceChanged,
    SourceMissing,
    SourceUnreadable,
    StoreUnavailable,
)
from pixlane.recipe import Recipe
from pixlane.rendition import Rendition, data_url_length
from pixlane.store.keys import job_key

PART_NAME = ".pixlane.part"
"""Always the same, so that what a killed run left is taken over by the next; the manifest lets only one write at a time."""


class Mapper(Protocol):
    """The part of `pixlane.Client` that a batch needs."""

    def map(
        self, sources: Iterator[str], recipe: Recipe, *, queue: str, on_full: Callable[[QueueFull], None]
    ) -> Iterator[tuple[str, Rendition | PixlaneError]]: ...


class Stopped(BaseException):
    """Ctrl-C or SIGTERM: finish what is in hand, publish, leave."""

    def __init__(self, number: int) -> None:
        self.number = number


@dataclass
class Batch:
    """One run over a folder.

    Args:
        listing: what is input.
        out: where results and manifest go.
        client: does the work.
        data_urls: write `<path>.dataurl` beside each result.
        on_line: is called with each line of the manifest as it is finished, in no order; None: nobody asks.
        revive: brings the service back when its store is gone, or raises ServiceUnavailable; None: that ends the batch.
    """

    listing: Listing
    out: Path
    recipe: Recipe
    client: Mapper
    totals: Totals
    data_urls: bool = False
    on_line: Callable[[dict[str, Any]], None] | None = None
    revive: Callable[[], None] | None = None

    def run(self) -> Totals:
        """Do all of it. Ctrl-C and SIGTERM end it early, with a manifest of what is done and of what earlier runs did.

        Raises:
            InvalidArgument: another batch is writing to `out`.
            OutputUnwritable: `out` cannot be written, or the manifest or the working memory does not fit on its disk.
            ServiceError: the service is gone; the manifest of what is done has been published.
        """
        self._book = Book()
        try:
            return self._run()
        except sqlite3.OperationalError as error:
            raise OutputUnwritable(
                f"the list of files does not fit into {tempfile.gettempdir()}: {error}", actual=str(error)
            ) from None
        finally:
            self._book.close()

    def _run(self) -> Totals:
        with manifest.opened(self.out) as next_manifest:
            try:
                with _stoppable():
                    self._list(next_manifest)
                    self._work()
            except Stopped as stopped:
                self.totals.stopped_by = stopped.number
            finally:
                self.totals.seconds = time.monotonic() - self.totals.started
                next_manifest.publish(self._book.lines())
        return self.totals

    def _list(self, next_manifest: manifest.ManifestFile) -> None:
        for path, line in manifest.read(self.out):
            self._book.remember(path, line)
        for entry in self.listing:
            if isinstance(entry, Skipped):
                self.totals.skipped[entry.reason] += 1
                continue
            self.totals.listed += 1
            if isinstance(entry, Problem):
                self._finish(manifest.of_error(entry.path, entry.error))
            else:
                self._book.list(entry)
        self.totals.listing = False
        next_manifest.reserve(self.totals.listed)

    def _work(self) -> None:
        """All passes over the folder: one, and one more after each time that the service was brought back."""
        before = -1
        while self.totals.finished != before:  # two losses without a file in between: it will not be better the third time
            before = self.totals.finished
            try:
                return self._pass()
            except StoreUnavailable:
                if self.revive is None:
                    raise
                self.revive()
        return self._pass()

    def _pass(self) -> None:
        prefix = len(self._source(""))
        for source, outcome in self.client.map(self._to_do(), self.recipe, queue="batch", on_full=self.totals.wait):
            path = source[prefix:].replace(os.sep, "/")
            if isinstance(outcome, (StoreUnavailable, ServiceUnavailable)):
                raise outcome  # nothing is known of the files that are left; the next run does them
            if isinstance(outcome, PixlaneError):
                self._finish(manifest.of_error(path, outcome))
            else:
                self._finish(self._keep(path, outcome))

    def _to_do(self) -> Iterator[str]:
        """The files to hand on; those that are unchanged or gone are finished on the way."""
        for found in self._book.listed():
            try:
                unchanged = self._unchanged(found)
            except PixlaneError as error:
                self._finish(manifest.of_error(found.path, error))
                continue
            if unchanged is None:
                yield self._source(found.path)
            else:
                self.totals.unchanged += 1
                self._finish(unchanged)

    def _unchanged(self, found: Found) -> dict[str, Any] | None:
        """The line of the earlier manifest, where it is still true: same bytes, same recipe, result there in full."""
        source = self._source(found.path)
        try:
            status = os.stat(source)
            if (status.st_size, status.st_mtime_ns) != (found.byte_count, found.mtime_ns):
                raise _changed(found, status.st_size)
            earlier = self._book.earlier(found.path)
            if earlier is None or not self._is_written(earlier):
                return None
            sha256 = sources.sha256_of(sources.blocks(source, settings.current().max_source_bytes))
            same = earlier["key"] == job_key(sha256, self.recipe.fingerprint)
        except FileNotFoundError as error:
            raise SourceMissing(f"{found.path} is gone since it was listed", actual=error.strerror) from None
        except OSError as error:
            raise SourceUnreadable(f"{found.path} cannot be read: {error.strerror}", actual=error.strerror) from None
        return {**earlier, "cached": True} if same else None

    def _is_written(self, record: dict[str, Any]) -> bool:
        written = {manifest.output_name(record): record["bytes_after"]}
        if self.data_urls:
            written[record["path"] + manifest.DATA_URL_EXTENSION] = data_url_length(record["mime"], record["bytes_after"])
        try:
            return all((self.out / name).stat().st_size == byte_count for name, byte_count in written.items())
        except OSError:
            return False

    def _keep(self, path: str, rendition: Rendition) -> dict[str, Any]:
        """Write a result; gives its line of the manifest, or that of the error."""
        record = manifest.of_rendition(path, rendition, self.recipe)
        try:
            write_whole(self.out / manifest.output_name(record), rendition.data, PART_NAME)
            if self.data_urls:
                data_url = rendition.data_url.encode("ascii")
                write_whole(self.out / (path + manifest.DATA_URL_EXTENSION), data_url, PART_NAME)
        except OutputUnwritable as error:
            return manifest.of_error(path, error)
        earlier = self._book.earlier(path)
        if earlier and earlier["mime"] != record["mime"]:
            # The result has another type than last time; the old one would pass for current.
            with suppress(OSError):
                (self.out / manifest.output_name(earlier)).unlink()
        return record

    def _finish(self, record: dict[str, Any]) -> None:
        self._book.finish(record["path"], json.dumps(record))
        self.totals.add(record)
        if self.on_line is not None:
            self.on_line(record)

    def _source(self, path: str) -> str:
        return os.path.join(self.listing.root, path)


def _changed(found: Found, byte_count: int) -> SourceChanged:
    return SourceChanged(
        f"{found.path} was written to after it was listed ({found.byte_count:,} bytes then, {byte_count:,} now); run again",
        limit=found.byte_count,
        actual=byte_count,
    )


@contextmanager
def _stoppable() -> Iterator[None]:
    """SIGINT and SIGTERM raise Stopped inside the block; elsewhere than in the main thread nothing changes."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(number: int, frame: FrameType | None) -> None:
        raise Stopped(number)

    before = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
