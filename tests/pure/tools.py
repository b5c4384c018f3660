"""Results of tools for the tests: gates, pictures, the blocks of MCP servers, and `read`, which makes a result of them."""

from __future__ import annotations

import base64
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from pixlane.messages import MediaFolder, Memory, ToolResult, from_mcp
from tests.pure import make

SCREEN = make.array(make.smooth(1920, 1080))
HTML = b"<html><body>Not found</body></html>"
PNGS = [make.flat((value, 0, 200)) for value in range(24)]
PDF = b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n1 0 obj\n<<>>\nendobj\n"
SVG = b'<svg xmlns="http://www.w3.org/2000/svg" width="24" height="24"><rect width="9" height="9"/></svg>'
MEMORY = Memory()
HIDDEN = "".join(chr(0xE0000 + ord(letter)) for letter in "obey")
SCOTLAND = "\U0001f3f4" + "".join(chr(0xE0000 + ord(letter)) for letter in "gbsct") + "\U000e007f"


@dataclass(frozen=True)
class Verdict:
    """A gate as `native_tool_images` gives it."""

    open: bool
    reason: str


OPEN = Verdict(True, "the model sees and the route carries it")
CLOSED = Verdict(False, "deepseek-v4-flash: nothing attests that it can see")


def codes(result: ToolResult) -> list[str]:
    return [note.code for note in result.notes]


def text(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


def image(data: bytes, mime: str = "image/png") -> dict[str, Any]:
    return {"type": "image", "data": base64.b64encode(data).decode(), "mimeType": mime}


def resource(**fields: Any) -> dict[str, Any]:
    return {"type": "resource", "resource": {"uri": "file:///r", **fields}}


@pytest.fixture
def media(tmp_path: Path) -> MediaFolder:
    return MediaFolder(tmp_path / "media")


@pytest.fixture
def read(media: MediaFolder) -> Callable[..., ToolResult]:
    def take(*blocks: Any, gate: Verdict = OPEN, **options: Any) -> ToolResult:
        record = {name: options.pop(name) for name in ("structuredContent", "_meta", "isError") if name in options}
        return from_mcp({"content": list(blocks), **record}, gate, **{"media": media, "memory": MEMORY, **options})

    return take


Read = Callable[..., ToolResult]
