"""Histories for the tests of repair: pictures good and bad, messages of any wire, and what is left in them."""

from __future__ import annotations

from typing import Any

from pixlane.messages import Memory, Repaired, repair, wires
from tests.pure import make

PNG = make.flat(make.RED, (40, 30))
JPEG = make.array(make.smooth(64, 48), "JPEG")
PHOTO = make.array(make.noise(600, 400), "JPEG", quality=95)
WEBP = make.flat(make.GREEN, (20, 20), "WEBP")
GIF = make.flat(make.BLUE, (20, 20), "GIF")
BMP = make.flat(make.BLUE, (40, 40), "BMP")
SVG = b'<svg xmlns="http://www.w3.org/2000/svg" width="24" height="24"><rect width="9" height="9"/></svg>'
HTML = b"<html><body>Not found</body></html>"
LONG = make.flat(make.RED, (9000, 20))
BROKEN = PNG[:30]
NOT_DECODED = b"\x00\x00\x00\x0cJXL \r\n\x87\n" + bytes(40)

MEMORY = Memory()  # proofs are facts of the bytes; the tests share them
ROUTES = [
    ("openai_chat", "openai_chat"),
    ("openai_responses", "openai_responses"),
    ("anthropic", "anthropic"),
    ("bedrock", "bedrock_claude"),
    ("gemini", "gemini_3"),
    ("gemini", "gemini_2_5"),
    ("mistral", "mistral"),
    ("ollama", "local"),
    ("mcp", "safe"),
    ("langchain", "xai"),
    ("vercel", "safe"),
    ("litellm", "groq"),
]


def fixed(messages: list[Any], profile: Any = "anthropic", wire: str = "anthropic", **options: Any) -> Repaired:
    return repair(messages, profile, wire, memory=MEMORY, **options)


def user(*images: Any, wire: str = "anthropic", text: str = "look", mime: str = "image/png") -> dict[str, Any]:
    """A user message; an image is its bytes, declared as `mime`, or a finished part."""
    spoken = wires.get(wire)
    parts = [one if isinstance(one, dict) else spoken.image_part(mime, one) for one in images]
    return spoken.user_message([spoken.text_part(text), *parts])


def tool(*images: bytes, wire: str = "anthropic", text: str = "taken", mime: str = "image/png") -> dict[str, Any]:
    spoken = wires.get(wire)
    return spoken.tool_message("call_1", [spoken.text_part(text), *(spoken.image_part(mime, one) for one in images)], "shot")


def codes(repaired: Repaired) -> list[str]:
    return [change.code for change in repaired.changes]


def shown(messages: Any, wire: str = "anthropic") -> list[bytes | None]:
    return [image.decode() for image in wires.images(messages, wire)]


def said(messages: Any, wire: str = "anthropic") -> str:
    return "\n".join(text.text for text in wires.texts(messages, wire))
