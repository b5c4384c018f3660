"""The wheel, installed into an empty environment and used in a folder that holds somebody else's modules of our names."""

from __future__ import annotations

import json
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.readme import ROOT
from tests.running import clean_environment, folder_with_examples, run, wait_until

FOREIGN = ("tasks", "worker", "celeryconfig", "queue", "redis", "benchmarks", "tests")
INSTALL_LIMIT_S = 400

pytestmark = pytest.mark.timeout(INSTALL_LIMIT_S + 60)


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built from what the repository tracks and .dockerignore lets through, so that it is the wheel of the image too."""
    source, out = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("dist")
    given = [line[1:] for line in (ROOT / ".dockerignore").read_text().splitlines() if line.startswith("!")]
    for name in tracked(*given):
        (source / name).parent.mkdir(parents=True, exist_ok=True)
        (source / name).write_bytes((ROOT / name).read_bytes())
    run([sys.executable, "-m", "build", "--wheel", "--outdir", str(out), str(source)], out, clean_environment(out / "home"), 200)
    (built,) = out.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def environment(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """An environment whose `pixlane` is the wheel's; nothing of the repository is on any path."""
    venv = tmp_path_factory.mktemp("venv")
    given = clean_environment(venv / "home")
    run([sys.executable, "-m", "venv", str(venv)], venv, given)
    install = [str(venv / "bin" / "pip"), "install", "-q", str(wheel), "-c", str(ROOT / "constraints.txt")]
    run(install, venv, given, INSTALL_LIMIT_S)
    return given | {"PATH": f"{venv / 'bin'}:/usr/bin:/bin"}


@pytest.fixture
def foreign(tmp_path: Path) -> Path:
    """A folder of pictures beside modules that must never be imported."""
    for name in FOREIGN:
        (tmp_path / f"{name}.py").write_text("raise SystemExit('the module of somebody else was imported')\n")
    return folder_with_examples(tmp_path)


def test_the_wheel_holds_the_code_and_its_data_and_nothing_else(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
    assert {name.split("/")[0] for name in names if ".dist-info" not in name} == {"pixlane", "tasks", "worker"}
    assert set(tracked("pixlane", "tasks", "worker")) - set(names) == set()
    assert "pixlane/py.typed" in names


def test_batch_finishes_every_picture_among_foreign_modules(environment: dict[str, str], foreign: Path) -> None:
    run(["pixlane", "batch", "examples/images", "--out", "ready"], foreign, environment)
    lines = [json.loads(line) for line in (foreign / "ready" / "manifest.jsonl").read_text().splitlines()]
    assert len(lines) == 10
    assert [line for line in lines if "error" in line] == []


@pytest.fixture
def service(environment: dict[str, str], foreign: Path, tmp_path: Path) -> Iterator[str]:
    """`pixlane up` in the foreign folder; its URL."""
    with (tmp_path / "up.log").open("wb") as log:
        up = subprocess.Popen(["pixlane", "up", "--json"], cwd=foreign, env=environment, stdout=subprocess.PIPE, stderr=log)
    try:
        assert up.stdout is not None
        line = up.stdout.readline()
        assert line, (tmp_path / "up.log").read_text()
        yield json.loads(line)["url"]
    finally:
        up.terminate()
        assert up.wait(30) == 0, (tmp_path / "up.log").read_text()


def test_up_serves_among_foreign_modules(service: str, environment: dict[str, str], foreign: Path) -> None:
    assert run(["pixlane", "submit", "--wait", "examples/images/logo.png"], foreign, environment).startswith("data:image/")


@pytest.fixture
def server(foreign: Path) -> Iterator[str]:
    """An empty Redis; its URL."""
    socket = foreign / "s"
    command = ["redis-server", "--port", "0", "--unixsocket", str(socket), "--dir", str(foreign), "--save", ""]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    wait_until(lambda: socket.exists(), "redis-server listens")
    yield f"unix://{socket}?db=0"
    process.terminate()
    process.wait()


def test_a_worker_serves_among_foreign_modules(server: str, environment: dict[str, str], foreign: Path) -> None:
    given = environment | {"PIXLANE_REDIS_URL": server, "PIXLANE_CONCURRENCY": "1"}
    with (foreign / "worker.log").open("wb") as log:
        worker = subprocess.Popen(["pixlane", "worker"], cwd=foreign, env=given, stdout=log, stderr=subprocess.STDOUT)
    try:
        out = run(["pixlane", "submit", "--wait", "examples/images/tide.gif"], foreign, given)
        assert out.startswith("data:image/"), (foreign / "worker.log").read_text()
    finally:
        worker.terminate()
        assert worker.wait(40) == 0, (foreign / "worker.log").read_text()


def test_fit_needs_no_service_among_foreign_modules(environment: dict[str, str], foreign: Path) -> None:
    apart = environment | {"PIXLANE_REDIS_URL": "redis://127.0.0.1:9/0"}  # nobody listens on the discard port
    assert run(["pixlane", "fit", "examples/images/harbour.heic"], foreign, apart).startswith("data:image/jpeg;base64,")


def tracked(*paths: str) -> list[str]:
    listed = subprocess.run(["git", "ls-files", "-z", *paths], cwd=ROOT, check=True, capture_output=True, text=True)
    return [name for name in listed.stdout.split("\0") if name]
