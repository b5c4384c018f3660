"""Places in a request as providers name them: `messages.3.content.1.image.source`, `contents[0].parts[1]`, `input[2]` ..."""

from __future__ import annotations

import re

CHAT_WIRES = ("openai_chat", "mistral", "litellm", "langchain", "ollama")

_ROOT = r"(?:messages?|contents?|input|image|inline_data)"
_LEADING = re.compile(rf"(?:\* )?'?((?:GenerateContentRequest\.)?(?:body\.)?{_ROOT}[\w.\[\]]*)'?\s?:\s+", re.IGNORECASE)

_ROOTS = ("body", "message", "messages", "content", "contents", "input")
_FRAMES = ("generatecontentrequest", "parts", "member", "type", "detail", "str", "user", "tool", "assistant", "output")
_RESULTS = ("tool_result", "toolresult", "function_call_output", "functionresponse", "function_response", "document")
_IMAGES = ("image", "images", "image_url", "input_image", "inline_data", "inlinedata", "file_data", "filedata")
_INDEXES = ("n", "m", "k")  # as documentation writes them
_FIELDS = ("source", "base64", "bytes", "data", "media_type", "mime_type", "format", "url")
_KNOWN = frozenset((*_ROOTS, *_FRAMES, *_RESULTS, *_IMAGES, *_FIELDS, *_INDEXES))
_OTHER_ROOTS = frozenset(
    ("tools", "tool_choice", "functions", "response_format", "metadata", "system", "prompt", "stop", "user", "instructions")
)


def split(text: str) -> tuple[str, str]:
    """The place that a sentence begins with, and the rest of it."""
    found = _LEADING.match(text)
    return (found[1], text[found.end() :]) if found else ("", text)


def steps(path: str) -> list[str]:
    return [step for step in re.split(r"[.\[\]]+", path.lower()) if step]


def indexes(path: str) -> tuple[int, ...]:
    """The numbers of a path, from 0. AWS counts its members from 1."""
    found = steps(path)
    numbers = [int(step) for step in found if step.isdecimal()]
    return tuple(number - 1 for number in numbers) if "member" in found else tuple(numbers)


def named(path: str) -> str:
    """The path of a field beside a sentence, where it leads into the messages; "" where it is another word."""
    return path if steps(path)[:1] and steps(path)[0] in _ROOTS else ""


def elsewhere(path: str) -> bool:
    """Whether a path leads to something that is no image: a text, a video, a tool's input."""
    return any(not step.isdecimal() and step not in _KNOWN for step in steps(path))


def foreign(path: str) -> bool:
    """Whether a field beside a sentence names a part of the request where no image can be."""
    found = steps(path)
    return bool(found) and (found[0] in _OTHER_ROOTS or (found[0] in _ROOTS and elsewhere(path)))


def wires(path: str) -> tuple[str, ...]:
    """The wires in whose messages the indexes of a path count; none where it has no index."""
    found = [step for step in steps(path) if step not in ("generatecontentrequest", "body")]
    if not indexes(path) or not found:
        return ()
    if found[0] in ("contents", "input"):
        return ("gemini",) if found[0] == "contents" else ("openai_responses",)
    if "member" in found:
        return ("bedrock",)
    if {"source", "tool_result"} & set(found):
        return ("anthropic", "bedrock")
    return CHAT_WIRES if "[" in path else (*CHAT_WIRES, "anthropic", "bedrock")
