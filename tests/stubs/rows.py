"""For every answer in `refusals.json` a provider and a request that it answers so: each row of the published error texts."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from tests.pure import make
from tests.stubs import compatible
from tests.stubs.anthropic_api import AnthropicMessages
from tests.stubs.gemini_api import Gemini3, Gemini25
from tests.stubs.ollama_api import OllamaAnthropic, OllamaChat, OllamaOpenAI
from tests.stubs.openai_api import Groq, OpenAIChat, OpenAIResponses
from tests.stubs.provider import Provider, refusals

PNG = make.flat(make.RED, (40, 30))
JPEG = make.array(make.smooth(64, 48), "JPEG")
GIF = make.flat(make.BLUE, (20, 20), "GIF")
BMP = make.flat(make.BLUE, (20, 20), "BMP")
LONG = make.flat(make.RED, (9000, 20))
THIN = make.flat(make.RED, (60, 9))
WIDE = make.flat(make.RED, (2400, 20))
HTML = b"<html><body>Not found</body></html>"
SMALL = {"max_image_bytes": 40, "max_request_bytes": 400}
URL = "https://example.com/picture"
CHAT, RESPONSES = "/v1/chat/completions", "/v1/responses"
HEADERS = {
    "authorization": "Bearer none",
    "x-api-key": "none",
    "anthropic-version": "2023-06-01",
    "x-goog-api-key": "none",
    "copilot-vision-request": "true",
}


@dataclass
class Case:
    """A request to a provider, the key of the answer, and whom `classify_error` is told it was."""

    key: str
    provider: Provider
    path: str
    body: Any = field(repr=False)
    said_provider: str = ""
    headers: dict[str, str] = field(default_factory=lambda: HEADERS)


def b64(data: bytes) -> str:
    return base64.b64encode(data).decode()


def anthropic(data: bytes = PNG, mime: str = "image/png", count: int = 1) -> Any:
    image = {"type": "image", "source": {"type": "base64", "media_type": mime, "data": b64(data)}}
    content = [{"type": "text", "text": "look"}, *[image] * count]
    return {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": content}]}


def chat(url: str | bytes = PNG, mime: str = "image/png", count: int = 1, **image: Any) -> Any:
    url = url if isinstance(url, str) else f"data:{mime};base64,{b64(url)}"
    part = {"type": "image_url", "image_url": {"url": url, **image}}
    return {"model": "m", "messages": [{"role": "user", "content": [{"type": "text", "text": "look"}, *[part] * count]}]}


def chat_tool(data: bytes = PNG) -> Any:
    call = {"id": "call_1", "type": "function", "function": {"name": "shot", "arguments": "{}"}}
    image = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{b64(data)}"}}
    answer = {"role": "tool", "tool_call_id": "call_1", "content": [{"type": "text", "text": "taken"}, image]}
    called = {"role": "assistant", "content": None, "tool_calls": [call]}
    return {"model": "m", "messages": [{"role": "user", "content": "shoot"}, called, answer]}


def responses(url: str | bytes = PNG, mime: str = "image/png", kind: str = "input_image") -> Any:
    url = url if isinstance(url, str) else f"data:{mime};base64,{b64(url)}"
    return {"model": "m", "input": [{"role": "user", "content": [{"type": kind, "image_url": url}]}]}


def gemini(data: bytes = PNG, mime: str = "image/png") -> Any:
    return {"contents": [{"role": "user", "parts": [{"text": "look"}, {"inlineData": {"mimeType": mime, "data": b64(data)}}]}]}


def gemini_tool() -> Any:
    call = {"functionCall": {"name": "shot", "args": {}}}
    image = {"inlineData": {"mimeType": "image/png", "data": b64(PNG)}}
    answer = {"functionResponse": {"name": "shot", "response": {"result": "taken"}, "parts": [image]}}
    roles = (("user", {"text": "shoot"}), ("model", call), ("user", answer))
    return {"contents": [{"role": role, "parts": [part]} for role, part in roles]}


def ollama(*images: bytes | str) -> Any:
    given = [image if isinstance(image, str) else b64(image) for image in images]
    return {"model": "m", "messages": [{"role": "user", "content": "look", "images": given}], "stream": False}


def converse(data: bytes = PNG, kind: str = "png") -> Any:
    return {"messages": [{"role": "user", "content": [{"image": {"format": kind, "source": {"bytes": b64(data)}}}]}]}


def cases() -> Iterator[Case]:
    """At least one for every answer of every row, in their order."""
    yield from _anthropic()
    yield from _bedrock()
    yield from _openai()
    yield from _gemini()
    yield from _others()


def _anthropic() -> Iterator[Case]:
    def case(name: str, body: Any, wording: str = "", **limits: Any) -> Case:
        return Case(
            f"Anthropic.{name}",
            AnthropicMessages(limits, {wording: name} if wording else {}),
            "/v1/messages",
            body,
            "anthropic",
        )

    yield case("bytes", anthropic(), max_image_bytes=40)
    yield case("pixels", anthropic(LONG))
    yield case("many", anthropic(WIDE, count=21))
    yield case("many_2024", anthropic(WIDE, count=21), "many")
    yield case("mismatch_old", anthropic(JPEG), "mismatch")
    yield case("mismatch", anthropic(JPEG))
    yield case("type", anthropic(BMP, "image/bmp"))
    yield case("undecodable", anthropic(HTML))
    yield case("request", anthropic(), max_request_bytes=40)
    yield case("request_doc", anthropic(), "request", max_request_bytes=40)
    yield case("count", anthropic(count=101))
    yield case("count_media", anthropic(count=101), "count")


def _bedrock() -> Iterator[Case]:
    def case(name: str, body: Any, wording: str = "", **limits: Any) -> Case:
        provider = compatible.BedrockConverse(limits, {wording: name} if wording else {})
        return Case(f"Bedrock.{name}", provider, "/model/claude/converse", body, "bedrock")

    yield case("bytes", converse(), max_image_bytes=40)
    yield case("type", converse(kind="jpg"))
    yield case("mismatch", converse(kind="jpeg"))
    yield case("mismatch_llama", converse(kind="jpeg"), "mismatch")


def _openai() -> Iterator[Case]:
    def case(name: str, body: Any, wording: str = "", path: str = CHAT, **options: Any) -> Case:
        kind = OpenAIChat if path == CHAT else OpenAIResponses
        return Case(f"OpenAI.{name}", kind({}, {wording: name} if wording else {}, **options), path, body, "openai")

    for name in ("type", "type_2024", "type_2025"):
        yield case(name, chat(BMP, "image/bmp"), "type")
    yield case("undecodable", chat(PNG[:40]))
    yield case("download", chat("image.jpg"))
    yield case("wrong_part", responses(kind="image_url"), path=RESPONSES)
    yield case("no_vision", chat(), sees=False)
    codes = [key.partition(".")[2] for key, (row, answer) in refusals().items() if answer.get("code") == key.partition(".")[2]]
    for code in codes:
        yield case(code, responses(PNG[:40]), "undecodable", RESPONSES)
    long = {"type": "function_call_output", "call_id": "c", "output": responses()["input"][0]["content"]}
    provider = OpenAIResponses({"max_tool_image_url_chars": 40})
    yield Case("OpenAI.too_long", provider, RESPONSES, {"model": "m", "input": [long]}, "openai")
    yield Case("Azure.count", compatible.Azure(), CHAT, chat(count=51), "azure")
    yield Case(
        "Azure Foundry.data_uri",
        compatible.AzureFoundry({"max_data_uri_chars": 40}),
        RESPONSES,
        responses(JPEG, "image/jpeg"),
        "azure",
    )


def _gemini() -> Iterator[Case]:
    def case(name: str, body: Any, wording: str = "", **limits: Any) -> Case:
        provider = Gemini3(limits, {wording: name} if wording else {})
        return Case(f"Gemini.{name}", provider, "/v1beta/models/g:generateContent", body, "gemini")

    yield case("type", gemini(JPEG, "image/jpg"))
    yield case("type_list", gemini(GIF, "image/gif"), "type")
    yield case("type_silent", gemini(BMP, "image/bmp"))
    yield case("undecodable", gemini(HTML))
    yield case("undecodable_short", gemini(HTML), "undecodable")
    yield case("request", gemini(), max_request_bytes=40)
    yield case("request_file_api", gemini(), "request", max_request_bytes=40)
    yield Case("Gemini 2.5.tool_image", Gemini25(), "/v1beta/models/g:generateContent", gemini_tool(), "gemini")
    stored = {"fileData": {"mimeType": "image/png", "fileUri": "gs://bucket/a.png"}}
    body = {"contents": [{"role": "user", "parts": [stored]}]}
    provider = compatible.VertexGemini(sizes={"gs://bucket/a.png": 47_688_287})
    yield Case("Vertex Gemini.bytes", provider, "/v1/models/g:generateContent", body, "vertex_gemini")


def _others() -> Iterator[Case]:
    yield Case("xAI.type", compatible.XAI(), CHAT, chat(GIF, "image/gif"), "xai")
    yield Case("Groq.must_be_string", Groq(), CHAT, chat_tool(), "groq")
    yield Case("Groq.must_be_string_2024", Groq({}, {"must_be_string": "must_be_string_2024"}, sees=False), CHAT, chat(), "groq")
    yield Case("Groq.count", Groq(), CHAT, chat(count=6), "groq")
    yield Case("Groq.request", Groq({"max_request_bytes": 40}), CHAT, chat(), "groq")
    for name, wording, body, limits in (
        ("bytes", "", chat(), {"max_image_bytes": 40}),
        ("bytes_item", "bytes", chat(), {"max_image_bytes": 40}),
        ("pixels", "", chat(THIN), {}),
        ("undecodable", "", chat(PNG[:40]), {}),
        ("format", "", chat(GIF, "image/gif"), {}),
        ("corrupt", "undecodable", chat(PNG[:40]), {}),
    ):
        provider = compatible.DashScope(limits, {wording: name} if wording else {})
        yield Case(f"DashScope.{name}", provider, CHAT, body, "dashscope")
    yield Case("Kimi.url", compatible.Kimi(), CHAT, chat(URL), "moonshot")
    yield Case("Kimi.format", compatible.Kimi(), CHAT, chat(HTML, "image/svg+xml"), "moonshot")
    yield Case("Zhipu text model.no_vision", compatible.Zhipu(sees=False), CHAT, chat(), "zhipu")
    yield Case("MiniMax.detail", compatible.MiniMax(), CHAT, chat(detail="auto"), "minimax")
    yield Case("MiniMax.text_model", compatible.MiniMax(sees=False), CHAT, chat(), "minimax")
    yield Case("Volcengine.type", compatible.Volcengine(), CHAT, chat(BMP, "image/bmp"), "volcengine")
    yield Case("StepFun.count", compatible.StepFun(), CHAT, chat(count=61), "stepfun")
    yield Case("Ollama.url", OllamaOpenAI(), CHAT, chat(URL), "ollama")
    yield Case("Ollama.invalid", OllamaOpenAI(), CHAT, chat(GIF, "image/gif"), "ollama")
    by_url = {"type": "image", "source": {"type": "url", "url": URL}}
    body = {"model": "m", "messages": [{"role": "user", "content": [by_url]}]}
    yield Case("Ollama.source", OllamaAnthropic(), "/v1/messages", body, "ollama")
    yield Case("Ollama.one_image", OllamaChat(one_image=True), "/api/chat", ollama(PNG, JPEG), "ollama")
    yield Case("Ollama.base64", OllamaChat(), "/api/chat", ollama("iVBOR_not base64"), "ollama")
    yield Case("Ollama.decode", OllamaChat(), "/api/chat", ollama(HTML), "ollama")
    yield Case("llama.cpp.type", compatible.LlamaCpp(), CHAT, chat(HTML), "llama_cpp")
    yield Case("LM Studio.source", compatible.LMStudio(), CHAT, chat(URL), "lm_studio")
    yield Case("LM Studio.no_vision", compatible.LMStudio(sees=False), CHAT, chat(), "lm_studio")
    for name in ("count", "count_old"):
        yield Case(f"vLLM.{name}", compatible.VLLM({}, {"count": name}), CHAT, chat(count=5), "vllm")
    plain = {name: value for name, value in HEADERS.items() if name != "copilot-vision-request"}
    yield Case("Copilot.header", compatible.Copilot(), CHAT, chat(), "github_copilot", plain)
    yield Case("Copilot.type", compatible.Copilot(), CHAT, chat(HTML, "image/svg+xml"), "github_copilot")
    yield Case("LiteLLM.bytes", compatible.LiteLLM(sizes={URL: 12_000_000}), CHAT, chat(URL), "litellm")
    yield Case("LiteLLM.mime", compatible.LiteLLM(), CHAT, chat(URL), "litellm")
    yield Case("DeepSeek.no_vision", compatible.DeepSeekText(sees=False), CHAT, chat(), "deepseek")
    yield Case("Xiaomi MiMo.tool_image", compatible.MiMo(), CHAT, chat_tool(), "xiaomi")
