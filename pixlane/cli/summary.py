"""The end of a batch on a terminal: a table of what was done, then the failures by name."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from pixlane.batch import manifest
from pixlane.batch.totals import Kind, Totals
from pixlane.cli import output
from pixlane.errors import PixlaneError

_SKIPPED_WORDS = {
    "hidden": "hidden",
    "excluded": "excluded",
    "not_an_image": "no image",
    "pdf": "PDF (name it with --include)",
    "output": "the folder of the results",
    "link_outside": "link out of the folder",
    "link_to_folder": "link to a folder",
}


def show(totals: Totals, out: Path) -> None:
    """The table goes to stdout, the failures to stderr."""
    _table(totals, out)
    failures = sorted(totals.failures, key=lambda record: str(record["path"]))
    if sys.stderr.isatty():
        _print_failures(failures)
    else:
        for record in failures:
            output.failure(record["path"], PixlaneError.from_dict(record["error"]))
    unnamed = totals.failed - len(totals.failures)
    if unnamed > 0:
        output.say(f"and {unnamed:,} more failed; {out / manifest.NAME} names all {totals.failed:,}")


def _print_failures(failures: list[dict[str, Any]]) -> None:
    from rich.console import Console
    from rich.text import Text

    console = Console(stderr=True, highlight=False, soft_wrap=True)
    for record in failures:
        path, error = output.printable(record["path"]), record["error"]
        sentence = output.printable(error["message"])
        console.print(Text.assemble(("✗ ", "red"), (path, "bold"), "  ", (error["code"], "red"), f"  {sentence}"))


def _table(totals: Totals, out: Path) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(
        box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="dim", show_footer=len(totals.kinds) > 1, footer_style="bold"
    )
    rows = sorted(totals.kinds.items(), key=lambda item: -item[1].files)
    columns = [
        ("source", "left"),
        ("done", "right"),
        ("cached", "right"),
        ("before", "right"),
        ("after", "right"),
        ("ratio", "right"),
    ]
    for (title, justify), footer in zip(columns, ["all", *_cells(totals.all)], strict=True):
        table.add_column(title, footer, justify=justify, no_wrap=True)  # type: ignore[arg-type]
    for mime, kind in rows:
        table.add_row(output.printable(mime.removeprefix("image/")), *_cells(kind))

    console = Console(file=sys.stdout, highlight=False, soft_wrap=True)
    if rows:
        console.print(table)
    complete = not (totals.failed or totals.stopped_by or totals.ended_by)
    sign = ("✗ ", "red") if not complete else ("✓ ", "green") if totals.listed else ("• ", "yellow")
    console.print(Text.assemble(sign, (_verdict(totals), "bold"), (f"  → {output.printable(str(out))}", "cyan")))
    if totals.skipped:
        words = ", ".join(f"{count:,} {_SKIPPED_WORDS.get(reason, reason)}" for reason, count in totals.skipped.most_common())
        console.print(Text(f"not input: {words}", style="dim"))


def _cells(kind: Kind) -> list[str]:
    share = f"{kind.bytes_after / kind.bytes_before:.0%}" if kind.bytes_before else ""
    return [f"{kind.files:,}", f"{kind.cached:,}", output.size(kind.bytes_before), output.size(kind.bytes_after), share]


def _verdict(totals: Totals) -> str:
    parts = [f"{totals.all.files:,} of {totals.listed:,} done" if totals.listed else "no image was found"]
    if totals.all.cached:
        unchanged = f" ({totals.unchanged:,} unchanged)" if totals.unchanged else ""
        parts.append(f"{totals.all.cached:,} cached{unchanged}")
    parts.append(f"{totals.failed:,} failed")
    seconds = max(totals.seconds, 1e-3)
    parts.append(f"{output.duration(seconds) if seconds >= 60 else f'{seconds:.1f} s'}, {totals.finished / seconds:.1f}/s")
    early = "interrupted: " if totals.stopped_by else "ended early: " if totals.ended_by else ""
    return early + ", ".join(parts)
