"""A small HTTP server on loopback: real sockets, a thread a connection, keep-alive, and a log of what was asked.

with Server(lambda request: Reply({"echo": request.json})) as server:
    httpx.post(server.url + "/v1/echo", json={"a": 1})
    assert server.log[0].json == {"a": 1}
"""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self
from urllib.parse import parse_qsl, urlsplit

BODY_LIMIT_BYTES = 256 * 1024 * 1024  # no stub reads more than that
IDLE_LIMIT_S = 60  # a connection that says nothing for so long is closed


@dataclass(frozen=True)
class Request:
    """What came in; the names of headers are lower case."""

    method: str
    path: str
    query: dict[str, str]
    headers: dict[str, str]
    body: bytes = field(repr=False)

    @cached_property
    def json(self) -> Any:
        """The body as JSON; None where it is none."""
        try:
            return json.loads(self.body)
        except ValueError:
            return None


@dataclass(frozen=True)
class Reply:
    """What goes out: bytes and strings as they are, an iterator of bytes chunk by chunk, anything else as JSON.

    `closes`: nothing, the connection is closed in its place.
    """

    body: Any = None
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    closes: bool = False


Handler = Callable[[Request], Reply]


class Server:
    """Serves `handler` from `with` to its end. A handler that raises answers 500 and its error stands in `errors`.

    Attributes:
        url: `http://127.0.0.1:<port>`.
        log: every request, in the order in which they came in whole; threads may append while it is read.
        errors: what handlers raised; the end of `with` raises the first, so that a broken stub cannot hide.
    """

    def __init__(self, handler: Handler) -> None:
        self.handler = handler
        self.log: list[Request] = []
        self.errors: list[Exception] = []
        self._socket = _Listener(self)
        self._thread = threading.Thread(target=self._socket.serve_forever, kwargs={"poll_interval": 0.005}, daemon=True)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._socket.server_port}"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        self._socket.shutdown()
        self._socket.server_close()
        self._thread.join()
        if self.errors and kind is None:
            raise self.errors[0]


class _Listener(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False  # kept-alive connections of a client's pool end with the client

    def __init__(self, owner: Server) -> None:
        self.owner = owner
        super().__init__(("127.0.0.1", 0), _Connection)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that is killed, or that gives up, is no fault of the stub."""
        if not isinstance(sys.exc_info()[1], ConnectionError):
            super().handle_error(request, client_address)


class _Connection(BaseHTTPRequestHandler):
    server: _Listener
    protocol_version = "HTTP/1.1"
    timeout = IDLE_LIMIT_S
    disable_nagle_algorithm = True  # or a reply in two writes waits for the client's delayed acknowledgement
    wbufsize = -1

    def _serve(self) -> None:
        body = self._read()
        if body is None:
            return
        target = urlsplit(self.path)
        headers = {name.lower(): value for name, value in self.headers.items()}
        request = Request(self.command, target.path, dict(parse_qsl(target.query)), headers, body)
        owner = self.server.owner
        owner.log.append(request)
        try:
            reply = owner.handler(request)
        except Exception as error:  # noqa: BLE001  a stub's own fault: told to the client, and raised where the server ends
            owner.errors.append(error)
            reply = Reply({"stub_error": repr(error)}, 500)
        self._answer(reply)

    do_GET = do_POST = do_PUT = do_DELETE = do_PATCH = _serve

    def _read(self) -> bytes | None:
        """The whole body; None where there is too much of it or it breaks off."""
        if self.headers.get("Transfer-Encoding", "").lower() == "chunked":
            return self._read_chunks()
        length = int(self.headers.get("Content-Length") or 0)
        if length > BODY_LIMIT_BYTES:
            self.close_connection = True
            self._answer(Reply({"stub_error": "body over the limit of the test server"}, 413))
            return None
        body = self.rfile.read(length)
        return body if len(body) == length else None

    def _read_chunks(self) -> bytes:
        parts = []
        while size := int(self.rfile.readline().split(b";")[0], 16):
            parts.append(self.rfile.read(size))
            self.rfile.readline()
        self.rfile.readline()
        return b"".join(parts)

    def _answer(self, reply: Reply) -> None:
        if reply.closes:
            self.close_connection = True
            return
        body = reply.body
        chunks: Iterable[bytes] | None = None
        kind = "application/json"
        if isinstance(body, str):
            data, kind = body.encode(), "text/plain; charset=utf-8"
        elif isinstance(body, bytes):
            data, kind = body, "application/octet-stream"
        elif hasattr(body, "__next__"):
            data, chunks = b"", body
        else:
            data = json.dumps(body).encode()
        self.send_response(reply.status)
        for name, value in {"Content-Type": kind, **reply.headers}.items():
            self.send_header(name, value)
        self.send_header(*(("Transfer-Encoding", "chunked") if chunks is not None else ("Content-Length", str(len(data)))))
        self.end_headers()
        self.wfile.write(data)
        for chunk in chunks or ():
            self.wfile.write(b"%x\r\n%s\r\n" % (len(chunk), chunk))
            self.wfile.flush()
        if chunks is not None:
            self.wfile.write(b"0\r\n\r\n")

    def log_message(self, *_: object) -> None:
        """Said in `Server.log`."""
