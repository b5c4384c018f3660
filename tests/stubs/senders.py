"""How a history reaches each provider's stub: the official SDKs as their users call them, plain HTTP for Ollama."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import httpx

from tests.stubs.anthropic_api import AnthropicMessages
from tests.stubs.gemini_api import Gemini3, Gemini25
from tests.stubs.ollama_api import OllamaChat
from tests.stubs.openai_api import Groq, OpenAIChat, OpenAIResponses
from tests.stubs.provider import Provider

Send = Callable[[list[Any]], str]
"""Messages to the words of the model; raises what the SDK raises."""

TOOLS = ("shot", "{}")  # the one function that a model calls in the tests, its arguments


def anthropic(url: str) -> Send:
    from anthropic import Anthropic

    client = Anthropic(base_url=url, api_key="none", max_retries=0)
    return lambda messages: client.messages.create(model="claude", max_tokens=64, messages=messages).content[0].text


def openai_chat(url: str) -> Send:
    from openai import OpenAI

    client = OpenAI(base_url=f"{url}/v1", api_key="none", max_retries=0)
    return lambda messages: str(client.chat.completions.create(model="gpt", messages=messages).choices[0].message.content)


def openai_responses(url: str) -> Send:
    from openai import OpenAI

    client = OpenAI(base_url=f"{url}/v1", api_key="none", max_retries=0)
    return lambda messages: client.responses.create(model="gpt", input=messages).output_text


def gemini(url: str) -> Send:
    from google import genai

    client = genai.Client(api_key="none", http_options=genai.types.HttpOptions(base_url=url))
    return lambda messages: str(client.models.generate_content(model="gemini", contents=messages).text)


def ollama(url: str) -> Send:
    client = httpx.Client(base_url=url)

    def send(messages: list[Any]) -> str:
        response = client.post("/api/chat", json={"model": "llava", "messages": messages, "stream": False})
        response.raise_for_status()
        return str(response.json()["message"]["content"])

    return send


@dataclass(frozen=True)
class Route:
    """A provider with the wire and the profile that are meant for it.

    Attributes:
        tool_images: what becomes of an image in a tool's result: "shown", "refused" or "lost" without a word.
    """

    name: str
    wire: str
    profile: str
    provider: type[Provider]
    connect: Callable[[str], Send]
    tool_images: str = "shown"

    def said(self, text: str) -> dict[str, Any]:
        """What the model said, as an item of the history."""
        if self.wire == "gemini":
            return {"role": "model", "parts": [{"text": text}]}
        return {"role": "assistant", "content": text}

    def called(self, call_id: str) -> dict[str, Any]:
        """The model's call of the tool."""
        name, arguments = TOOLS
        if self.wire == "anthropic":
            return {"role": "assistant", "content": [{"type": "tool_use", "id": call_id, "name": name, "input": {}}]}
        if self.wire == "openai_responses":
            return {"type": "function_call", "call_id": call_id, "name": name, "arguments": arguments}
        if self.wire == "gemini":
            return {"role": "model", "parts": [{"functionCall": {"name": name, "args": {}, "id": call_id}}]}
        if self.wire == "ollama":
            return {"role": "assistant", "content": "", "tool_calls": [{"function": {"name": name, "arguments": {}}}]}
        call = {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}
        return {"role": "assistant", "content": None, "tool_calls": [call]}


ROUTES = (
    Route("anthropic", "anthropic", "anthropic", AnthropicMessages, anthropic),
    Route("openai_chat", "openai_chat", "openai_chat", OpenAIChat, openai_chat, "lost"),
    Route("openai_responses", "openai_responses", "openai_responses", OpenAIResponses, openai_responses),
    Route("gemini_3", "gemini", "gemini_3", Gemini3, gemini),
    Route("gemini_2_5", "gemini", "gemini_2_5", Gemini25, gemini, "refused"),
    Route("groq", "openai_chat", "groq", Groq, openai_chat, "refused"),
    Route("ollama", "ollama", "ollama_openai_compat", OllamaChat, ollama),
)
