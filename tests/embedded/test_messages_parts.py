"""Attaching through the queue: the workers decode, the store remembers, and what goes out is the same."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pixlane import Client
from pixlane.messages import build_parts, repair, wires
from pixlane.settings import Settings
from tests.embedded.conftest import Valkey
from tests.pure import make


@pytest.mark.slow
def test_a_client_gives_the_same_parts_and_the_next_agent_gets_them_from_the_store(
    tmp_path: Path, valkey: Valkey, quick: Settings, start_worker: Any
) -> None:
    worker = start_worker()
    files = {
        "a.png": make.flat(make.RED, (40, 30)),
        "b.bmp": make.flat(make.BLUE, (40, 30), "BMP"),
        "c.png": b"<html>",
        "d.jpg": make.array(make.smooth(), "JPEG"),
    }
    for name, data in files.items():
        (tmp_path / name).write_bytes(data)
    paths = [tmp_path / name for name in files]
    with Client(valkey.url, settings=quick) as client:
        attached = build_parts("look", paths, client=client)
        assert attached == build_parts("look", paths)
        assert [about.code for about in attached.skipped] == ["not_an_image"]
        worker.kill()
        assert build_parts("look", paths, client=client) == attached


def test_a_store_that_is_gone_is_named_and_the_message_goes_out(tmp_path: Path, valkey: Valkey, quick: Settings) -> None:
    (tmp_path / "a.png").write_bytes(make.flat(make.RED))
    with Client(valkey.url, settings=replace(quick, store_timeout_s=0.5)) as client:
        valkey.kill()
        attached = build_parts("look", [tmp_path / "a.png"], client=client)
    assert [about.code for about in attached.skipped] == ["store_unavailable"]
    assert attached.parts[0]["text"].startswith("look")


@pytest.mark.slow
def test_repair_encodes_through_the_client(valkey: Valkey, quick: Settings, start_worker: Any) -> None:
    start_worker()
    wire = wires.get("anthropic")
    messages = [wire.user_message([wire.image_part("image/bmp", make.flat(make.BLUE, (40, 30), "BMP"))])]
    with Client(valkey.url, settings=quick) as client:
        assert repair(messages, "anthropic", "anthropic", client=client) == repair(messages, "anthropic", "anthropic")
    assert valkey.redis.keys("pixlane:*:url:*")
