"""Where the bytes of a source come from: given, or read from a file, with the size checked before anything is read."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import re
import stat
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from pixlane import settings
from pixlane.errors import (
    InvalidArgument,
    NotAFile,
    PathNotAllowed,
    PixlaneError,
    SourceMissing,
    SourceTooLarge,
    SourceUnreadable,
)
from pixlane.rendition import Note, Rendition
from pixlane.settings import Settings

BLOCK_BYTES = settings.MIB
HEAD_BYTES = 64 * settings.KIB

Given = bytes | bytearray | memoryview | str | os.PathLike[str]
"""What a caller may name as a source: its bytes, the path of a file, or an http or https URL."""


@dataclass(frozen=True)
class Source:
    """A source that a client is about to ask for. One of `data` and `path` is what travels; `head` holds the first bytes."""

    sha256: str
    byte_count: int
    head: bytes
    data: bytes | None
    path: str | None


def identify(given: Given, limit: int, *, by_path: bool = False) -> Iterator[Source | None]:
    """Reads and hashes a source block by block: yields None after each block, and the source at the end.

    `by_path`: the path travels, and the bytes are not kept. Raises SourceTooLarge (before reading), SourceMissing, NotAFile,
    SourceUnreadable.
    """
    if isinstance(given, (bytes, bytearray, memoryview)):
        data = bytes(given)
        _check_size(len(data), limit)
        yield Source(hashlib.sha256(data).hexdigest(), len(data), data[:HEAD_BYTES], data, None)
        return
    if not isinstance(given, (str, os.PathLike)):
        raise InvalidArgument(f"a source is a path or bytes, got {type(given).__name__}")
    path = os.path.abspath(checked_path(given))
    digest, kept, byte_count, head = hashlib.sha256(), [], 0, b""
    for block in blocks(path, limit):
        digest.update(block)
        byte_count += len(block)
        head = head or block[:HEAD_BYTES]
        if not by_path:
            kept.append(block)
        yield None
    yield Source(digest.hexdigest(), byte_count, head, *((None, path) if by_path else (b"".join(kept), None)))


def is_url(given: object) -> bool:
    """Whether it is an http or https URL, which is fetched before it is identified."""
    return isinstance(given, str) and given[:8].lower().startswith(("http://", "https://"))


def file_name(given: str | os.PathLike[str]) -> str:
    """The last part of a path, or of a URL's."""
    text = os.fsdecode(given)
    return os.path.basename(re.split("[?#]", text, maxsplit=1)[0] if is_url(text) else text)


def checked_path(given: str | os.PathLike[str]) -> str:
    """The path as text. Raises InvalidArgument for what no file system can name."""
    if not isinstance(given, (str, bytes, os.PathLike)):
        raise InvalidArgument(f"an image is named by a path, this is {type(given).__name__}", actual=repr(given)[:80])
    path = os.fsdecode(given)
    if not path or "\0" in path or not _encodable(path):
        shown = repr(path)[:200]
        raise InvalidArgument(f"a path is not empty and holds neither a NUL nor half a character, got {shown}", actual=shown)
    return path


def _encodable(path: str) -> bool:
    try:
        os.fsencode(path)
    except UnicodeEncodeError:  # a lone surrogate, as JSON may bring one
        return False
    return True


def blocks(path: str, limit: int, *, root: str | None = None) -> Iterator[bytes]:
    """The bytes of a regular file, at most `limit` of them. `root`: it lies there, and no link on the way is followed."""
    try:
        descriptor = os.open(path, _FLAGS) if root is None else _open_under(root, path)
        with open(descriptor, "rb", buffering=0) as file:
            state = os.fstat(descriptor)
            if not stat.S_ISREG(state.st_mode):
                raise NotAFile(f"{path} is not a regular file")
            _check_size(state.st_size, limit, path)
            left = limit + 1  # it may grow while it is read
            while left > 0 and (block := file.read(min(BLOCK_BYTES, left))):
                left -= len(block)
                yield block
            if left <= 0:
                _check_size(limit + 1, limit, path)
    except OSError as error:
        raise _unreadable(path, error) from error


def first_bytes(path: str) -> bytes:
    """At most HEAD_BYTES from the beginning of a regular file, of any size. Raises OSError, NotAFile."""
    with open(os.open(path, _FLAGS), "rb", buffering=0) as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise NotAFile(f"{path} is not a regular file")
        return file.read(HEAD_BYTES)


def sha256_of(pieces: Iterable[bytes]) -> str:
    """SHA-256 of the bytes in pieces, lower-case hex."""
    digest = hashlib.sha256()
    for piece in pieces:
        digest.update(piece)
    return digest.hexdigest()


def read_allowed(path: str, config: Settings) -> bytes:
    """The bytes of a file that a worker may read by path: a regular file under an allowed root, links resolved.

    Raises PathNotAllowed, SourceMissing, NotAFile, SourceUnreadable, SourceTooLarge.
    """
    return read_under(path, allowed_roots(config), config.max_source_bytes, who="this worker")


def read_under(path: str, roots: Sequence[str], limit: int, *, who: str = "this call") -> bytes:
    """The bytes of a regular file under one of the roots, links resolved in both; at most `limit`. Raises as `read_allowed`."""
    try:
        resolved = os.path.realpath(checked_path(path))
    except OSError as error:  # a link that vanished while it was followed
        raise _unreadable(path, error) from error
    root = next((root for root in roots if Path(resolved).is_relative_to(root)), None)
    if root is None:
        named = ", ".join(roots) if roots else "no folder; sources have to travel as bytes"
        raise PathNotAllowed(f"{path} lies outside of what {who} may read: {named}", limit=list(roots), actual=path)
    # Resolved already: a link that stands on the way now was put there since.
    return b"".join(blocks(resolved, limit, root=root))


def allowed_roots(config: Settings) -> tuple[str, ...]:
    """The folders that a worker may read from, links resolved; read again each time, as the file may change."""
    named = [root for root in config.allowed_roots.split(os.pathsep) if root]
    if config.allowed_roots_file:
        with suppress(FileNotFoundError):  # nobody named a folder yet
            named += json.loads(Path(config.allowed_roots_file).read_text())
    return tuple(os.path.realpath(root) for root in named)


# Without O_NONBLOCK the open of a FIFO waits for a writer, for ever if none comes.
_FLAGS = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)


def _open_under(root: str, path: str) -> int:
    """Opens a file folder by folder from the root down, so that none of them can be swapped for a link on the way."""
    *folders, name = Path(path).relative_to(root).parts or (".",)
    here = os.open(root, _FLAGS | os.O_DIRECTORY)
    try:
        for folder in folders:
            inner = os.open(folder, _FLAGS | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=here)
            os.close(here)
            here = inner
        return os.open(name, _FLAGS | os.O_NOFOLLOW, dir_fd=here)
    finally:
        os.close(here)


def _check_size(byte_count: int, limit: int, path: str | None = None) -> None:
    if byte_count > limit:
        subject = "the source" if path is None else path
        raise SourceTooLarge(f"{subject} has {byte_count:,} bytes, allowed are {limit:,}", limit=limit, actual=byte_count)


def _unreadable(path: str, error: OSError) -> SourceUnreadable:
    if error.errno in (errno.ENOENT, errno.ENOTDIR):
        return SourceMissing(f"{path} is not there")
    if error.errno == errno.ELOOP:
        return PathNotAllowed(f"{path} became a link while it was opened", actual=path)
    if error.errno in (errno.EISDIR, errno.ENXIO):
        return NotAFile(f"{path} is not a regular file")
    return SourceUnreadable(f"{path} cannot be read: {error.strerror}", actual=error.strerror)


def told(given: Given, found: Rendition | PixlaneError) -> Rendition | PixlaneError:
    """What was found, with the note `declared_type_wrong` where the name that this caller gave contradicts the bytes.

    A stored rendition belongs to its content, which has many names: what a name says is added for the one who used it.
    """
    if isinstance(found, PixlaneError) or isinstance(given, (bytes, bytearray, memoryview)):
        return found
    from pixlane import formats

    name = file_name(given)
    said = formats.said_by_name(name)
    if said is None or said.mime == found.source.mime:
        return found
    note = Note("declared_type_wrong", formats.contradiction(f"the file name {name!r}", said, found.source.mime))
    return replace(found, notes=(note, *found.notes))
