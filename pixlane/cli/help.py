"""The help page of one command: plain text, options in named sections, nothing cut off."""

from __future__ import annotations

from typing import Any

from typer.core import TyperCommand

_OWN = "Options"


class SectionedCommand(TyperCommand):
    """Lists arguments first, then the options by their `rich_help_panel`; one without is under "Options"."""

    def format_options(self, ctx: Any, formatter: Any) -> None:
        sections: dict[str, list[tuple[str, str]]] = {"Arguments": [], _OWN: []}
        for param in self.get_params(ctx):
            row = param.get_help_record(ctx)
            if row is not None:
                name = "Arguments" if param.param_type_name == "argument" else getattr(param, "rich_help_panel", None) or _OWN
                sections.setdefault(name, []).append(row)
        for name, rows in sections.items():
            if rows:
                with formatter.section(name):
                    formatter.write_dl(rows, col_max=34)
