"""`pixlane route`: what would happen to a message, and why; nothing is sent."""

from __future__ import annotations

import sys
from typing import Annotated, Any

import typer

from pixlane import sources
from pixlane.cli import exits, output
from pixlane.cli.options import Json
from pixlane.errors import InvalidArgument
from pixlane.settings import MIB

MAX_MESSAGE_BYTES = 4 * MIB
STDIN = "-"


def command(
    message: Annotated[
        str | None, typer.Argument(metavar="[MESSAGE|-]", help="The text, or - for stdin.", show_default=False)
    ] = None,
    file: Annotated[str | None, typer.Option("--file", "-f", help="The file that holds the text.", metavar="FILE")] = None,
    provider: Annotated[str | None, typer.Option(help="Who runs the model. [model.provider]", metavar="NAME")] = None,
    model: Annotated[str | None, typer.Option(help="The model. [model.default]", metavar="NAME")] = None,
    wire: Annotated[str | None, typer.Option(help="The API's shape. [the provider's most restrictive]", metavar="NAME")] = None,
    mode: Annotated[str | None, typer.Option(help="agent.image_input_mode.", metavar="auto|native|text")] = None,
    config: Annotated[str | None, typer.Option(help="The agent's configuration, YAML or JSON.", metavar="FILE")] = None,
    offline: Annotated[bool, typer.Option("--offline", help="Ask no server and no catalog on the network.")] = False,
    json: Json = False,
) -> int:
    """Say which images of a message attach and which do not, the lane, the gate and the parts. Sends nothing.

    The text itself and secrets in URLs are not printed.

    \b
    Examples:
      pixlane route "what is wrong in ~/shot.png?" --provider anthropic --model claude-sonnet-4-5
      pixlane route --file message.txt --provider openai --model gpt-4o --wire openai_responses --json
      pixlane route - --config ~/.agent/config.yaml < message.txt
    """
    from pixlane.messages.config import load_config, value_of
    from pixlane.messages.report import report

    arguments = {"model.provider": provider, "model.default": model}
    if mode is not None:
        arguments["agent.image_input_mode"] = value_of("agent.image_input_mode", mode)
    values = load_config(arguments, path=config)
    text = _text(message, file)
    found = report(text, _value(values, "model.provider"), _value(values, "model.default"), values, wire=wire, offline=offline)
    if json:
        record = found.to_dict()
        record["config"] = [{"key": one.key, "origin": one.origin, "where": one.where} for one in values.entries()]
        output.record(record)
        return exits.DONE
    for line in _lines(found.to_dict()):
        output.line(output.printable(line))
    return exits.DONE


def _text(message: str | None, file: str | None) -> str:
    if (message is None) == (file is None):
        raise InvalidArgument("give a message, - for stdin, or --file FILE; one of them")
    if file is not None:
        data = b"".join(sources.blocks(file, MAX_MESSAGE_BYTES))
    elif message == STDIN:
        data = sys.stdin.buffer.read(MAX_MESSAGE_BYTES + 1)
        if len(data) > MAX_MESSAGE_BYTES:
            raise InvalidArgument(f"a message may have {MAX_MESSAGE_BYTES:,} bytes", limit=MAX_MESSAGE_BYTES, actual=len(data))
    else:
        return message or ""
    return data.decode("utf-8", "replace")


def _value(values: Any, key: str) -> str:
    return str(values.entry(key).value or "")


def _lines(found: dict[str, Any]) -> list[str]:
    """The report for a person, one thing a line; the first word says what the line is about."""
    native = found["lane"] == "native"
    gate = found["gate"]
    route = f"{found['provider'] or '(no provider)'} / {found['model'] or '(no model)'}"
    lines = [
        f"route     {route}, wire {found['wire']}, profile {found['profile']}",
        f"lane      {found['lane']}: {found['reason']}",
    ]
    decided = len(found["evidence"]) - 1
    for place, step in enumerate(found["steps"]):
        mark = ">" if place == decided and step["lane"] else " "
        lines.append(f"        {mark} {step['name']:<22} {step['lane'] or '-':<7} {step['said']}")
    lines.append(f"gate      {'open' if gate['open'] else 'closed'}: {gate['reason']}")
    lines += [f"{'attach' if native else 'describe':<9} {_image(part)}" for part in _images(found)]
    lines += [f"skipped   {one['source']}: {one['code']}: {one['text']}" for one in found["skipped"]]
    lines += [f"ignored   {one['text']}: {one['reason']}: {one['why']}" for one in found["refs"]["ignored"]]
    lines += [f"note      {one['source']}: {one['code']}: {one['text']}" for one in found["notes"]]
    characters = sum(part["characters"] or 0 for part in found["parts"])
    kinds = ", ".join(part["kind"] for part in found["parts"])
    lines.append(f"parts     {len(found['parts'])}{f' ({kinds})' if kinds else ''}, {characters:,} characters")
    return lines


def _images(found: dict[str, Any]) -> list[dict[str, Any]]:
    return [part for part in (*found["parts"], *found["described"]) if part["kind"] != "text"]


def _image(part: dict[str, Any]) -> str:
    if part["kind"] == "url":
        return f"{part['source']}: the URL as it is, never fetched"
    said = [part["mime"] or "unknown type"]
    if part["width"] and part["height"]:
        said.append(f"{part['width']} x {part['height']} px")
    said.append(f"{output.size(part['byte_count'])} ({part['characters']:,} characters)")
    said.append("no price is published" if part["tokens"] is None else f"{part['tokens']:,} tokens")
    return f"{part['source']}: {', '.join(said)}"
