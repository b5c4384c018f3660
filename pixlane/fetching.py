"""Fetches a source from a URL, for whoever asked for URLs to be followed: in time, in bounds, and from public addresses alone.

The address that was checked is the one that is connected to, at every redirect anew: a name that resolves differently a moment
later gains nothing. No proxy of the environment is used, no cookie kept, no credential sent.
"""

from __future__ import annotations

import ssl
import time
import zlib
from collections.abc import Iterable, Iterator
from typing import Any, Final

import httpcore
import httpx

from pixlane import addresses
from pixlane.errors import FetchFailed, PixlaneError, SourceTooLarge, UrlNotAllowed, causes
from pixlane.settings import Settings

MAX_REDIRECTS: Final = 5
MAX_URL_CHARS: Final = 8_192

REDIRECTS: Final = (301, 302, 303, 307, 308)
TRANSIENT: Final = (408, 425, 429, 500, 502, 503, 504)
"""Answers that another time may be better."""

HEADERS: Final = ((b"Accept", b"image/*,*/*;q=0.5"), (b"Accept-Encoding", b"identity"), (b"User-Agent", b"pixlane"))

_INFLATE_BITS: Final = {b"gzip": 31, b"x-gzip": 31, b"deflate": 15}


def fetch_url(url: str, settings: Settings) -> bytes:
    """The bytes behind an http or https URL, at most `max_source_bytes` of them, within `url_timeout_s` in all.

    Raises:
        UrlNotAllowed: `url_sources` is off, the scheme is another, or the host or a redirect leads to no public address.
        FetchFailed: no such host, refused, too slow, or another answer than 200; retryable where another time may be better.
        SourceTooLarge: announced, or found while it came.
    """
    if not settings.url_sources:
        raise UrlNotAllowed(f"URLs are not followed, so not {shown(url)}: PIXLANE_URL_SOURCES=true allows it")
    return _Fetch(settings).run(url)


def shown(url: str) -> str:
    """The URL for people: without user, password and query, where secrets stand."""
    scheme, mark, rest = url.partition("://")
    host, slash, path = rest.partition("?")[0].partition("#")[0].partition("/")
    return f"{scheme}{mark}{host.rpartition('@')[2]}{slash}{path}"[:200]


class _Fetch:
    """One fetch, over all its redirects."""

    def __init__(self, settings: Settings) -> None:
        self._limit = settings.max_source_bytes
        self._timeout_s = settings.url_timeout_s
        self._backend = _Pinned(settings.url_allowed_networks, time.monotonic() + settings.url_timeout_s)

    def run(self, url: str) -> bytes:
        here = _parsed(url)
        try:
            # HTTP/1.1 alone, and its own connections: nothing of one fetch is left for the next.
            with httpcore.ConnectionPool(ssl_context=_trust(), network_backend=self._backend) as pool:
                for _ in range(MAX_REDIRECTS + 1):
                    answer = self._ask(pool, here)
                    if isinstance(answer, bytes):
                        return answer
                    here = _followed(here, answer)
        except PixlaneError:
            raise
        except (httpcore.TimeoutException, TimeoutError) as error:
            said = f"{shown(url)} did not come within {self._timeout_s:g} s"
            raise FetchFailed(said, limit=self._timeout_s, transient=True) from error
        except (httpcore.NetworkError, httpcore.ProtocolError, OSError) as error:
            untrusted = any(isinstance(cause, ssl.SSLCertVerificationError) for cause in causes(error))
            raise FetchFailed(f"{shown(url)} cannot be fetched: {error}", transient=not untrusted) from error
        raise FetchFailed(f"{shown(url)} leads on and on: more than {MAX_REDIRECTS} redirects", limit=MAX_REDIRECTS)

    def _ask(self, pool: httpcore.ConnectionPool, url: httpx.URL) -> bytes | str:
        """The body, or where it has moved."""
        target = httpcore.URL(scheme=url.raw_scheme, host=url.raw_host, port=url.port, target=url.raw_path)
        headers = [(b"Host", url.netloc), *HEADERS]
        with pool.stream("GET", target, headers=headers) as response:
            told = {name.lower(): value for name, value in response.headers}
            if response.status in REDIRECTS and b"location" in told:
                return told[b"location"].decode("latin-1")
            if response.status != 200:
                said = f"{shown(str(url))} answered {response.status}"
                raise FetchFailed(said, actual=response.status, transient=response.status in TRANSIENT)
            self._check_size(int(told.get(b"content-length", b"0")), url)
            return self._read(_plain(response.iter_stream(), told, self._limit), url)

    def _read(self, blocks: Iterable[bytes], url: httpx.URL) -> bytes:
        data = bytearray()
        for block in blocks:
            data += block
            self._check_size(len(data), url)
        return bytes(data)

    def _check_size(self, byte_count: int, url: httpx.URL) -> None:
        if byte_count > self._limit:
            said = f"{shown(str(url))} has more than the {self._limit:,} bytes that are allowed"
            raise SourceTooLarge(said, limit=self._limit, actual=byte_count)


# URLs --------------------------------------------------------------------------------------------------------------------


def _parsed(url: str) -> httpx.URL:
    """Parsed once: what is checked and what is connected to come from the same reading."""
    if len(url) > MAX_URL_CHARS:
        raise UrlNotAllowed(f"a URL may have {MAX_URL_CHARS:,} characters", limit=MAX_URL_CHARS, actual=len(url))
    try:
        parsed = httpx.URL(url)
    except (httpx.InvalidURL, UnicodeError):
        raise UrlNotAllowed(f"{shown(url)} is no URL") from None
    if parsed.scheme not in ("http", "https") or not parsed.raw_host:
        raise UrlNotAllowed(f"only http and https URLs of a host are followed, got {shown(url)}", actual=parsed.scheme)
    if parsed.userinfo:
        raise UrlNotAllowed(f"a URL with user and password is not followed: {shown(url)}")
    return parsed


def _followed(here: httpx.URL, location: str) -> httpx.URL:
    try:
        there = _parsed(str(here.join(location)))
    except (httpx.InvalidURL, UnicodeError):
        raise FetchFailed(f"{shown(str(here))} leads to what is no URL") from None
    if here.scheme == "https" and there.scheme == "http":
        raise UrlNotAllowed(f"{shown(str(here))} leads from https to http")
    return there


# Connections -------------------------------------------------------------------------------------------------------------


class _Pinned(httpcore.NetworkBackend):
    """Connects to addresses that were checked, and gives up when the time of the whole fetch is over."""

    def __init__(self, also: str, ends: float) -> None:
        self._also = also
        self._ends = ends
        self._backend = httpcore.SyncBackend()

    def connect_tcp(
        self, host: str, port: int, timeout: float | None = None, local_address: str | None = None, socket_options: Any = None
    ) -> httpcore.NetworkStream:
        found = addresses.resolve(host, port, _left(self._ends), self._also)
        failure: Exception = httpcore.ConnectError(f"{host} has no address")
        for place, address in enumerate(found):
            share_s = _left(self._ends) / (len(found) - place)  # one that says nothing leaves the others their time
            try:
                return _Timed(self._backend.connect_tcp(address, port, share_s, local_address, socket_options), self._ends)
            except (httpcore.ConnectError, httpcore.ConnectTimeout) as error:
                failure = error
        raise failure


class _Timed(httpcore.NetworkStream):
    """A stream whose every read and write has what is left of the time of the whole fetch."""

    def __init__(self, stream: httpcore.NetworkStream, ends: float) -> None:
        self._stream = stream
        self._ends = ends

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        return self._stream.read(max_bytes, _left(self._ends))

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        self._stream.write(buffer, _left(self._ends))

    def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore.NetworkStream:
        return _Timed(self._stream.start_tls(ssl_context, server_hostname, _left(self._ends)), self._ends)

    def get_extra_info(self, info: str) -> Any:
        return self._stream.get_extra_info(info)

    def close(self) -> None:
        self._stream.close()


def _left(ends: float) -> float:
    left = ends - time.monotonic()
    if left <= 0:
        raise httpcore.ReadTimeout("the time of the fetch is over")
    return left


def _trust() -> ssl.SSLContext:
    """The certificates that httpx trusts, SSL_CERT_FILE included."""
    return httpx.create_ssl_context()


# The body ----------------------------------------------------------------------------------------------------------------


def _plain(blocks: Iterable[bytes], headers: dict[bytes, bytes], limit: int) -> Iterator[bytes]:
    """The body as it was before it was compressed on the way; a block of it never grows beyond the limit."""
    coding = headers.get(b"content-encoding", b"identity").strip().lower()
    if coding in (b"", b"identity"):
        yield from blocks
        return
    if coding not in _INFLATE_BITS:
        raise FetchFailed(f"the answer is compressed as {coding.decode('latin-1')!r} though that was not asked for")
    inflater = zlib.decompressobj(_INFLATE_BITS[coding])
    try:
        for block in blocks:
            yield inflater.decompress(block, limit + 1)
            if inflater.unconsumed_tail:  # what came out has passed the limit
                return
    except zlib.error as error:
        raise FetchFailed(f"the answer cannot be decompressed: {error}") from error
    if not inflater.eof:
        raise FetchFailed("the answer ends before its compressed data does", transient=True)
