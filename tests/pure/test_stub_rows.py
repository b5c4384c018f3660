"""Every row of the published error texts is answered by a provider's stub over a real socket, and is understood."""

from __future__ import annotations

from collections import Counter
from typing import Any

import httpx
import pytest

from pixlane.messages import classify_error
from tests.stubs.http import Server
from tests.stubs.provider import refusals
from tests.stubs.rows import Case, cases

ROWS = 40
CALLERS_OWN = {"wrong_part", "empty_text", "empty_message", "tool_pairs", "unknown_name", "empty_parts"}
"""Answers, beside the rows, to requests of a wrong shape: no image is at fault."""

UNTOLD = {"Groq.request"}
"""A status 413 whose words say nothing of images, which alone proves nothing."""

ALL = [pytest.param(case, id=case.key) for case in cases()]


def asked(case: Case) -> httpx.Response:
    with Server(case.provider) as server:
        return httpx.post(server.url + case.path, json=case.body, headers=case.headers)


@pytest.mark.parametrize("case", ALL)
def test_a_row_is_answered_and_understood_as_an_image_fault(case: Case) -> None:
    answer = asked(case)
    (refused,) = case.provider.refused
    assert refused.key == case.key
    assert answer.status_code == refused.status
    assert spoken(answer.json()) & {refused.text}
    fault = classify_error(answer.status_code, answer.text, case.said_provider)
    if case.key in UNTOLD:
        assert fault is None
        return
    assert fault is not None, answer.text
    known = {"bytes", "pixels", "count", "type", "mismatch", "undecodable", "no_vision", "tool_image"}
    row_says = next((kind for kind in known if case.key.partition(".")[2].startswith(kind)), None)
    if row_says is not None and fault.kind != "tool_images":
        assert fault.kind == row_says, case.key


def test_no_row_and_no_answer_is_left_out() -> None:
    answered = Counter(refusals()[case.key][0] for case in cases())
    assert set(answered) - {0} == set(range(1, ROWS + 1))
    left_out = set(refusals()) - {case.key for case in cases()}
    assert {key.partition(".")[2] for key in left_out} <= CALLERS_OWN
    assert all(refusals()[key][0] == 0 for key in left_out)


def spoken(node: Any) -> set[str]:
    """Every string in a body."""
    if isinstance(node, dict):
        return set().union(*map(spoken, node.values())) if node else set()
    return {node} if isinstance(node, str) else set()
