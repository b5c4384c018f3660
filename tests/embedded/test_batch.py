"""`pixlane batch` and the commands around it, as processes, with a real store and real workers."""

from __future__ import annotations

import ctypes
import json
import os
import signal
import subprocess
import sys
from base64 import b64decode
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from hashlib import sha256
from io import BytesIO
from pathlib import Path
from typing import Any

import psutil
import pytest
from PIL import Image

from pixlane.batch.run import PART_NAME
from pixlane.cli import exits

LINGER_S = 3.0  # the service outlives a command by this, so that the next test need not start it


def picture(seed: int, width: int = 60, height: int = 40, kind: str = "PNG") -> bytes:
    image = Image.new("RGB", (width, height), (seed * 37 % 256, seed * 91 % 256, seed % 256))
    image.putpixel((seed % width, 0), (255, 255, 255))
    stream = BytesIO()
    image.save(stream, kind)
    return stream.getvalue()


def noise(width: int, height: int) -> bytes:
    """A PNG that does not shrink."""
    stream = BytesIO()
    Image.frombytes("RGB", (width, height), os.urandom(3 * width * height)).save(stream, "PNG")
    return stream.getvalue()


def put(root: Path, **files: bytes) -> None:
    for name, data in files.items():
        path = root / name.replace("__", "/").replace("_", ".")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)


class Shell:
    """Runs `pixlane` in a folder with an embedded service of its own."""

    def __init__(self, folder: Path, service: Path) -> None:
        self.folder = folder
        self.environment = {name: value for name, value in os.environ.items() if not name.startswith("PIXLANE_")}
        self.environment |= {"PIXLANE_EMBEDDED_DIR": str(service), "PIXLANE_EMBEDDED_LINGER_S": str(LINGER_S), "COLUMNS": "100"}

    def start(self, *arguments: str, **more: Any) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            [sys.executable, "-P", "-m", "pixlane", *arguments],
            cwd=more.pop("cwd", self.folder),
            env={**self.environment, **more.pop("env", {})},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            **more,
        )

    def run(self, *arguments: str, stdin: bytes = b"", **more: Any) -> Result:
        process = self.start(*arguments, **more)
        out, err = process.communicate(stdin, timeout=100)
        return Result(process.returncode, out.decode(), err.decode())


class Result:
    def __init__(self, code: int, out: str, err: str) -> None:
        self.code, self.out, self.err = code, out, err
        assert "Traceback" not in err, err

    @property
    def summary(self) -> dict[str, Any]:
        return json.loads(self.out.splitlines()[-1])["summary"]  # type: ignore[no-any-return]

    def __repr__(self) -> str:
        return f"exit {self.code}\n{self.out}\n{self.err}"


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    folder = tmp_path_factory.mktemp("service")
    yield folder
    record = folder / "service.json"
    with suppress(FileNotFoundError, psutil.NoSuchProcess):
        supervisor = psutil.Process(json.loads(record.read_text())["supervisor"])
        supervisor.terminate()
        supervisor.wait(30)


@pytest.fixture
def shell(tmp_path: Path, service: Path) -> Shell:
    return Shell(tmp_path, service)


def manifest(out: Path) -> dict[str, dict[str, Any]]:
    lines = [json.loads(line) for line in (out / "manifest.jsonl").read_text().splitlines()]
    assert [line["path"] for line in lines] == sorted({line["path"] for line in lines}, key=os.fsencode)
    return {line["path"]: line for line in lines}


def codes(out: Path) -> dict[str, str | None]:
    return {path: line.get("error", {}).get("code") for path, line in manifest(out).items()}


def test_a_folder_becomes_ready_results_and_the_second_run_is_served_without_work(shell: Shell, tmp_path: Path) -> None:
    put(tmp_path / "in", a_png=picture(1), sub__b_jpg=picture(2, kind="JPEG"), sub__c_bmp=picture(3, kind="BMP"))
    first = shell.run("batch", "in", "--workers", "2", "--json")
    assert first.code == exits.DONE, first
    assert (first.summary["done"], first.summary["cached"], first.summary["failed"]) == (3, 0, 0)
    lines = manifest(tmp_path / "in-ready")
    assert list(lines) == ["a.png", "sub/b.jpg", "sub/c.bmp"]
    assert [json.loads(line) for line in sorted(first.out.splitlines()[:-1])] == sorted(
        lines.values(), key=lambda line: line["path"]
    )
    for path, line in lines.items():
        (written,) = (tmp_path / "in-ready").glob(f"{path}.*")
        data = written.read_bytes()
        assert Image.open(BytesIO(data)).size == (line["width"], line["height"]) == (60, 40)
        assert len(data) == line["bytes_after"]
        assert line["sha256"] == sha256((tmp_path / "in" / path).read_bytes()).hexdigest()
        assert line["bytes_before"] == (tmp_path / "in" / path).stat().st_size

    again = shell.run("batch", "in", "--json")
    assert (again.summary["done"], again.summary["cached"], again.summary["unchanged"]) == (3, 3, 3)
    other = shell.run("batch", "in", "--json", "--out", "other")
    assert (other.summary["done"], other.summary["cached"], other.summary["unchanged"]) == (3, 3, 0)
    assert (tmp_path / "other/sub/b.jpg.jpg").read_bytes() == (tmp_path / "in-ready/sub/b.jpg.jpg").read_bytes()


@pytest.mark.slow
def test_each_kind_of_bad_input_is_a_typed_error_and_the_others_are_done(shell: Shell, tmp_path: Path) -> None:
    root = tmp_path / "in"
    put(
        root,
        good_png=picture(10),
        wrong__extension_jpg=picture(11),
        empty_png=b"",
        text_png=b"hello, this is text\n",
        page_png=b"<!DOCTYPE html><html><body>Not found</body></html>",
        truncated_png=noise(60, 60)[:4000],
        huge_png=picture(12) + bytes(60_000),
        README_txt=b"not an image, and not named like one",
    )
    (root / "wide.png").write_bytes(picture(13, 400, 400))
    (root / "gone.png").symlink_to("nowhere.png")
    os.mkfifo(root / "pipe.png")
    # The service is started with these limits: one of its own.
    limits = {"PIXLANE_MAX_SOURCE_BYTES": "50000", "PIXLANE_MAX_PIXELS": "100000", "PIXLANE_EMBEDDED_DIR": str(tmp_path / "own")}
    done = shell.run("batch", "in", "--json", env={**limits, "PIXLANE_EMBEDDED_LINGER_S": "0.1"})
    assert done.code == exits.SOME_FAILED, done
    assert codes(tmp_path / "in-ready") == {
        "good.png": None,
        "wrong/extension.jpg": None,
        "empty.png": "empty_input",
        "text.png": "not_an_image",
        "page.png": "not_an_image",
        "truncated.png": "truncated_input",
        "huge.png": "source_too_large",
        "wide.png": "too_many_pixels",
        "gone.png": "source_missing",
        "pipe.png": "not_a_file",
    }
    errors = {path: line["error"] for path, line in manifest(tmp_path / "in-ready").items() if "error" in line}
    assert all(set(error) == {"code", "message", "limit", "actual"} and error["message"] for error in errors.values())
    assert (errors["huge.png"]["limit"], errors["huge.png"]["actual"]) == (50_000, len(picture(12)) + 60_000)
    assert (errors["wide.png"]["limit"], errors["wide.png"]["actual"]) == (100_000, 160_000)
    assert done.summary["skipped"] == {"not_an_image": 1}
    assert done.summary["failed_codes"]["not_an_image"] == 2


@pytest.mark.slow
def test_failures_are_named_on_stderr_one_line_each_and_the_table_is_on_stdout(shell: Shell, tmp_path: Path) -> None:
    put(tmp_path / "in", a_png=picture(20), b_png=b"text", c_png=b"")
    done = shell.run("batch", "in")
    failures = [line for line in done.err.splitlines() if ".png" in line]
    assert [line.split(": ")[1:3] for line in failures] == [["b.png", "not_an_image"], ["c.png", "empty_input"]]
    assert "1 of 3 done" in done.out
    assert "2 failed" in done.out
    assert not done.out.startswith("{")


@pytest.mark.slow
def test_identical_files_are_done_once(shell: Shell, tmp_path: Path) -> None:
    data = noise(700, 500)
    put(tmp_path / "in", **{f"{number:02d}_png": data for number in range(40)})
    done = shell.run("batch", "in", "--json")
    assert (done.summary["done"], done.summary["cached"]) == (40, 39)
    assert len({line["key"] for line in manifest(tmp_path / "in-ready").values()}) == 1


@pytest.mark.slow
def test_the_folder_of_the_results_inside_the_folder_is_not_input_the_next_time(shell: Shell, tmp_path: Path) -> None:
    put(tmp_path / "in", a_png=picture(30))
    for _ in range(2):
        assert shell.run("batch", ".", "--json", cwd=tmp_path / "in").summary["files"] == 1
    assert sorted(path.name for path in (tmp_path / "in").iterdir()) == ["a.png", "in-ready"]


@pytest.mark.slow
def test_profile_recipe_and_data_urls_reach_the_result(shell: Shell, tmp_path: Path) -> None:
    put(tmp_path / "in", a_png=noise(300, 200))
    done = shell.run("batch", "in", "--json", "--profile", "anthropic", "--max-side", "100", "--accept", "jpeg", "--data-urls")
    assert done.code == exits.DONE, done
    line = manifest(tmp_path / "in-ready")["a.png"]
    assert (line["mime"], max(line["width"], line["height"])) == ("image/jpeg", 100)
    url = (tmp_path / "in-ready/a.png.dataurl").read_text()
    assert url.startswith("data:image/jpeg;base64,")
    assert b64decode(url.partition(",")[2]) == (tmp_path / "in-ready/a.png.jpg").read_bytes()


@pytest.mark.slow
def test_ctrl_c_ends_it_with_130_and_a_manifest_of_what_is_done_and_the_next_run_continues(shell: Shell, tmp_path: Path) -> None:
    put(tmp_path / "in", **{f"{number:03d}_png": noise(600, 400) for number in range(32)})
    process = shell.start("batch", "in", "--json", start_new_session=True)
    assert process.stdout is not None
    first = json.loads(process.stdout.readline())
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does: to the whole group
    out, err = process.communicate(timeout=60)
    assert process.returncode == exits.INTERRUPTED
    assert b"Traceback" not in err
    summary = json.loads(out.splitlines()[-1])["summary"]
    assert summary["interrupted"]
    lines = manifest(tmp_path / "in-ready")
    assert first["path"] in lines
    assert len(lines) == summary["done"] < 32
    assert not list((tmp_path / "in-ready").glob(".*"))
    rest = shell.run("batch", "in", "--json")
    assert (rest.code, rest.summary["done"], rest.summary["unchanged"]) == (exits.DONE, 32, summary["done"])


@pytest.mark.slow
def test_killed_outright_it_leaves_the_old_manifest_and_the_next_run_continues(shell: Shell, tmp_path: Path) -> None:
    put(tmp_path / "in", old_png=picture(40))
    shell.run("batch", "in")
    before = (tmp_path / "in-ready/manifest.jsonl").read_bytes()
    put(tmp_path / "in", **{f"{number:03d}_png": noise(600, 400) for number in range(20)})
    process = shell.start("batch", "in", "--json")
    assert process.stdout is not None
    process.stdout.readline()
    process.stdout.readline()
    process.kill()
    process.communicate()
    assert (tmp_path / "in-ready/manifest.jsonl").read_bytes() == before
    rest = shell.run("batch", "in", "--json")
    assert (rest.code, rest.summary["done"]) == (exits.DONE, 21)
    assert rest.summary["cached"] > 1
    assert not list((tmp_path / "in-ready").glob(".*"))


@pytest.mark.slow
def test_a_redis_that_refuses_is_no_service_and_one_line(shell: Shell, tmp_path: Path) -> None:
    put(tmp_path / "in", a_png=picture(50))
    refusing = {"PIXLANE_REDIS_URL": "redis://127.0.0.1:1/0"}
    for arguments in (["batch", "in", "--quiet"], ["submit", "in/a.png"], ["get", "in/a.png"], ["purge", "in/a.png"]):
        done = shell.run(*arguments, env=refusing)
        assert done.code == exits.NO_SERVICE, done
        (line,) = done.err.splitlines()
        assert line.startswith("pixlane: store_unavailable: ")
        assert "127.0.0.1:1" in line


@pytest.mark.slow
@pytest.mark.parametrize(
    "arguments", [["batch", "nowhere"], ["batch", "in/a.png"], ["batch", "in", "--out", "in"], ["batch", "in", "--max-side", "0"]]
)
def test_wrong_use_of_batch_is_one_line_and_touches_nothing(shell: Shell, tmp_path: Path, arguments: list[str]) -> None:
    put(tmp_path / "in", a_png=picture(51))
    done = shell.run(*arguments)
    assert (done.code, done.out) == (exits.WRONG_USE, "")
    assert len(done.err.splitlines()) == 1
    assert [path.name for path in tmp_path.iterdir()] == ["in"]


@pytest.mark.slow
def test_an_empty_folder_is_done(shell: Shell, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    done = shell.run("batch", "in")
    assert (done.code, (tmp_path / "in-ready/manifest.jsonl").read_text()) == (exits.DONE, "")
    assert "no image was found" in done.out


@pytest.mark.slow
def test_a_folder_or_file_that_cannot_be_read_has_a_line_and_the_others_are_done(shell: Shell, tmp_path: Path) -> None:
    root = tmp_path / "in"
    put(root, a_png=picture(52), closed__b_png=picture(53), secret_png=picture(54), secret=b"may be anything")
    for name in ("closed", "secret.png", "secret"):
        (root / name).chmod(0)
    own = {"PIXLANE_EMBEDDED_DIR": str(tmp_path / "own"), "PIXLANE_EMBEDDED_LINGER_S": "0.1"}
    done = shell.run("batch", "in", "--json", env=own, preexec_fn=_obey_permissions)
    (root / "closed").chmod(0o700)
    assert done.code == exits.SOME_FAILED, done
    unreadable = "source_unreadable"
    assert codes(tmp_path / "in-ready") == {"a.png": None, "closed/": unreadable, "secret": unreadable, "secret.png": unreadable}


def _obey_permissions() -> None:
    """Root may read everything; without these two capabilities it is like any owner."""
    if os.getuid() == 0:
        for capability in (1, 2):  # CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH
            ctypes.CDLL(None).prctl(24, capability, 0, 0, 0)  # PR_CAPBSET_DROP


@pytest.mark.slow
def test_a_full_disk_is_an_error_for_what_does_not_fit_and_the_manifest_has_its_place(shell: Shell, tmp_path: Path) -> None:
    put(tmp_path / "in", **{f"{number}_png": noise(250, 200) for number in range(9)}, small_png=picture(60))
    with small_disk(tmp_path / "out", 512 * 1024):
        done = shell.run("batch", "in", "--out", "out", "--json")
        assert done.code == exits.SOME_FAILED, done
        result = codes(tmp_path / "out")
        assert set(result.values()) == {None, "output_unwritable"}
        assert len(result) == 10
        for path, line in manifest(tmp_path / "out").items():
            if "mime" in line:
                assert next((tmp_path / "out").glob(f"{path}.*")).stat().st_size == line["bytes_after"]
        assert not list((tmp_path / "out").glob(".*"))
    roomy = shell.run("batch", "in", "--out", "roomy", "--json")
    assert (roomy.code, roomy.summary["cached"]) == (exits.DONE, 10)


@contextmanager
def small_disk(folder: Path, byte_count: int) -> Iterator[None]:
    """A file system of that size. Where none may be mounted, what is left is the limit of a file size in `test_batch_run`."""
    folder.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={byte_count}", "tmpfs", str(folder)], capture_output=True)
    if mounted.returncode:
        pytest.skip(f"no small disk can be mounted here: {mounted.stderr.decode().strip()}")
    try:
        yield
    finally:
        subprocess.run(["umount", str(folder)], check=True)


@pytest.mark.slow
def test_with_a_named_redis_the_bytes_travel_and_its_workers_do_the_work(
    shell: Shell, tmp_path: Path, valkey: Any, start_worker: Callable[..., Any]
) -> None:
    start_worker()
    put(tmp_path / "in", a_png=picture(70), b_png=picture(71))
    done = shell.run("batch", "in", "--json", env={"PIXLANE_REDIS_URL": valkey.url})
    assert (done.code, done.summary["done"]) == (exits.DONE, 2), done
    line = manifest(tmp_path / "in-ready")["a.png"]
    url = valkey.redis.get(f"pixlane:{{{line['sha256']}}}:url:{line['key'].partition('-')[2]}")
    assert url.startswith(b"data:image/png;base64,")


@pytest.mark.slow
def test_submit_get_key_and_purge_speak_of_the_same_image(shell: Shell, tmp_path: Path) -> None:
    put(tmp_path, a_png=picture(80))
    digest = sha256(picture(80)).hexdigest()
    absent = shell.run("get", "a.png")
    assert (absent.code, absent.out) == (exits.NOT_THERE, "")
    assert "not in the cache" in absent.err
    made = shell.run("submit", "a.png", "--wait")
    assert made.code == exits.DONE, made
    assert made.out.startswith("data:image/png;base64,")
    assert shell.run("get", "a.png").out == made.out == shell.run("get", digest).out
    assert shell.run("submit", "-", "--wait", stdin=picture(80)).out == made.out
    names = json.loads(shell.run("key", "a.png", "--json").out)
    assert shell.run("submit", "a.png").out.strip() == names["key"]
    assert json.loads(shell.run("get", "a.png", "--json").out)["recipe"] == names["recipe"]
    assert shell.run("get", "a.png", "--max-side", "7").code == exits.NOT_THERE
    assert shell.run("purge", "a.png").out.startswith("1 result deleted")
    assert shell.run("get", "a.png").code == exits.NOT_THERE


@pytest.mark.slow
def test_a_submitted_image_that_fails_says_so(shell: Shell, tmp_path: Path) -> None:
    put(tmp_path, a_png=b"text")
    done = shell.run("submit", "a.png", "--wait")
    assert (done.code, done.out) == (exits.SOME_FAILED, "")
    assert "not_an_image: " in done.err
    missing = shell.run("submit", "nowhere/a.png", "--wait")
    assert (missing.code, missing.out) == (exits.SOME_FAILED, "")
    assert "source_missing: " in missing.err


@pytest.mark.slow
def test_a_link_that_is_submitted_is_what_it_leads_to(shell: Shell, tmp_path: Path) -> None:
    put(tmp_path, other__a_png=picture(82))
    (tmp_path / "link.png").symlink_to("other/a.png")
    done = shell.run("submit", "link.png", "--wait", "--json")
    assert done.code == exits.DONE, done
    assert json.loads(done.out)["source"]["sha256"] == sha256(picture(82)).hexdigest()


@pytest.mark.slow
def test_purging_all_wants_a_yes(shell: Shell, tmp_path: Path) -> None:
    put(tmp_path, a_png=picture(81))
    shell.run("submit", "a.png", "--wait")
    refused = shell.run("purge", "--all", stdin=b"y\n")
    assert (refused.code, refused.out) == (exits.WRONG_USE, "")
    assert "--yes" in refused.err
    assert shell.run("get", "a.png").code == exits.DONE
    assert json.loads(shell.run("purge", "--all", "--yes", "--json").out)["results_deleted"] >= 1
    assert shell.run("get", "a.png").code == exits.NOT_THERE


@pytest.mark.slow
def test_fit_prints_data_urls_or_writes_files_and_goes_on_after_a_bad_one(shell: Shell, tmp_path: Path) -> None:
    put(tmp_path, a_png=picture(90), b_png=b"text", c_jpg=picture(91, kind="JPEG"))
    plain = shell.run("fit", "a.png", "b.png", "c.jpg")
    assert plain.code == exits.SOME_FAILED
    assert [line.partition(",")[0] for line in plain.out.splitlines()] == ["data:image/png;base64", "data:image/jpeg;base64"]
    assert "pixlane: b.png: not_an_image: " in plain.err
    files = shell.run("fit", "a.png", "c.jpg", "-o", "ready", "--quiet")
    assert files.out.split() == ["ready/a.png.png", "ready/c.jpg.jpg"]
    assert b64decode(plain.out.splitlines()[0].partition(",")[2]) == (tmp_path / "ready/a.png.png").read_bytes()
    record = json.loads(shell.run("fit", "-", "--json", "--max-side", "30", stdin=picture(90)).out)
    assert (record["path"], record["width"], record["height"], record["scale"]) == ("-", 30, 20, [0.5, 0.5])
    assert record["attempts"]
    assert record["data_url"].startswith("data:image/png")
    assert not (tmp_path / "own").exists()


def test_fit_leaves_alone_what_another_run_is_writing_into_the_folder(shell: Shell, tmp_path: Path) -> None:
    put(tmp_path, a_png=picture(94))
    (tmp_path / "ready").mkdir()
    (tmp_path / "ready" / PART_NAME).write_bytes(b"half of another picture")
    assert shell.run("fit", "a.png", "-o", "ready").code == exits.DONE
    assert sorted(path.name for path in (tmp_path / "ready").iterdir()) == [PART_NAME, "a.png.png"]
    assert (tmp_path / "ready" / PART_NAME).read_bytes() == b"half of another picture"


@pytest.mark.slow
def test_a_batch_that_ends_early_does_not_look_done(shell: Shell, tmp_path: Path) -> None:
    put(tmp_path / "in", a_png=picture(95))
    refusing = {"PIXLANE_REDIS_URL": "redis://127.0.0.1:1/0"}
    plain = shell.run("batch", "in", "--quiet", env=refusing)
    assert plain.out.startswith("✗ ended early: 0 of 1 done")
    told = shell.run("batch", "in", "--quiet", "--json", env=refusing)
    assert (told.code, told.summary["error"]["code"]) == (exits.NO_SERVICE, "store_unavailable")
    assert len(told.err.splitlines()) == 1


@pytest.mark.slow
def test_fit_does_not_write_two_files_over_each_other(shell: Shell, tmp_path: Path) -> None:
    put(tmp_path, x__a_png=picture(92), y__a_png=picture(93))
    done = shell.run("fit", "x/a.png", "y/a.png", "-o", "ready")
    assert (done.code, done.out) == (exits.WRONG_USE, "")
    assert not (tmp_path / "ready").exists()
