"""The examples that use Redis' own tools, with Debian's Redis and workers of their own."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from tests.readme import Example, examples, needs_redis
from tests.running import clean_environment, folder_with_examples, run

PORT_OF_THE_PAGES = "6390"


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.mark.timeout(180)
def test_the_examples_with_redis_run_one_after_the_other(tmp_path: Path) -> None:
    # One shell, as a reader has it: the second example uses the server and the variable of the first.
    text = "".join(example.text for example in examples("sh") if needs_redis(example))
    assert PORT_OF_THE_PAGES in text
    place = folder_with_examples(tmp_path / "place")
    shell = ["bash", "-euo", "pipefail", "-c", text.replace(PORT_OF_THE_PAGES, str(free_port()))]
    out = run(shell, place, clean_environment(tmp_path / "home"), limit_s=150)
    assert out.splitlines()[-1].startswith("data:image/")
    assert len(out.splitlines()[-1]) <= 262_144


def test_every_example_that_uses_redis_tools_is_of_the_shell() -> None:
    unusual: list[Example] = [example for example in examples("(?:bash|console)") if needs_redis(example)]
    assert unusual == []
