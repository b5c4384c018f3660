"""An agent's configuration: which value is in force, where it comes from, and what `pixlane config` and `pixlane route` print."""

from __future__ import annotations

import io
import json
import os
import stat
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from pixlane import cli
from pixlane.cli import exits
from pixlane.errors import InvalidArgument
from pixlane.messages import config_file, load_config
from pixlane.messages.config import KEYS, split, value_of
from pixlane.messages.urls import masked
from pixlane.settings import Settings, environment_name
from tests.pure.make import flat

MODE = "agent.image_input_mode"
BUDGET = "vision.embed_target_bytes"


def file(folder: Path, text: str, name: str = "agent.yaml") -> str:
    (folder / name).write_text(text)
    return str(folder / name)


def test_the_order_is_argument_environment_file_default(tmp_path: Path) -> None:
    path = file(tmp_path, "agent: {image_input_mode: text}\nvision: {embed_target_bytes: 100000}\n")
    environ = {"PIXLANE_IMAGE_INPUT_MODE": "auto", "HOME": str(tmp_path)}

    def found(key: str, **given: object) -> tuple[object, str, str]:
        entry = load_config(**given).entry(key)  # type: ignore[arg-type]
        return entry.value, entry.origin, entry.where

    assert found(MODE, arguments={MODE: "native"}, environ=environ, path=path) == ("native", "argument", "")
    assert found(MODE, environ=environ, path=path) == ("auto", "environment", "PIXLANE_IMAGE_INPUT_MODE")
    assert found(MODE, environ={}, path=path) == ("text", "file", path)
    assert found(BUDGET, environ=environ, path=path) == (100_000, "file", path)
    assert found(BUDGET, environ={"PIXLANE_CONFIG": path}) == (100_000, "file", path)
    assert found("vision.default", environ={}, path=path) == ("", "default", "")
    assert load_config(environ=environ, path=path)["agent"]["image_input_mode"] == "auto"  # the mapping is merged in that order


@pytest.mark.parametrize("key", KEYS)
def test_every_key_is_set_by_its_variable_and_has_a_default(key: str) -> None:
    value = {"agent.image_input_mode": "native", "model.supports_vision": "yes"}.get(key, "70000")
    entry = load_config(environ={environment_name(KEYS[key]): value}).entry(key)
    assert (str(entry.value).replace("True", "yes"), entry.origin) == (value, "environment")
    default = load_config(environ={}).entry(key)
    assert default.value == (None if key == "model.supports_vision" else getattr(Settings(), KEYS[key]))


def test_a_value_that_is_none_is_named_and_the_default_taken(tmp_path: Path) -> None:
    path = file(
        tmp_path, "agent: {image_input_mode: banana}\nvision: {max_calls_per_image: many}\nmodel: {supports_vision: perhaps}\n"
    )
    config = load_config(environ={}, path=path)
    assert [
        (one.value, one.problem) for one in map(config.entry, (MODE, "vision.max_calls_per_image", "model.supports_vision"))
    ] == [
        ("auto", "must be auto, native or text, got 'banana'"),
        (0, "must be a whole number, got 'many'"),
        (None, "must be true or false, got 'perhaps'"),
    ]


@pytest.mark.parametrize(
    ("text", "name", "said"),
    [
        ("- a\n", "a.yaml", "must hold a mapping, got list"),
        ("a: [1\n", "a.yaml", "line 2"),
        ("a: 1\na: 2\n", "a.yaml", "duplicate key"),
        ('{"a": }', "a.json", "line 1"),
        ("!!python/object/apply:os.system ['true']\n", "a.yaml", "constructor"),
    ],
)
def test_a_file_that_cannot_be_read_is_named_with_its_place(tmp_path: Path, text: str, name: str, said: str) -> None:
    with pytest.raises(InvalidArgument) as caught:
        load_config(environ={}, path=file(tmp_path, text, name))
    assert str(tmp_path / name) in caught.value.message
    assert said in caught.value.message


def test_a_named_file_has_to_be_there_and_the_usual_one_has_not(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    with pytest.raises(InvalidArgument, match="is not there"):
        load_config(environ={}, path=str(tmp_path / "gone.yaml"))
    assert dict(load_config(environ={})) == {}
    (tmp_path / "pixlane").mkdir()
    file(tmp_path / "pixlane", "agent: {image_input_mode: native}", "config.yaml")
    if sys.platform != "darwin":
        assert load_config(environ={}).entry(MODE).value == "native"


def test_an_empty_file_and_one_of_comments_hold_nothing(tmp_path: Path) -> None:
    for text in ("", "# nothing yet\n", "\ufeff"):
        assert dict(load_config(environ={}, path=file(tmp_path, text))) == {}


def test_a_change_keeps_comments_order_and_what_is_not_ours(tmp_path: Path) -> None:
    path = file(tmp_path, "# mine\nmodel:\n  default: 'gpt-4.1'  # good\nother: [1, 2]\nagent:\n  image_input_mode: auto\n")
    os.chmod(path, 0o640)
    config_file.write(path, split(MODE), "native")
    config_file.write(path, split("providers.x.y.models.gpt-4.1.supports_vision"), True)
    text = Path(path).read_text()
    assert text.startswith("# mine\nmodel:\n  default: 'gpt-4.1'  # good\nother: [1, 2]\nagent:\n  image_input_mode: native\n")
    assert load_config(environ={}, path=path)["providers"] == {"x.y": {"models": {"gpt-4.1": {"supports_vision": True}}}}
    assert stat.S_IMODE(os.stat(path).st_mode) == 0o640
    assert sorted(os.listdir(tmp_path)) == ["agent.yaml"]  # nothing is left behind


def test_a_new_file_is_private_and_json_stays_json(tmp_path: Path) -> None:
    new = tmp_path / "folder" / "agent.json"
    config_file.write(str(new), split(MODE), "text")
    assert json.loads(new.read_text()) == {"agent": {"image_input_mode": "text"}}
    assert stat.S_IMODE(new.stat().st_mode) == 0o600
    commented = file(tmp_path, "# a plan\n")
    config_file.write(commented, split(MODE), "text")
    assert Path(commented).read_text() == "# a plan\nagent:\n  image_input_mode: text\n"


def test_words_of_the_command_line_become_values() -> None:
    assert value_of("model.supports_vision", "off") is False
    assert value_of("providers.p.models.a.b.supports_vision", "1") is True
    assert value_of(BUDGET, "1000") == 1000  # clamped where it is used, with a note
    assert value_of("vision.default", "openai/gpt-4o") == "openai/gpt-4o"
    for key, word in ((MODE, "fast"), ("model.supports_vision", "maybe"), ("vision.max_calls_per_image", "-1"), ("no.such", "1")):
        with pytest.raises(InvalidArgument):
            value_of(key, word)


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("https://u:p@h/a.png?sig=abc&rev=3", "https://***@h/a.png?sig=***&rev=3"),
        ("https://h/a.png?X-Amz-Signature=abc&X-Amz-Credential=me", "https://h/a.png?X-Amz-Signature=***&X-Amz-Credential=***"),
        ("https://h/a.png", "https://h/a.png"),
        ("/tmp/a b.png?token=x", "/tmp/a b.png?token=x"),
    ],
)
def test_what_is_printed_of_a_url_hides_what_looks_like_a_secret(url: str, shown: str) -> None:
    assert masked(url) == shown


# The commands ----------------------------------------------------------------------------------------------------


Command = Callable[..., tuple[str, str]]


@pytest.fixture
def pixlane(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Command:
    """Runs a command in this process, at home in `tmp_path`; gives what it printed and what it said."""
    for name in os.environ:
        if name.startswith(("PIXLANE_", "XDG_")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)

    def command(*arguments: str, stdin: str = "", code: int = exits.DONE) -> tuple[str, str]:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin.encode())))
        ended = cli.run(list(arguments))
        printed = capsys.readouterr()
        assert ended == code, printed.err
        return printed.out, printed.err

    return command


def test_config_shows_and_sets_with_the_origin(pixlane: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = str(tmp_path / ".config" / "pixlane" / "config.yaml")
    assert pixlane("config", "get", MODE)[0] == "auto (default)\n"
    assert pixlane("config", "set", MODE, "native")[0] == f"{MODE}: native  (file {path})\n"
    assert json.loads(pixlane("config", "get", MODE, "--json")[0]) == {
        "key": MODE,
        "value": "native",
        "origin": "file",
        "where": path,
        "problem": "",
    }
    monkeypatch.setenv("PIXLANE_IMAGE_INPUT_MODE", "auto")
    shown, said = pixlane("config", "set", MODE, "text")
    monkeypatch.delenv("PIXLANE_IMAGE_INPUT_MODE")
    assert (shown, "PIXLANE_IMAGE_INPUT_MODE goes before it" in said) == (
        f"{MODE}: auto  (environment PIXLANE_IMAGE_INPUT_MODE)\n",
        True,
    )
    assert pixlane("config", "get", "auxiliary.vision")[0].splitlines() == [
        "auxiliary.vision.provider: auto  (default)",
        "auxiliary.vision.model: ''  (default)",
        "auxiliary.vision.base_url: ''  (default)",
    ]
    listed = pixlane("config", "list")[0].splitlines()
    assert [line.partition(":")[0] for line in listed] == list(KEYS)


@pytest.mark.parametrize(
    "words", [["get", "agent.image_input_mod"], ["set", MODE, "fast"], ["get"], ["set", MODE], ["forget", MODE]]
)
def test_config_refuses_what_it_does_not_know(pixlane: Command, tmp_path: Path, words: list[str]) -> None:
    shown, said = pixlane("config", *words, code=exits.WRONG_USE)
    assert (shown, said.count("\n")) == ("", 1)


def test_config_prints_no_password(pixlane: Command, tmp_path: Path) -> None:
    path = file(tmp_path, "auxiliary: {vision: {base_url: 'http://me:hunter2@h/v1?api_key=hunter2'}}")
    for more in ([], ["--json"]):
        assert "hunter2" not in "".join(pixlane("config", "list", "--config", path, *more))


def test_route_is_the_probe_of_the_article(pixlane: Command, tmp_path: Path) -> None:
    (tmp_path / "a shot.png").write_bytes(flat("red", (64, 32)))
    (tmp_path / "broken.png").write_bytes(b"not an image")
    message = (
        "see ~/a shot.png, ~/broken.png, `~/a.png`, file:///b.png and https://u:hunter2@h/c.png?token=hunter2; my key is hunter2"
    )
    route = ["route", "-", "--provider", "anthropic", "--model", "claude-sonnet-4-5", "--offline"]
    shown, _ = pixlane(*route, stdin=message)
    assert "hunter2" not in shown
    found = json.loads(pixlane(*route, "--json", stdin=message)[0])
    assert "hunter2" not in json.dumps(found)
    assert (found["lane"], found["gate"]["open"], found["wire"]) == ("native", True, "anthropic")
    assert [(part["kind"], part["source"]) for part in found["parts"]] == [
        ("text", None),
        ("image", f"{tmp_path}/a shot.png"),
        ("url", "https://***@h/c.png?token=***"),
    ]
    image = found["parts"][1]
    assert (image["mime"], image["width"], image["height"], image["tokens"]) == ("image/png", 64, 32, 6)
    assert [(one["source"], one["code"]) for one in found["skipped"]] == [(f"{tmp_path}/broken.png", "not_an_image")]
    assert [one["reason"] for one in found["refs"]["ignored"]] == ["in_code", "unsupported_scheme"]
    assert [line.split()[0] for line in shown.splitlines() if not line.startswith(" ")] == [
        "route",
        "lane",
        "gate",
        "attach",
        "attach",
        "skipped",
        "ignored",
        "ignored",
        "parts",
    ]


def test_route_describes_in_the_text_lane_and_reads_the_configuration(pixlane: Command, tmp_path: Path) -> None:
    (tmp_path / "a.png").write_bytes(flat("red", (64, 32)))
    path = file(tmp_path, "model: {provider: 'custom:api.buzzgw.com', default: deepseek-v4-flash}\n")
    said = json.loads(pixlane("route", "see ~/a.png", "--config", path, "--json")[0])
    assert (said["lane"], said["gate"]["open"]) == ("text", False)
    assert [part["kind"] for part in said["parts"]] == ["text"]
    assert [part["source"] for part in said["described"]] == [f"{tmp_path}/a.png"]
    (tmp_path / "message.txt").write_text("see ~/a.png")
    forced = json.loads(pixlane("route", "--file", "message.txt", "--config", path, "--mode", "native", "--json")[0])
    assert (forced["lane"], forced["gate"]["open"]) == ("native", False)
    assert [part["kind"] for part in forced["parts"]] == ["text", "image"]


@pytest.mark.parametrize(
    "words", [[], ["a", "--file", "b"], ["a", "--wire", "nobody"], ["a", "--mode", "fast"], ["a", "--config", "gone"]]
)
def test_route_refuses_wrong_use_in_one_line(pixlane: Command, tmp_path: Path, words: list[str]) -> None:
    shown, said = pixlane("route", *words, "--provider", "openai", "--model", "gpt-4o", code=exits.WRONG_USE)
    assert (shown, said.count("\n")) == ("", 1)


def test_a_provider_of_ones_own_has_an_address_a_wire_a_place_of_its_key_and_endpoints(tmp_path: Path) -> None:
    path = file(
        tmp_path,
        "providers: {my.own: {base_url: 'http://h/v1', wire: openai_chat, "
        "api_key_env: MY_KEY, endpoints: {eu: {wire: anthropic}}}}",
    )
    config = load_config(environ={}, path=path)
    values = {entry.key: entry.value for entry in config.entries() if entry.key.startswith("providers.")}
    assert values == {
        "providers.my.own.base_url": "http://h/v1",
        "providers.my.own.wire": "openai_chat",
        "providers.my.own.api_key_env": "MY_KEY",
        "providers.my.own.endpoints.eu.wire": "anthropic",
    }
    with pytest.raises(InvalidArgument):
        config.entry("providers.my.own.api_key")
