"""`pixlane stats`: how it goes, at a glance; live on a terminal, or once."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pixlane import health, settings
from pixlane.cli import exits, output
from pixlane.cli.options import Json
from pixlane.errors import ServiceError
from pixlane.stats import Observer, Stats, rates

if TYPE_CHECKING:
    from rich.console import Group

    from pixlane.store.servers import Servers

BAR_CHARS = 24


def command(
    redis: Annotated[
        str | None, typer.Option(metavar="URL", help="Ask this Redis. [PIXLANE_REDIS_URL]", show_default=False)
    ] = None,
    every: Annotated[float, typer.Option(metavar="SECONDS", min=0.2, help="How often the live view looks.")] = 1.0,
    once: Annotated[bool, typer.Option("--once", help="Print it once, also on a terminal.")] = False,
    dead: Annotated[
        bool, typer.Option("--dead", help="List the jobs that were put aside and the entries that were none.")
    ] = False,
    json: Json = False,
) -> int:
    """Show what waits, for how long, who works and what came of it. Live on a terminal until Ctrl-C; elsewhere once.

    With --dead: the jobs that were put aside as `crashed`, and the entries of the inbox that were refused, the newest first.

    \b
    Examples:
      pixlane stats
      pixlane stats --redis redis://127.0.0.1:6379/0 --every 5
      pixlane stats --json
      pixlane stats --dead --json
    """
    knobs = settings.current()
    servers = health.find(knobs, redis).servers
    if dead:
        return _list_dead(servers, knobs, json)
    observer = Observer(servers, knobs)
    try:
        if json:
            output.record(observer.look().to_dict())
        elif once or not sys.stdout.isatty():
            _print(observer.look())
        else:
            _watch(observer, every)
    except KeyboardInterrupt:  # the way to leave the live view
        pass
    finally:
        observer.close()
    return exits.DONE


def _list_dead(servers: Servers, knobs: settings.Settings, json: bool) -> int:
    from pixlane.deadletters import Office

    with Office(servers, knobs) as office:
        found = office.dead()
    if json:
        output.record(found.to_dict())
        return exits.DONE
    for letter in found.letters:
        at = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(letter.put_aside_at))
        said = f"{letter.error.code}: {letter.error.message}"
        output.line(f"{letter.key}  {at}  {letter.queue}  {output.printable(said)}")
    for entry in found.rejected:
        said = f"{entry.error.code}: {entry.error.message}"
        output.line(f"inbox {entry.entry}  {output.printable(said)}  {output.printable(entry.text[:60])}")
    output.say(
        f"{len(found.letters):,} jobs put aside (`pixlane retry KEY`), {len(found.rejected):,} entries of the inbox refused"
    )
    return exits.DONE


def _print(stats: Stats) -> None:
    for name, value in _rows(stats):
        output.line(f"{name:<12} {value}")


def _rows(stats: Stats) -> list[tuple[str, str]]:
    rows = [
        (each.queue, f"{_number(each.depth)} waiting, the oldest for {_age(each.age_s if each.depth else 0)}")
        for each in stats.waiting
    ]
    rows += [("open", f"{stats.open_jobs:,} jobs"), ("workers", f"{len(stats.workers)} alive")]
    rows += [(name, f"{total:,} runs") for name, total in sorted(stats.totals.items())]
    of = f" of {stats.memory_limit_bytes / settings.MIB:,.0f}" if stats.memory_limit_bytes else ""
    return [*rows, ("store", f"{stats.memory_bytes / settings.MIB:,.1f}{of} MiB, {stats.evicted_keys:,} keys evicted")]


# The live view -----------------------------------------------------------------------------------------------------------


def _watch(observer: Observer, every: float) -> None:
    """Looks again and again; an outage is shown and borne."""
    from rich.console import Console
    from rich.live import Live

    before = now = observer.look()
    with Live(console=Console(), screen=True, auto_refresh=False) as live:
        trouble = ""
        while True:
            live.update(_view(now, rates(before, now), trouble), refresh=True)
            time.sleep(every)
            try:
                before, now, trouble = now, observer.look(), ""
            except ServiceError as error:
                trouble = error.message


def _view(stats: Stats, per_s: dict[str, float], trouble: str) -> Group:
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    queues = _table("queue", "waiting", "oldest")
    for each in stats.waiting:
        queues.add_row(each.queue, _number(each.depth), _age(each.age_s if each.depth else 0))
    runs = _table("runs", "per second", "since the beginning")
    for name, total in sorted(stats.totals.items()):
        runs.add_row(name, f"{per_s.get(name, 0):,.1f}", f"{total:,}")
    workers = Table(title=None, box=None, show_header=True, header_style="dim", title_justify="left")
    workers.add_column(f"workers: {len(stats.workers)} alive, {stats.open_jobs:,} jobs open")
    for worker in stats.workers[:12]:
        workers.add_row(output.printable(worker))
    if len(stats.workers) > 12:
        workers.add_row(f"and {len(stats.workers) - 12} more")
    clock = time.strftime("%H:%M:%S", time.localtime(stats.at))
    head = Text(f"pixlane  {clock} by the clock of the store", style="bold")
    parts: list[Any] = [head, Text(), queues, Text(), runs, Text(), workers, Text(), _memory(stats)]
    return Group(*parts, *([Text(f"\n{trouble}", style="red")] if trouble else []))


def _table(*columns: str) -> Any:
    from rich.table import Table

    table = Table(box=None, header_style="dim", pad_edge=False)
    for place, column in enumerate(columns):
        table.add_column(column, justify="left" if place == 0 else "right", min_width=12)
    return table


def _memory(stats: Stats) -> Any:
    from rich.text import Text

    used = f"{stats.memory_bytes / settings.MIB:,.1f}"
    if not stats.memory_limit_bytes:
        return Text(f"store        {used} MiB, no limit; {stats.evicted_keys:,} keys evicted")
    share = min(1.0, stats.memory_bytes / stats.memory_limit_bytes)
    full = round(share * BAR_CHARS)
    text = Text("store        ")
    text.append("█" * full, style="red" if share > 0.9 else "yellow" if share > 0.7 else "green")
    text.append("░" * (BAR_CHARS - full), style="dim")
    limit = f"{stats.memory_limit_bytes / settings.MIB:,.0f}"
    return text.append(f"  {used} of {limit} MiB; {stats.evicted_keys:,} keys evicted")


def _number(value: int | None) -> str:
    return "?" if value is None else f"{value:,}"


def _age(seconds: float | None) -> str:
    if seconds is None:
        return "?"
    if seconds < 120:
        return f"{seconds:.1f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"
