"""What a batch writes, leaves alone, and says; the work itself is done by a client that hands each PNG back as it is."""

import json
import os
import resource
import signal
from collections.abc import Callable, Iterator
from hashlib import sha256
from pathlib import Path

import pytest

from pixlane.batch import manifest
from pixlane.batch.book import Book
from pixlane.batch.files import Found, Listing
from pixlane.batch.run import Batch
from pixlane.batch.totals import MAX_FAILURES_SHOWN, Totals
from pixlane.errors import InvalidArgument, NotAnImage, OutputUnwritable, PixlaneError, StoreUnavailable
from pixlane.recipe import Recipe
from pixlane.rendition import Note, Rendition, Source
from tests.pure.test_batch_files import png, put

FIELDS = ["path", "sha256", "source_mime", "mime", "bytes_before", "bytes_after", "width", "height", "scale"]
FIELDS += ["notes", "key", "cached", "ms"]


Outcomes = Iterator[tuple[str, Rendition | PixlaneError]]


class HandsBack:
    """The source is the result; bytes that are no PNG are an error. Remembers what it was asked for."""

    def __init__(self, before: Callable[[str], None] = lambda path: None, mime: str = "image/png") -> None:
        self.asked: list[str] = []
        self.before = before
        self.mime = mime

    def map(
        self, given: Iterator[str], recipe: Recipe, *, queue: str, on_full: object = None
    ) -> Iterator[tuple[str, Rendition | PixlaneError]]:
        assert queue == "batch"
        for path in given:
            self.asked.append(Path(path).name)
            self.before(path)
            data = Path(path).read_bytes()
            if data.startswith(b"\x89PNG"):
                source = Source(sha256(data).hexdigest(), "image/png", 4, 2, len(data))
                yield path, Rendition(data, self.mime, 2, 1, source, notes=(Note("resized", "smaller"),), elapsed_ms=1.25)
            else:
                yield path, NotAnImage("this is text", limit="an image", actual="text/plain")


def batch(root: Path, client: HandsBack | None = None, recipe: Recipe | None = None, *, data_urls: bool = False) -> Totals:
    out = root.parent / "out"
    return Batch(Listing(root, out), out, recipe or Recipe(), client or HandsBack(), Totals(), data_urls=data_urls).run()


def lines(root: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in (root.parent / "out" / "manifest.jsonl").read_text().splitlines()]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "in").mkdir()
    return tmp_path / "in"


def test_a_result_lies_under_the_path_of_its_source_and_its_line_has_these_fields(root: Path) -> None:
    put(root, "sub/a.png")
    batch(root)
    (line,) = lines(root)
    assert list(line) == FIELDS
    assert (root.parent / "out/sub/a.png.png").read_bytes() == png()
    digest = sha256(png()).hexdigest()
    assert line["path"] == "sub/a.png"
    assert line["key"] == f"{digest}-{Recipe().fingerprint}"
    assert line["scale"] == [0.5, 0.5]
    assert line["notes"] == [{"code": "resized", "text": "smaller"}]
    assert (line["bytes_before"], line["bytes_after"]) == (len(png()), len(png()))
    assert (line["cached"], line["ms"]) == (False, 1.2)


def test_a_failed_file_has_its_error_and_no_mime(root: Path) -> None:
    put(root, "a.png", data=b"text")
    totals = batch(root)
    assert lines(root) == [
        {
            "path": "a.png",
            "error": {"code": "not_an_image", "message": "this is text", "limit": "an image", "actual": "text/plain"},
        }
    ]
    assert (totals.failed, totals.all.files, dict(totals.failed_codes)) == (1, 0, {"not_an_image": 1})


def test_the_manifest_is_sorted_by_path_whatever_order_the_results_come_in(root: Path) -> None:
    put(root, "b.png", "a/z.png", "a.png", "é.png", "B.png")
    put(root, "c.png", data=b"text")
    batch(root)
    paths = [str(line["path"]) for line in lines(root)]
    assert paths == sorted(paths, key=os.fsencode)
    assert len(paths) == 6


def test_data_urls_are_written_beside_the_results(root: Path) -> None:
    put(root, "a.png")
    batch(root, data_urls=True)
    assert (root.parent / "out/a.png.dataurl").read_text().startswith("data:image/png;base64,iVBOR")


def test_nothing_but_results_and_manifest_is_left_in_the_folder(root: Path) -> None:
    put(root, "a.png", "sub/b.png")
    batch(root)
    out = root.parent / "out"
    assert sorted(str(path.relative_to(out)) for path in out.rglob("*")) == [
        "a.png.png",
        "manifest.jsonl",
        "sub",
        "sub/b.png.png",
    ]


def test_a_second_run_leaves_alone_what_is_unchanged(root: Path) -> None:
    put(root, "a.png", "b.png")
    batch(root)
    before = (root.parent / "out/a.png.png").stat()
    again = HandsBack()
    totals = batch(root, again)
    assert again.asked == []
    assert (totals.all.files, totals.all.cached, totals.unchanged) == (2, 2, 2)
    assert [line["cached"] for line in lines(root)] == [True, True]
    assert (root.parent / "out/a.png.png").stat().st_mtime_ns == before.st_mtime_ns


def test_a_touched_file_with_the_same_bytes_is_unchanged(root: Path) -> None:
    put(root, "a.png")
    batch(root)
    os.utime(root / "a.png", (1, 1))
    assert batch(root).unchanged == 1


@pytest.mark.parametrize(
    "change",
    [
        lambda root: put(root, "a.png", data=png(3, 3)),
        lambda root: (root.parent / "out/a.png.png").unlink(),
        lambda root: (root.parent / "out/a.png.png").write_bytes(b"short"),
        lambda root: (root.parent / "out/manifest.jsonl").unlink(),
        lambda root: (root.parent / "out/manifest.jsonl").write_text(
            '{"path": "a.png"\n[]\n\x00\n{"path": 1, "mime": "image/png"}\n'
        ),
    ],
    ids=["other bytes", "result gone", "result of another size", "manifest gone", "manifest damaged"],
)
def test_what_is_not_unchanged_is_done_again(root: Path, change: Callable[[Path], None]) -> None:
    put(root, "a.png")
    batch(root)
    change(root)
    again = HandsBack()
    batch(root, again)
    assert again.asked == ["a.png"]
    assert len(lines(root)) == 1


def test_with_another_recipe_everything_is_done_again(root: Path) -> None:
    put(root, "a.png")
    batch(root)
    again = HandsBack()
    batch(root, again, Recipe(max_side=100))
    assert again.asked == ["a.png"]


def test_where_the_data_url_is_missing_the_file_is_done_again(root: Path) -> None:
    put(root, "a.png")
    batch(root)
    again = HandsBack()
    batch(root, again, data_urls=True)
    assert again.asked == ["a.png"]
    assert batch(root, data_urls=True).unchanged == 1


def test_a_failed_file_is_tried_again(root: Path) -> None:
    put(root, "a.png", data=b"text")
    batch(root)
    again = HandsBack()
    batch(root, again)
    assert again.asked == ["a.png"]


def test_a_file_that_is_gone_leaves_the_manifest(root: Path) -> None:
    put(root, "a.png", "b.png")
    batch(root)
    (root / "a.png").unlink()
    batch(root)
    assert [line["path"] for line in lines(root)] == ["b.png"]


def test_a_result_of_another_type_takes_the_place_of_the_old_one(root: Path) -> None:
    put(root, "a.png")
    batch(root)
    batch(root, HandsBack(mime="image/jpeg"), Recipe(max_side=100))
    assert sorted(path.name for path in (root.parent / "out").iterdir()) == ["a.png.jpg", "manifest.jsonl"]


def test_a_file_that_is_gone_or_written_to_after_the_listing_is_an_error_and_the_others_are_done(root: Path) -> None:
    put(root, "a.png", "b.png", "c.png", "d.png")

    def meddle(path: str) -> None:
        if path.endswith("a.png"):
            (root / "b.png").unlink()
            put(root, "c.png", data=png(5, 5))

    batch(root, HandsBack(meddle))
    result = {line["path"]: line.get("error", {}).get("code") for line in lines(root)}  # type: ignore[attr-defined]
    assert result == {"a.png": None, "b.png": "source_missing", "c.png": "source_changed", "d.png": None}
    (error,) = [line["error"] for line in lines(root) if line["path"] == "c.png"]
    assert (error["limit"], error["actual"]) == (len(png()), len(png(5, 5)))  # type: ignore[index]


def test_a_result_that_cannot_be_written_is_an_error_and_the_others_are_done(root: Path) -> None:
    put(root, "a.png", "b.png", "sub/c.png")
    (root.parent / "out/b.png.png").mkdir(parents=True)
    (root.parent / "out/sub").write_text("a file where a folder should be")
    batch(root)
    result = {line["path"]: line.get("error", {}).get("code") for line in lines(root)}  # type: ignore[attr-defined]
    assert result == {"a.png": None, "b.png": "output_unwritable", "sub/c.png": "output_unwritable"}
    assert not list((root.parent / "out").glob(".*"))


def test_a_result_for_which_there_is_no_room_is_an_error_and_the_others_are_done(root: Path) -> None:
    put(root, "a.png")
    put(root, "b.png", data=png() + bytes(100_000))
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, hard))  # write() fails then, as on a full disk
    try:
        batch(root)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    result = {line["path"]: line.get("error", {}).get("code") for line in lines(root)}  # type: ignore[attr-defined]
    assert result == {"a.png": None, "b.png": "output_unwritable"}
    assert sorted(path.name for path in (root.parent / "out").iterdir()) == ["a.png.png", "manifest.jsonl"]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_it_with_a_manifest_of_what_is_done_now_and_was_done_before(root: Path, number: int) -> None:
    put(root, "a.png", "c.png", "d.png")
    batch(root)
    put(root, "a.png", "c.png", data=png(7, 7))
    put(root, "b.png")
    (root / "z.png").symlink_to("nowhere.png")
    totals = batch(root, HandsBack(lambda path: os.kill(os.getpid(), number) if path.endswith("b.png") else None))
    assert totals.stopped_by == number
    assert [line["path"] for line in lines(root)] == ["a.png", "c.png", "d.png", "z.png"]
    assert {line["path"]: line["bytes_before"] for line in lines(root) if "error" not in line} == {
        "a.png": len(png(7, 7)),  # this run
        "c.png": len(png()),  # the run before: not reached
        "d.png": len(png()),
    }
    again = HandsBack()
    batch(root, again)
    assert again.asked == ["b.png", "c.png"]


def test_a_service_that_goes_away_ends_it_with_a_manifest_of_what_is_done(root: Path) -> None:
    put(root, "a.png", "b.png", "c.png")

    class GoesAway(HandsBack):
        def map(
            self, given: Iterator[str], recipe: Recipe, *, queue: str, on_full: object = None
        ) -> Iterator[tuple[str, Rendition | PixlaneError]]:
            for path, outcome in super().map(given, recipe, queue=queue):
                yield path, StoreUnavailable("refused") if path.endswith("b.png") else outcome

    with pytest.raises(StoreUnavailable):
        batch(root, GoesAway())
    assert [line["path"] for line in lines(root)] == ["a.png"]


def test_a_failure_of_our_own_leaves_the_old_manifest_or_a_whole_new_one(root: Path) -> None:
    put(root, "a.png", "b.png")

    def break_down(path: str) -> None:
        if path.endswith("b.png"):
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        batch(root, HandsBack(break_down))
    assert [line["path"] for line in lines(root)] == ["a.png"]


def test_two_batches_never_write_one_folder(tmp_path: Path) -> None:
    with manifest.opened(tmp_path), pytest.raises(InvalidArgument, match="another batch"), manifest.opened(tmp_path):
        pass
    with manifest.opened(tmp_path):
        pass


def test_a_folder_that_cannot_be_made_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(OutputUnwritable), manifest.opened(tmp_path / "file" / "out"):
        pass


def test_what_was_left_of_a_killed_run_is_taken_over(root: Path) -> None:
    put(root, "a.png")
    (root.parent / "out").mkdir()
    (root.parent / "out/.manifest.jsonl.part").write_text("half a line" * 100)
    batch(root)
    assert len(lines(root)) == 1


def test_only_some_failures_are_kept_in_memory_and_all_are_in_the_manifest(root: Path) -> None:
    count = MAX_FAILURES_SHOWN + 5
    put(root, *(f"{number}.png" for number in range(count)), data=b"text")
    totals = batch(root)
    assert (totals.failed, len(totals.failures), len(lines(root))) == (count, MAX_FAILURES_SHOWN, count)


def test_a_name_that_is_not_unicode_survives_the_manifest(root: Path) -> None:
    name = os.fsdecode(b"caf\xe9.png")
    try:
        put(root, name)
    except OSError:
        pytest.skip("this file system takes only Unicode names")
    batch(root)
    assert [line["path"] for line in lines(root)] == [name]
    assert batch(root).unchanged == 1


def test_the_book_gives_all_that_was_listed_by_path_while_it_is_written_to() -> None:
    book = Book()
    for number in reversed(range(1000)):
        book.list(Found(f"{number:04d}.png", number, 0))
    seen = []
    for found in book.listed():
        seen.append(found.path)
        book.finish(found.path, found.path)
    assert seen == [f"{number:04d}.png" for number in range(1000)] == list(book.lines())


class LosesTheService(HandsBack):
    """Says that the store is gone each time that the path comes up, until it was revived often enough."""

    def __init__(self, path: str, losses: int) -> None:
        super().__init__()
        self.path, self.losses, self.revived = path, losses, 0

    def map(
        self, given: Iterator[str], recipe: Recipe, *, queue: str, on_full: object = None
    ) -> Iterator[tuple[str, Rendition | PixlaneError]]:
        for path, outcome in super().map(given, recipe, queue=queue):
            yield path, StoreUnavailable("gone") if path.endswith(self.path) and self.revived < self.losses else outcome

    def revive(self) -> None:
        self.revived += 1


def test_a_service_that_can_be_brought_back_is_and_what_is_finished_is_not_done_again(root: Path) -> None:
    put(root, "a.png", "b.png", "c.png")
    client = LosesTheService("b.png", losses=1)
    out = root.parent / "out"
    totals = Batch(Listing(root, out), out, Recipe(), client, Totals(), revive=client.revive).run()
    assert client.asked == ["a.png", "b.png", "b.png", "c.png"]
    assert (totals.all.files, totals.failed, len(lines(root))) == (3, 0, 3)


def test_a_service_that_dies_of_the_same_file_again_and_again_ends_the_batch(root: Path) -> None:
    put(root, "a.png", "b.png", "c.png")
    client = LosesTheService("b.png", losses=100)
    out = root.parent / "out"
    with pytest.raises(StoreUnavailable):
        Batch(Listing(root, out), out, Recipe(), client, Totals(), revive=client.revive).run()
    assert client.revived == 2
    assert [line["path"] for line in lines(root)] == ["a.png"]
