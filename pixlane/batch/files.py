"""Which files of a folder are input.

Every regular file that is not hidden and whose extension or first bytes say that it is an image. What is left out is said
too, with a reason, so that it can be counted. A link to a file counts as that file where it stays inside the folder; a link to
a folder is not followed, so there are no loops. A PDF is input only where an include pattern asks for it.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from pixlane import formats, sources
from pixlane.batch.patterns import Patterns
from pixlane.errors import InvalidArgument, NotAFile, PixlaneError, SourceMissing, SourceUnreadable

MAX_DEPTH = 100  # folders in folders; each level holds one open directory

# Why a file or folder is no input; keys of the summary's `skipped`.
HIDDEN = "hidden"
EXCLUDED = "excluded"
NOT_AN_IMAGE = "not_an_image"
PDF = "pdf"
OUTPUT = "output"
LINK_OUTSIDE = "link_outside"
LINK_TO_FOLDER = "link_to_folder"


@dataclass(frozen=True)
class Found:
    """A file to do; `path` is relative to the folder, with `/` between names."""

    path: str
    byte_count: int
    mtime_ns: int


@dataclass(frozen=True)
class Problem:
    """A file or folder (then with `/` at its end) that cannot be done, and why."""

    path: str
    error: PixlaneError


@dataclass(frozen=True)
class Skipped:
    path: str
    reason: str


@dataclass(frozen=True)
class Listing:
    """The input of a batch.

    Args:
        root: the folder.
        out: the folder of the results, which is never input, also when it lies inside `root`.
        include, exclude: see `pixlane.batch.patterns`; nothing to include means everything.

    Raises:
        InvalidArgument: `root` is not a folder that can be read, or `out` is the same folder.
    """

    root: Path
    out: Path | None = None
    include: Patterns = field(default_factory=lambda: Patterns(()))
    exclude: Patterns = field(default_factory=lambda: Patterns(()))

    def __post_init__(self) -> None:
        try:
            os.scandir(self.root).close()
        except OSError as error:
            raise InvalidArgument(
                f"{self.root} is not a folder that can be read: {error.strerror}", actual=str(self.root)
            ) from None
        if self.out is not None and self.out.exists() and self.out.samefile(self.root):
            raise InvalidArgument(f"the results need a folder other than {self.root}", actual=str(self.out))

    def __iter__(self) -> Iterator[Found | Problem | Skipped]:
        """In the order of the file system; holds one open folder per level and no list."""
        root, out = os.path.realpath(self.root), os.path.realpath(self.out) if self.out else None
        levels = [_Level(str(self.root), "")]
        while levels:
            level = levels[-1]
            try:
                entry = next(level.entries, None)
            except OSError as error:
                yield Problem(level.path or "./", _unreadable(level.path or "./", error))
                entry = None
            if entry is None:
                levels.pop().close()
                continue
            path = level.path + entry.name
            kind = self._judge(entry, path, root, out)
            if kind is not None:
                yield kind
            elif len(levels) == MAX_DEPTH:
                deep = f"{path}/ lies deeper than {MAX_DEPTH} folders"
                yield Problem(f"{path}/", SourceUnreadable(deep, limit=MAX_DEPTH, actual=MAX_DEPTH + 1))
            else:
                try:
                    levels.append(_Level(entry.path, f"{path}/"))
                except OSError as error:
                    yield Problem(f"{path}/", _unreadable(f"{path}/", error))

    def _judge(self, entry: os.DirEntry[str], path: str, root: str, out: str | None) -> Found | Problem | Skipped | None:
        """What an entry is; None for a folder to look into."""
        if entry.name.startswith("."):
            return Skipped(path, HIDDEN)
        if self.exclude.match(path):
            return Skipped(path, EXCLUDED)
        try:
            linked = entry.is_symlink()
            status = entry.stat()
        except OSError as error:
            return self._gone(path, error)
        if stat.S_ISDIR(status.st_mode):
            if linked:
                return Skipped(path, LINK_TO_FOLDER)
            return Skipped(path, OUTPUT) if out and os.path.realpath(entry.path) == out else None
        if linked and (reason := _why_not_followed(os.path.realpath(entry.path), root, out)):
            return Skipped(path, reason)
        return self._judge_file(entry, path, status)

    def _judge_file(self, entry: os.DirEntry[str], path: str, status: os.stat_result) -> Found | Problem | Skipped:
        if self.include and not self.include.match(path):
            return Skipped(path, EXCLUDED)
        said = formats.said_by_name(entry.name)
        named_image = said is not None and said.image and bool(said.engines)
        if not stat.S_ISREG(status.st_mode):
            if not named_image:
                return Skipped(path, NOT_AN_IMAGE)
            return Problem(path, NotAFile(f"{path} is a pipe, a socket or a device, not a file", limit="file"))
        found = Found(path, status.st_size, status.st_mtime_ns)
        if not named_image:
            try:
                said = _said_by_bytes(entry.path)
            except OSError as error:
                return Problem(path, _unreadable(path, error))
            except NotAFile as error:  # it was swapped for something else just now
                return Problem(path, error)
        if said is None or not said.image:
            return Skipped(path, NOT_AN_IMAGE)
        return Skipped(path, PDF) if said.name == "pdf" and not self.include else found

    def _gone(self, path: str, error: OSError) -> Problem | Skipped:
        said = formats.said_by_name(path)
        if said is None or not said.image:
            return Skipped(path, NOT_AN_IMAGE)
        return Problem(path, SourceMissing(f"{path} is a link to nothing, or is gone: {error.strerror}", actual=error.strerror))


class _Level:
    """One open folder; `path` is relative and ends with `/`, "" at the top."""

    def __init__(self, folder: str, path: str) -> None:
        self.path = path
        self.entries = os.scandir(folder)

    def close(self) -> None:
        self.entries.close()


def _why_not_followed(target: str, root: str, out: str | None) -> str | None:
    """Why the target of a link, an absolute path, is no input."""
    if not target.startswith(root.rstrip(os.sep) + os.sep):
        return LINK_OUTSIDE
    if out and target.startswith(out + os.sep):
        return OUTPUT
    if any(name.startswith(".") for name in os.path.relpath(target, root).split(os.sep)):
        return HIDDEN
    return None


def _said_by_bytes(path: str) -> formats.Format:
    return formats.detect(sources.first_bytes(path), name=path).format


def _unreadable(path: str, error: OSError) -> PixlaneError:
    return SourceUnreadable(f"{path} cannot be read: {error.strerror}", actual=error.strerror)
