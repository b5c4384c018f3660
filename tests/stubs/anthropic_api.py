"""Anthropic's Messages API as far as images go: POST /v1/messages."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from tests.stubs import pictures
from tests.stubs.http import Request
from tests.stubs.pictures import Picture
from tests.stubs.provider import Provider, Refused, Turn, quoted

BLOCKS = ("document", "image", "redacted_thinking", "search_result", "text", "thinking", "tool_result", "tool_use")
IN_TOOL = ("document", "image", "search_result", "text")


@dataclass(frozen=True)
class Block:
    """A block and the path by which an error names it."""

    path: str
    block: Any


class AnthropicMessages(Provider):
    """Checks in the order of the API: the size of the request, the shape, each image, then what holds for all of them."""

    name = "Anthropic"
    form = "anthropic"
    limits_of = "anthropic"

    def read(self, request: Request) -> Turn:
        if len(request.body) > self.limits["max_request_bytes"]:
            raise self.refuse("request")
        assert request.path == "/v1/messages", request.path
        assert "anthropic-version" in request.headers
        assert {"x-api-key", "authorization"} & request.headers.keys()
        messages = request.json["messages"]
        blocks = list(self._blocks(messages))
        self._check_pairs(messages)
        seen: list[Picture] = []
        urls: list[str] = []
        for found in blocks:
            if found.block["type"] == "image":
                source = found.block["source"]
                if source["type"] == "url":
                    urls.append(source["url"])
                else:
                    seen.append(self._picture(found.path, source))
        self._check_all([found.path for found in blocks if found.block["type"] == "image"], seen, urls)
        texts = tuple(found.block["text"] for found in blocks if found.block["type"] == "text")
        return Turn(tuple(seen), texts, tuple(urls))

    def _blocks(self, messages: list[Any]) -> Iterator[Block]:
        for n, message in enumerate(messages):
            content = message["content"]
            if not content:
                raise self.refuse("empty_message", n=n)
            for m, block in enumerate([{"type": "text", "text": content}] if isinstance(content, str) else content):
                path = f"messages.{n}.content.{m}"
                yield self._block(path, block, BLOCKS)
                inner = block.get("content") if block["type"] == "tool_result" else None
                if isinstance(inner, str):
                    yield Block(path, {"type": "text", "text": inner})
                for k, child in enumerate(inner if isinstance(inner, list) else ()):
                    yield self._block(f"{path}.tool_result.content.{k}", child, IN_TOOL)

    def _block(self, path: str, block: Any, expected: tuple[str, ...]) -> Block:
        if block.get("type") not in expected:
            raise self.refuse("wrong_part", path=path, type=block.get("type"), supported=quoted(expected))
        if block["type"] == "text" and not block["text"].strip():
            raise self.refuse("empty_text")
        return Block(path, block)

    def _check_pairs(self, messages: list[Any]) -> None:
        for n, message in enumerate(messages):
            content = message["content"] if isinstance(message["content"], list) else []
            called = [block["id"] for block in content if block["type"] == "tool_use"]
            following = messages[n + 1]["content"] if n + 1 < len(messages) else []
            answered = {block.get("tool_use_id") for block in following if isinstance(block, dict)}
            if missing := [one for one in called if one not in answered]:
                raise self.refuse("tool_pairs", n=n, ids=", ".join(missing))

    def _picture(self, path: str, source: Any) -> Picture:
        declared = source["media_type"]
        if declared not in self.limits["accepted_mime"]:
            raise self.refuse("type", path=path)
        if len(source["data"]) > self.limits["max_image_bytes"]:
            raise self.refuse("bytes", path=path, actual=len(source["data"]), limit=self.limits["max_image_bytes"])
        data = pictures.from_base64(source["data"])
        picture = pictures.look(data) if data is not None else Picture("")
        if picture.mime in self.limits["accepted_mime"] and picture.mime != declared:
            raise self.refuse("mismatch", path=path, declared=declared, actual=picture.mime)
        if picture.mime not in self.limits["accepted_mime"] or not picture.whole:
            raise self.refuse("undecodable")
        if max(picture.width, picture.height) > self.limits["max_side_px"]:
            raise self.refuse("pixels", path=path, limit=self.limits["max_side_px"])
        return picture

    def _check_all(self, paths: list[str], seen: list[Picture], urls: list[str]) -> None:
        count, many = len(seen) + len(urls), self.limits["many_image"]
        if count > self.limits["max_images"]:
            raise self.refuse("count", actual=count, limit=self.limits["max_images"])
        for path, picture in zip(paths, seen, strict=False) if count > many["more_than_images"] else ():
            if max(picture.width, picture.height) > many["max_side_px"]:
                raise self.refuse("many", path=path, limit=many["max_side_px"])

    def success(self, request: Request, text: str) -> Any:
        return {
            "id": f"msg_{self.requests}",
            "type": "message",
            "role": "assistant",
            "model": request.json["model"],
            "content": [{"type": "text", "text": text}],
            "stop_reason": "end_turn",
            "stop_sequence": None,
            "usage": {"input_tokens": 1, "output_tokens": 1},
        }

    def error(self, refused: Refused) -> Any:
        error = {"type": refused.answer["type"], "message": refused.text}
        return {"type": "error", "error": error, "request_id": f"req_{self.requests}"}
