"""What a worker reads by path: regular files under its folders, whatever is put in their place meanwhile."""

from __future__ import annotations

import os
import threading
from dataclasses import replace
from pathlib import Path

import pytest

from pixlane import settings, sources
from pixlane.errors import NotAFile, PathNotAllowed, PixlaneError, SourceTooLarge

SECRET = b"of nobody's business"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "secret").write_bytes(SECRET)
    folder = tmp_path / "allowed"
    (folder / "inner").mkdir(parents=True)
    (folder / "inner" / "a.png").write_bytes(b"a picture")
    return folder


def read(path: object, root: Path, **changes: object) -> bytes:
    return sources.read_allowed(str(path), replace(settings.load({}), allowed_roots=str(root), **changes))


def test_a_file_under_an_allowed_folder_is_read_by_any_of_its_names(root: Path) -> None:
    (root / "link.png").symlink_to(root / "inner" / "a.png")
    for name in ("inner/a.png", "inner/../inner/./a.png", "link.png"):
        assert read(root / name, root) == b"a picture"


def test_what_lies_outside_is_not_read_by_any_name(root: Path) -> None:
    outside = root.parent / "outside"
    (root / "link.png").symlink_to(outside / "secret")
    (root / "folder").symlink_to(outside)
    (root.parent / "allowed-too").mkdir()
    (root.parent / "allowed-too" / "secret").write_bytes(SECRET)
    names = ("../outside/secret", "link.png", "folder/secret", "../allowed-too/secret")
    for path in (outside / "secret", *(root / name for name in names), "/etc/passwd", "secret"):
        with pytest.raises(PathNotAllowed):
            read(path, root)


def test_without_a_folder_nothing_is_read(root: Path) -> None:
    with pytest.raises(PathNotAllowed, match="no folder"):
        sources.read_allowed(str(root / "inner" / "a.png"), settings.load({}))


def test_pipes_devices_sockets_and_folders_are_no_files(root: Path) -> None:
    os.mkfifo(root / "pipe.png")
    for path in (root / "pipe.png", root / "inner", root):
        with pytest.raises(NotAFile):
            read(path, root)
    for device in ("/dev/zero", "/dev/null", "/dev/stdin"):
        with pytest.raises((NotAFile, PathNotAllowed)):
            read(device, Path("/dev"))


def test_the_head_of_a_pipe_is_not_waited_for(root: Path) -> None:
    os.mkfifo(root / "pipe")
    with pytest.raises(NotAFile):
        sources.first_bytes(str(root / "pipe"))


def test_a_file_that_grows_while_it_is_read_ends_at_the_limit(root: Path) -> None:
    growing = root / "growing.png"
    growing.write_bytes(b"x" * 10)
    pieces = sources.blocks(str(growing), 100, root=str(root))
    assert next(pieces)
    with growing.open("ab") as file:
        file.write(b"x" * 1000)
    with pytest.raises(SourceTooLarge):
        list(pieces)


@pytest.mark.slow
def test_a_folder_that_is_swapped_for_a_link_in_the_meantime_gives_nothing_away(root: Path) -> None:
    outside, inner, aside = root.parent / "outside", root / "inner", root / "aside"
    (outside / "a.png").write_bytes(SECRET)
    ending = threading.Event()

    def swap() -> None:
        while not ending.is_set():
            inner.rename(aside)
            inner.symlink_to(outside)
            inner.unlink()
            aside.rename(inner)

    thread = threading.Thread(target=swap)
    thread.start()
    seen: set[bytes | str] = set()
    try:
        for _ in range(3000):
            try:
                seen.add(read(inner / "a.png", root))
            except PixlaneError as error:
                seen.add(error.code)
    finally:
        ending.set()
        thread.join()
    assert SECRET not in seen
    assert b"a picture" in seen
    assert seen & {"path_not_allowed", "source_missing", "not_a_file"}, "nothing was swapped in time"
