"""How a process writes its log: a text for people, or one JSON object a line; both say which job a line is about.

Whatever is logged inside `about(key)`, by anybody, carries the key of that job; `pixlane.tracing` adds the trace.
"""

from __future__ import annotations

import json
import logging
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import UTC, datetime
from typing import Any, Final

from pixlane.errors import InvalidArgument

TEXT: Final = "[%(asctime)s: %(levelname)s/%(processName)s] %(message)s"
FORMATS: Final = ("text", "json")

_subject: ContextVar[dict[str, str] | None] = ContextVar("pixlane_log_subject", default=None)


def set_up(form: str, level: str) -> None:
    """Makes stderr the log of this process, which begins with it. Raises InvalidArgument for another form than text or json."""
    if form not in FORMATS:
        raise InvalidArgument(f"PIXLANE_LOG_FORMAT must be one of {', '.join(FORMATS)}, got {form!r}", actual=form)
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines() if form == "json" else logging.Formatter(TEXT))
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level)
    logging.captureWarnings(True)


@contextmanager
def about(job: str, **more: str) -> Iterator[None]:
    """What is logged inside is about this job; `more` are further fields of its lines."""
    token = _subject.set({"job": job, **more})
    try:
        yield
    finally:
        _subject.reset(token)


class JsonLines(logging.Formatter):
    """One object a line: time (UTC), level, logger, message, process; job, queue and trace where there are any; the traceback."""

    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, Any] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname,
            "logger": record.name,
            "message": record.getMessage(),
            "process": record.process,
            **(_subject.get() or {}),
        }
        for name in ("job", "queue", "outcome", "code"):
            if hasattr(record, name):
                line[name] = getattr(record, name)
        if record.exc_info:
            line["traceback"] = self.formatException(record.exc_info)
        return json.dumps(line, default=str)
