"""The command `pixlane` as a process: what goes where, and with which exit code."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path

import pytest

from pixlane import Recipe, __version__, profiles
from pixlane.cli import COMMANDS, exits, options, output
from pixlane.errors import BY_CODE, PixlaneError
from pixlane.recipe import Region
from pixlane.store.keys import Keys, job_key

SHA256_OF_ABC = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"


def pixlane(*arguments: str, stdin: bytes = b"", env: dict[str, str] | None = None) -> subprocess.CompletedProcess[bytes]:
    command = [sys.executable, "-P", "-m", "pixlane", *arguments]
    clean = {name: value for name, value in os.environ.items() if not name.startswith("PIXLANE_")}
    return subprocess.run(command, input=stdin, capture_output=True, timeout=60, env={**clean, **(env or {})})


def one_line(text: bytes) -> str:
    (line,) = text.decode().splitlines()
    return line


def modules_after(*arguments: str) -> set[str]:
    code = "import sys\nfrom pixlane.cli import run\nrun(sys.argv[1:])\nprint(*sys.modules, file=sys.stderr)"
    done = subprocess.run([sys.executable, "-P", "-c", code, *arguments], capture_output=True, timeout=60, check=True)
    return set(done.stderr.decode().split())


def test_the_version_is_one_line() -> None:
    done = pixlane("--version")
    assert (done.returncode, done.stdout.decode(), done.stderr) == (0, f"pixlane {__version__}\n", b"")


@pytest.mark.parametrize("arguments", [["--version"], ["--help"]])
def test_help_and_version_load_no_framework_and_no_engine(arguments: Sequence[str]) -> None:
    assert not modules_after(*arguments) & {"typer", "rich", "redis", "celery", "numpy", "PIL", "pyvips"}


def test_key_loads_neither_redis_nor_an_engine(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"abc")
    assert not modules_after("key", str(tmp_path / "a")) & {"redis", "celery", "numpy", "PIL", "pyvips"}


def test_the_help_page_names_every_command_and_every_exit_code() -> None:
    page = pixlane("--help").stdout.decode()
    assert all(f"\n  {name} " in page for name in COMMANDS)
    assert all(f"{code}  {meaning}" in page for code, meaning in exits.MEANINGS.items())


def test_the_names_of_arguments_are_plain() -> None:
    page = pixlane("fit", "--help").stdout.decode()
    assert "Usage: pixlane fit [OPTIONS] FILE...\n" in page
    assert "  FILE...  Files, or - for stdin." in page
    assert "Usage: pixlane purge [OPTIONS] [SHA256|FILE]\n" in pixlane("purge", "--help").stdout.decode()


def test_no_command_at_all_is_wrong_use_and_shows_the_help_page() -> None:
    done = pixlane()
    assert done.returncode == exits.WRONG_USE
    assert done.stdout.startswith(b"Usage: pixlane")


def test_a_command_that_is_none_gets_a_hint() -> None:
    done = pixlane("bacth")
    assert done.returncode == exits.WRONG_USE
    assert "did you mean `pixlane batch`?" in one_line(done.stderr)


@pytest.mark.parametrize("name", ["fit", "batch", "submit", "get", "key", "purge"])
def test_the_help_of_a_command_has_examples_and_a_sentence_for_each_option(name: str) -> None:
    done = pixlane(name, "--help", env={"COLUMNS": "120"})
    page = done.stdout.decode()
    assert done.returncode == 0
    assert f"Usage: pixlane {name} [OPTIONS] " in page
    assert not set("{}<>") & set(page.splitlines()[0])
    assert "Examples:\n" in page
    assert f"pixlane {name} " in page.split("Examples:")[1]
    assert "--json" in page
    assert "…" not in page


@pytest.mark.slow
@pytest.mark.parametrize(
    "arguments",
    [
        ["key"],
        ["key", "a", "b"],
        ["key", "--nonsense", "a"],
        ["fit"],
        ["batch", "--workers", "0", "."],
        ["key", "--max-side", "x", "a"],
    ],
)
def test_wrong_use_is_one_line_and_names_the_help(arguments: list[str]) -> None:
    done = pixlane(*arguments)
    assert (done.returncode, done.stdout) == (exits.WRONG_USE, b"")
    assert f"(see `pixlane {arguments[0]} --help`)" in one_line(done.stderr)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("option", "code"),
    [
        (["--max-side", "0"], "invalid_recipe"),
        (["--region", "1,2"], "invalid_recipe"),
        (["--jpeg-qualities", "a"], "invalid_recipe"),
        (["--accept", "image/bmp"], "invalid_recipe"),
        (["--background", "blue"], "invalid_recipe"),
        (["--profile", "nobody"], "unknown_profile"),
    ],
)
def test_a_recipe_that_cannot_be_is_wrong_use(option: list[str], code: str) -> None:
    done = pixlane("key", "-", *option)
    assert (done.returncode, done.stdout) == (exits.WRONG_USE, b"")
    assert f"{code}: " in one_line(done.stderr)


def test_a_setting_that_cannot_be_is_wrong_use() -> None:
    done = pixlane("key", "-", env={"PIXLANE_EMBED_TARGET_BYTES": "much"})
    assert done.returncode == exits.WRONG_USE
    assert "PIXLANE_EMBED_TARGET_BYTES" in one_line(done.stderr)


def test_key_prints_the_names_of_a_file(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"abc")
    record = json.loads(pixlane("key", str(tmp_path / "a"), "--json").stdout)
    fingerprint = Recipe().fingerprint
    assert record["sha256"] == SHA256_OF_ABC
    assert record["key"] == job_key(SHA256_OF_ABC, fingerprint)
    assert record["redis"]["url"] == Keys().url(SHA256_OF_ABC, fingerprint)


@pytest.mark.slow
def test_key_depends_on_the_recipe_and_reads_stdin() -> None:
    plain, small = (json.loads(pixlane("key", "-", "--json", *more, stdin=b"abc").stdout) for more in ([], ["--max-side", "800"]))
    assert plain["sha256"] == small["sha256"] == SHA256_OF_ABC
    assert small["recipe"] == Recipe(max_side=800).fingerprint != plain["recipe"]


@pytest.mark.parametrize(("name", "code"), [("gone.png", "source_missing"), (".", "not_a_file"), (os.devnull, "not_a_file")])
def test_a_file_that_cannot_be_read_is_one_line(tmp_path: Path, name: str, code: str) -> None:
    done = pixlane("key", name if os.path.isabs(name) else str(tmp_path / name))
    assert (done.returncode, done.stdout) == (exits.SOME_FAILED, b"")
    assert f"pixlane: {code}: " in one_line(done.stderr)


@pytest.mark.parametrize("arguments", [["purge"], ["purge", "--all", "a.png"], ["purge", "--all"]])
def test_purge_wants_one_thing_and_a_yes_where_there_is_nobody_to_ask(arguments: list[str]) -> None:
    done = pixlane(*arguments, stdin=b"y\n", env={"PIXLANE_REDIS_URL": "redis://127.0.0.1:1/0"})
    assert (done.returncode, done.stdout) == (exits.WRONG_USE, b"")
    assert "purge" in one_line(done.stderr)


def test_control_characters_in_a_name_are_shown_and_not_obeyed(tmp_path: Path) -> None:
    done = pixlane("key", str(tmp_path / "a\x1b[2J\nb.png"))
    assert "a\\x1b[2J\\nb.png" in one_line(done.stderr)


@pytest.mark.slow
@pytest.mark.parametrize(
    "address",
    ["nowhere", "redis://h:port/0", "redis://h:99999/0", "redis://[::1/0", "redis://me:sec/ret@h/0"],
)
@pytest.mark.parametrize("role", ["REDIS", "BROKER", "CACHE"])
def test_an_address_that_cannot_be_is_wrong_use_and_is_not_quoted_with_its_password(address: str, role: str) -> None:
    env = {"PIXLANE_REDIS_URL": "redis://127.0.0.1:1/0", f"PIXLANE_{role}_URL": address}
    done = pixlane("health", env=env)
    assert (done.returncode, done.stdout) == (exits.WRONG_USE, b"")
    assert "invalid_argument: " in one_line(done.stderr)
    assert b"sec" not in done.stderr


def test_with_json_an_error_is_json_too(tmp_path: Path) -> None:
    done = pixlane("key", str(tmp_path / "gone.png"), "--json")
    error = json.loads(one_line(done.stdout))["error"]
    assert (done.returncode, error["code"], error["retryable"]) == (exits.SOME_FAILED, "source_missing", False)
    assert "source_missing: " in one_line(done.stderr)


def test_every_field_of_the_recipe_is_an_option() -> None:
    assert list(options.RECIPE_OPTIONS) == [item.name for item in fields(Recipe) if item.init]


TYPED = {
    "target_bytes": (100_000, 100_000),
    "max_side": (800, 800),
    "size_rule": None,
    "accept": ("png, JPG,image/webp", ("image/png", "image/jpeg", "image/webp")),
    "max_halvings": (2, 2),
    "min_side": (32, 32),
    "jpeg_qualities": ("90, 60", (90, 60)),
    "shrink": ("fine", "fine"),
    "background": ("#102030", "#102030"),
    "region": ("1,2,30,40", Region(1, 2, 30, 40)),
    "page": (3, 3),
    "on_miss": ("smallest", "smallest"),
    "allow_truncated": (True, True),
    "embed": (False, False),
    "min_accepted_side": (8, 8),
    "max_aspect": (20.0, 20.0),
    "max_total_pixels": (1_000_000, 1_000_000),
}


@pytest.mark.parametrize("name", [name for name, pair in TYPED.items() if pair])
def test_an_option_becomes_its_field(name: str) -> None:
    typed, value = TYPED[name]  # type: ignore[misc]
    nothing = dict.fromkeys([*options.PROFILE_OPTIONS, *options.RECIPE_OPTIONS])
    built = options.build({**nothing, name: typed})
    assert getattr(built, name) == value
    assert built == Recipe(**{name: value})  # type: ignore[arg-type]


def test_all_options_are_tried() -> None:
    assert set(TYPED) == set(options.RECIPE_OPTIONS)


def test_many_images_is_a_rule_of_a_profile_and_is_refused_without_one() -> None:
    done = pixlane("key", "-", "--many-images")
    assert (done.returncode, done.stdout) == (exits.WRONG_USE, b"")
    assert "--profile" in one_line(done.stderr)


def test_every_profile_in_the_help_and_in_the_pages_exists() -> None:
    root = Path(__file__).parents[2]
    pages = [*(root / "pixlane" / "cli").glob("*.py"), *(root / "docs").glob("*.md"), root / "README.md"]
    named = {name for page in pages for name in re.findall(r"(?<!docker-compose )--profile ([a-z]\w*)", page.read_text())}
    assert len(named) > 1
    assert named <= set(profiles.names())


def test_an_option_overrides_its_profile() -> None:
    nothing = dict.fromkeys([*options.PROFILE_OPTIONS, *options.RECIPE_OPTIONS])
    assert options.build({**nothing, "profile": "anthropic"}) == Recipe.for_profile("anthropic")
    assert options.build({**nothing, "profile": "anthropic", "max_side": 500}) == Recipe.for_profile("anthropic", max_side=500)


@pytest.mark.parametrize("kind", BY_CODE.values(), ids=BY_CODE)
def test_every_error_has_an_exit_code_that_is_documented(kind: type[PixlaneError]) -> None:
    assert exits.of(kind("")) in exits.MEANINGS


@pytest.mark.parametrize(
    ("count", "text"),
    [(0, "0 B"), (999, "999 B"), (1000, "1 kB"), (262_144, "262 kB"), (999_600, "1 MB"), (12_345_678, "12.3 MB")],
)
def test_sizes_are_short(count: int, text: str) -> None:
    assert output.size(count) == text


@pytest.mark.parametrize(("seconds", "text"), [(0.4, "0:00"), (7, "0:07"), (754, "12:34"), (3723, "1:02:03"), (59.7, "1:00")])
def test_durations_are_short(seconds: float, text: str) -> None:
    assert output.duration(seconds) == text


@pytest.mark.parametrize("name", ["a", "gone"])
def test_a_reader_that_goes_away_ends_it_without_a_traceback(tmp_path: Path, name: str) -> None:
    (tmp_path / "a").write_bytes(b"abc")
    reader, writer = os.pipe()
    os.close(reader)
    command = [sys.executable, "-P", "-m", "pixlane", "key", str(tmp_path / name), "--json"]
    with os.fdopen(writer, "wb") as stdout:
        done = subprocess.run(command, stdout=stdout, stderr=subprocess.PIPE, timeout=60)
    assert done.returncode == exits.BROKEN_PIPE
    assert len(done.stderr.splitlines()) == (name == "gone")
