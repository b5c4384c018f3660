"""The eye that needs no model, behind the queue: it works in the worker, and the agent's process stays light."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from pixlane import Client
from pixlane.settings import Settings
from tests.embedded.conftest import Valkey, Worker
from tests.pure.test_vision_local import drawn
from tests.running import clean_environment

LIMIT_S = 100.0
PICTURE = drawn((700, 200), (40, 60, "Error 42: disk full"))


@pytest.mark.slow
def test_a_worker_reads_the_text_of_a_picture(start_worker: Callable[..., Worker], valkey: Valkey, quick: Settings) -> None:
    start_worker()
    with Client(valkey.url, settings=quick) as client:
        seen = client.observe(PICTURE, "What?", model="local").result(LIMIT_S)
        again = client.observe(PICTURE, "And else?", model="local").result(LIMIT_S)
    assert [line.text for line in seen.ocr] == ["Error 42: disk full"]
    assert seen.generated_by.mode == "local_ocr"
    assert again.reused


@pytest.mark.slow
def test_the_text_lane_through_a_client_loads_nothing_that_looks_into_the_agent(
    start_worker: Callable[..., Worker], valkey: Valkey, quick: Settings, tmp_path: Path
) -> None:
    start_worker()
    (tmp_path / "shot.png").write_bytes(PICTURE)
    script = """
import json, sys
from pixlane import Client
from pixlane.vision import describe_for_text_model
with Client(sys.argv[1]) as client:
    words = describe_for_text_model("Why?", [sys.argv[2], "gone.png"], client=client, deadline_s=100)
print(json.dumps([words, sorted({"onnxruntime", "rapidocr", "cv2", "pyvips", "PIL"} & set(sys.modules))]))
"""
    command = [sys.executable, "-c", script, valkey.url, str(tmp_path / "shot.png")]
    environment = clean_environment(tmp_path / "home")
    done = subprocess.run(command, capture_output=True, text=True, timeout=110, env=environment, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    words, loaded = json.loads(done.stdout)
    assert "> Error 42: disk full" in words
    assert "text recognition on this machine" in words
    assert "source_missing" in words
    assert loaded == []
