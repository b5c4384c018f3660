"""Files of tool results: named by content, nobody else's to read, gone a day after their last use."""

from __future__ import annotations

import hashlib
import os
import stat
import time
from pathlib import Path

import pytest

from pixlane.errors import OutputUnwritable
from pixlane.messages import MediaFolder

DATA = b"what a tool returned"
SHA = hashlib.sha256(DATA).hexdigest()
DAY_S = 24 * 3_600


@pytest.fixture
def folder(tmp_path: Path) -> MediaFolder:
    return MediaFolder(tmp_path / "media")


def age(path: str | Path, seconds: float) -> None:
    then = time.time() - seconds
    os.utime(path, (then, then))


def test_a_file_is_named_by_its_content_and_private(folder: MediaFolder) -> None:
    path = Path(folder.keep(DATA, SHA, "png"))
    assert (path.is_absolute(), path.name, path.read_bytes()) == (True, f"{SHA}.png", DATA)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert folder.keep(DATA, SHA, "png") == str(path)
    assert os.listdir(path.parent) == [path.name]


def test_after_a_day_it_is_gone_and_one_that_was_kept_again_is_not(folder: MediaFolder) -> None:
    old, again = folder.keep(DATA, SHA, "png"), folder.keep(b"x", "0" * 64, "png")
    for path in (old, again):
        age(path, DAY_S + 60)
    folder.keep(b"x", "0" * 64, "png")
    assert folder.sweep() == 1
    assert os.listdir(folder.path) == [Path(again).name]


def test_just_before_a_day_is_over_nothing_goes(folder: MediaFolder) -> None:
    age(folder.keep(DATA, SHA, "png"), DAY_S - 60)
    assert folder.sweep() == 0


def test_what_is_not_of_this_kind_is_never_removed(folder: MediaFolder) -> None:
    folder.keep(DATA, SHA, "png")
    for name in ("notes.txt", f"{SHA}.png.bak", SHA, f"{SHA[:-1]}g.png"):
        (folder.path / name).write_text("mine")
        age(folder.path / name, 9 * DAY_S)
    assert folder.sweep() == 0


def test_what_an_ended_process_left_behind_goes_too(folder: MediaFolder) -> None:
    folder.keep(DATA, SHA, "png")
    for name in (".keep-a1b2", f"{SHA}.jpg.old"):
        (folder.path / name).write_bytes(b"half")
        age(folder.path / name, DAY_S + 60)
    assert folder.sweep() == 2


@pytest.mark.parametrize("damage", ["short", "open", "link"])
def test_a_file_that_is_not_as_it_was_kept_is_written_anew(folder: MediaFolder, tmp_path: Path, damage: str) -> None:
    path = Path(folder.keep(DATA, SHA, "png"))
    foreign = tmp_path / "foreign"
    foreign.write_bytes(DATA)
    if damage == "short":
        path.write_bytes(DATA[:5])
    elif damage == "open":
        path.chmod(0o644)
    else:
        path.unlink()
        path.symlink_to(foreign)
    folder.keep(DATA, SHA, "png")
    assert path.read_bytes() == DATA
    assert not path.is_symlink()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_folder_that_others_can_write_into_is_refused_by_name(tmp_path: Path) -> None:
    shared = tmp_path / "shared"
    shared.mkdir()
    shared.chmod(0o777)
    with pytest.raises(OutputUnwritable, match="mode 0777"):
        MediaFolder(shared).keep(DATA, SHA, "png")


def test_a_folder_that_cannot_be_made_is_a_typed_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(OutputUnwritable):
        MediaFolder(tmp_path / "file" / "media").keep(DATA, SHA, "png")
    assert MediaFolder(tmp_path / "nowhere").sweep() == 0


def test_the_usual_folder_is_in_the_users_cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert MediaFolder().path.parts[-2:] == ("pixlane", "media")
