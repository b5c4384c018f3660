"""Every wire makes its parts, finds them again wherever they may stand, and replaces them without touching the input."""

from __future__ import annotations

import base64
import copy
import json
from typing import Any

import pytest

from pixlane.errors import InvalidArgument
from pixlane.messages import wires
from pixlane.messages.wires import data_urls
from tests.pure import make
from tests.stubs import published

PNG = make.flat(make.RED, (8, 4))
B64 = base64.b64encode(PNG).decode()
URL = f"data:image/png;base64,{B64}"
REMOTE = "https://example.com/a.png?x=1#y"

# The shapes as providers publish them: an inline image, a remote one.
INLINE: dict[str, Any] = {
    "openai_chat": {"type": "image_url", "image_url": {"url": URL}},
    "openai_responses": {"type": "input_image", "detail": "auto", "image_url": URL},
    "anthropic": {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": B64}},
    "bedrock": {"image": {"format": "png", "source": {"bytes": PNG}}},
    "gemini": {"inlineData": {"mimeType": "image/png", "data": B64}},
    "mistral": {"type": "image_url", "image_url": URL},
    "ollama": {"images": [B64]},
    "mcp": {"type": "image", "data": B64, "mimeType": "image/png"},
    "langchain": {"type": "image", "base64": B64, "mime_type": "image/png"},
    "vercel": {"type": "file", "mediaType": "image/png", "data": {"type": "data", "data": B64}},
    "litellm": {"type": "image_url", "image_url": {"url": URL}},
}
BY_URL: dict[str, Any] = {
    "openai_chat": {"type": "image_url", "image_url": {"url": REMOTE}},
    "openai_responses": {"type": "input_image", "detail": "auto", "image_url": REMOTE},
    "anthropic": {"type": "image", "source": {"type": "url", "url": REMOTE}},
    "mistral": {"type": "image_url", "image_url": REMOTE},
    "langchain": {"type": "image", "url": REMOTE},
    "vercel": {"type": "file", "mediaType": "image/*", "data": {"type": "url", "url": REMOTE}},
    "litellm": {"type": "image_url", "image_url": {"url": REMOTE}},
}

# Where the wires hold the image of a tool result.
IN_TOOL: dict[str, tuple[Any, ...]] = {
    "openai_chat": ("content", 1),
    "openai_responses": ("output", 1),
    "anthropic": ("content", 0, "content", 1),
    "bedrock": ("content", 0, "toolResult", "content", 1),
    "gemini": ("parts", 0, "functionResponse", "parts", 0),
    "mistral": ("content", 1),
    "ollama": ("images", 0),
    "mcp": ("content", 1),
    "langchain": ("content", 1),
    "vercel": ("content", 0, "output", "value", 1),
    "litellm": ("content", 1),
}


def conversation(wire: wires.Wire) -> list[Any]:
    """A user's image, and one in a tool result."""
    return [
        wire.user_message([wire.text_part("look"), wire.image_part("image/png", PNG)]),
        wire.tool_message("call_1", [wire.text_part("taken"), wire.image_part("image/png", PNG)], "screenshot"),
    ]


def test_the_tables_name_every_wire() -> None:
    assert set(INLINE) == set(IN_TOOL) == set(wires.NAMES)
    assert set(BY_URL) == {name for name in wires.NAMES if wires.get(name).takes_url}


@pytest.mark.parametrize("name", wires.NAMES)
def test_an_image_part_has_the_published_shape(name: str) -> None:
    assert wires.get(name).image_part("image/png", PNG) == INLINE[name]


@pytest.mark.parametrize("name", BY_URL)
def test_a_remote_url_passes_verbatim(name: str) -> None:
    wire = wires.get(name)
    assert wire.url_part(REMOTE) == BY_URL[name]
    (found,) = wires.images([wire.user_message([wire.url_part(REMOTE)])], name)
    assert (found.url, found.data) == (REMOTE, None)


@pytest.mark.parametrize("name", wires.NAMES)
def test_images_are_found_with_their_place_and_bytes(name: str) -> None:
    wire = wires.get(name)
    user, tool = wires.images(conversation(wire), name)
    assert (user.message_index, user.role, user.in_tool_result) == (0, "user", False)
    assert (tool.path, tool.in_tool_result) == ((1, *IN_TOOL[name]), True)
    assert user.decode() == tool.decode() == PNG
    assert user.mime == (None if name == "ollama" else "image/png")


@pytest.mark.parametrize("name", wires.NAMES)
def test_texts_are_found_with_their_place(name: str) -> None:
    wire = wires.get(name)
    found = wires.texts(conversation(wire), name)
    assert [text.text for text in found if not text.in_tool_result] == ["look"]
    assert [text.text for text in found if text.in_tool_result] == ["taken"]


@pytest.mark.parametrize("name", wires.NAMES)
def test_replacing_gives_new_messages_and_leaves_the_old_ones(name: str) -> None:
    wire = wires.get(name)
    messages = conversation(wire)
    before = copy.deepcopy(messages)
    user, tool = wires.images(messages, name)
    smaller = make.flat(make.BLUE, (2, 2), "JPEG")
    changed = wires.replace(
        messages, name, {user.path: [wire.text_part("gone")], tool.path: [wire.with_image(tool.part, "image/jpeg", smaller)]}
    )
    assert messages == before
    (left,) = wires.images(changed, name)
    assert (left.in_tool_result, left.decode()) == (True, smaller)
    assert "gone" in " ".join(text.text for text in wires.texts(changed[:1], name))


@pytest.mark.parametrize("name", wires.NAMES)
def test_an_image_gives_way_to_nothing_or_to_several_parts(name: str) -> None:
    wire = wires.get(name)
    messages = [wire.user_message([wire.text_part("a"), wire.image_part("image/png", PNG), wire.text_part("z")])]
    path = wires.images(messages, name)[0].path
    gone = wires.replace(messages, name, {path: []})
    assert "".join(text.text for text in wires.texts(gone, name)).replace("\n", "") == "az"
    parts = [wire.text_part("b"), wire.image_part("image/png", PNG), wire.image_part("image/png", PNG)]
    several = wires.replace(messages, name, {path: parts})
    assert len(wires.images(several, name)) == 2
    assert sorted("".join(text.text for text in wires.texts(several, name)).replace("\n", "")) == ["a", "b", "z"]


@pytest.mark.parametrize("name", wires.NAMES)
def test_a_text_is_replaced_in_place(name: str) -> None:
    wire = wires.get(name)
    messages = conversation(wire)
    path = next(text.path for text in wires.texts(messages, name) if text.text == "look")
    changed = wires.replace(messages, name, {path: "other"})
    assert wires.texts(changed, name)[0].text == "other"
    assert len(wires.images(changed, name)) == 2


@pytest.mark.parametrize("name", wires.NAMES)
def test_plain_text_messages_have_no_image_and_one_text(name: str) -> None:
    key = "parts" if name == "gemini" else "content"
    messages = [{"role": "user", key: [{"text": "hi"}] if name == "gemini" else "hi"}]
    assert wires.images(messages, name) == []
    assert [text.text for text in wires.texts(messages, name)] == ["hi"]


def test_what_a_part_says_besides_its_image_stays() -> None:
    chat, anthropic = wires.get("openai_chat"), wires.get("anthropic")
    part = {"type": "image_url", "image_url": {"url": URL, "detail": "low", "media_type": "image/png"}}
    assert chat.with_image(part, "image/jpeg", b"x")["image_url"] == {
        "url": "data:image/jpeg;base64,eA==",
        "detail": "low",
        "media_type": "image/jpeg",
    }
    cached = {**INLINE["anthropic"], "cache_control": {"type": "ephemeral"}}
    assert anthropic.with_image(cached, "image/jpeg", b"x")["cache_control"] == {"type": "ephemeral"}


# Other spellings of the same thing: (wire, message, bytes or URL or None, declared type)
OTHER: dict[str, tuple[str, Any, Any, str | None]] = {
    "a bare string in the chat shape": (
        "openai_chat",
        {"role": "user", "content": [{"type": "image_url", "image_url": URL}]},
        PNG,
        "image/png",
    ),
    "upper case": (
        "openai_chat",
        {"content": [{"type": "image_url", "image_url": {"url": URL.replace("data:", "DATA:")}}]},
        PNG,
        None,
    ),
    "a screenshot of a computer": (
        "openai_responses",
        {"type": "computer_call_output", "call_id": "1", "output": {"type": "computer_screenshot", "image_url": URL}},
        PNG,
        "image/png",
    ),
    "an uploaded file": ("openai_responses", {"role": "user", "content": [{"type": "input_image", "file_id": "f"}]}, "f", None),
    "an image in a document": (
        "anthropic",
        {"role": "user", "content": [{"type": "document", "source": {"type": "content", "content": [INLINE["anthropic"]]}}]},
        PNG,
        "image/png",
    ),
    "base64 in a JSON history of Bedrock": (
        "bedrock",
        {"role": "user", "content": [{"image": {"format": "png", "source": {"bytes": B64}}}]},
        PNG,
        "image/png",
    ),
    "the other spelling of Gemini": (
        "gemini",
        {"role": "user", "parts": [{"inline_data": {"mime_type": "image/png", "data": PNG}}]},
        PNG,
        "image/png",
    ),
    "an embedded resource": (
        "mcp",
        {"content": [{"type": "resource", "resource": {"uri": "x:y", "mimeType": "image/png", "blob": B64}}]},
        PNG,
        "image/png",
    ),
    "a single block": ("mcp", {"role": "user", "content": INLINE["mcp"]}, PNG, "image/png"),
    "LangChain before v1": (
        "langchain",
        {
            "type": "human",
            "data": {"content": [{"type": "image", "source_type": "base64", "data": B64, "mime_type": "image/png"}]},
        },
        PNG,
        "image/png",
    ),
    "the chat shape in LangChain": ("langchain", {"type": "human", "content": [INLINE["openai_chat"]]}, PNG, "image/png"),
    "Vercel's image part": ("vercel", {"role": "user", "content": [{"type": "image", "image": B64}]}, PNG, None),
    "Vercel's media part": (
        "vercel",
        {
            "role": "tool",
            "content": [
                {
                    "type": "tool-result",
                    "output": {"type": "content", "value": [{"type": "media", "data": B64, "mediaType": "image/png"}]},
                }
            ],
        },
        PNG,
        "image/png",
    ),
    "LiteLLM's file part": (
        "litellm",
        {"role": "user", "content": [{"type": "file", "file": {"file_data": URL}}]},
        PNG,
        "image/png",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", OTHER)
def test_other_spellings_are_read_and_kept_when_replaced(case: str) -> None:
    name, message, wanted, mime = OTHER[case]
    (found,) = wires.images([message], name)
    assert (found.decode() if isinstance(wanted, bytes) else found.ref) == wanted
    assert mime is None or found.mime == mime
    changed = wires.replace([message], name, {found.path: [wires.get(name).with_image(found.part, "image/jpeg", b"new")]})
    (again,) = wires.images(changed, name)
    assert (again.path, again.decode()) == (found.path, b"new")


def test_a_part_that_is_no_image_is_none() -> None:
    pdf = {"inlineData": {"mimeType": "application/pdf", "data": "JVBERg=="}}
    assert wires.images([{"role": "user", "parts": [pdf]}], "gemini") == []
    audio = {"type": "file", "mediaType": "audio/mpeg", "data": B64}
    assert wires.images([{"role": "user", "content": [audio]}], "vercel") == []


def test_histories_of_odd_shapes_do_not_raise() -> None:
    odd: list[Any] = [
        None,
        3,
        {},
        {"role": None, "content": None},
        {"content": [None, 3, [], {}]},
        {"content": {"type": "image"}},
    ]
    for name in wires.NAMES:
        wires.texts(odd, name)
        for image in wires.images(odd, name):
            assert not image.decode()


def test_an_unknown_wire_is_named_with_the_known_ones() -> None:
    with pytest.raises(InvalidArgument, match="unknown wire 'smtp'; known are openai_chat"):
        wires.get("smtp")


@pytest.mark.parametrize(
    ("url", "mime", "data"),
    [
        (URL, "image/png", PNG),
        ("DATA:IMAGE/PNG;BASE64," + B64, "image/png", PNG),
        (f"  data:image/png;charset=utf-8;base64,{B64}\n", "image/png", PNG),
        ("data:image/png;base64," + "\n".join(B64[at : at + 20] for at in range(0, len(B64), 20)), "image/png", PNG),
        ("data:image/png;base64," + base64.urlsafe_b64encode(b"\xfb\xff\xfe").decode(), "image/png", b"\xfb\xff\xfe"),
        ("data:image/png;base64," + B64.rstrip("="), "image/png", PNG),
        ("data:image/svg+xml,%3Csvg%2F%3E", "image/svg+xml", b"<svg/>"),
        ("data:image/svg+xml;utf8,<svg a='1,2'/>", "image/svg+xml", b"<svg a='1,2'/>"),
        ("data:;base64," + B64, None, PNG),
        ("data:;base64," + "".join(f"%{ord(letter):02x}" for letter in B64), None, PNG),
        (f"data:;base64,%{ord(B64[0]):02x}{B64[1:]}", None, PNG),
        ("data:image/png;base64,%zz" + B64, "image/png", None),
        ("data:image/png;base64,***", "image/png", None),
        ("data:image/png;base64,A", "image/png", None),
        ("data:image/png", "image/png", b""),
    ],
)  # fmt: skip
def test_data_urls_are_read_as_senders_write_them(url: str, mime: str | None, data: bytes | None) -> None:
    inline = data_urls.split(url)
    assert inline is not None
    assert inline[0] == mime
    assert (inline[1] if isinstance(inline[1], bytes) else data_urls.decode(inline[1])) == data


def test_what_is_no_data_url_is_none() -> None:
    assert [data_urls.split(url) for url in ("", "https://x/y", "database:1,2")] == [None, None, None]


def test_messages_without_bytes_are_json() -> None:
    for name in wires.NAMES:
        if name != "bedrock":
            json.dumps(conversation(wires.get(name)))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["anthropic", "openai_chat", "openai_responses", "gemini", "ollama"])
def test_what_a_wire_writes_has_the_form_that_the_vendor_publishes(name: str) -> None:
    wire = wires.get(name)
    parts = [wire.text_part("look"), wire.image_part("image/png", PNG), *([wire.url_part(REMOTE)] if wire.takes_url else [])]
    said = wire.user_message(parts)
    key = {"openai_responses": "input", "gemini": "contents"}.get(name, "messages")
    body: dict[str, Any] = {key: [said]}
    if name == "gemini":
        body |= {"systemInstruction": said, "generationConfig": {}}
    else:
        body |= {"model": "m"} | ({"max_tokens": 9} if name == "anthropic" else {})
    published.check(name, body)
