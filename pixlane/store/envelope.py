"""A job as the message that Celery's workers take from a queue, and the command that puts it there.

Celery's message protocol 2 in Kombu's envelope for Redis, written here and not through Kombu: so a message goes to the server in
the same round trip as its record, within the same deadline, and whoever submits loads no Celery. A test compares it with what
Celery itself sends. https://docs.celeryq.dev/en/stable/internals/protocol.html
"""

from __future__ import annotations

import json
import os
import socket
import uuid
from collections.abc import Sequence
from functools import cache
from typing import Any, Final

from pixlane.store.connect import Command
from pixlane.store.keys import Keys
from pixlane.store.ledger import OBSERVE, Job, Message

TASK: Final = "tasks.normalize"
CHUNK_TASK: Final = "tasks.normalize_many"
OBSERVE_TASK: Final = "tasks.observe"

_NO_CALLBACKS: Final = {"callbacks": None, "errbacks": None, "chain": None, "chord": None}
_SENT_LATER: Final = -1


def push(keys: Keys, messages: Sequence[Message]) -> Command:
    """Puts one message into its queue: one for one job, one for several."""
    return "LPUSH", keys.waiting(messages[0].queue), _envelope(messages)


def halves(job: Job, queue: str) -> tuple[str, str]:
    """The message of one job before and after the time at which it is sent, for a script that knows the server's."""
    # The time comes before everything that the caller named, so that the first place with its mark is the right one.
    head, _, tail = _envelope([Message(job, queue, _SENT_LATER)]).partition(str(_SENT_LATER))
    return head, tail


def task(messages: Sequence[Message]) -> tuple[dict[str, Any], list[Any]]:
    """Headers and body of the task, for any broker."""
    packed = [message.to_dict() for message in messages]
    single = OBSERVE_TASK if messages[0].job.kind == OBSERVE else TASK
    name, arguments = (single, {"job": packed[0]}) if len(packed) == 1 else (CHUNK_TASK, {"jobs": packed})
    identity = str(uuid.uuid4())
    headers: dict[str, Any] = {
        "lang": "py",
        "task": name,
        "id": identity,
        "shadow": None,
        "eta": None,
        "expires": None,
        "group": None,
        "group_index": None,
        "retries": 0,
        "timelimit": [None, None],  # the worker's own
        "root_id": identity,
        "parent_id": None,
        "argsrepr": "",
        "kwargsrepr": messages[0].job.key,
        "origin": _origin(os.getpid()),
        "ignore_result": True,
        "replaced_task_nesting": 0,
        "stamped_headers": None,
        "stamps": {},
    }
    return headers, [[], arguments, _NO_CALLBACKS]


def _envelope(messages: Sequence[Message]) -> str:
    headers, body = task(messages)
    record = {
        "body": json.dumps(body, separators=(",", ":")),
        "content-encoding": "utf-8",
        "content-type": "application/json",
        "headers": headers,
        "properties": {
            "correlation_id": headers["id"],
            "reply_to": "",
            "delivery_mode": 2,
            "delivery_info": {"exchange": "", "routing_key": messages[0].queue},
            "priority": 0,
            "body_encoding": None,  # JSON is text already
            "delivery_tag": str(uuid.uuid4()),
        },
    }
    return json.dumps(record, separators=(",", ":"))


@cache
def _origin(pid: int) -> str:
    return f"{pid}@{socket.gethostname()}"
