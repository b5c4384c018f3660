"""How far a batch is: a live display on a terminal, a plain line now and then elsewhere; always on stderr."""

from __future__ import annotations

import sys
import threading
import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from pixlane.batch.totals import Totals
from pixlane.cli import output

if TYPE_CHECKING:
    from rich.table import Table

_REFRESH_PER_S = 8
_PLAIN_INTERVAL_S = 5.0
_PLAIN_SILENCE_S = 60.0
_RATE_WINDOW_S = 15.0


@contextmanager
def shown(totals: Totals, name: str, *, quiet: bool = False) -> Iterator[None]:
    """Show `totals` while the block runs; `name` is the folder's."""
    if quiet:
        yield
    elif sys.stderr.isatty():
        with _live(totals, name):
            yield
    else:
        with _plain(totals, name):
            yield


class Pace:
    """Files per second over the last seconds, and the time left at that pace."""

    def __init__(self, totals: Totals) -> None:
        self._totals = totals
        self._samples: deque[tuple[float, int]] = deque([(totals.started, 0)])

    def sample(self) -> None:
        now = time.monotonic()
        self._samples.append((now, self._totals.finished))
        while now - self._samples[0][0] > _RATE_WINDOW_S:
            self._samples.popleft()

    @property
    def per_s(self) -> float:
        (since, before), (now, finished) = self._samples[0], self._samples[-1]
        return (finished - before) / (now - since) if now > since else 0.0

    @property
    def left_s(self) -> float | None:
        """None while nothing can be said."""
        if self._totals.listing or not self.per_s:
            return None
        return (self._totals.listed - self._totals.finished) / self.per_s


# Elsewhere than on a terminal ----------------------------------------------------------------------------------------------


@contextmanager
def _plain(totals: Totals, name: str) -> Iterator[None]:
    ended, pace = threading.Event(), Pace(totals)

    def report() -> None:
        said, quiet_for_s = "", 0.0
        while not ended.wait(_PLAIN_INTERVAL_S):
            pace.sample()
            line = plain_line(totals, pace, name)
            quiet_for_s += _PLAIN_INTERVAL_S
            # A log need not grow while nothing happens, but it must show that somebody is there.
            if line != said or quiet_for_s >= _PLAIN_SILENCE_S:
                output.say(line)
                said, quiet_for_s = line, 0.0

    thread = threading.Thread(target=report, daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def plain_line(totals: Totals, pace: Pace, name: str) -> str:
    if totals.listing:
        return f"{name}: listing, {totals.listed:,} files so far"
    parts = [
        f"{totals.finished:,} of {totals.listed:,}",
        f"{totals.all.cached:,} cached",
        f"{totals.failed:,} failed",
        f"{output.size(totals.all.bytes_before)} -> {output.size(totals.all.bytes_after)}",
        f"{pace.per_s:.1f}/s",
    ]
    if totals.waits_s:
        parts.append(f"queue full, waiting {totals.waits_s:.1f} s")
    if pace.left_s is not None:
        parts.append(f"{output.duration(pace.left_s)} left")
    return f"{name}: {', '.join(parts)}"


# On a terminal ----------------------------------------------------------------------------------------------------------------


@contextmanager
def _live(totals: Totals, name: str) -> Iterator[None]:
    from rich.console import Console
    from rich.live import Live

    display = _Display(totals, name)
    console = Console(stderr=True, highlight=False)
    with Live(display, console=console, refresh_per_second=_REFRESH_PER_S, transient=True, redirect_stdout=False):
        yield


class _Display:
    """Two lines that rich draws again and again from the totals."""

    def __init__(self, totals: Totals, name: str) -> None:
        self._totals = totals
        self._name = name
        self._pace = Pace(totals)

    def __rich__(self) -> Table:
        from rich.progress_bar import ProgressBar
        from rich.table import Table
        from rich.text import Text

        totals, pace = self._totals, self._pace
        pace.sample()
        share = totals.finished / totals.listed if totals.listed else 0.0
        left = "" if pace.left_s is None else f"{output.duration(pace.left_s)} left"
        first = Table.grid(padding=(0, 2), expand=True)
        for _ in range(2):
            first.add_column(no_wrap=True)
        first.add_column(ratio=1)
        for _ in range(2):
            first.add_column(no_wrap=True, justify="right")
        bar: Any = ProgressBar(total=max(totals.listed, 1), completed=totals.finished, pulse=totals.listing)
        counted = "listing" if totals.listing else f"{totals.finished:,}/{totals.listed:,}"
        first.add_row(Text(output.printable(self._name), style="bold"), counted, bar, f"{share:4.0%}", Text(left, style="cyan"))

        counts = Text.assemble(
            ("✓ ", "green"), f"{totals.all.files:,} done",
            "   ", ("● ", "cyan"), f"{totals.all.cached:,} cached",
            "   ", ("✗ ", "red" if totals.failed else "dim"), (f"{totals.failed:,} failed", "bold red" if totals.failed else ""),
            f"   {output.size(totals.all.bytes_before)} → {output.size(totals.all.bytes_after)}",
            f"   {pace.per_s:.1f}/s",
        )  # fmt: skip
        page = Table.grid(expand=True)
        page.add_column(no_wrap=True, overflow="ellipsis")
        page.add_row(first)
        page.add_row(counts)
        if totals.waits_s:
            page.add_row(Text(f"queue full, waiting {totals.waits_s:.1f} s", style="yellow"))
        else:
            page.add_row(Text(output.printable(totals.current), style="dim", overflow="ellipsis", no_wrap=True))
        return page
