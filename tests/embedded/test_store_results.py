"""What is remembered and what is not, command by command."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pixlane import errors as kinds
from pixlane.rendition import Note, Rendition, Source
from pixlane.settings import Settings
from pixlane.store import results
from pixlane.store.connect import Server
from pixlane.store.keys import Keys
from tests.embedded.conftest import Valkey

KEYS, SHA, MARK = Keys(), "a" * 64, "f" * 16
RENDITION = Rendition(b"bytes", "image/png", 4, 3, Source(SHA, "image/png", 8, 6, 99), notes=(Note("resized", "smaller"),))


@pytest.fixture
def server(valkey: Valkey) -> Server:
    return Server(valkey.url, 5.0)


def test_what_is_put_is_fetched(server: Server) -> None:
    server.run(results.put(KEYS, SHA, MARK, RENDITION, Settings()), atomic=True)
    assert results.fetched(server.run(results.fetch(KEYS, SHA, MARK, Settings()))) == replace(RENDITION, cached=True)


def test_a_late_success_wins_over_a_verdict(server: Server) -> None:
    server.run(results.put_error(KEYS, SHA, MARK, kinds.Crashed("died"), Settings()))
    server.run(results.put(KEYS, SHA, MARK, RENDITION, Settings()))
    assert isinstance(results.fetched(server.run(results.fetch(KEYS, SHA, MARK, Settings()))), Rendition)


@pytest.mark.parametrize(
    ("error", "life_s"), [(kinds.NotAnImage("text"), Settings().error_ttl_s), (kinds.Crashed("died"), Settings().crashed_ttl_s)]
)
def test_an_error_that_comes_every_time_is_remembered_for_its_time(
    server: Server, valkey: Valkey, error: kinds.PixlaneError, life_s: int
) -> None:
    server.run(results.put_error(KEYS, SHA, MARK, error, Settings()))
    found = results.fetched(server.run(results.fetch(KEYS, SHA, MARK, Settings())))
    assert isinstance(found, type(error))
    assert life_s - 5 <= valkey.redis.ttl(KEYS.error(SHA, MARK)) <= life_s


@pytest.mark.parametrize(
    "kind", [kinds.DeadlineExceeded, kinds.OutOfMemory, kinds.StoreUnavailable, kinds.OutputUnwritable, kinds.SourceChanged]
)
def test_an_error_that_may_not_come_again_is_never_remembered(kind: type[kinds.PixlaneError]) -> None:
    with pytest.raises(ValueError, match=kind.code):
        results.put_error(KEYS, SHA, MARK, kind("this time"), Settings())


def test_no_command_touches_two_hash_tags() -> None:
    commands = [
        *results.fetch(KEYS, SHA, MARK, Settings()),
        *results.put(KEYS, SHA, MARK, RENDITION, Settings()),
        *results.exists(KEYS, SHA, MARK),
        *results.delete(KEYS, SHA, MARK),
    ]
    for command in commands:
        assert {str(word)[: len(f"pixlane:{{{SHA}}}")] for word in command[1:] if str(word).startswith("pixlane:")} == {
            f"pixlane:{{{SHA}}}"
        }
