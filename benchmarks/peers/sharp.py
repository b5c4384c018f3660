"""sharp from npm, in a Node process that lives as long as the run: `npm install sharp`, then `--sharp FOLDER`."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
from dataclasses import asdict
from pathlib import Path
from typing import Any

from benchmarks.clock import Sample
from benchmarks.task import Outcome, Task

SCRIPT = Path(__file__).with_name("sharp.mjs")


class SharpMissing(Exception):
    """Node or the sharp package is not there; the message says what to do."""


class Sharp:
    name = "sharp"

    def __init__(self, folder: Path | None = None) -> None:
        node = shutil.which("node")
        home = folder or _from_node_path()
        if node is None or home is None:
            raise SharpMissing("sharp is measured through Node: run `npm install sharp` in a folder and name it with --sharp DIR")
        environment = {**os.environ, "UV_THREADPOOL_SIZE": "1", "VIPS_CONCURRENCY": "1"}
        self._node = subprocess.Popen(
            [node, str(SCRIPT), str(home.resolve())],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=environment,
        )
        try:
            hello = self._answer()
        except SharpMissing:
            self.close()
            raise
        self.version = f"{hello['version']} (libvips {hello['libvips']})"

    def run(self, path: Path, task: Task) -> tuple[Sample, Outcome]:
        with tempfile.TemporaryDirectory() as folder:
            out = Path(folder) / "out.jpg"
            assert self._node.stdin
            self._node.stdin.write(json.dumps({"path": str(path.resolve()), "out": str(out), "task": asdict(task)}) + "\n")
            self._node.stdin.flush()
            answer = self._answer()
            if "error" in answer:
                raise RuntimeError(f"sharp on {path.name}: {answer['error']}")
            data = out.read_bytes()
        outcome = Outcome(answer["width"], answer["height"], "jpeg", answer["quality"], answer["bytes"], data)
        return Sample(answer["wall"], answer["cpu"]), outcome

    def close(self) -> None:
        self._node.kill()
        self._node.wait()
        for pipe in (self._node.stdin, self._node.stdout, self._node.stderr):
            if pipe:
                pipe.close()

    def _answer(self) -> dict[str, Any]:
        assert self._node.stdout
        assert self._node.stderr
        line = self._node.stdout.readline()
        if not line:
            said = self._node.stderr.read().strip().splitlines()
            reason = next((one for one in said if "Error" in one), said[-1] if said else "Node ended")
            raise SharpMissing(f"sharp could not be loaded: {reason}")
        answer: dict[str, Any] = json.loads(line)
        return answer


def _from_node_path() -> Path | None:
    """The folder above the first `node_modules` of NODE_PATH that holds sharp."""
    for entry in filter(None, os.environ.get("NODE_PATH", "").split(os.pathsep)):
        if (Path(entry) / "sharp").is_dir():
            return Path(entry).parent
    return None
