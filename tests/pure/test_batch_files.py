"""Which files of a folder are input of a batch, and what is said about the others."""

import os
import socket
import struct
import zlib
from pathlib import Path

import pytest

from pixlane.batch.files import MAX_DEPTH, Found, Listing, Problem, Skipped
from pixlane.batch.patterns import Patterns
from pixlane.errors import InvalidArgument


def png(width: int = 2, height: int = 2) -> bytes:
    def chunk(kind: bytes, body: bytes) -> bytes:
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))

    rows = b"".join(b"\x00" + bytes(3 * width) for _ in range(height))
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


def put(root: Path, *names: str, data: bytes = png()) -> None:
    for name in names:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(data)


def found(listing: Listing) -> list[str]:
    return sorted(entry.path for entry in listing if isinstance(entry, Found))


def skipped(listing: Listing) -> dict[str, str]:
    return {entry.path: entry.reason for entry in listing if isinstance(entry, Skipped)}


def problems(listing: Listing) -> dict[str, str]:
    return {entry.path: entry.error.code for entry in listing if isinstance(entry, Problem)}


def test_images_in_all_folders_are_input(tmp_path: Path) -> None:
    put(tmp_path, "a.png", "sub/b.JPG", "sub/deep/c.webp")
    assert found(Listing(tmp_path)) == ["a.png", "sub/b.JPG", "sub/deep/c.webp"]


def test_hidden_files_and_folders_are_never_input(tmp_path: Path) -> None:
    put(tmp_path, ".a.png", ".git/b.png", "sub/.c.png", "d.png")
    assert found(Listing(tmp_path)) == ["d.png"]
    assert skipped(Listing(tmp_path)) == {".a.png": "hidden", ".git": "hidden", "sub/.c.png": "hidden"}


def test_a_hidden_folder_that_is_named_is_input(tmp_path: Path) -> None:
    put(tmp_path, ".shots/a.png")
    assert found(Listing(tmp_path / ".shots")) == ["a.png"]


def test_the_folder_of_the_results_is_never_input_though_it_lies_inside(tmp_path: Path) -> None:
    put(tmp_path, "a.png", "ready/a.png.jpg", "sub/ready/b.png")
    listing = Listing(tmp_path, tmp_path / "ready")
    assert found(listing) == ["a.png", "sub/ready/b.png"]
    assert skipped(listing) == {"ready": "output"}


def test_the_results_cannot_go_into_the_same_folder(tmp_path: Path) -> None:
    with pytest.raises(InvalidArgument, match="other than"):
        Listing(tmp_path, tmp_path / "." / "")


def test_a_folder_that_is_not_there_is_wrong_use(tmp_path: Path) -> None:
    with pytest.raises(InvalidArgument, match="not a folder"):
        Listing(tmp_path / "gone")


def test_the_extension_or_the_bytes_must_say_image(tmp_path: Path) -> None:
    put(tmp_path, "no_extension", "wrong.txt")
    put(tmp_path, "page.png", data=b"<!DOCTYPE html><html>")
    put(tmp_path, "README.md", "table.csv", data=b"a;b\n1;2\n")
    put(tmp_path, "empty.jpg", "empty.bin", data=b"")
    listing = Listing(tmp_path)
    assert found(listing) == ["empty.jpg", "no_extension", "page.png", "wrong.txt"]
    assert skipped(listing) == {"README.md": "not_an_image", "table.csv": "not_an_image", "empty.bin": "not_an_image"}


def test_a_pdf_is_input_only_where_it_is_asked_for(tmp_path: Path) -> None:
    put(tmp_path, "a.pdf", "b", data=b"%PDF-1.7\n")
    assert skipped(Listing(tmp_path)) == {"a.pdf": "pdf", "b": "pdf"}
    assert found(Listing(tmp_path, include=Patterns(["*.pdf"]))) == ["a.pdf"]


def test_a_link_counts_as_its_file_only_inside_the_folder(tmp_path: Path) -> None:
    root = tmp_path / "root"
    put(tmp_path, "outside.png", "root_beside/x.png", "root/real.png", "root/.hidden/h.png", "root/ready/r.png")
    for name, target in {
        "inside.png": "real.png",
        "outside.png": "../outside.png",
        "beside.png": "../root_beside/x.png",
        "to_hidden.png": ".hidden/h.png",
        "to_result.png": "ready/r.png",
    }.items():
        (root / name).symlink_to(target)
    listing = Listing(root, root / "ready")
    assert found(listing) == ["inside.png", "real.png"]
    assert {name: reason for name, reason in skipped(listing).items() if name.endswith(".png")} == {
        "outside.png": "link_outside",
        "beside.png": "link_outside",
        "to_hidden.png": "hidden",
        "to_result.png": "output",
    }


def test_links_to_folders_are_not_followed_so_there_is_no_loop(tmp_path: Path) -> None:
    put(tmp_path, "sub/a.png")
    (tmp_path / "sub" / "up").symlink_to(tmp_path)
    (tmp_path / "self.png").symlink_to("self.png")
    listing = Listing(tmp_path)
    assert found(listing) == ["sub/a.png"]
    assert skipped(listing) == {"sub/up": "link_to_folder"}
    assert problems(listing) == {"self.png": "source_missing"}


def test_a_link_to_nothing_is_an_error_where_it_is_named_like_an_image(tmp_path: Path) -> None:
    (tmp_path / "a.png").symlink_to("gone.png")
    (tmp_path / "lock").symlink_to("pid-17")
    assert problems(Listing(tmp_path)) == {"a.png": "source_missing"}
    assert skipped(Listing(tmp_path)) == {"lock": "not_an_image"}


def test_pipes_and_sockets_are_not_opened(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.png")
    os.mkfifo(tmp_path / "pipe")
    with socket.socket(socket.AF_UNIX) as server:
        old = os.getcwd()
        os.chdir(tmp_path)  # a socket's path may have 107 bytes
        try:
            server.bind("socket.jpg")
        finally:
            os.chdir(old)
        assert problems(Listing(tmp_path)) == {"pipe.png": "not_a_file", "socket.jpg": "not_a_file"}
        assert skipped(Listing(tmp_path)) == {"pipe": "not_an_image"}


def test_folders_in_folders_end_somewhere(tmp_path: Path) -> None:
    deepest = tmp_path.joinpath(*["d"] * MAX_DEPTH)
    deepest.mkdir(parents=True)
    put(tmp_path, "/".join(["d"] * (MAX_DEPTH - 1)) + "/a.png")
    put(deepest, "b.png")
    listing = Listing(tmp_path)
    assert [len(path.split("/")) for path in found(listing)] == [MAX_DEPTH]
    assert list(problems(listing).values()) == ["source_unreadable"]


def test_a_name_that_is_not_unicode_is_listed(tmp_path: Path) -> None:
    try:
        (tmp_path / os.fsdecode(b"caf\xe9.png")).write_bytes(png())
    except OSError:
        pytest.skip("this file system takes only Unicode names")
    assert [os.fsencode(path) for path in found(Listing(tmp_path))] == [b"caf\xe9.png"]


@pytest.mark.parametrize(
    ("include", "exclude", "expected"),
    [
        (["*.png"], [], ["a.png", "sub/b.PNG", "sub/deep/e.png"]),
        (["*.png", "*.gif"], [], ["a.png", "c.gif", "sub/b.PNG", "sub/deep/e.png"]),
        (["/*.png"], [], ["a.png"]),
        (["sub/*"], [], ["sub/b.PNG", "sub/d.jpg", "sub/deep/e.png"]),
        (["sub/*.png"], [], ["sub/b.PNG"]),
        (["sub/**/*.png"], [], ["sub/b.PNG", "sub/deep/e.png"]),
        (["**/e.*"], [], ["sub/deep/e.png"]),
        (["deep"], [], ["sub/deep/e.png"]),
        (["[ab].png"], [], ["a.png", "sub/b.PNG"]),
        (["[!a].png"], [], ["sub/b.PNG", "sub/deep/e.png"]),
        (["?.gif"], [], ["c.gif"]),
        ([], ["sub"], ["a.png", "c.gif"]),
        ([], ["sub/"], ["a.png", "c.gif"]),
        ([], ["*.png", "*.gif"], ["sub/d.jpg"]),
        (["*.png"], ["deep"], ["a.png", "sub/b.PNG"]),
    ],
)
def test_globs_choose_by_name_or_by_path(tmp_path: Path, include: list[str], exclude: list[str], expected: list[str]) -> None:
    put(tmp_path, "a.png", "c.gif", "sub/b.PNG", "sub/d.jpg", "sub/deep/e.png")
    assert found(Listing(tmp_path, include=Patterns(include), exclude=Patterns(exclude))) == expected


def test_brackets_and_dots_in_a_glob_mean_themselves_where_they_are_no_set() -> None:
    assert Patterns(["a[1.png"]).match("a[1.png")
    assert not Patterns(["a.png"]).match("axpng")
    assert Patterns(["[]x].png"]).match("].png")
