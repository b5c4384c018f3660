"""How often an image may be loaded in one conversation: by content, crops counted, never one more than the limit."""

from __future__ import annotations

import hashlib
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from pixlane.errors import InvalidArgument
from pixlane.messages import CallBudget, MemoryCounts
from pixlane.messages.budgets import DELEGATED_LIMIT, call_limit

IMAGE, OTHER = b"the bytes of an image", b"another image"


def test_an_image_is_loaded_as_often_as_the_limit_says_and_then_refused_in_words() -> None:
    budget = CallBudget(2, "c1")
    assert [budget.take(IMAGE).allowed for _ in range(4)] == [True, True, False, False]
    refused = budget.take(IMAGE)
    assert (refused.count, refused.limit) == (2, 2)
    assert "twice" in refused.refusal
    assert "crops" in refused.refusal
    assert "ask the user" in refused.refusal
    assert budget.take(OTHER).allowed


def test_bytes_and_their_digest_are_the_same_image() -> None:
    budget = CallBudget(1)
    assert budget.take(hashlib.sha256(IMAGE).hexdigest()).allowed
    assert not budget.take(IMAGE).allowed
    assert budget.calls(IMAGE) == 1


def test_a_call_that_came_to_nothing_is_given_back_once() -> None:
    budget = CallBudget(1)
    budget.take(IMAGE)
    budget.give_back(IMAGE)
    budget.give_back(IMAGE)
    assert [budget.take(IMAGE).allowed for _ in range(2)] == [True, False]


def test_conversations_that_share_counts_are_counted_apart() -> None:
    counts = MemoryCounts()
    assert CallBudget(1, "a", counts).take(IMAGE).allowed
    assert CallBudget(1, "b", counts).take(IMAGE).allowed
    assert not CallBudget(1, "a", counts).take(IMAGE).allowed


@pytest.mark.parametrize("limit", [None, 0, -1])
def test_without_a_limit_nothing_is_refused_and_nothing_counted(limit: int | None) -> None:
    budget = CallBudget(limit)
    assert all(budget.take(IMAGE).allowed for _ in range(50))
    assert (budget.limit, budget.calls(IMAGE)) == (None, 0)


def test_of_many_threads_at_once_no_more_than_the_limit_are_allowed() -> None:
    budget = CallBudget(5)
    with ThreadPoolExecutor(16) as pool:
        allowed = list(pool.map(lambda _: budget.take(IMAGE).allowed, range(400)))
    assert allowed.count(True) == 5


def test_the_memory_is_bounded_and_forgets_what_was_not_asked_for_the_longest_time() -> None:
    counts = MemoryCounts(entries=3)
    budget = CallBudget(1, counts=counts)
    for image in (b"1", b"2", b"3"):
        budget.take(image)
    budget.take(b"1")
    budget.take(b"4")
    assert [budget.calls(image) for image in (b"1", b"2", b"3", b"4")] == [1, 0, 1, 1]


@pytest.mark.parametrize("image", ["/tmp/a.png", "A" * 64, "ab", 5])
def test_what_names_no_content_cannot_be_counted(image: Any) -> None:
    with pytest.raises(InvalidArgument):
        CallBudget(1).take(image)


@pytest.mark.parametrize(
    ("value", "main", "delegated"),
    [
        (None, None, DELEGATED_LIMIT),
        ("many", None, DELEGATED_LIMIT),
        (True, None, DELEGATED_LIMIT),
        (2.5, None, DELEGATED_LIMIT),
        (4, 4, 4),
        (" 4 ", 4, 4),
        (0, None, None),
        (-1, None, None),
        ("0", None, None),
    ],
)
def test_the_configured_limit(value: Any, main: int | None, delegated: int | None) -> None:
    config = {"vision": {"max_calls_per_image": value}}
    assert (call_limit(config), call_limit(config, delegated=True)) == (main, delegated)


def test_no_configuration_is_no_limit() -> None:
    assert call_limit({}) is None
    assert call_limit({"vision": "on"}, delegated=True) == DELEGATED_LIMIT
