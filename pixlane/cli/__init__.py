"""The command `pixlane`: one file per command, each loaded only when it is called.

`cli/<name>.py` holds one function `command` with Typer annotations; its docstring is the help. A row in COMMANDS is all
that it needs to be found. `pixlane --help` and `pixlane --version` import neither Typer nor an engine.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from difflib import get_close_matches
from importlib import import_module
from typing import Any

import pixlane
from pixlane.cli import exits
from pixlane.errors import PixlaneError

COMMANDS: dict[str, str] = {
    "fit": "Make images ready in this process; data URLs on stdout, or files with -o.",
    "batch": "Make a whole folder ready through the queue, with a manifest.",
    "submit": "Put one image into the queue and print its key.",
    "get": "Print a finished data URL from the cache; never starts work.",
    "key": "Print the hash, the recipe's fingerprint and the Redis keys of a file.",
    "look": "Ask a question about a picture; without a model its text is read.",
    "route": "Say what would happen to the images of a message, and why; sends nothing.",
    "config": "Show or set an agent's configuration, each value with its origin.",
    "up": "Run the embedded service in the foreground.",
    "worker": "Run a worker against the Redis that is named.",
    "doctor": "Check versions, codecs, fonts, broker, store and folders, and say what to do.",
    "health": "Say whether the service answers.",
    "stats": "Show what waits, who works and what came of it; live on a terminal.",
    "retry": "Open again a job that was put aside.",
    "purge": "Delete what the store holds of one image, or of all.",
}

_USAGE = """Usage: pixlane COMMAND [OPTIONS] [ARGUMENTS]

Makes any image ready for a model to look at.

Commands:
{commands}

Options:
  --version  Print the version.
  --help     Print this page; `pixlane COMMAND --help` tells more, with examples.

Exit codes:
{exits}
"""


_CONTEXT = {"help_option_names": ["-h", "--help"], "max_content_width": 110}


def main(arguments: Sequence[str] | None = None) -> None:
    """Run one command and leave the process with its exit code."""
    sys.exit(run(sys.argv[1:] if arguments is None else list(arguments)))


def run(arguments: list[str]) -> int:
    """Run one command; gives the exit code, see `pixlane.cli.exits`."""
    name, rest = (arguments[0], arguments[1:]) if arguments else ("", [])
    if name in ("", "--help", "-h", "help"):
        print(_usage(), end="")
        return exits.DONE if name else exits.WRONG_USE
    if name in ("--version", "-V"):
        print(f"pixlane {pixlane.__version__}")
        return exits.DONE
    if name not in COMMANDS:
        near = get_close_matches(name, COMMANDS, n=1)
        hint = f"did you mean `pixlane {near[0]}`?" if near else "`pixlane --help` lists the commands"
        print(f"pixlane: no such command {name!r}; {hint}", file=sys.stderr)
        return exits.WRONG_USE
    return _call(name, rest)


def _call(name: str, arguments: list[str]) -> int:
    from pixlane.cli import output

    try:
        return _said(name, arguments)
    except output.ReaderGone:  # also while an error is told
        return exits.BROKEN_PIPE


def _said(name: str, arguments: list[str]) -> int:
    """Runs the command; what ends it is told in one line."""
    import typer

    from pixlane.cli import output

    try:
        code = _typer_command(name).main(arguments, prog_name=f"pixlane {name}", standalone_mode=False)
        return code if isinstance(code, int) else exits.DONE
    except PixlaneError as error:
        output.failure("", error)
        if "--json" in arguments:
            output.record({"error": error.to_dict()})
        return exits.of(error)
    except typer.TyperException as error:
        message = error.format_message() if hasattr(error, "format_message") else str(error)
        print(f"pixlane {name}: {output.printable(message)} (see `pixlane {name} --help`)", file=sys.stderr)
        return exits.WRONG_USE
    except (KeyboardInterrupt, typer.Abort):
        print(f"pixlane {name}: interrupted", file=sys.stderr)
        return exits.INTERRUPTED


def _typer_command(name: str) -> Any:
    import typer

    from pixlane.cli.help import SectionedCommand

    module = import_module(f"pixlane.cli.{name}")
    app = typer.Typer(add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None)
    app.command(name, cls=SectionedCommand, context_settings=_CONTEXT)(module.command)
    return typer.main.get_command(app)


def _usage() -> str:
    commands = "\n".join(f"  {name:<8} {summary}" for name, summary in COMMANDS.items())
    return _USAGE.format(commands=commands, exits=exits.TABLE)
