"""OpenAI's Chat Completions and Responses as far as images go, and Groq, which speaks the first with limits of its own."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tests.stubs import pictures
from tests.stubs.http import Request
from tests.stubs.pictures import Picture
from tests.stubs.provider import Provider, Turn, quoted

CHAT_PARTS = ("text", "image_url", "input_audio", "refusal", "audio", "file")
RESPONSE_PARTS = ("input_text", "input_image", "output_text", "refusal", "input_file", "computer_screenshot", "summary_text")


class OpenAI(Provider):
    """What Chat and Responses have in common: how an image is looked at."""

    name = "OpenAI"

    def picture(self, url: str) -> Picture | None:
        """The picture of a data URL; None for a URL that would be fetched."""
        if url.startswith(("http://", "https://")):
            return None
        inline = pictures.from_data_url(url)
        if inline is None:
            raise self.refuse("download", url=url[:80])
        _, data = inline
        if data is None:
            raise self.refuse("invalid_base64_image")
        if not data:
            raise self.refuse("empty_image_file")
        picture = pictures.look(data)
        if not self.taken(picture):
            raise self.refuse("type")
        if not picture.whole:
            raise self.refuse("undecodable")
        return picture

    def taken(self, picture: Picture) -> bool:
        """A GIF may not be animated."""
        return picture.mime in self.limits["accepted_mime"] and (picture.mime != "image/gif" or picture.frames < 2)


class OpenAIChat(OpenAI):
    """POST /chat/completions. An image in a tool's message is lost without a word.

    Args:
        sees: False: the model takes no images.
    """

    limits_of = "openai_chat"
    form = "openai_chat"

    def __init__(self, *args: Any, sees: bool = True, **options: Any) -> None:
        super().__init__(*args, **options)
        self.sees = sees

    def read(self, request: Request) -> Turn:
        assert request.path.endswith("/chat/completions"), request.path
        assert request.headers.get("authorization", "").startswith("Bearer ")
        messages = request.json["messages"]
        self.check_messages(request, messages)
        self._check_pairs(messages)
        seen: list[Picture] = []
        urls: list[str] = []
        texts: list[str] = []
        for n, message in enumerate(messages):
            for part in self.parts(n, message):
                if part["type"] == "text":
                    texts.append(part["text"])
                if part["type"] != "image_url" or message["role"] == "tool":
                    continue
                if not self.sees:
                    raise self.refuse("no_vision", n=n)
                picture = self.picture(part["image_url"]["url"])
                if picture is None:
                    urls.append(part["image_url"]["url"])
                else:
                    seen.append(picture)
        self.check_all(seen, urls)
        return Turn(tuple(seen), tuple(texts), tuple(urls))

    def check_messages(self, request: Request, messages: list[Any]) -> None:
        """What is wrong before any image is looked at."""

    def check_all(self, seen: list[Picture], urls: list[str]) -> None:
        """What is wrong with all images together."""

    def parts(self, n: int, message: Any) -> Iterator[Any]:
        content = message.get("content")
        for m, part in enumerate([{"type": "text", "text": content}] if isinstance(content, str) else content or ()):
            if part.get("type") not in CHAT_PARTS:
                place = f"messages[{n}].content[{m}].type"
                raise self.refuse("wrong_part", "OpenAI", type=part.get("type"), supported=quoted(CHAT_PARTS), param=place)
            yield part

    def _check_pairs(self, messages: list[Any]) -> None:
        for n, message in enumerate(messages):
            called = [call["id"] for call in message.get("tool_calls") or ()]
            answered = set()
            for follower in messages[n + 1 :]:
                if follower["role"] != "tool":
                    break
                answered.add(follower["tool_call_id"])
            if missing := [one for one in called if one not in answered]:
                raise self.refuse("tool_pairs", "OpenAI", ids=", ".join(missing))

    def success(self, request: Request, text: str) -> Any:
        message = {"role": "assistant", "content": text, "refusal": None}
        return {
            "id": f"chatcmpl-{self.requests}",
            "object": "chat.completion",
            "created": 1_780_000_000,
            "model": request.json["model"],
            "choices": [{"index": 0, "message": message, "finish_reason": "stop", "logprobs": None}],
            "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2},
        }


class OpenAIResponses(OpenAI):
    """POST /responses."""

    limits_of = "openai_responses"
    form = "openai_responses"

    def read(self, request: Request) -> Turn:
        assert request.path.endswith("/responses"), request.path
        given = request.json["input"]
        items = [{"role": "user", "content": given}] if isinstance(given, str) else given
        self._check_pairs(items)
        seen: list[Picture] = []
        urls: list[str] = []
        texts: list[str] = []
        for n, item in enumerate(items):
            for place, part in self._parts(n, item):
                if "text" in part["type"]:
                    texts.append(part["text"])
                if part["type"] not in ("input_image", "computer_screenshot") or part.get("file_id"):
                    continue
                self._check_length(place, item, part["image_url"])
                picture = self.picture(part["image_url"])
                if picture is None:
                    urls.append(part["image_url"])
                else:
                    seen.append(picture)
        return Turn(tuple(seen), tuple(texts), tuple(urls))

    def _parts(self, n: int, item: Any) -> Iterator[tuple[str, Any]]:
        key = "output" if str(item.get("type", "")).endswith("_output") else "content"
        content = item.get(key)
        if isinstance(content, str):
            content = [{"type": "input_text", "text": content}]
        for m, part in enumerate([content] if isinstance(content, dict) else content or ()):
            if part.get("type") not in RESPONSE_PARTS:
                raise self.refuse("wrong_part", type=part.get("type"), supported=quoted(RESPONSE_PARTS))
            yield f"input[{n}].{key}[{m}]", part

    def _check_length(self, place: str, item: Any, url: str) -> None:
        limit = self.limits["max_tool_image_url_chars"]
        if item.get("type") == "function_call_output" and len(url) > limit:
            raise self.refuse("too_long", param=f"{place}.image_url", limit=limit, actual=len(url))

    def _check_pairs(self, items: list[Any]) -> None:
        answered = {item["call_id"] for item in items if item.get("type") == "function_call_output"}
        called = [item["call_id"] for item in items if item.get("type") == "function_call"]
        if missing := [one for one in called if one not in answered]:
            raise self.refuse("tool_pairs", ids=", ".join(missing))

    def success(self, request: Request, text: str) -> Any:
        part = {"type": "output_text", "text": text, "annotations": []}
        message = {"type": "message", "id": f"msg_{self.requests}", "role": "assistant", "status": "completed", "content": [part]}
        return {
            "id": f"resp_{self.requests}",
            "object": "response",
            "created_at": 1_780_000_000,
            "status": "completed",
            "model": request.json["model"],
            "output": [message],
            "parallel_tool_calls": True,
            "tool_choice": "auto",
            "tools": [],
            "error": None,
        }


class Groq(OpenAIChat):
    """Chat Completions; a tool's content is one string, and a request with base64 images is small."""

    name = "Groq"
    limits_of = "groq"

    def picture(self, url: str) -> Picture | None:
        if url.startswith(("http://", "https://")):
            return None
        inline = pictures.from_data_url(url)
        picture = pictures.look(inline[1]) if inline and inline[1] else None
        if picture is None or not picture.whole:
            raise self.refuse("undecodable", "OpenAI")  # what Groq says is not published
        return picture

    def check_messages(self, request: Request, messages: list[Any]) -> None:
        if len(request.body) > self.limits["max_request_bytes"] and b"base64," in request.body:
            raise self.refuse("request")
        for n, message in enumerate(messages):
            must_be_text = message["role"] in ("tool", "system") or not self.sees
            if must_be_text and not isinstance(message.get("content"), (str, type(None))):
                raise self.refuse("must_be_string", n=n, role=message["role"])

    def check_all(self, seen: list[Picture], urls: list[str]) -> None:
        count = len(seen) + len(urls)
        if count > self.limits["max_images"]:
            raise self.refuse("count", actual=count, limit=self.limits["max_images"])
