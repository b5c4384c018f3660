"""Keys of providers: from the environment or from a file that only holds the key, never from a configuration's own text.

A key is wrapped so that it cannot be printed, logged or put into an error by accident.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

from pixlane.messages.config import look_up

MAX_KEY_BYTES = 64 * 1024
HIDDEN = "***"


class Secret:
    """A key. Only `reveal` gives it away."""

    def __init__(self, value: str) -> None:
        self.__value = value

    def reveal(self) -> str:
        return self.__value

    def hidden_in(self, text: str) -> str:
        """The text without the key."""
        return text.replace(self.__value, HIDDEN)

    def __repr__(self) -> str:
        return f"Secret({HIDDEN})"

    def __reduce__(self) -> Any:
        raise TypeError("a key does not travel")


def find(
    variables: Sequence[str], about: Mapping[str, Any] | None, environ: Mapping[str, str] | None = None
) -> tuple[Secret | None, str]:
    """The key, or None and where it was looked for.

    Args:
        variables: of the environment, in order.
        about: what the configuration has of the provider: `api_key_env` names a variable, `api_key_file` a file.
        environ: None: that of the process.
    """
    environ = os.environ if environ is None else environ
    own = look_up(about, ("api_key_env",))
    names = [own, *variables] if isinstance(own, str) and own else list(variables)
    looked = [f"${name}" for name in names]
    for place, name in enumerate(names):
        value, problem = _checked(environ.get(name, "").strip())
        if value:
            return Secret(value), f"${name}"
        if problem and name in environ:
            looked[place] += f" ({problem})"
    path = look_up(about, ("api_key_file",))
    if isinstance(path, str) and path:
        looked.append(path)
        value, problem = _read(os.path.expanduser(path))
        if value:
            return Secret(value), path
        looked[-1] += f" ({problem})"
    return None, "looked in " + ", ".join(looked) if looked else "nothing names a variable or a file for it"


def _read(path: str) -> tuple[str, str]:
    try:
        with open(path, encoding="utf-8") as file:
            value = file.read(MAX_KEY_BYTES).strip()
    except (OSError, UnicodeDecodeError) as error:
        return "", getattr(error, "strerror", None) or type(error).__name__
    return _checked(value)


def _checked(value: str) -> tuple[str, str]:
    """The key, or "" and why it is none: what a header cannot carry would only look like a broken connection."""
    if not value:
        return "", "it is empty"
    if "\n" in value:
        return "", "it has more than one line"
    return (value, "") if value.isascii() and value.isprintable() else ("", "it holds characters that no key has")
