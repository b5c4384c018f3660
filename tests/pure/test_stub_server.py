"""The loopback server that stubs stand on, asked over real sockets."""

from __future__ import annotations

import httpx
import pytest

from tests.stubs.http import Reply, Request, Server


def test_a_request_arrives_whole_and_is_in_the_log() -> None:
    with Server(lambda request: Reply({"got": request.json, "query": request.query}, 201, {"X-Stub": "yes"})) as server:
        answer = httpx.post(f"{server.url}/v1/things?key=1", json={"a": "ä" * 100_000}, headers={"X-Api-Key": "none"})
    assert (answer.status_code, answer.headers["x-stub"]) == (201, "yes")
    assert answer.json() == {"got": {"a": "ä" * 100_000}, "query": {"key": "1"}}
    (request,) = server.log
    assert (request.method, request.path, request.headers["x-api-key"]) == ("POST", "/v1/things", "none")


def test_one_connection_serves_many_requests_also_in_chunks() -> None:
    def echo(request: Request) -> Reply:
        return Reply(iter([request.body[:3], request.body[3:]]))

    with Server(echo) as server, httpx.Client() as client:
        for _ in range(3):
            answer = client.post(server.url, content=iter([b"ab", b"cdef"]))
            assert answer.content == b"abcdef"
    assert len(server.log) == 3


def test_a_handler_that_breaks_is_told_to_the_client_and_raised_at_the_end() -> None:
    def broken(request: Request) -> Reply:
        raise KeyError(request.path)

    server = Server(broken)
    with server:
        answer = httpx.get(f"{server.url}/gone")
        server.errors, raised = [], server.errors
    assert answer.status_code == 500
    assert "KeyError" in answer.text
    assert [type(error) for error in raised] == [KeyError]


def test_the_fault_of_a_stub_fails_the_test_that_uses_it() -> None:
    def use() -> None:
        with Server(lambda request: Reply(1 // 0)) as server:
            httpx.get(server.url)

    with pytest.raises(ZeroDivisionError):
        use()
