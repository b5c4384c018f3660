"""A source behind a URL: fetched when that is allowed, in time and in bounds, over real connections on loopback."""

from __future__ import annotations

import gzip
import json
import ssl
import subprocess
import sys
import threading
import zlib
from collections.abc import Iterator
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from pixlane import settings, sources
from pixlane.errors import FetchFailed, SourceTooLarge, UrlNotAllowed
from pixlane.fetching import MAX_REDIRECTS, fetch_url, shown
from tests import certificates

BODY = b"the bytes of a picture " * 40
SECRET = "s3cret-of-mine"
FOLLOWING = replace(settings.load({}), url_sources=True, url_allowed_networks="127.0.0.1, ::1")


class Answers(BaseHTTPRequestHandler):
    """The path says how the server behaves."""

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        self.server.asked.append((self.path, dict(self.headers)))  # type: ignore[attr-defined]
        kind, _, rest = self.path.partition("?")[0].strip("/").partition("/")
        getattr(self, f"give_{kind}")(rest)

    def give_image(self, _: str) -> None:
        self.say(BODY)

    def give_status(self, code: str) -> None:
        self.say(b"no", int(code))

    def give_to(self, location: str) -> None:
        self.say(b"", 302, Location=location)

    def give_loop(self, _: str) -> None:
        self.say(b"", 307, Location="/loop")

    def give_liar(self, _: str) -> None:  # announces what it does not send
        self.say(BODY, length=10**9)

    def give_endless(self, _: str) -> None:
        self.say(b"", length=None, chunked=True)
        with self.until_closed():
            while True:
                self.wfile.write(b"10000\r\n" + b"x" * 65536 + b"\r\n")

    def give_trickle(self, _: str) -> None:
        self.say(b"", length=1000)
        with self.until_closed():
            while not self.server.ending.wait(0.05):  # type: ignore[attr-defined]
                self.wfile.write(b"x")

    def give_slow_head(self, _: str) -> None:
        with self.until_closed():
            self.wfile.write(b"HTTP/1.1 200 OK\r\n")
            while not self.server.ending.wait(0.05):  # type: ignore[attr-defined]
                self.wfile.write(b"X-More: x\r\n")

    def give_coded(self, name: str) -> None:
        packed = {"gzip": gzip.compress, "deflate": zlib.compress}.get(name, bytes)(BODY)
        self.say(packed, **{"Content-Encoding": name})

    def give_bomb(self, _: str) -> None:
        self.say(gzip.compress(bytes(200 * settings.MIB), 9), **{"Content-Encoding": "gzip"})

    def give_broken(self, _: str) -> None:
        self.say(gzip.compress(BODY)[:-20], **{"Content-Encoding": "gzip"})

    def say(self, body: bytes, code: int = 200, *, length: int | None = -1, chunked: bool = False, **headers: str) -> None:
        self.send_response(code)
        for name, value in headers.items():
            self.send_header(name, value)
        if chunked:
            self.send_header("Transfer-Encoding", "chunked")
        else:
            self.send_header("Content-Length", str(len(body) if length == -1 else length))
        self.end_headers()
        self.wfile.write(body)

    def until_closed(self) -> object:
        from contextlib import suppress

        self.close_connection = True
        return suppress(OSError)

    def log_message(self, *_: object) -> None:
        pass


class Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Answers)
        self.asked: list[tuple[str, dict[str, str]]] = []
        self.ending = threading.Event()
        self.scheme = "http"

    def handle_error(self, *_: object) -> None:
        """Clients go away here: that is what is tested."""

    def url(self, path: str, host: str = "127.0.0.1") -> str:
        return f"{self.scheme}://{host}:{self.server_port}/{path}"


@pytest.fixture
def server() -> Iterator[Server]:
    with Server() as running:
        yield from _served(running)


@pytest.fixture
def secure(tmp_path: Path) -> Iterator[Server]:
    certificate = certificates.make(tmp_path)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate.chain, certificate.key)
    with Server() as running:
        running.socket = context.wrap_socket(running.socket, server_side=True)
        running.scheme = "https"
        yield from _served(running)


def _served(running: Server) -> Iterator[Server]:
    thread = threading.Thread(target=running.serve_forever, args=(0.02,))
    thread.start()
    yield running
    running.ending.set()
    running.shutdown()
    thread.join()


def test_nothing_is_fetched_unless_somebody_switched_it_on(server: Server) -> None:
    with pytest.raises(UrlNotAllowed, match="PIXLANE_URL_SOURCES"):
        fetch_url(server.url("image"), replace(FOLLOWING, url_sources=False))
    assert settings.load({}).url_sources is False
    assert server.asked == []


def test_the_bytes_come_without_cookies_credentials_or_compression(server: Server) -> None:
    assert fetch_url(server.url("image/a.png?size=2#top"), FOLLOWING) == BODY
    ((path, headers),) = server.asked
    assert path == "/image/a.png?size=2"
    assert headers["Host"] == f"127.0.0.1:{server.server_port}"
    assert headers["Accept-Encoding"] == "identity"
    assert not {"Cookie", "Authorization", "Referer"} & set(headers)


def test_this_machine_is_no_public_address(server: Server) -> None:
    with pytest.raises(UrlNotAllowed, match=r"127\.0\.0\.1, which is no public address"):
        fetch_url(server.url("image"), replace(FOLLOWING, url_allowed_networks=""))
    assert server.asked == []


@pytest.mark.parametrize("url", ["file:///etc/passwd", "ftp://example.org/a.png", "gopher://x/", "http:///a.png", "http://"])
def test_only_web_addresses_are_followed(url: str) -> None:
    with pytest.raises(UrlNotAllowed):
        fetch_url(url, FOLLOWING)


def test_user_and_password_are_neither_sent_nor_told(server: Server) -> None:
    with pytest.raises(UrlNotAllowed) as told:
        fetch_url(server.url("image").replace("//", f"//me:{SECRET}@"), FOLLOWING)
    assert SECRET not in str(told.value.to_dict())
    assert shown(f"https://me:{SECRET}@host/a/b.png?token={SECRET}#x") == "https://host/a/b.png"


def test_a_redirect_is_followed(server: Server) -> None:
    assert fetch_url(server.url(f"to/{server.url('to//image')}"), FOLLOWING) == BODY


@pytest.mark.parametrize(
    "target", ["http://127.0.0.2:{port}/image", "http://[::ffff:127.0.0.2]:{port}/image", "file:///etc/passwd"]
)
def test_a_redirect_is_checked_like_the_first_address(server: Server, target: str) -> None:
    with pytest.raises(UrlNotAllowed):
        fetch_url(server.url("to/" + target.format(port=server.server_port)), FOLLOWING)
    assert [path for path, _ in server.asked if path == "/image"] == []


def test_redirects_end(server: Server) -> None:
    with pytest.raises(FetchFailed, match="redirects"):
        fetch_url(server.url("loop"), FOLLOWING)
    assert len(server.asked) == MAX_REDIRECTS + 1


@pytest.mark.parametrize(("code", "may_help"), [(404, False), (403, False), (204, False), (429, True), (503, True)])
def test_another_answer_is_an_error_that_says_whether_to_try_again(server: Server, code: int, may_help: bool) -> None:
    with pytest.raises(FetchFailed, match=str(code)) as told:
        fetch_url(server.url(f"status/{code}?token={SECRET}"), FOLLOWING)
    assert told.value.retryable is may_help
    assert SECRET not in told.value.message


@pytest.mark.slow
@pytest.mark.parametrize("path", ["liar", "endless", "bomb"])
def test_more_bytes_than_allowed_end_the_fetch(server: Server, path: str) -> None:
    with pytest.raises(SourceTooLarge) as told:
        fetch_url(server.url(path), replace(FOLLOWING, max_source_bytes=300_000))
    assert told.value.limit == 300_000


@pytest.mark.parametrize("path", ["trickle", "slow_head"])
def test_a_server_that_trickles_gets_no_more_time_than_one_that_is_silent(server: Server, path: str) -> None:
    with pytest.raises(FetchFailed, match=r"within 0\.4 s") as told:
        fetch_url(server.url(path), replace(FOLLOWING, url_timeout_s=0.4))
    assert told.value.retryable


@pytest.mark.parametrize("coding", ["gzip", "deflate"])
def test_what_was_compressed_unasked_is_unpacked(server: Server, coding: str) -> None:
    assert fetch_url(server.url(f"coded/{coding}"), FOLLOWING) == BODY


@pytest.mark.parametrize("path", ["coded/br", "broken"])
def test_what_cannot_be_unpacked_is_an_error(server: Server, path: str) -> None:
    with pytest.raises(FetchFailed, match="compressed"):
        fetch_url(server.url(path), FOLLOWING)


def test_nobody_there_is_an_error_that_may_pass() -> None:
    with pytest.raises(FetchFailed) as told:
        fetch_url("http://127.0.0.1:1/a.png", FOLLOWING)
    assert told.value.retryable


def test_no_proxy_of_the_environment_is_used(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
    assert fetch_url(server.url("image"), FOLLOWING) == BODY


def test_a_certificate_is_checked_against_the_name_in_the_url(
    secure: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(FetchFailed, match="certificate") as told:
        fetch_url(secure.url("image", "localhost"), FOLLOWING)
    assert not told.value.retryable
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "authority.pem"))
    assert fetch_url(secure.url("image", "localhost"), FOLLOWING) == BODY
    with pytest.raises(FetchFailed, match="certificate"):  # the same server by a name that the certificate does not have
        fetch_url(secure.url("image", "127.0.0.1"), FOLLOWING)


def test_a_secure_url_does_not_lead_to_an_open_one(secure: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "authority.pem"))
    with pytest.raises(UrlNotAllowed, match="from https to http"):
        fetch_url(secure.url("to/http://127.0.0.1/image", "localhost"), FOLLOWING)


def test_a_url_is_told_from_a_path_and_names_a_file() -> None:
    assert sources.is_url("HTTPS://x/a.png")
    assert not any(sources.is_url(each) for each in ("shots/a.png", "http:/x", "file:///a", b"http://x", Path("http://x")))
    assert sources.file_name("https://x/shots/a.png?size=2#b/c") == "a.png"
    assert sources.file_name("shots/a?.png") == "a?.png"


@pytest.mark.slow
def test_the_command_line_fetches_too(server: Server, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "pixlane", "key", "--json", server.url("image/a.png")]
    environment = {"PIXLANE_URL_SOURCES": "true", "PIXLANE_URL_ALLOWED_NETWORKS": "127.0.0.1", "HOME": str(tmp_path)}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, cwd=Path(__file__).parents[2])
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["sha256"] == sources.sha256_of([BODY])
    refused = subprocess.run(command, capture_output=True, text=True, env={"HOME": str(tmp_path)}, cwd=Path(__file__).parents[2])
    assert "url_not_allowed" in refused.stderr
