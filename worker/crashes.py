"""What the parent says of a child that died: the job it ran is charged, at once, and the rest of its chunk goes on."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any

from billiard.exceptions import TimeLimitExceeded, WorkerLostError

from pixlane.store.ledger import Message
from tasks import messages_of

Report = Callable[[Sequence[Message], str, str], None]
"""(messages that the child had, token of its run, reason)"""


class Crashes:
    """Listens to Celery's `task_failure` in the parent, where it means that a child died or was ended."""

    def __init__(self, report: Report) -> None:
        self._report = report
        self._parent = os.getpid()

    def witness(self, exception: BaseException, task_id: str, kwargs: dict[str, Any], **_: Any) -> None:
        if os.getpid() == self._parent and isinstance(exception, (WorkerLostError, TimeLimitExceeded)):
            self._report(messages_of(kwargs), task_id, str(exception) or type(exception).__name__)
