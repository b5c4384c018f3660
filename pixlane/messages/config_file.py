"""The file of an agent's configuration: YAML or JSON, read as data; a change keeps the comments and the rest as they are."""

from __future__ import annotations

import io
import json
import os
import stat
import sys
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from pixlane import sources
from pixlane.errors import InvalidArgument, OutputUnwritable, PixlaneError, SourceMissing
from pixlane.settings import MIB

MAX_BYTES = 4 * MIB
PRIVATE_FILE, PRIVATE_FOLDER = 0o600, 0o700  # such a file may hold keys of providers


def usual_path() -> str:
    """`pixlane/config.yaml` in the user's configuration folder (XDG Base Directory: a relative XDG_CONFIG_HOME is ignored)."""
    named = os.environ.get("XDG_CONFIG_HOME", "")
    if sys.platform == "darwin":
        folder = os.path.expanduser("~/Library/Application Support")
    else:
        folder = named if os.path.isabs(named) else os.path.expanduser("~/.config")
    return os.path.join(folder, "pixlane", "config.yaml")


def read(path: str, *, required: bool = True) -> dict[str, Any]:
    """The nested values. Raises InvalidArgument that names the file and the line, and where a `required` one is not there."""
    text = _text(path, required)
    if not text.strip():
        return {}
    from ruamel.yaml.error import YAMLError

    try:
        values = json.loads(text) if _is_json(path) else _yaml("safe").load(text)
    except (ValueError, RecursionError, YAMLError) as error:
        reason = " ".join(str(error).split())[:200]
        raise InvalidArgument(f"configuration file {path}: {reason}", actual=path) from None
    if values is None:
        return {}
    if not isinstance(values, Mapping):
        raise InvalidArgument(f"configuration file {path} must hold a mapping, got {type(values).__name__}", actual=path)
    return dict(values)


def write(path: str, keys: tuple[str, ...], value: Any) -> None:
    """Puts a value into the file, which is made where there is none; a reader sees the old one or the new one.

    Raises InvalidArgument for a file that cannot be read, OutputUnwritable.
    """
    read(path, required=False)
    text = _text(path, required=False)
    values = (json.loads(text or "{}") if _is_json(path) else _yaml("rt").load(text)) or {}
    here = values
    for key in keys[:-1]:
        if not isinstance(here.get(key), dict):
            here[key] = {}
        here = here[key]
    here[keys[-1]] = value
    written = io.StringIO()
    if _is_json(path):
        json.dump(values, written, indent=2, ensure_ascii=False)
        written.write("\n")
    else:
        if type(values) is dict:  # there was nothing but comments, which stand in no tree
            written.write(text and text.rstrip("\n") + "\n")
        _yaml("rt").dump(values, written)
    try:
        _replace(os.path.realpath(path), written.getvalue())
    except OSError as error:
        raise OutputUnwritable(f"configuration file {path} cannot be written: {error.strerror}", actual=path) from None


def _replace(path: str, text: str) -> None:
    folder = os.path.dirname(path)
    os.makedirs(folder, mode=PRIVATE_FOLDER, exist_ok=True)
    mode = PRIVATE_FILE
    with suppress(FileNotFoundError):
        mode = stat.S_IMODE(os.stat(path).st_mode)
    handle, temporary = tempfile.mkstemp(prefix=".config-", dir=folder)
    try:
        with open(handle, "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(temporary, mode)
        os.replace(temporary, path)
    except OSError:
        os.unlink(temporary)
        raise


def _text(path: str, required: bool) -> str:
    try:
        return b"".join(sources.blocks(path, MAX_BYTES)).decode("utf-8-sig")
    except SourceMissing:
        if required:
            raise InvalidArgument(f"configuration file {path} is not there", actual=path) from None
        return ""
    except (PixlaneError, UnicodeDecodeError) as error:
        raise InvalidArgument(f"configuration file {path}: {error}", actual=path) from None


def _is_json(path: str) -> bool:
    return path.lower().endswith(".json")


def _yaml(kind: str) -> Any:
    from ruamel.yaml import YAML

    yaml = YAML(typ=kind, pure=True)
    yaml.preserve_quotes = True
    yaml.width = 4096  # long values are not folded
    return yaml
