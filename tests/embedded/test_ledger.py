"""The scripts of the ledger, one transition at a time, against a real server."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import pytest

from pixlane.errors import Crashed, SourceChanged
from pixlane.recipe import Recipe
from pixlane.settings import Settings
from pixlane.store import ledger
from pixlane.store.connect import Server
from pixlane.store.keys import Keys
from pixlane.store.ledger import Claim, Job, Message, Sweep
from tests.embedded.conftest import Valkey

KEYS = Keys()
SHA = "a" * 64
JOB = Job.of(SHA, Recipe())
VERDICT = Crashed("three times", limit=3, actual=3)


class Book:
    """The ledger as a test asks it."""

    def __init__(self, valkey: Valkey, settings: Settings) -> None:
        self.redis = valkey.redis
        self.settings = settings
        self.server = Server(valkey.url, 5.0)

    def _run(self, command: Any) -> Any:
        return self.server.run([command])[0]

    def put_source(self) -> None:
        self._run(ledger.put_source(KEYS, SHA, b"bytes", self.settings))

    def submit(self, job: Job = JOB, queue: str = "batch") -> Message | None:
        return ledger.submitted(self._run(ledger.submit(KEYS, job, queue, self.settings)), job, queue)

    def send(self, job: Job = JOB, queue: str = "batch") -> Message:
        message = self.submit(job, queue)
        assert message is not None
        return message

    def claim(self, message: Message, token: str = "t1", **options: Any) -> Claim:
        return ledger.claimed(self._run(ledger.claim(KEYS, message, token, self.settings, **options)))

    def close(self, job: Job = JOB, **options: Any) -> list[int]:
        reply: list[int] = self._run(ledger.close(KEYS, job, self.settings, **options))
        return reply

    def look(self, job: Job = JOB) -> Any:
        return ledger.looked(self.server.run(ledger.look(KEYS, job.key)))

    def release(self, token: str, delay_s: float = 0.0) -> bool:
        return bool(self._run(ledger.release(KEYS, JOB.key, token, delay_s)))

    def release_of(self, message: Message) -> None:
        self._run(ledger.release(KEYS, message.job.key, ""))

    def crash(self, token: str, job: Job = JOB) -> tuple[str, int]:
        return ledger.crashed(self._run(ledger.crash(KEYS, job.key, token)))

    def sweep(self, queues: tuple[str, ...] = ("interactive", "batch"), up_since_ms: int = 0, dead: Sequence[str] = ()) -> Sweep:
        return ledger.swept(self._run(ledger.sweep(KEYS, "w", queues, up_since_ms, self.settings, dead)))

    def is_seen(self, worker: str, ago_s: float = 0.0) -> None:
        self.redis.zadd(KEYS.workers, {worker: self.now() - ago_s * 1000})

    def let_lease_end(self) -> None:
        self.redis.hset(KEYS.job(JOB.key), "lease_until", self.now() - 1)
        self.make_overdue()

    def make_overdue(self, job: Job = JOB) -> None:
        self.redis.zadd(KEYS.open, {job.key: self.now() - 1})

    def now(self) -> int:
        seconds, micros = self.redis.time()
        return int(seconds) * 1000 + int(micros) // 1000


@pytest.fixture
def book(valkey: Valkey, quick: Settings) -> Iterator[Book]:
    book = Book(valkey, replace(quick, resend_after_s=30.0, hard_timeout_s=30.0))
    yield book
    book.server.close()


def test_a_new_job_is_sent_once_and_joined_afterwards(book: Book) -> None:
    assert book.submit() == Message(JOB, "batch", pytest.approx(book.now(), abs=1000))  # type: ignore[arg-type]
    assert book.submit() is None
    assert book.look() is True


def test_a_batch_job_that_somebody_waits_for_is_sent_to_the_interactive_queue_too(book: Book) -> None:
    book.send(queue="batch")
    assert book.send(queue="interactive").queue == "interactive"
    assert book.submit(queue="interactive") is None
    assert book.submit(queue="batch") is None


def test_a_running_job_is_not_sent_again_to_the_interactive_queue(book: Book) -> None:
    book.claim(book.send(queue="batch"))
    assert book.submit(queue="interactive") is None


def test_a_source_has_no_ttl_while_a_job_refers_to_it_and_one_afterwards(book: Book) -> None:
    other = Job.of(SHA, Recipe(max_side=100))
    book.put_source()
    assert book.redis.ttl(KEYS.source(SHA)) > 0
    book.submit()
    book.submit(other)
    assert book.redis.ttl(KEYS.source(SHA)) == -1
    book.close()
    assert book.redis.ttl(KEYS.source(SHA)) == -1
    book.close(other)
    assert 0 < book.redis.ttl(KEYS.source(SHA)) <= book.settings.source_ttl_s


def test_the_source_of_a_job_that_is_put_aside_is_kept_for_a_retry(book: Book) -> None:
    book.put_source()
    book.submit()
    book.close(verdict=VERDICT)
    assert book.redis.ttl(KEYS.source(SHA)) > book.settings.source_ttl_s


def test_the_first_claim_wins_until_its_lease_ends(book: Book) -> None:
    message = book.send()
    assert book.claim(message, "t1") == Claim("ok", 1, 0)
    assert book.claim(message, "t2") == Claim("busy", 1, 0)
    assert book.claim(message, "t1") == Claim("busy", 1, 0), "the same message delivered twice"
    book.let_lease_end()
    assert book.claim(message, "t2") == Claim("ok", 2, 0)


def test_a_claim_of_a_closed_job_finds_nothing(book: Book) -> None:
    message = book.send()
    book.close()
    assert book.claim(message).status == "gone"
    assert book.look() is False


def test_a_job_that_started_too_often_is_spent(book: Book) -> None:
    message = book.send()
    for start in range(ledger.MAX_STARTS):
        assert book.claim(message).starts == start + 1
        book.let_lease_end()
    assert book.claim(message) == Claim("spent", ledger.MAX_STARTS, 0)


def test_a_death_is_charged_only_to_the_run_that_had_the_lease(book: Book) -> None:
    message = book.send()
    book.claim(message, "t1")
    assert book.crash("t2") == ("none", 0)
    assert book.crash("t1") == ("retry", 1)
    assert book.claim(message, "t3") == Claim("ok", 2, 1), "the lease was given up with the death"


def test_the_third_death_asks_for_the_verdict(book: Book) -> None:
    message = book.send()
    fates = []
    for token in ("t1", "t2", "t3"):
        book.claim(message, token)
        fates.append(book.crash(token))
    assert fates == [("retry", 1), ("retry", 2), ("verdict", 3)]
    assert book.claim(message).status == "spent", "whoever finds it gives the verdict if the witness did not"


def test_a_job_of_a_dead_chunk_that_had_not_begun_is_due_at_once_and_uncharged(book: Book) -> None:
    book.send()
    assert book.crash("t1") == ("loose", 0)
    assert [message.job for message in book.sweep().messages] == [JOB]


def test_a_job_given_back_is_sent_after_its_delay(book: Book) -> None:
    message = book.send()
    book.claim(message, "t1")
    assert not book.release("t2")
    assert book.release("t1", delay_s=0.2)
    assert book.sweep().messages == []
    time.sleep(0.25)
    assert [message.job for message in book.sweep().messages] == [JOB]
    assert book.sweep().messages == [], "taken by the first sweep"


def test_a_lease_that_ran_out_is_sent_again_and_a_live_one_is_not(book: Book) -> None:
    book.claim(book.send())
    book.make_overdue()
    assert book.sweep().messages == []
    book.let_lease_end()
    assert [message.queue for message in book.sweep().messages] == ["batch"]


def ask(book: Book, data: bytes | None = b"bytes") -> Message | None:
    command = ledger.submit(KEYS, JOB, "batch", book.settings, ("<", ">"), data, unless_done=True)
    return ledger.submitted(book._run(command), JOB, "batch")


def test_a_submission_brings_its_source_and_its_message(book: Book) -> None:
    message = ask(book)
    assert message is not None
    assert book.redis.get(KEYS.source(SHA)) == b"bytes"
    assert book.redis.ttl(KEYS.source(SHA)) == -1
    assert book.redis.lrange(KEYS.waiting("batch"), 0, -1) == [f"<{message.sent_at}>".encode()]
    assert ask(book) is None, "under way"
    assert book.redis.llen(KEYS.waiting("batch")) == 1
    book.close()
    assert book.redis.ttl(KEYS.source(SHA)) > 0


@pytest.mark.parametrize("there", [("url", "meta"), ("error",)])
def test_a_submission_changes_nothing_when_the_answer_is_there(book: Book, there: tuple[str, ...]) -> None:
    for part in there:
        book.redis.set(getattr(KEYS, part)(SHA, JOB.fingerprint), "x")
    assert ask(book) is None
    assert book.redis.exists(KEYS.job(JOB.key), KEYS.source(SHA), KEYS.open, KEYS.waiting("batch")) == 0


@pytest.mark.parametrize("there", ["url", "meta"])
def test_half_an_answer_is_none(book: Book, there: str) -> None:
    book.redis.set(getattr(KEYS, there)(SHA, JOB.fingerprint), "x")
    assert ask(book, None) is not None


LONG_AGO_S = 100.0
OTHER = Job.of("b" * 64, Recipe())


def test_the_jobs_of_a_dead_worker_are_sent_again_long_before_their_leases_end(book: Book) -> None:
    book.sweep()
    book.claim(book.send(), worker="other")
    book.make_overdue()
    book.is_seen("other")
    assert book.sweep().messages == [], "it lives"
    book.make_overdue()
    book.is_seen("other", LONG_AGO_S)
    assert [message.job for message in book.sweep().messages] == [JOB]


def test_a_running_job_is_looked_at_before_its_lease_ends(book: Book) -> None:
    book.claim(book.send(), worker="other")
    looked_at = book.redis.zscore(KEYS.open, JOB.key)
    assert book.now() < looked_at < int(book.redis.hget(KEYS.job(JOB.key), "lease_until"))


@pytest.mark.parametrize("own_sweep", ["none", "long ago", "in the future"])
def test_a_worker_that_was_away_itself_does_not_judge_others(book: Book, own_sweep: str) -> None:
    """The server was away, or its clock was set: nobody has swept for long, and everybody lives."""
    if own_sweep != "none":
        book.is_seen("w", LONG_AGO_S if own_sweep == "long ago" else -LONG_AGO_S)
    book.claim(book.send(), worker="other")
    book.is_seen("other", LONG_AGO_S)
    book.make_overdue()
    assert book.sweep().messages == []


def test_the_jobs_of_a_worker_known_to_be_dead_are_sent_by_the_first_sweep(book: Book) -> None:
    book.is_seen("other")
    book.claim(book.send(), worker="other")
    book.claim(book.send(OTHER), worker="third")
    book.is_seen("third")
    assert [message.job for message in book.sweep(dead=["other"]).messages] == [JOB]
    assert b"other" not in book.redis.zrange(KEYS.workers, 0, -1)


def test_a_job_given_back_with_a_delay_keeps_it_though_a_worker_is_known_to_be_dead(book: Book) -> None:
    book.claim(book.send(), "t1", worker="other")
    book.release("t1", delay_s=1.0)
    assert book.sweep(dead=["third"]).messages == []


def test_the_rest_of_a_chunk_waits_for_its_worker_and_is_sent_when_that_is_dead(book: Book) -> None:
    book.sweep()
    message, other = book.send(), book.send(OTHER)
    book.claim(message, worker="other", others=[other])
    book.is_seen("other")
    book.make_overdue(OTHER)
    assert book.sweep(up_since_ms=book.now() - 60_000).messages == []
    book.make_overdue(OTHER)
    book.is_seen("other", LONG_AGO_S)
    assert [sent.job for sent in book.sweep().messages] == [OTHER]
    assert book.claim(other).starts == 1, "it was never started"


def test_the_rest_of_a_chunk_leaves_a_job_that_runs_elsewhere_alone(book: Book) -> None:
    message, other = book.send(), book.send(OTHER)
    book.claim(other, "t2", worker="third")
    book.claim(message, "t1", worker="other", others=[other])
    assert book.crash("t2", OTHER) == ("retry", 1), "still the run of the third"


def test_a_claim_whose_answer_was_lost_may_be_sent_again(book: Book) -> None:
    message = book.send()
    command = ledger.claim(KEYS, message, "t1", book.settings)
    assert [ledger.claimed(book._run(command)).starts for _ in range(2)] == [1, 1]
    assert book.claim(message, "t1").status == "busy", "another call of the same message"


def test_a_deadline_from_before_the_clock_was_set_back_comes_nearer(book: Book) -> None:
    book.send()
    book.redis.zadd(KEYS.open, {JOB.key: book.now() + 86_400_000})
    book.sweep()
    assert book.redis.zscore(KEYS.open, JOB.key) < book.now() + 60_000


def test_a_job_that_waits_in_a_long_queue_is_not_multiplied(book: Book) -> None:
    older, newer = Job.of("b" * 64, Recipe()), JOB
    first = book.send(older)
    book.send(newer)
    book.claim(first)  # the workers are busy, and have not come so far
    book.make_overdue(newer)
    assert book.sweep().messages == []


def test_a_lost_message_is_sent_again_when_much_later_ones_were_claimed(book: Book) -> None:
    lost, later = book.send(), book.send(Job.of("b" * 64, Recipe()))
    book.claim(replace(later, sent_at=lost.sent_at + 60_000))
    book.make_overdue()
    assert [message.job for message in book.sweep().messages] == [JOB]


def test_a_lost_message_is_sent_again_when_the_workers_stand_idle(book: Book) -> None:
    book.send()
    book.make_overdue()
    up_since = book.now()
    assert book.sweep(up_since_ms=up_since).messages == [], "this worker has only just come up"
    book.make_overdue()
    assert [message.job for message in book.sweep(up_since_ms=up_since - 60_000).messages] == [JOB]


def test_a_batch_queue_that_waits_for_the_interactive_one_is_not_idle(book: Book) -> None:
    book.send(queue="batch")
    book.claim(book.send(Job.of("b" * 64, Recipe()), "interactive"))
    book.make_overdue()
    assert book.sweep().messages == []


def test_a_queue_that_this_worker_does_not_serve_is_left_to_others(book: Book) -> None:
    book.send(queue="interactive")
    book.make_overdue()
    assert book.sweep(queues=("batch",)).messages == []


def test_a_sweep_lists_the_worker_and_forgets_one_that_is_long_gone(book: Book) -> None:
    book.redis.zadd(KEYS.workers, {"old": book.now() - 3_600_000})
    book.sweep()
    assert book.redis.zrange(KEYS.workers, 0, -1) == [b"w"]


def test_a_sweep_strikes_off_an_index_entry_without_a_record(book: Book) -> None:
    book.make_overdue()
    assert book.sweep().messages == []
    assert book.redis.zcard(KEYS.open) == 0


def test_a_record_that_nobody_can_read_is_named_and_stops_no_other(book: Book) -> None:
    other = Job.of("b" * 64, Recipe())
    for job in (JOB, other):
        book.release_of(book.send(job))
    book.redis.hset(KEYS.job(JOB.key), "job", "{}")
    sweep = book.sweep()
    assert (sweep.malformed, [message.job for message in sweep.messages]) == ([JOB.key], [other])


def test_a_job_of_a_newer_version_with_a_field_more_is_read() -> None:
    assert Job.from_dict({**JOB.to_dict(), "pipeline": "next", "urgency": "a"}) == replace(JOB, pipeline="next")


def test_an_error_that_is_not_remembered_reaches_those_who_wait_and_goes_with_the_next_submission(book: Book) -> None:
    book.submit()
    book.close(error=SourceChanged("other bytes"))
    assert book.look().code == "source_changed"
    assert 0 < book.redis.ttl(KEYS.outcome(JOB.key)) <= ledger.OUTCOME_TTL_S
    book.submit()
    assert book.look() is True
    book.close()
    assert book.look() is False


def test_closing_wakes_those_who_wait(book: Book) -> None:
    listener = book.redis.pubsub()
    listener.subscribe(KEYS.done(JOB.key))
    listener.get_message(timeout=5)
    book.submit()
    book.close()
    message = listener.get_message(timeout=5)
    listener.close()
    assert message is not None
    assert message["data"].decode() == JOB.key


def test_a_source_forgotten_while_it_is_worked_on_is_taken_back(book: Book) -> None:
    book.put_source()
    message = book.send()
    book.claim(message)
    assert book._run(ledger.forget(KEYS, SHA, [], book.settings)) == 1
    assert book.redis.exists(KEYS.source(SHA), KEYS.refs(SHA), KEYS.job(JOB.key)) == 0
    assert ledger.was_forgotten(book.close())
    book.submit()
    assert not ledger.was_forgotten(book.close()), "submitted again, so wanted again"


def test_a_message_and_its_record_survive_json(book: Book) -> None:
    message = book.send(Job.of(SHA, Recipe(region=(1, 2, 3, 4)), "/a/b.png"))  # type: ignore[arg-type]
    assert Message.from_dict(message.to_dict()) == message
    assert Recipe.from_dict(message.job.recipe).fingerprint == message.job.fingerprint


def test_scripts_are_loaded_again_after_the_server_lost_them(book: Book) -> None:
    book.send()
    book.redis.script_flush()
    assert book.submit() is None
    book.redis.script_flush()
    replies = book.server.run(
        [ledger.put_source(KEYS, SHA, b"x", book.settings), ledger.submit(KEYS, JOB, "batch", book.settings)], atomic=True
    )
    assert replies[1][0] == 0
