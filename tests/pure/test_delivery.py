"""The page on delivery is true: each of its proofs exists, and the settings are as it says."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from pixlane.errors import InvalidArgument
from pixlane.queue import make_app
from pixlane.settings import Settings
from pixlane.store.servers import Servers
from worker.limits import check

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "delivery.md").read_text()
REDIS = Servers("redis://h", "redis://h", "redis://h")
NUMBER_OF_FAILURES = 24


def test_every_proof_that_the_page_names_is_a_test() -> None:
    named = set(re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", PAGE))
    assert len(named) > NUMBER_OF_FAILURES
    assert [f"{path}::{name}" for path, name in sorted(named) if f"def {name}(" not in (ROOT / path).read_text()] == []


def test_every_known_failure_has_an_answer_and_a_proof() -> None:
    rows = [line.split(" | ") for line in PAGE.splitlines() if re.match(r"\| \d+ \|", line)]
    assert [int(row[0].strip("| ")) for row in rows] == list(range(1, NUMBER_OF_FAILURES + 1))
    for row in rows:
        assert row[3].strip()
        assert "::" in row[4]


def test_a_message_does_not_come_back_while_its_job_may_run() -> None:
    for hard_s in (1.0, 30.0, 600.0):
        settings = replace(Settings(), hard_timeout_s=hard_s, soft_timeout_s=hard_s / 2)
        app = make_app(REDIS, settings)
        check(settings, app)
        app.conf.broker_transport_options["visibility_timeout"] = hard_s
        with pytest.raises(InvalidArgument, match="must not come back") as caught:
            check(settings, app)
        assert caught.value.actual == hard_s


def test_our_keys_are_apart_from_those_of_other_applications() -> None:
    ours, others = (make_app(REDIS, Settings(key_prefix=prefix)).conf.broker_transport_options for prefix in ("ours", "theirs"))
    assert ours["global_keyprefix"].startswith("ours")
    assert others["global_keyprefix"].startswith("theirs")


def test_nothing_listens_to_remote_control_or_events() -> None:
    conf = make_app(REDIS, Settings()).conf
    assert not conf.worker_enable_remote_control
    assert not conf.worker_send_task_events
    assert not conf.task_send_sent_event


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("task_acks_late", True),
        ("task_reject_on_worker_lost", False),
        ("task_retry_on_worker_lost", False),
        ("task_acks_on_failure_or_timeout", True),
        ("worker_prefetch_multiplier", 1),
        ("worker_disable_prefetch", False),
        ("worker_cancel_long_running_tasks_on_connection_loss", False),
        ("broker_channel_error_retry", True),
        ("broker_connection_max_retries", None),
        ("worker_soft_shutdown_timeout", 0.0),
        ("result_backend", None),
    ],
)
def test_a_setting_is_as_the_page_says(name: str, value: object) -> None:
    assert make_app(REDIS, Settings()).conf[name] == value
