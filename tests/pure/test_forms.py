"""A message is believed only field by field: whoever may write to the queue may write anything."""

from __future__ import annotations

from typing import Any

import pytest

from pixlane import Recipe
from pixlane.recipe import PIPELINE_VERSION
from pixlane.store.ledger import Job, Message

GOOD = Message(Job.of("a" * 64, Recipe(), "/shots/a.png", f"00-{'a' * 32}-{'b' * 16}-01"), "batch", 1234).to_dict()

BAD: dict[str, tuple[Any, ...]] = {
    "sha256": ("x", "A" * 64, "a" * 64 + "\n", "*" * 64, "a" * 65, None, 5, ["a" * 64], "pixlane:{" + "a" * 64),
    "fingerprint": ("", "xyz", "a}:url:b", "a" * 65, None, 5),
    "recipe": ("text", None, [], {str(number): 1 for number in range(65)}, {"accept": "x" * 70_000}),
    "pipeline": ("", "a b", "x" * 65, 1),
    "source": ("", "a\0b", "x" * 5_000, 5, ["/etc/passwd"]),
    "kind": ("", "A", "x:y", None),
    "trace": ("", "x" * 55, "a" * 54, 5),
    "queue": ("", "batch:x", "{x}", None, 5),
    "sent_at": (-1, 1.5, "1", 1 << 60, None),
    "key": ("x", None),
}


def test_a_good_message_is_read() -> None:
    message = Message.from_dict(GOOD)
    assert message.to_dict() == GOOD
    assert message.job.trace == GOOD["trace"]


@pytest.mark.parametrize(("field", "value"), [(field, value) for field, values in BAD.items() for value in values])
def test_a_field_of_another_form_is_refused_and_its_value_not_repeated(field: str, value: Any) -> None:
    with pytest.raises(ValueError, match=field) as told:
        Message.from_dict({**GOOD, field: value})
    assert len(str(told.value)) < 200


@pytest.mark.parametrize("field", ["sha256", "fingerprint", "recipe", "pipeline", "queue", "sent_at"])
def test_a_field_that_is_missing_is_named(field: str) -> None:
    with pytest.raises(ValueError, match=f"{field} is missing"):
        Message.from_dict({name: value for name, value in GOOD.items() if name != field})


def test_an_unknown_field_is_refused_unless_another_pipeline_may_know_it() -> None:
    assert GOOD["pipeline"] == PIPELINE_VERSION
    with pytest.raises(ValueError, match="unknown field urgency"):
        Message.from_dict({**GOOD, "urgency": 9})
    assert Message.from_dict({**GOOD, "urgency": 9, "pipeline": "99"}).job.pipeline == "99"


@pytest.mark.parametrize("record", [None, [], "text", 5])
def test_what_is_no_object_is_no_message(record: Any) -> None:
    with pytest.raises(ValueError, match="object"):
        Message.from_dict(record)
