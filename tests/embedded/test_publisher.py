"""How a job comes into the queue: Celery's own form, the broker that was named, one deadline."""

from __future__ import annotations

import base64
import json
import time
from dataclasses import replace
from typing import Any

import pytest
from kombu import Connection

from pixlane import Client, Recipe
from pixlane.errors import StoreUnavailable
from pixlane.publisher import Publisher
from pixlane.queue import make_app
from pixlane.settings import Settings
from pixlane.store import envelope
from pixlane.store.keys import Keys
from pixlane.store.ledger import Job, Message
from pixlane.store.servers import Servers
from tests.embedded.conftest import Valkey, Worker
from tests.embedded.test_client import PATIENCE_S, picture
from tests.embedded.test_store_connect import ROOM_S, strange_server

KEYS = Keys()
MESSAGE = Message(Job.of("a" * 64, Recipe()), "interactive", 17)
NOWHERE = "redis://127.0.0.1:1/0"


def unpacked(text: bytes) -> tuple[dict[str, Any], Any]:
    """The envelope and the body of a message on Redis."""
    record = json.loads(text)
    body = record.pop("body")
    encoded = record["properties"].pop("body_encoding") == "base64"
    return record, json.loads(base64.b64decode(body) if encoded else body)


@pytest.mark.parametrize("count", [1, 3])
def test_a_message_has_the_form_that_celery_itself_sends(valkey: Valkey, quick: Settings, count: int) -> None:
    servers, group = Servers.of(quick, valkey.url), [MESSAGE] * count
    publisher = Publisher(servers, quick)
    publisher.send([group])
    publisher.close()
    ours, our_body = unpacked(valkey.redis.rpop(KEYS.waiting("interactive")))
    packed = [message.to_dict() for message in group]
    with make_app(servers, quick) as app:
        app.send_task(
            envelope.TASK if count == 1 else envelope.CHUNK_TASK,
            kwargs={"job": packed[0]} if count == 1 else {"jobs": packed},
            queue="interactive",
            ignore_result=True,
        )
    theirs, their_body = unpacked(valkey.redis.rpop(KEYS.waiting("interactive")))
    assert our_body == their_body
    for record in (ours, theirs):
        identity = record["headers"].pop("id")
        assert record["properties"].pop("correlation_id") == record["headers"].pop("root_id") == identity
        for name in ("origin", "argsrepr", "kwargsrepr"):  # for people
            assert isinstance(record["headers"].pop(name), str)
        assert record["properties"].pop("delivery_tag") != identity
        record["properties"].pop("reply_to")  # Celery names the queue of its own results
    assert ours == theirs


def test_a_message_in_halves_is_whole_with_the_time_between(valkey: Valkey) -> None:
    job = replace(MESSAGE.job, source='/a "-1"/-1.png')
    head, tail = envelope.halves(job, "batch")
    _, body = unpacked(f"{head}1234{tail}".encode())
    assert Message.from_dict(body[1]["job"]) == Message(job, "batch", 1234)


@pytest.fixture
def other_project(monkeypatch: pytest.MonkeyPatch) -> None:
    """The environment of somebody whose own Celery is elsewhere."""
    for name in ("BROKER_URL", "BROKER_READ_URL", "BROKER_WRITE_URL", "RESULT_BACKEND"):
        monkeypatch.setenv(f"CELERY_{name}", NOWHERE)
    monkeypatch.setenv("CELERY_LOADER", "no.such.module:Loader")


@pytest.mark.slow
@pytest.mark.usefixtures("other_project")
@pytest.mark.parametrize("apart", [False, True], ids=["one server", "broker apart"])
def test_variables_of_another_project_take_neither_client_nor_worker_away(
    valkey: Valkey, quick: Settings, start_worker: Any, apart: bool
) -> None:
    broker_url = f"{valkey.url}?db=3" if apart else ""
    worker: Worker = start_worker(broker_url=broker_url)
    with Client(valkey.url, settings=replace(quick, broker_url=broker_url)) as client:
        assert client.submit(picture()).result(PATIENCE_S).width == 40
    assert "ignored: CELERY_BROKER_READ_URL, CELERY_BROKER_URL" in worker.log.read_text(), "it says so"


@pytest.mark.parametrize("answer", [b"", b"$"], ids=["hangs", "trickles"])
def test_a_broker_that_does_not_answer_is_given_up_at_the_deadline(quick: Settings, answer: bytes) -> None:
    with strange_server(answer, 0.05) as url:
        publisher = Publisher(Servers(url, url, url), replace(quick, store_timeout_s=0.4))
        begin = time.monotonic()
        with pytest.raises(StoreUnavailable, match=r"within 0\.4 s"):
            publisher.send([[MESSAGE]])
        assert time.monotonic() - begin < ROOM_S
        publisher.close()


def test_a_broker_that_is_no_redis_gets_the_same_task(quick: Settings) -> None:
    publisher = Publisher(Servers(NOWHERE, "memory://", NOWHERE), quick)
    publisher.send([[MESSAGE], [MESSAGE, MESSAGE]])
    with Connection("memory://") as connection:
        one, several = (connection.default_channel.basic_get("interactive") for _ in range(2))
    publisher.close()
    assert (one.headers["task"], several.headers["task"]) == (envelope.TASK, envelope.CHUNK_TASK)
    assert Message.from_dict(one.payload[1]["job"]) == MESSAGE


def test_a_broker_of_another_kind_that_is_down_is_store_unavailable(quick: Settings) -> None:
    publisher = Publisher(Servers(NOWHERE, "amqp://user:secret@127.0.0.1:1//", NOWHERE), quick)
    with pytest.raises(StoreUnavailable) as caught:
        publisher.send([[MESSAGE]])
    assert "the broker at amqp://127.0.0.1:1// refuses connections" in caught.value.message
    publisher.close()
