"""Writes the generated tables of these pages: run `python docs/tables.py`. Tests compare each table with the code.

A table stands between `<!-- NAME -->` and `<!-- end -->`; NAME is a key of TABLES.
"""

from __future__ import annotations

import dataclasses
import re
import textwrap
from collections.abc import Callable, Iterable
from pathlib import Path

from pixlane import errors, formats, metrics, profiles, rendition, settings
from pixlane.cli import exits
from pixlane.messages import changes, config, cures, faults, refs
from pixlane.store import keys
from pixlane.vision import observation, providers, results, selection

PAGES = Path(__file__).parent
_TABLE = re.compile(r"<!-- (?P<name>\w+) -->\n.*?<!-- end -->", re.DOTALL)


def main() -> None:
    for page in sorted(PAGES.glob("*.md")):
        page.write_text(filled(page.read_text()))


def filled(page: str) -> str:
    """The page with every table as the code has it now."""
    return _TABLE.sub(lambda found: f"<!-- {found['name']} -->\n{TABLES[found['name']]()}\n<!-- end -->", page)


def of_settings() -> str:
    rows = []
    for knob in dataclasses.fields(settings.Settings):
        low, high = knob.metadata["low"], knob.metadata["high"]
        bounds = "" if low is None else f"at least {_number(low)}" if high is None else f"{_number(low)} to {_number(high)}"
        default = _number(knob.default) if isinstance(knob.default, (int, float)) else knob.default or "(empty)"
        rows.append((f"`{settings.environment_name(knob.name)}`", default, bounds, knob.metadata["help"]))
    return _table(("variable", "default", "bounds", "meaning"), rows)


def of_errors() -> str:
    rows = [(f"`{code}`", _meaning(kind), "yes" if kind.retryable else "") for code, kind in errors.BY_CODE.items()]
    return _table(("code", "meaning", "retry may help"), rows[1:])  # the first is the base of the others


def of_vision() -> str:
    return _table(("code", "meaning"), [(f"`{code}`", meaning) for code, meaning in results.CODES.items()])


def of_exits() -> str:
    return _table(("code", "meaning"), [(str(code), meaning) for code, meaning in exits.MEANINGS.items()])


def of_notes() -> str:
    return _table(("code", "meaning"), [(f"`{code}`", meaning) for code, meaning in rendition.NOTE_CODES.items()])


def of_profiles() -> str:
    rows = []
    for name in profiles.names():
        profile = profiles.get(name)
        size = "" if profile.max_image_bytes is None else f"{profile.max_image_bytes:,} ({profile.bytes_basis or 'base64'})"
        types = ", ".join(mime.removeprefix("image/") for mime in profile.accept or ())
        side = "" if profile.max_side_px is None else _number(profile.max_side_px)
        rows.append((f"`{name}`", profile.as_of, types, size, side, profile.size_rule or ""))
    return _table(("name", "as of", "takes", "largest image, bytes", "longest side, px", "resize rule"), rows)


def of_keys() -> str:
    return "```text\n" + textwrap.dedent(_section(keys.__doc__ or "", start="    key ", end="\n\n")) + "\n```"


def of_formats() -> str:
    rows = [
        (row.title, f"`{row.mime}`", ", ".join(row.engines), row.kept, row.noted, row.refused)
        for row in formats.FORMATS.values()
        if row.engines
    ]
    return _table(("format", "type", "engines, in order", "kept", "noted", "refused"), rows)


def of_named_formats() -> str:
    rows = [(row.title, f"`{row.mime}`", row.refused) for row in formats.FORMATS.values() if row.image and not row.engines]
    return _table(("format", "type", "what to do"), rows)


def of_ignored() -> str:
    return _table(("reason", "meaning"), [(f"`{reason}`", meaning) for reason, meaning in refs.REASONS.items()])


def of_fault_kinds() -> str:
    rows = [(f"`{kind}`", meaning, *cures.STEPS[kind]) for kind, meaning in faults.KINDS.items()]
    return _table(("kind", "meaning", "first", "refused again"), rows)


def of_faults() -> str:
    rows = []
    for row in faults.wordings():
        unit = faults.UNITS.get(row.kind, "") if "{limit}" in row.text or row.limit is not None else ""
        limit = " ".join(filter(None, (f"{row.limit:,}" if row.limit is not None else "", unit, row.basis and f"({row.basis})")))
        rows.append((row.provider, f"`{row.kind}`", f"`` {row.text} ``", limit, row.source))
    return _table(("provider", "kind", "text", "limit in", "read in"), rows)


def of_fault_codes() -> str:
    return _table(("code", "kind"), [(f"`{code}`", f"`{kind}`") for code, kind in faults.codes().items()])


def of_changes() -> str:
    return _table(("code", "meaning"), [(f"`{code}`", meaning) for code, meaning in changes.CHANGE_CODES.items()])


def of_config() -> str:
    knobs = {knob.name: knob for knob in dataclasses.fields(settings.Settings)}
    rows = []
    for key, knob in config.KEYS.items():
        default = knobs[knob].default
        shown = _number(default) if isinstance(default, int) else default or "(empty)"
        rows.append((f"`{key}`", f"`{settings.environment_name(knob)}`", shown))
    rows.append(("`providers.<name>.models.<model>.supports_vision`", "", "(empty)"))
    rows += [(f"`providers.<name>.{name}`", "", "(empty)") for name in config.OF_A_PROVIDER]
    rows.append(("`providers.<name>.endpoints.<endpoint>.base_url`, `.wire`", "", "(empty)"))
    return _table(("key", "variable", "default"), rows)


def of_metrics() -> str:
    rows = []
    for name, what in metrics.INSTRUMENTS.items():
        who = " and ".join(
            who for who, names in (("worker", metrics.OF_WORKERS), ("client", metrics.OF_CLIENTS)) if name in names
        )
        named = f"`{name}{{{','.join(what.labels)}}}`" if what.labels else f"`{name}`"
        rows.append((named, what.kind, who or "worker", what.help))
    return _table(("name", "kind", "told by", "meaning"), rows)


def of_providers() -> str:
    rows = []
    for provider in providers.KNOWN:
        ways = [f"`{name}`: {endpoint.wire}" for name, endpoint in provider.endpoints.items()]
        keys = ", ".join(f"`{name}`" for name in provider.key_variables) or "(none needed)"
        usual = provider.endpoints["default"].base_url
        rows.append((f"`{provider.name}`", ", ".join(ways), usual, keys, ", ".join(f"`{model}`" for model in provider.models)))
    return _table(("name", "endpoints and their wires", "address", "key", "model, where none is named"), rows)


def of_choices() -> str:
    return _table(("reason", "meaning"), [(f"`{reason}`", meaning) for reason, meaning in selection.REASONS.items()])


def of_candidates() -> str:
    rows = [(f"`{reason}`", meaning) for reason, meaning in selection.CANDIDATE_REASONS.items()]
    return _table(("reason", "meaning"), rows)


def of_observation_notes() -> str:
    return _table(("code", "meaning"), [(f"`{code}`", meaning) for code, meaning in observation.NOTE_CODES.items()])


TABLES: dict[str, Callable[[], str]] = {
    "metrics": of_metrics,
    "vision": of_vision,
    "settings": of_settings,
    "errors": of_errors,
    "exits": of_exits,
    "notes": of_notes,
    "profiles": of_profiles,
    "keys": of_keys,
    "formats": of_formats,
    "named_formats": of_named_formats,
    "ignored": of_ignored,
    "config": of_config,
    "providers": of_providers,
    "choices": of_choices,
    "candidates": of_candidates,
    "observation_notes": of_observation_notes,
    "fault_kinds": of_fault_kinds,
    "faults": of_faults,
    "fault_codes": of_fault_codes,
    "changes": of_changes,
}


def _table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    lines = [head, tuple("---" for _ in head), *rows]
    return "\n".join("| " + " | ".join(str(cell).replace("|", "\\|") for cell in line) + " |" for line in lines)


def _section(text: str, start: str, end: str) -> str:
    return text[text.index(start) :].partition(end)[0]


def _meaning(kind: type) -> str:
    return " ".join((kind.__doc__ or "").split())


def _number(value: float) -> str:
    return str(value).lower() if isinstance(value, bool) else f"{value:,}" if isinstance(value, int) else f"{value:,g}"


if __name__ == "__main__":
    main()
