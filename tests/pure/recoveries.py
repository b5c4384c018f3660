"""Faults and recoveries for the tests: short ways to make them and to look at them."""

from __future__ import annotations

import base64
import io
from typing import Any

from PIL import Image

from pixlane.messages import ImageFault, Recovery, classify_error, recover
from tests.pure import make
from tests.pure.histories import MEMORY

WIDE = make.flat(make.GREEN, (3000, 40))
ASSISTANT = {"role": "assistant", "content": "seen"}


def fault(text: str, provider: str = "anthropic", status: int = 400) -> ImageFault:
    found = classify_error(status, text, provider)
    assert found is not None
    return found


def at(message: int, part: int, rest: str, inner: str = "") -> ImageFault:
    return fault(f"messages.{message}.content.{part}.{inner}image.source.base64: {rest}")


def recovered(
    messages: list[Any], found: ImageFault, profile: Any = "anthropic", wire: str = "anthropic", **more: Any
) -> Recovery:
    return recover(messages, found, profile, wire, memory=MEMORY, **more)


def codes(recovery: Recovery) -> list[str]:
    return [change.code for change in recovery.changes]


def chars(data: bytes | None) -> int:
    return len(base64.b64encode(data or b""))


def opened(data: bytes | None) -> Image.Image:
    return Image.open(io.BytesIO(data or b""))
