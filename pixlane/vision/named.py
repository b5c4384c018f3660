"""A picture by whatever names it: bytes, a path, or a `file:`, `data:` or http(s) URL."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import unquote_to_bytes, urlsplit

from pixlane import settings as knobs
from pixlane.errors import CorruptInput, EmptyInput, InvalidArgument, SourceTooLarge
from pixlane.messages.pictures import sha256_of
from pixlane.messages.wires import data_urls
from pixlane.settings import Settings
from pixlane.sources import Given
from pixlane.vision.looking import MAX_FILE_BYTES, read

MAX_NAME_CHARS: Final = 200
OWN_HOSTS: Final = ("", "localhost")
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.\-]+):")
_DRIVE = re.compile(r"/[A-Za-z]:")


@dataclass(frozen=True)
class Named:
    """The bytes. `name`: what it is called; `path`: resolved, of its file, where it has one."""

    data: bytes = field(repr=False)
    name: str
    path: str | None = None

    @property
    def sha256(self) -> str:
        return sha256_of(self.data)


def load(
    given: Given,
    workspace: str | os.PathLike[str] | None = None,
    roots: Sequence[str | os.PathLike[str]] | None = None,
    settings: Settings | None = None,
) -> Named:
    """The picture's bytes, at most 20 MiB; nothing is decoded. `workspace` and `roots` as for `view_image`, for `file:` too.

    Raises InvalidArgument for a name of another kind, UrlNotAllowed and FetchFailed for http(s), CorruptInput for a data URL of
    broken base64, and for files what `view_image` raises.
    """
    settings = settings or knobs.current()
    if isinstance(given, str):
        given = given.strip()
        kind = _SCHEME.match(given)
        scheme = kind[1].lower() if kind else ""
        if scheme == "data":
            return Named(_inline(given, min(settings.max_source_bytes, MAX_FILE_BYTES)), "data URL")
        if scheme in ("http", "https"):
            return _fetched(given, settings)
        if scheme == "file":
            given = _file_path(given)
        elif scheme and given[kind.end() :].startswith("//") and not os.path.exists(given):  # type: ignore[union-attr]
            raise InvalidArgument(f"an image is a path or a file:, data:, http: or https: URL, this is {scheme}:", actual=scheme)
    data, path = read(given, workspace, roots, settings)
    return Named(data, "image" if path is None else os.fspath(given), path)  # type: ignore[arg-type]


def called(given: Any) -> str:
    """What somebody calls a picture, whatever that is; at most 200 characters."""
    return os.fsdecode(given)[:MAX_NAME_CHARS] if isinstance(given, (str, os.PathLike)) else "image"


def _file_path(url: str) -> str:
    """RFC 8089: `file:/path`, `file:///path`, `file://localhost/path`; percent-decoded as bytes."""
    try:
        parts = urlsplit(url)
    except ValueError as error:
        raise InvalidArgument(f"the file URL is malformed: {error}", actual=url[:200]) from error
    if parts.netloc.lower() not in OWN_HOSTS:
        raise InvalidArgument(f"the file URL names another machine: {parts.netloc}", actual=parts.netloc)
    path = os.fsdecode(unquote_to_bytes(parts.path))
    if os.name == "nt" and _DRIVE.match(path):
        path = path[1:]
    if not os.path.isabs(path):
        raise InvalidArgument("a file URL names an absolute path", actual=url[:200])
    return path


def _inline(url: str, limit: int) -> bytes:
    if len(url) > 4 * limit + 4096:  # percent-encoding takes three characters for a byte
        raise SourceTooLarge(
            f"the data URL has {len(url):,} characters, {limit:,} bytes are allowed", limit=limit, actual=len(url)
        )
    parts = data_urls.split(url)
    assert parts is not None
    body = parts[1]
    if isinstance(body, str):
        decoded = data_urls.decode(body)
        if decoded is None:
            raise CorruptInput("the base64 of the data URL is broken")
        body = decoded
    if not body:
        raise EmptyInput("the data URL holds no bytes")
    if len(body) > limit:
        raise SourceTooLarge(f"the data URL holds {len(body):,} bytes, {limit:,} are allowed", limit=limit, actual=len(body))
    return body


def _fetched(url: str, settings: Settings) -> Named:
    from pixlane.fetching import fetch_url, shown

    data = fetch_url(url, settings)
    if len(data) > MAX_FILE_BYTES:
        raise SourceTooLarge(
            f"{shown(url)} has {len(data):,} bytes, {MAX_FILE_BYTES:,} are allowed", limit=MAX_FILE_BYTES, actual=len(data)
        )
    return Named(data, shown(url))
