"""Gemini's generateContent as far as images go: POST /v1beta/models/<model>:generateContent."""

from __future__ import annotations

from typing import Any

from tests.stubs import pictures
from tests.stubs.http import Request
from tests.stubs.pictures import Picture
from tests.stubs.provider import Provider, Refused, Turn

PARTS = (
    {"text", "inlineData", "fileData", "functionCall", "functionResponse", "executableCode", "codeExecutionResult"},
    {"thought", "thoughtSignature", "videoMetadata", "mediaResolution"},  # beside one of the first
)
NAMED_TYPES = ("image/png", "image/jpeg", "image/gif", "image/webp", "image/heic", "image/heif", "image/svg+xml", "image/avif")
TYPE_CONFUSED = ("image/bmp", "image/tiff")  # answered with a sentence that names nothing


FREE_FORM = ("args", "response")  # their keys are the caller's own


def camel(node: Any) -> Any:
    """A request with its keys in one spelling: protobuf's JSON takes both, and Google's SDK writes both."""
    if isinstance(node, list):
        return [camel(child) for child in node]
    if not isinstance(node, dict):
        return node
    spelled = {key: "".join(word if not n else word.capitalize() for n, word in enumerate(key.split("_"))) for key in node}
    return {spelled[key]: child if key in FREE_FORM else camel(child) for key, child in node.items()}


class Gemini3(Provider):
    """Takes images in a function's response."""

    name = "Gemini"
    limits_of = "gemini_3"

    def read(self, request: Request) -> Turn:
        if len(request.body) > self.limits["max_request_bytes"]:
            raise self.refuse("request", limit=self.limits["max_request_bytes"])
        assert request.path.endswith(":generateContent"), request.path
        assert "x-goog-api-key" in request.headers
        seen: list[Picture] = []
        texts: list[str] = []
        contents = camel(request.json["contents"])
        self._check_pairs(contents)
        for n, content in enumerate(contents):
            if not content.get("parts"):
                raise self.refuse("empty_parts", n=n)
            for m, part in enumerate(content["parts"]):
                self._check_shape(n, m, part)
                if "text" in part:
                    texts.append(part["text"])
                if "inlineData" in part:
                    seen.append(self._picture(n, m, part["inlineData"]))
                answer = part.get("functionResponse", {})
                texts += [value for value in answer.get("response", {}).values() if isinstance(value, str)]
                for child in answer.get("parts", ()):
                    self._check_tool_images()
                    self._check_shape(n, m, child, {"inlineData", "fileData"})
                    seen.append(self._picture(n, m, child["inlineData"]))
        return Turn(tuple(seen), tuple(texts))

    def _check_tool_images(self) -> None:
        pass

    def _check_shape(self, n: int, m: int, part: Any, known: set[str] = PARTS[0] | PARTS[1]) -> None:
        for name in part:
            if name not in known:
                raise self.refuse("unknown_name", type=name, n=n, m=m)

    def _check_pairs(self, contents: list[Any]) -> None:
        for n, content in enumerate(contents):
            calls = sum("functionCall" in part for part in content.get("parts") or ())
            following = contents[n + 1].get("parts") or () if n + 1 < len(contents) else ()
            if calls and calls != sum("functionResponse" in part for part in following):
                raise self.refuse("tool_pairs")

    def _picture(self, n: int, m: int, blob: Any) -> Picture:
        declared = blob["mimeType"]
        data = pictures.from_base64(blob["data"], url_safe=True)
        picture = pictures.look(data) if data else Picture("")
        if declared in TYPE_CONFUSED:
            raise self.refuse("type_silent")
        if declared not in self.limits["accepted_mime"]:
            what = "type" if declared not in NAMED_TYPES else "type_list" if self.wording.get("type") == "type_list" else "type"
            raise self.refuse(what, declared=declared, n=n, m=m)
        if picture.mime not in self.limits["accepted_mime"] or not picture.whole:
            raise self.refuse("undecodable")
        return picture

    def success(self, request: Request, text: str) -> Any:
        candidate = {"content": {"role": "model", "parts": [{"text": text}]}, "finishReason": "STOP", "index": 0}
        return {"candidates": [candidate], "usageMetadata": {"promptTokenCount": 1, "totalTokenCount": 2}}

    def error(self, refused: Refused) -> Any:
        return {"error": {"code": refused.status, "message": refused.text, "status": refused.answer["gstatus"]}}


class Gemini25(Gemini3):
    """Refuses them there."""

    limits_of = "gemini_2_5"

    def _check_tool_images(self) -> None:
        raise self.refuse("tool_image", "Gemini 2.5")
