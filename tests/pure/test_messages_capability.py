"""Who may say that a model sees: the catalog, the profile, and servers that are asked over real HTTP on this machine."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from pixlane.messages import catalog, decide_lane, explain, ladder, reach
from pixlane.messages.catalog_build import built

KNOWN = [
    ("anthropic", "claude-sonnet-4-5", True),
    ("Anthropic", "claude-sonnet-4.5", True),
    ("anthropic", "anthropic/claude-sonnet-4-5", True),
    ("openai-codex", "gpt-4o", True),
    ("google", "models/gemini-2.5-pro", True),
    ("vertex", "gemini-2.5-pro", True),
    ("bedrock", "us.anthropic.claude-sonnet-4-5-20250929-v1:0", True),
    ("openrouter", "anthropic/claude-sonnet-4.5", True),
    ("openrouter", "openai/gpt-4o:free", True),
    ("openrouter", "deepseek/deepseek-v3.2", False),
    ("minimax", "MiniMax-M2.1", False),
    ("openai", "gpt-3.5-turbo", None),
    ("custom:somewhere", "gpt-4o", None),
    ("openrouter", "gpt-4o", None),
]


@pytest.mark.parametrize(("provider", "model", "sees"), KNOWN)
def test_the_shipped_catalog(provider: str, model: str, sees: bool | None) -> None:
    assert catalog.shipped().sees(provider, model) is sees


def test_the_catalog_names_its_date_and_its_source() -> None:
    shipped = catalog.shipped()
    assert shipped.source.startswith("litellm ")
    assert shipped.age_days() >= 0
    assert sum(len(models) for models in shipped.providers.values()) > 1_000


def test_a_catalog_in_the_form_of_models_dev() -> None:
    table = {
        "Some Provider": {
            "models": {
                "a": {"modalities": {"input": ["text", "image"]}, "attachment": False},
                "b": {"modalities": {"input": ["text"]}, "attachment": True},
                "c": {"attachment": True},
                "d": {"attachment": False},
                "e": {},
            }
        },
        "empty": {},
    }
    assert catalog.from_models_dev(table) == {"some-provider": {"a": True, "b": False, "c": True, "d": False}}


def test_the_builder_leaves_out_what_the_table_does_not_say() -> None:
    rows = {
        "gpt-x": {"litellm_provider": "openai", "mode": "chat", "supports_vision": True},
        "openai/gpt-y": {"litellm_provider": "openai", "mode": "responses", "supports_vision": False},
        "gpt-z": {"litellm_provider": "openai", "mode": "chat"},
        "dall-e": {"litellm_provider": "openai", "mode": "image_generation", "supports_vision": True},
        "gpt-m": {"litellm_provider": "openai", "mode": "chat", "supported_modalities": ["text", "image"]},
        "gpt-n": {"litellm_provider": "openai", "mode": "chat", "supports_vision": True, "supported_modalities": ["text"]},
        "azure/eu/gpt-x": {"litellm_provider": "azure", "mode": "chat", "supports_vision": True},
        "azure/us/gpt-x": {"litellm_provider": "azure", "mode": "chat", "supports_vision": False},
    }
    found = built(rows)
    assert found["openai"] == {"sees": ["gpt-m", "gpt-x"], "blind": ["gpt-y"]}
    assert found["azure"] == {"sees": [], "blind": []}
    assert "deepseek-v3-2" in found["deepseek"]["blind"]


def test_the_profile_speaks_for_models_that_no_catalog_knows() -> None:
    assert decide_lane("anthropic", "claude-opus-99", {}, offline=True).reason.startswith("profile: profile anthropic_highres")
    assert decide_lane("anthropic", "somebody-elses-model", {}, offline=True).lane == "text"
    assert decide_lane("google", "gemini-9-pro-preview", {}, offline=True).lane == "native"
    assert decide_lane("google", "gemini-9-pro-preview-tts", {}, offline=True).lane == "text"


# What is asked over the network ------------------------------------------------------------------------------------------------


class Server(ThreadingHTTPServer):
    """Answers what it is told to, and keeps what it was asked."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Answers)
        self.asked: list[tuple[str, Any]] = []
        self.answers: dict[str, Any] = {}  # path to the JSON, the raw bytes, or the status
        self.stall = threading.Event()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"


class _Answers(BaseHTTPRequestHandler):
    server: Server

    def do_GET(self) -> None:
        self.answer(None)

    def do_POST(self) -> None:
        self.answer(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))

    def answer(self, body: Any) -> None:
        self.server.asked.append((self.path, body))
        said = self.server.answers.get(self.path, 404)
        if said == "stall":
            self.server.stall.wait(30)
            return
        data = said if isinstance(said, bytes) else json.dumps(said).encode()
        self.send_response(said if isinstance(said, int) else 200)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture
def server() -> Iterator[Server]:
    with Server() as running:
        thread = threading.Thread(target=running.serve_forever, args=(0.02,), daemon=True)
        thread.start()
        yield running
        running.stall.set()
        running.shutdown()
        thread.join()


def at(server: Server, provider: str) -> dict[str, Any]:
    return {"providers": {provider: {"base_url": f"{server.url}/v1"}}}


OLLAMA = [
    ({"capabilities": ["completion", "vision"]}, "native"),
    ({"capabilities": ["completion", "tools"]}, "text"),
    ({"projector_info": {"clip.has_vision_encoder": True}}, "native"),  # before 0.6
    ({"model_info": {"gemma3.vision.block_count": 27}}, "native"),
    ({"model_info": {"llama.block_count": 32}}, "text"),
    ([], "text"),
    (b"<html>", "text"),
    (404, "text"),
    (500, "text"),
]


@pytest.mark.parametrize(("answer", "lane"), OLLAMA, ids=repr)
def test_ollama_is_asked_over_http(server: Server, answer: Any, lane: str) -> None:
    server.answers["/api/show"] = answer
    decision = decide_lane("ollama", "some-model:4b", at(server, "ollama"), probes=ladder(asked=reach.Reach()))
    assert decision.lane == lane
    assert server.asked == [("/api/show", {"model": "some-model:4b"})]
    assert f"Ollama at {server.url}" in next(step.said for step in decision.evidence if step.name == "ollama")


def test_an_answer_is_remembered_for_four_hours_and_a_failure_for_a_minute(server: Server) -> None:
    now = [0.0]
    asked = reach.Reach(clock=lambda: now[0])

    def lane() -> str:
        return decide_lane("ollama", "m", at(server, "ollama"), probes=ladder(asked=asked)).lane

    assert (lane(), lane(), len(server.asked)) == ("text", "text", 1)  # 404
    server.answers["/api/show"] = {"capabilities": ["vision"]}
    now[0] = 61.0
    assert (lane(), lane(), len(server.asked)) == ("native", "native", 2)
    now[0] += 4 * 3600 - 1
    assert (lane(), len(server.asked)) == ("native", 2)
    now[0] += 2
    assert (lane(), len(server.asked)) == ("native", 3)


def test_a_server_that_never_answers_is_given_up(server: Server) -> None:
    server.answers["/api/show"] = "stall"
    decision = decide_lane("ollama", "m", at(server, "ollama"), probes=ladder(asked=reach.Reach(timeout_s=0.2)))
    assert decision.lane == "text"
    assert any("no answer within 0.2 s" in step.said or "Timeout" in step.said for step in decision.evidence)
    assert reach.TIMEOUT_S == 3.0


def test_a_server_that_sends_its_header_byte_by_byte_is_given_up_too() -> None:
    ended = threading.Event()

    def drip(listener: socket.socket) -> None:
        connection, _ = listener.accept()
        with connection:
            connection.sendall(b"HTTP/1.1 200 OK\r\nX-Long: ")
            for _ in range(600):  # each byte comes within the timeout of a socket
                if ended.wait(0.05):
                    return
                connection.sendall(b"a")

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=drip, args=(listener,))
        thread.start()
        answer = reach.Reach(timeout_s=0.5).ask(f"http://127.0.0.1:{listener.getsockname()[1]}", lambda found: found)
        ended.set()
        thread.join()
    assert answer == reach.Answer(None, "no answer within 0.5 s")


def test_nobody_there_is_text_with_the_reason() -> None:
    config = {"providers": {"ollama": {"base_url": "http://127.0.0.1:9/v1"}}}
    decision = decide_lane("ollama", "m", config, probes=ladder(asked=reach.Reach()))
    assert decision.lane == "text"
    assert any("could not be asked: ConnectError" in step.said for step in decision.evidence)


def test_offline_asks_nobody(server: Server) -> None:
    server.answers["/api/show"] = {"capabilities": ["vision"]}
    for provider in ("ollama", "llama.cpp", "anthropic", "custom:x"):
        assert explain(provider, "m", at(server, provider), offline=True).steps
    assert decide_lane("ollama", "m", at(server, "ollama"), offline=True).lane == "text"
    assert decide_lane("p", "m", {}, probes=ladder(offline=True, models_url=server.url)).lane == "text"
    assert server.asked == []


DECIDING = """
import sys
from pixlane.messages import explain
touched = []
sys.addaudithook(lambda event, _: touched.append(event) if event.startswith("socket.") else None)
for provider in ("ollama", "llama.cpp", "anthropic", "custom:x"):
    config = {"model": {"provider": provider, "base_url": "http://localhost:9/v1"}}
    explain(provider, "m", config, offline=sys.argv[1] == "offline")
print(touched)
"""


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["offline", "online"])
def test_offline_no_socket_is_touched_and_no_name_resolved(mode: str) -> None:
    ran = subprocess.run([sys.executable, "-c", DECIDING, mode], capture_output=True, text=True, check=True)
    assert (ran.stdout.strip() == "[]") is (mode == "offline")


@pytest.mark.parametrize(
    ("base_url", "asked"),
    [
        ("http://localhost:11434/v1", True),
        ("http://192.168.1.5:11434", True),
        ("http://ollama.example.com:11434/v1", False),  # not on this network: nothing of ours is told to it
        ("http://localhost:8000/v1", False),
        ("http://[::1", False),
    ],
)
def test_another_provider_is_asked_where_its_url_is_that_of_an_ollama_here(base_url: str, asked: bool) -> None:
    config = {"providers": {"mine": {"base_url": base_url}}}
    (step,) = [step for step in explain("mine", "m", config, offline=True).steps if step.name == "ollama"]
    assert step.said == ("not asked: offline" if asked else "not asked: neither the provider nor the base URL is Ollama's")


@pytest.mark.parametrize(
    ("props", "lane"),
    [({"modalities": {"vision": True}}, "native"), ({"modalities": {"vision": False}}, "text"), ({}, "text"), (503, "text")],
)
def test_a_llama_cpp_server_says_itself_what_it_takes(server: Server, props: Any, lane: str) -> None:
    server.answers["/props"] = props
    decision = decide_lane("llama.cpp", "some.gguf", at(server, "llama.cpp"), probes=ladder(asked=reach.Reach()))
    assert (decision.lane, server.asked) == (lane, [("/props", None)])


def test_a_llama_cpp_server_elsewhere_is_not_asked() -> None:
    config = {"providers": {"llama.cpp": {"base_url": "https://llm.example.com/v1"}}}
    assert "not on this machine" in explain("llama.cpp", "m", config).steps[3].said


def test_a_fresh_catalog_goes_before_the_shipped_one(server: Server) -> None:
    server.answers["/api.json"] = {
        "anthropic": {"models": {"claude-sonnet-4-5": {"modalities": {"input": ["text"]}}}},
        "custom": {"models": {"new": {"modalities": {"input": ["text", "image"]}}}},
    }
    rungs = ladder(models_url=f"{server.url}/api.json", asked=reach.Reach())
    assert decide_lane("custom", "new", {}, probes=rungs).lane == "native"
    assert decide_lane("anthropic", "claude-sonnet-4-5", {}, probes=rungs).lane == "text"
    assert decide_lane("openai", "gpt-4o", {}, probes=rungs).lane == "native"  # only the shipped one knows it
    assert len(server.asked) == 1


def test_a_catalog_that_is_down_leaves_the_shipped_one(server: Server) -> None:
    decision = decide_lane("openai", "gpt-4o", {}, probes=ladder(models_url=f"{server.url}/gone", asked=reach.Reach()))
    assert decision.lane == "native"
    assert "answered 404" in decision.reason


def test_what_is_printed_of_a_url_holds_no_secret() -> None:
    config = {"providers": {"ollama": {"base_url": "http://user:hunter2@127.0.0.1:9/v1?key=hunter2"}}}
    assert "hunter2" not in str(explain("ollama", "m", config, probes=ladder(asked=reach.Reach())))
