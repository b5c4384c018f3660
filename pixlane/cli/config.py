"""`pixlane config`: an agent's configuration, each value with where it comes from."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated, Any

import typer

from pixlane.cli import exits, output
from pixlane.cli.options import Json
from pixlane.errors import InvalidArgument
from pixlane.messages.config import Config, Entry

ACTIONS = {"list": 0, "get": 1, "set": 2}  # how many words follow


def command(
    action: Annotated[str, typer.Argument(metavar="list|get|set", help="What to do.", show_default=False)],
    words: Annotated[
        list[str] | None, typer.Argument(metavar="[KEY [VALUE]]", help="As `list` shows it.", show_default=False)
    ] = None,
    config: Annotated[str | None, typer.Option(help="The file. [PIXLANE_CONFIG, else the user's own]", metavar="FILE")] = None,
    json: Json = False,
) -> int:
    """Show or set an agent's configuration. Each value is shown with its origin: argument, environment, file or default.

    \b
    Examples:
      pixlane config list
      pixlane config get agent.image_input_mode
      pixlane config get auxiliary.vision
      pixlane config set agent.image_input_mode native
      pixlane config set providers.my-proxy.models.some-model.supports_vision true
    """
    from pixlane.messages.config import load_config

    words = words or []
    if len(words) != ACTIONS.get(action, -1):
        raise InvalidArgument("use `config list`, `config get KEY` or `config set KEY VALUE`", actual=action)
    if action == "set":
        return _set(words[0], words[1], config, json)
    values = load_config(path=config)
    entries = values.entries() if action == "list" else _named(values, words[0])
    for entry in entries:
        _show(entry, json, alone=action == "get" and len(entries) == 1)
    return exits.DONE


def _set(key: str, word: str, path: str | None, json: bool) -> int:
    from pixlane.messages import config_file
    from pixlane.messages.config import file_in_force, load_config, split, value_of

    value = value_of(key, word)
    chosen, _ = file_in_force(path)
    config_file.write(chosen, split(key), value)
    entry = load_config(path=chosen).entry(key)
    _show(entry, json)
    if entry.origin != "file":
        output.say(f"{chosen} holds {value!r} now, but {entry.where} goes before it")
    return exits.DONE


def _named(values: Config, key: str) -> list[Entry]:
    """The entry of a key, or those of a section ("auxiliary.vision")."""
    return [entry for entry in values.entries() if entry.key.startswith(f"{key}.")] or [values.entry(key)]


def _show(entry: Entry, json: bool, alone: bool = False) -> None:
    from pixlane.messages.urls import masked

    value: Any = masked(entry.value) if isinstance(entry.value, str) else entry.value
    if json:
        output.record({**asdict(entry), "value": value})
        return
    words = {None: "not set", True: "true", False: "false", "": "''"}
    word = words[value] if value is None or isinstance(value, bool) or value == "" else str(value)
    origin = " ".join(filter(None, (entry.origin, entry.where)))
    line = f"{word} ({origin})" if alone else f"{entry.key}: {word}  ({origin})"
    output.line(output.printable(line))
    if entry.problem:
        output.say(f"{entry.key}: {entry.where or entry.origin}: {entry.problem}; the default is taken")
