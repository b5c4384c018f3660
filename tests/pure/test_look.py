"""`pixlane look` as a process: what goes where, who is said to have looked, and the exit codes."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from pixlane.cli import exits
from tests.pure import make
from tests.pure.test_vision_local import drawn
from tests.running import clean_environment
from tests.stubs.vision import FINDINGS, GOOD, REFUSING, Provider


def look(
    folder: Path, *arguments: str, stdin: bytes = b"", provider: Provider | None = None
) -> subprocess.CompletedProcess[bytes]:
    """In a clean environment: no key, no configuration but that of the stub provider."""
    environment = clean_environment(folder / "home", **(provider.environ if provider else {}))
    named: Sequence[str] = ()
    if provider is not None:
        (folder / "agent.json").write_text(json.dumps({**provider.config, "vision": {"default": provider.model}}))
        named = ["--config", str(folder / "agent.json")]
    command = [sys.executable, "-P", "-m", "pixlane", "look", *arguments, *named]
    return subprocess.run(command, input=stdin, capture_output=True, timeout=110, env=environment, cwd=folder)


@pytest.fixture
def shot(tmp_path: Path) -> Path:
    (tmp_path / "shot.png").write_bytes(drawn((700, 200), (40, 60, "Error 42: disk full")))
    return tmp_path / "shot.png"


@pytest.mark.slow
def test_on_a_machine_without_key_and_configuration_it_tells_the_text_and_what_it_used(shot: Path) -> None:
    done = look(shot.parent, "shot.png", "What is wrong?")
    assert done.returncode == exits.DONE
    assert "Error 42: disk full" in done.stdout.decode().splitlines()
    said = done.stderr.decode()
    assert "no model can look" in said
    assert "looked: text recognition on this machine (rapidocr-" in said


@pytest.mark.slow
def test_the_model_local_reads_from_stdin_and_a_region(shot: Path) -> None:
    done = look(shot.parent, "-", "--model", "local", "--region", "30,50,300,50", "--json", stdin=shot.read_bytes())
    record = json.loads(done.stdout)
    assert record["generated_by"]["mode"] == "local_ocr"
    assert record["ocr"][0]["text"] == "Error 42: disk full"
    assert record["region"] == {"x": 30, "y": 50, "width": 300, "height": 50}
    assert record["instead_of"] is None
    assert record["selection"]["reason"] == "requested_model"


@pytest.mark.slow
def test_a_model_that_is_configured_looks(shot: Path) -> None:
    with Provider("openai_responses", [GOOD]) as provider:
        done = look(shot.parent, "shot.png", "What is it?", provider=provider)
    assert done.stdout.decode().startswith(FINDINGS["summary"])
    assert f"looked: the model {provider.model}" in done.stderr.decode()
    assert "What is it?" in json.dumps(provider.asked[0])


@pytest.mark.slow
def test_a_model_that_fails_is_an_error_and_nobody_steps_in(shot: Path) -> None:
    with Provider("openai_responses", [REFUSING]) as provider:
        done = look(shot.parent, "shot.png", "--json", provider=provider)
    assert done.returncode == exits.SOME_FAILED
    error = json.loads(done.stdout)["error"]
    assert error["code"] == "vision_observation_failed"
    assert error["details"]["reference"]["path"] == str(shot)


def test_a_model_that_was_named_and_has_no_key_is_an_error_with_its_reason(shot: Path) -> None:
    done = look(shot.parent, "shot.png", "--model", "anthropic/some-vlm")
    assert done.returncode == exits.SOME_FAILED
    assert done.stdout == b""
    assert "ANTHROPIC_API_KEY" in done.stderr.decode()


WRONG = {
    "no such file": (["gone.png"], exits.SOME_FAILED),
    "no image": (["page.html", "--model", "local"], exits.SOME_FAILED),
    "no region": (["shot.png", "--region", "1,2"], exits.WRONG_USE),
    "an empty question": (["shot.png", " "], exits.WRONG_USE),
    "no file at all": ([], exits.WRONG_USE),
}


@pytest.mark.slow
@pytest.mark.parametrize(("arguments", "code"), WRONG.values(), ids=list(WRONG))
def test_wrong_use_and_wrong_files_end_with_their_code_and_one_line(shot: Path, arguments: list[str], code: int) -> None:
    (shot.parent / "page.html").write_bytes(b"<html></html>")
    done = look(shot.parent, *arguments)
    assert (done.returncode, done.stdout) == (code, b"")
    assert len(done.stderr.decode().splitlines()) == 1


@pytest.mark.slow
def test_what_a_picture_says_cannot_command_a_terminal(tmp_path: Path) -> None:
    from tests.stubs.vision import said

    (tmp_path / "a.png").write_bytes(make.flat(make.RED))
    with Provider("anthropic", [said(summary="red\x1b[2J\x07 field")]) as provider:
        done = look(tmp_path, "a.png", provider=provider)
    assert b"\x1b" not in done.stdout
    assert b"\x07" not in done.stdout
