"""Calls counted in Redis: of any number of processes at once, no more than the limit are allowed."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys

import pytest

from pixlane.errors import StoreUnavailable
from pixlane.messages import CallBudget, RedisCounts
from pixlane.store.keys import Keys
from tests.embedded.conftest import Valkey

IMAGE = b"the bytes of an image"
ASK = """
import json, sys
from pixlane.messages import CallBudget, RedisCounts
sys.stdin.readline()
budget = CallBudget(7, "shared", RedisCounts(sys.argv[1]))
print(json.dumps([budget.take(b"the bytes of an image").allowed for _ in range(20)]))
"""


@pytest.mark.slow
def test_processes_that_ask_at_once_get_the_limit_together(valkey: Valkey) -> None:
    command = [sys.executable, "-c", ASK, valkey.url]
    asking = [subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) for _ in range(4)]
    for process in asking:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    answers = [json.loads(process.communicate(timeout=60)[0]) for process in asking]
    assert sum(answer.count(True) for answer in answers) == 7
    budget = CallBudget(7, "shared", RedisCounts(valkey.url))
    assert budget.calls(IMAGE) == 7
    assert "7 times" in budget.take(IMAGE).refusal


def test_a_call_given_back_is_free_for_another_process_and_conversations_are_apart(valkey: Valkey) -> None:
    one, two = (CallBudget(1, "c", RedisCounts(valkey.url)) for _ in range(2))
    assert one.take(IMAGE).allowed
    assert not two.take(IMAGE).allowed
    one.give_back(IMAGE)
    one.give_back(IMAGE)
    assert two.take(IMAGE).allowed
    assert not one.take(IMAGE).allowed
    assert CallBudget(1, "d", RedisCounts(valkey.url)).take(IMAGE).allowed


def test_the_counts_of_a_conversation_end_and_its_name_is_not_in_the_key(valkey: Valkey) -> None:
    CallBudget(3, "Jane Doe, about her tax", RedisCounts(valkey.url, life_s=50)).take(IMAGE)
    (key,) = valkey.redis.keys("*")
    assert key.decode().startswith(Keys().calls(""))
    assert b"Jane" not in key
    assert 0 < valkey.redis.ttl(key) <= 50
    assert valkey.redis.hgetall(key) == {hashlib.sha256(IMAGE).hexdigest().encode(): b"1"}


def test_a_store_that_is_gone_is_a_typed_error(valkey: Valkey) -> None:
    budget = CallBudget(3, "c", RedisCounts(valkey.url))
    valkey.kill()
    with pytest.raises(StoreUnavailable):
        budget.take(IMAGE)
