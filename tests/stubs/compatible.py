"""Providers that speak a known protocol with limits and error texts of their own: each class is what differs."""

from __future__ import annotations

from typing import Any

from tests.stubs import pictures
from tests.stubs.gemini_api import Gemini3
from tests.stubs.http import Request
from tests.stubs.openai_api import OpenAIChat, OpenAIResponses
from tests.stubs.pictures import Picture
from tests.stubs.provider import Provider, Refused, Turn

MB = 1_000_000


class Azure(OpenAIChat):
    name, limits_of = "Azure", "azure_openai_chat"

    def check_all(self, seen: list[Picture], urls: list[str]) -> None:
        if len(seen) + len(urls) > self.limits["max_images"]:
            raise self.refuse("count", limit=self.limits["max_images"])

    def picture(self, url: str) -> Picture | None:
        inline = pictures.from_data_url(url)
        return pictures.look(inline[1] or b"") if inline else None


class AzureFoundry(OpenAIResponses):
    name, limits_of = "Azure Foundry", "azure_foundry_responses"

    def picture(self, url: str) -> Picture | None:
        if len(url) > self.limits["max_data_uri_chars"]:
            raise self.refuse("data_uri", start=url[:60])
        inline = pictures.from_data_url(url)
        return pictures.look(inline[1] or b"") if inline else None

    def _check_length(self, place: str, item: Any, url: str) -> None:
        pass


class Judged(OpenAIChat):
    """Looks at the bytes of each data URL: `judge` raises what is wrong with them."""

    def picture(self, url: str) -> Picture | None:
        inline = pictures.from_data_url(url)
        if inline is None:
            self.judge_url(url)
            return None
        declared, data = inline
        picture = pictures.look(data) if data else Picture("")
        self.judge(url, declared, picture)
        return picture

    def judge_url(self, url: str) -> None:
        pass

    def judge(self, url: str, declared: str, picture: Picture) -> None:
        raise NotImplementedError

    def accepts(self, picture: Picture) -> bool:
        return picture.whole and picture.mime in self.limits["accepted_mime"]


class XAI(Judged):
    name, limits_of = "xAI", "xai"

    def judge(self, url: str, declared: str, picture: Picture) -> None:
        if not self.accepts(picture):
            raise self.refuse("type")


class DashScope(Judged):
    name, limits_of = "DashScope", "qwen_dashscope"

    def judge(self, url: str, declared: str, picture: Picture) -> None:
        if len(url.partition(",")[2]) > self.limits["max_image_bytes"]:
            raise self.refuse("bytes", limit=self.limits["max_image_bytes"])
        if picture.mime not in self.limits["accepted_mime"]:
            raise self.refuse("format")
        if not picture.whole:
            raise self.refuse("undecodable")
        shorter, longer = sorted((picture.width, picture.height))
        if shorter <= self.limits["min_side_px"] or longer / shorter > self.limits["max_aspect"]:
            raise self.refuse("pixels", height=picture.height, width=picture.width, limit=self.limits["min_side_px"])


class Kimi(Judged):
    name, limits_of = "Kimi", "moonshot_kimi"

    def judge_url(self, url: str) -> None:
        raise self.refuse("url", url=url)

    def judge(self, url: str, declared: str, picture: Picture) -> None:
        if not self.accepts(picture):
            raise self.refuse("format")


class Zhipu(OpenAIChat):
    """A text model of Zhipu."""

    name, limits_of = "Zhipu text model", "zhipu_glm"


class MiniMax(OpenAIChat):
    name, limits_of = "MiniMax", "minimax"

    def check_messages(self, request: Request, messages: list[Any]) -> None:
        for n, message in enumerate(messages):
            for part in self.parts(n, message):
                if part["type"] == "image_url" and part["image_url"].get("detail") == "auto":
                    raise self.refuse("detail", detail="auto")
                if part["type"] == "image_url" and not self.sees:
                    raise self.refuse("text_model")

    def picture(self, url: str) -> Picture | None:
        inline = pictures.from_data_url(url)
        return pictures.look(inline[1] or b"") if inline else None


class Volcengine(Judged):
    name, limits_of = "Volcengine", "volcengine"

    def judge(self, url: str, declared: str, picture: Picture) -> None:
        if not self.accepts(picture):
            raise self.refuse("type")


class StepFun(Judged):
    name, limits_of = "StepFun", "stepfun"

    def judge(self, url: str, declared: str, picture: Picture) -> None:
        pass

    def check_all(self, seen: list[Picture], urls: list[str]) -> None:
        if len(seen) > self.limits["max_images"]:
            raise self.refuse("count", model="step-1v-8k", limit=self.limits["max_images"], actual=len(seen))


class LlamaCpp(Judged):
    name, limits_of = "llama.cpp", "llama_cpp"

    def judge(self, url: str, declared: str, picture: Picture) -> None:
        if not self.accepts(picture):
            raise self.refuse("type")


class LMStudio(Judged):
    """Without its vision add-on it answers 200 with an error in the body."""

    name, limits_of = "LM Studio", "lm_studio"

    def judge_url(self, url: str) -> None:
        raise self.refuse("source")

    def judge(self, url: str, declared: str, picture: Picture) -> None:
        pass

    def error(self, refused: Refused) -> Any:
        return {"error": refused.text} if refused.key.endswith("no_vision") else super().error(refused)


class VLLM(Judged):
    name, limits_of = "vLLM", "vllm"

    def judge(self, url: str, declared: str, picture: Picture) -> None:
        pass

    def check_all(self, seen: list[Picture], urls: list[str]) -> None:
        if len(seen) > self.limits["max_images"]:
            raise self.refuse("count", limit=self.limits["max_images"])


class Copilot(Judged):
    name, limits_of = "Copilot", "github_copilot"

    def check_messages(self, request: Request, messages: list[Any]) -> None:
        has_image = any(part["type"] == "image_url" for n, message in enumerate(messages) for part in self.parts(n, message))
        if has_image and request.headers.get("copilot-vision-request") != "true":
            raise self.refuse("header")

    def judge(self, url: str, declared: str, picture: Picture) -> None:
        if not declared.startswith("image/") or declared == "image/svg+xml":
            raise self.refuse("type")


class LiteLLM(Judged):
    """A proxy that fetches URLs; `sizes` says how many bytes stand behind each, and an unknown URL has no type."""

    name, limits_of = "LiteLLM", "openai_chat"

    def __init__(self, *args: Any, sizes: dict[str, int] | None = None, max_fetched_bytes: int = 5 * MB, **options: Any) -> None:
        super().__init__(*args, **options)
        self.sizes = sizes or {}
        self.max_fetched_bytes = max_fetched_bytes

    def judge_url(self, url: str) -> None:
        if url not in self.sizes:
            raise self.refuse("mime", url=url)
        if self.sizes[url] > self.max_fetched_bytes:
            said = {"actual_mb": f"{self.sizes[url] / MB:.2f}", "limit_mb": f"{self.max_fetched_bytes / MB:.2f}"}
            raise self.refuse("bytes", url=url, **said)

    def judge(self, url: str, declared: str, picture: Picture) -> None:
        pass


class DeepSeekText(OpenAIChat):
    name, limits_of = "DeepSeek", "openai_chat"


class MiMo(OpenAIChat):
    """Refuses a tool's message without a text of its own."""

    name, limits_of = "Xiaomi MiMo", "openai_chat"

    def check_messages(self, request: Request, messages: list[Any]) -> None:
        for message in messages:
            if message["role"] == "tool" and isinstance(message["content"], list):
                raise self.refuse("tool_image")

    def error(self, refused: Refused) -> Any:
        return {"error": {"code": "400", "message": "Param Incorrect", "param": refused.text, "type": ""}}


class VertexGemini(Gemini3):
    """Files in Cloud Storage; `sizes` says how many bytes each has."""

    name, limits_of = "Vertex Gemini", "vertex_gemini"

    def __init__(self, *args: Any, sizes: dict[str, int], **options: Any) -> None:
        super().__init__(*args, **options)
        self.sizes = sizes

    def read(self, request: Request) -> Turn:
        for content in request.json["contents"]:
            for part in content["parts"]:
                file = part.get("fileData")
                if file and self.sizes[file["fileUri"]] > self.limits["max_stored_bytes"]:
                    values = {"actual": self.sizes[file["fileUri"]], "limit": self.limits["max_stored_bytes"]}
                    raise self.refuse("bytes", url=file["fileUri"], declared=file["mimeType"], **values)
        return Turn((), ())


class BedrockConverse(Provider):
    """POST /model/<id>/converse with Claude; `llama` for the other wording of a mismatch."""

    name, limits_of = "Bedrock", "bedrock_claude"

    def read(self, request: Request) -> Turn:
        assert request.path.endswith("/converse"), request.path
        seen: list[Picture] = []
        texts: list[str] = []
        for n, message in enumerate(request.json["messages"]):
            for m, block in enumerate(message["content"]):
                texts += [block["text"]] if "text" in block else []
                if "image" in block:
                    seen.append(self._picture(n, m, block["image"]))
                for k, child in enumerate(block.get("toolResult", {}).get("content", ())):
                    if "image" in child:
                        seen.append(self._picture(n, m, child["image"], f".tool_result.content.{k}"))
        return Turn(tuple(seen), tuple(texts))

    def _picture(self, n: int, m: int, image: Any, inside: str = "") -> Picture:
        declared, path = f"image/{image['format']}", f"messages.{n}.content.{m}{inside}"
        if declared not in self.limits["accepted_mime"]:
            raise self.refuse("type", n=n + 1, m=m + 1)  # its members are counted from 1
        text = image["source"]["bytes"]
        if len(text) > self.limits["max_image_bytes"]:
            raise self.refuse("bytes", path=path, actual=len(text), limit=self.limits["max_image_bytes"])
        picture = pictures.look(pictures.from_base64(text) or b"")
        if picture.mime != declared:
            raise self.refuse("mismatch", path=path, declared=declared, actual=picture.mime)
        return picture

    def success(self, request: Request, text: str) -> Any:
        return {"output": {"message": {"role": "assistant", "content": [{"text": text}]}}, "stopReason": "end_turn"}

    def error(self, refused: Refused) -> Any:
        return {"message": refused.text, "__type": refused.answer["type"]}
