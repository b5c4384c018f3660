"""What a job and a message may hold, checked before a worker believes them: no other word becomes part of a key.

Whoever may write to the queue may write anything; each field has its form here, and a field that nobody knows is refused.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, Final

from pixlane.recipe import PIPELINE_VERSION

MAX_PATH_CHARS: Final = 4_096
MAX_RECIPE_FIELDS: Final = 64
MAX_TEXT_CHARS: Final = 65_536
"""Of the fields of a recipe or a question together."""


def _text(pattern: str) -> Callable[[Any], bool]:
    form = re.compile(pattern)
    return lambda value: isinstance(value, str) and form.fullmatch(value) is not None


def _recipe(value: Any) -> bool:
    return isinstance(value, dict) and len(value) <= MAX_RECIPE_FIELDS and len(repr(value)) <= MAX_TEXT_CHARS


def _path(value: Any) -> bool:
    return value is None or (isinstance(value, str) and 0 < len(value) <= MAX_PATH_CHARS and "\0" not in value)


Forms = Mapping[str, tuple[bool, Callable[[Any], bool]]]
"""Field to whether it must be there, and whether a value has its form."""

JOB: Final[Forms] = {
    "key": (False, _text(r"[0-9a-f]{64}-[0-9a-f]{8,64}")),
    "sha256": (True, _text(r"[0-9a-f]{64}")),
    "fingerprint": (True, _text(r"[0-9a-f]{8,64}")),
    "recipe": (True, _recipe),
    "pipeline": (True, _text(r"[\w.+-]{1,64}")),
    "source": (False, _path),
    "kind": (False, _text(r"[a-z_]{1,32}")),
    "trace": (False, lambda value: value is None or _text(r"[0-9a-f-]{55}")(value)),
}
ENVELOPE: Final[Forms] = {
    "queue": (True, _text(r"[a-z_]{1,32}")),
    "sent_at": (True, lambda value: isinstance(value, int) and 0 <= value < 1 << 53),
}
MESSAGE: Final[Forms] = {**ENVELOPE, **JOB}


def check(record: Any, forms: Forms) -> None:
    """Raises ValueError that names the first field that is missing, unknown or of another form; never its value."""
    if not isinstance(record, dict):
        raise ValueError(f"a job is an object, not {type(record).__name__}")
    for name, (needed, has_form) in forms.items():
        if name not in record:
            if needed:
                raise ValueError(f"no record of a job: {name} is missing")
        elif not has_form(record[name]):
            raise ValueError(f"no record of a job: {name} is not of its form")
    # Another version may know more; of our own there is nothing that we do not know.
    unknown = sorted(map(str, set(record) - set(MESSAGE)))
    if unknown and record.get("pipeline") == PIPELINE_VERSION:
        raise ValueError(f"no record of a job: unknown field {unknown[0][:64]}")
