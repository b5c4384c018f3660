"""What a message is, and what it does without."""

from __future__ import annotations

from collections.abc import Callable

from pixlane import Client
from pixlane.settings import Settings
from tests.embedded.conftest import Valkey, Worker
from tests.embedded.test_client import picture
from tests.fault.scene import screen

LIMIT_S = 60.0


def test_a_message_needs_no_binding(start_worker: Callable[..., Worker], valkey: Valkey, quick: Settings) -> None:
    start_worker()
    with Client(valkey.url, settings=quick) as client:
        client.submit(picture(1)).result(LIMIT_S)
        bindings = valkey.redis.keys("*_kombu.binding*")
        if bindings:
            valkey.redis.delete(*bindings)  # as an eviction would
        assert client.submit(picture(2)).result(LIMIT_S).width == 40
        assert all(answer.width == 40 for _, answer in client.map([picture(number) for number in range(3, 30)]))


def test_a_message_never_holds_pixels(valkey: Valkey, quick: Settings) -> None:
    data = screen(1280, 800)
    with Client(valkey.url, settings=quick) as client:
        client.submit(data, queue="batch")
    (message,) = valkey.redis.lrange("pixlane-broker:batch", 0, -1)
    assert len(data) > 100_000
    assert len(message) < 4_096
