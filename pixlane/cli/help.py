"""The help page of one command: plain text, arguments by their metavars, options in named sections, nothing cut off."""

from __future__ import annotations

from typing import Any

from typer.core import TyperCommand

_ARGUMENTS, _OPTIONS = "Arguments", "Options"


class SectionedCommand(TyperCommand):
    """Lists arguments first, then the options by their `rich_help_panel`; one without is under "Options".

    An argument is shown as its metavar says: Typer would put its type and brackets around that.
    """

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        arguments: list[Any] = [param for param in self.get_params(ctx) if param.param_type_name == "argument"]
        return ["[OPTIONS]", *(param.metavar if param.required else f"[{param.metavar}]" for param in arguments)]

    def format_options(self, ctx: Any, formatter: Any) -> None:
        sections: dict[str, list[tuple[str, str]]] = {_ARGUMENTS: [], _OPTIONS: []}
        param: Any
        for param in self.get_params(ctx):
            row = param.get_help_record(ctx)
            if row is not None and param.param_type_name == "argument":
                sections[_ARGUMENTS].append((param.metavar, row[1]))
            elif row is not None:
                sections.setdefault(getattr(param, "rich_help_panel", None) or _OPTIONS, []).append(row)
        for name, rows in sections.items():
            if rows:
                with formatter.section(name):
                    formatter.write_dl(rows, col_max=34)
