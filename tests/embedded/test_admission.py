"""Who is let in, how long a job is wanted, and what becomes of one that is put aside: each step against a real server."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from pixlane.errors import Crashed, QueueFull
from pixlane.recipe import Recipe
from pixlane.settings import Settings
from pixlane.store import deadletters, ledger
from pixlane.store.admission import MAX_WAITERS, Wish, tenant_id
from pixlane.store.ledger import Job, Message
from tests.embedded.conftest import Valkey
from tests.embedded.test_ledger import JOB, KEYS, OTHER, SHA, VERDICT, Book

THIRD = Job.of("c" * 64, Recipe())


class Door(Book):
    """A ledger with limits."""

    def ask(
        self, job: Job = JOB, queue: str = "batch", data: bytes | None = None, wish: Wish | None = None, **limits: Any
    ) -> Message | None:
        limited = replace(self.settings, **limits)
        command = ledger.submit(KEYS, job, queue, limited, data=data, wish=wish or Wish())
        return ledger.submitted(self._run(command), job, queue)

    def cancel(self, waiter: str, job: Job = JOB) -> str:
        answer: bytes = self._run(ledger.cancel(KEYS, job.key, waiter, self.settings))
        return answer.decode()

    def loads(self) -> dict[bytes, bytes]:
        found: dict[bytes, bytes] = self.redis.hgetall(KEYS.loads)
        return found

    def pass_deadline(self) -> None:
        self.redis.hset(KEYS.job(JOB.key), "expires_at", self.now() - 1)
        self.make_overdue()

    def letter(self, job: Job = JOB) -> deadletters.Letter | None:
        return deadletters.letter(job.key, self._run(deadletters.read(KEYS, job.key)))

    def retry(self, letter: deadletters.Letter) -> str:
        answer: bytes = self._run(deadletters.retry(KEYS, letter))
        return answer.decode()


@pytest.fixture
def door(valkey: Valkey, quick: Settings) -> Iterator[Door]:
    door = Door(valkey, replace(quick, resend_after_s=30.0, hard_timeout_s=30.0))
    yield door
    door.server.close()


# Limits ----------------------------------------------------------------------------------------------------------------


def test_a_queue_that_is_full_refuses_new_work_and_says_when_to_come_again(door: Door) -> None:
    door.ask(max_queue_jobs=1)
    with pytest.raises(QueueFull) as refused:
        door.ask(OTHER, data=b"bytes", max_queue_jobs=1)
    error = refused.value
    assert (error.limit, error.actual, error.retryable) == (1, 1, True)
    assert 0.5 <= error.retry_after_s <= 30
    assert door.redis.exists(KEYS.source(OTHER.sha256), KEYS.job(OTHER.key)) == 0, "nothing is left of what was refused"
    assert door.ask(OTHER, "interactive", max_queue_jobs=1) is not None, "the other queue has room"


def test_a_source_that_came_before_the_refusal_goes_soon(door: Door) -> None:
    door.ask(OTHER, max_queue_jobs=1)
    door.put_source()
    with pytest.raises(QueueFull):
        door.ask(max_queue_jobs=1)
    assert 0 < door.redis.ttl(KEYS.source(SHA)) <= 30


def test_a_full_queue_lets_join_what_is_open_already(door: Door) -> None:
    door.ask(max_queue_jobs=1)
    assert door.ask(max_queue_jobs=1) is None
    assert door.ask(queue="interactive", max_queue_jobs=1) is not None


def test_the_bytes_of_open_jobs_are_limited_and_free_again_with_their_end(door: Door) -> None:
    door.ask(data=b"x" * 60, max_queue_bytes=100)
    with pytest.raises(QueueFull, match="120 bytes"):
        door.ask(OTHER, data=b"y" * 60, max_queue_bytes=100)
    assert door.ask(THIRD, max_queue_bytes=100) is not None, "a path weighs nothing"
    door.close()
    assert door.ask(OTHER, data=b"y" * 60, max_queue_bytes=100) is not None


def test_one_source_may_be_larger_than_all_that_may_wait(door: Door) -> None:
    assert door.ask(data=b"x" * 200, max_queue_bytes=100) is not None


def test_nothing_is_taken_while_the_oldest_job_has_waited_too_long(door: Door) -> None:
    door.ask()
    door.redis.zadd(KEYS.line("batch"), {JOB.key: door.now() - 60_000})
    with pytest.raises(QueueFull, match="has waited for 60"):
        door.ask(OTHER, max_queue_age_s=50.0)
    assert door.ask(OTHER, max_queue_age_s=70.0) is not None


def test_a_tenant_has_its_share_and_leaves_room_for_others(door: Door) -> None:
    one, other = Wish(tenant=tenant_id("one")), Wish(tenant=tenant_id("other"))
    door.ask(wish=one, max_tenant_jobs=1)
    with pytest.raises(QueueFull, match="this tenant"):
        door.ask(OTHER, wish=one, max_tenant_jobs=1)
    assert door.ask(OTHER, wish=other, max_tenant_jobs=1) is not None
    door.close()
    assert door.ask(THIRD, wish=one, max_tenant_jobs=1) is not None


@pytest.mark.parametrize("end", ["close", "forget", "cancel", "expire", "put aside"])
def test_however_a_job_ends_nothing_of_its_weight_is_left(door: Door, end: str) -> None:
    message = door.ask(data=b"x" * 60, wish=Wish("w", 100.0, tenant_id("one")))
    assert door.loads() == {b"bytes": b"60", b"tenant:" + tenant_id("one").encode(): b"1"}
    match end:
        case "close":
            door.close()
        case "put aside":
            door.close(verdict=VERDICT)
        case "forget":
            door._run(ledger.forget(KEYS, SHA, [], door.settings))
        case "cancel":
            door.cancel("w")
        case "expire":
            door.pass_deadline()
            assert message is not None
            door.claim(message)
    assert door.loads() == {}
    assert door.redis.exists(KEYS.job(JOB.key), KEYS.open, KEYS.line("batch")) == 0


def test_a_job_that_moves_to_the_faster_queue_is_counted_there(door: Door) -> None:
    door.ask()
    door.ask(queue="interactive")
    assert [door.redis.zcard(KEYS.line(queue)) for queue in ledger.QUEUES] == [1, 0]
    door.close()
    assert door.redis.exists(KEYS.line("interactive")) == 0


def test_what_a_record_deleted_by_hand_has_left_is_put_right(door: Door) -> None:
    door.ask(data=b"x" * 60, wish=Wish("w", None, tenant_id("one")))
    door.redis.delete(KEYS.job(JOB.key))
    door.make_overdue()
    door.sweep()
    assert door.redis.exists(KEYS.open, KEYS.line("batch")) == 0
    door.sweep()
    assert door.loads() == {}


# Deadlines -------------------------------------------------------------------------------------------------------------


def test_a_job_whose_deadline_has_passed_is_not_begun(door: Door) -> None:
    message = door.ask(data=b"bytes", wish=Wish(deadline_s=5.0))
    assert message is not None
    door.pass_deadline()
    assert door.claim(message).status == "expired"
    assert door.look().code == "expired"
    assert door.redis.ttl(KEYS.source(SHA)) > 0, "its source lives no longer than others"


def test_a_sweep_ends_what_nobody_came_to_in_time(door: Door) -> None:
    door.ask(wish=Wish(deadline_s=5.0))
    assert door.redis.zscore(KEYS.open, JOB.key) <= door.now() + 5_000, "looked at when its deadline passes"
    door.pass_deadline()
    sweep = door.sweep()
    assert (sweep.messages, sweep.ended) == ([], [(JOB.key, "expired")])
    assert door.look().code == "expired"


def test_a_run_under_way_when_the_deadline_passes_goes_on_but_is_not_repeated(door: Door) -> None:
    message = door.ask(wish=Wish(deadline_s=5.0))
    assert message is not None
    door.claim(message, "t1")
    door.pass_deadline()
    assert door.sweep().ended == []
    assert door.crash("t1") == ("retry", 1)
    assert door.sweep().ended == [(JOB.key, "expired")]


def test_a_job_that_is_sent_again_keeps_its_deadline(door: Door) -> None:
    message = door.ask(wish=Wish(deadline_s=5.0))
    assert message is not None
    door.claim(message, "t1")
    expires_at = door.redis.hget(KEYS.job(JOB.key), "expires_at")
    door.let_lease_end()
    assert [sent.job for sent in door.sweep().messages] == [JOB]
    assert door.redis.hget(KEYS.job(JOB.key), "expires_at") == expires_at
    assert door.redis.zscore(KEYS.open, JOB.key) == float(expires_at), "looked at when its deadline passes"


@pytest.mark.parametrize(
    ("first", "second", "left"), [(5.0, 50.0, True), (50.0, 5.0, True), (5.0, None, False), (None, 5.0, False)]
)
def test_the_latest_of_several_deadlines_counts(door: Door, first: float | None, second: float | None, left: bool) -> None:
    door.ask(wish=Wish("a", first))
    door.ask(wish=Wish("b", second))
    expires_at = door.redis.hget(KEYS.job(JOB.key), "expires_at")
    assert (expires_at is not None) == left
    if expires_at is not None:
        assert int(expires_at) > door.now() + 40_000


# Cancelling ------------------------------------------------------------------------------------------------------------


def test_the_last_who_gives_a_job_up_ends_it(door: Door) -> None:
    message = door.ask(data=b"bytes", wish=Wish("a"))
    door.ask(wish=Wish("b"))
    door.ask(wish=Wish("b"))  # submitted again, its answer was lost
    assert [door.cancel("a"), door.cancel("a"), door.cancel("b"), door.cancel("b")] == ["wanted", "wanted", "ended", "gone"]
    assert message is not None
    assert door.claim(message).status == "gone"
    assert door.redis.ttl(KEYS.source(SHA)) > 0


def test_a_run_under_way_is_the_last_of_a_cancelled_job(door: Door) -> None:
    message = door.ask(wish=Wish("a"))
    assert message is not None
    door.claim(message, "t1")
    assert door.cancel("a") == "running"
    door.crash("t1")
    assert door.claim(message, "t2").status == "cancelled"
    assert door.look() is False


def test_a_cancelled_job_that_somebody_wants_again_is_wanted(door: Door) -> None:
    message = door.ask(wish=Wish("a"))
    assert message is not None
    door.claim(message, "t1")
    door.cancel("a")
    door.ask(wish=Wish("b"))
    door.crash("t1")
    assert door.claim(message, "t2").status == "ok"


def test_what_more_want_than_are_known_one_by_one_is_not_cancelled(door: Door) -> None:
    names = [str(number) for number in range(MAX_WAITERS + 1)]
    for name in names:
        door.ask(wish=Wish(name))
    assert {door.cancel(name) for name in names} == {"wanted"}


# Dead letters ----------------------------------------------------------------------------------------------------------


def test_a_job_that_is_put_aside_leaves_a_letter_and_its_source(door: Door) -> None:
    message = door.ask(data=b"bytes")
    assert message is not None
    door.claim(message, "t1")
    door.crash("t1")
    door.close(verdict=VERDICT)
    letter = door.letter()
    assert letter is not None
    assert (letter.key, letter.queue, letter.starts, letter.crashes, letter.source) == (JOB.key, "batch", 1, 1, None)
    assert isinstance(letter.error, Crashed)
    assert door._run(deadletters.listed(KEYS)) == [JOB.key.encode()]
    assert 0 < door.redis.ttl(KEYS.letter(JOB.key)) <= door.settings.crashed_ttl_s


def test_another_job_of_the_same_source_does_not_shorten_its_life(door: Door) -> None:
    door.ask(data=b"bytes")
    door.close(verdict=VERDICT)
    other = Job.of(SHA, Recipe(max_side=100))
    door.ask(other, data=b"bytes")
    door.close(other)
    assert door.redis.ttl(KEYS.source(SHA)) > door.settings.source_ttl_s


def test_a_letter_is_tried_again_with_a_clean_slate(door: Door) -> None:
    message = door.ask(data=b"bytes")
    assert message is not None
    for token in ("t1", "t2", "t3"):
        door.claim(message, token)
        door.crash(token)
    door.close(verdict=VERDICT)
    letter = door.letter()
    assert letter is not None
    assert door.retry(letter) == "open"
    assert [sent.job for sent in door.sweep().messages] == [JOB]
    claim = door.claim(message)
    assert (claim.status, claim.starts, claim.crashes, claim.source) == ("ok", 1, 0, b"bytes")
    assert door.redis.ttl(KEYS.source(SHA)) == -1
    assert door.letter() is None
    assert door.retry(letter) == "no_letter"


def test_a_letter_without_its_source_stays(door: Door) -> None:
    door.ask(data=b"bytes")
    door.close(verdict=VERDICT)
    letter = door.letter()
    assert letter is not None
    door.redis.delete(KEYS.source(SHA))
    assert door.retry(letter) == "no_source"
    left = door.letter()
    assert left is not None
    assert left.to_dict() == letter.to_dict()


def test_a_late_success_takes_the_letter_away(door: Door) -> None:
    door.ask(data=b"bytes")
    door.close(verdict=VERDICT)
    assert door.close() == [0, 0], "the run that stood still comes to its end"
    assert door.letter() is None
    assert door._run(deadletters.listed(KEYS)) == []
