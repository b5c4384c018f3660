"""A history before it is sent: what is wrong is put right, what is right stays, and nothing goes without a word."""

from __future__ import annotations

import base64
from dataclasses import replace as altered
from typing import Any

import pytest
from PIL import Image

from pixlane import profiles
from pixlane.messages import Memory, Repaired, repair, wires
from pixlane.messages.sentences import DEFAULT
from pixlane.messages.wires.openai_responses import OpenAIResponses
from tests.pure import make
from tests.pure.histories import (
    BMP,
    BROKEN,
    GIF,
    HTML,
    JPEG,
    LONG,
    NOT_DECODED,
    PHOTO,
    PNG,
    SVG,
    WEBP,
    codes,
    fixed,
    said,
    shown,
    tool,
    user,
)

# One image ---------------------------------------------------------------------------------------------------------------


def test_what_the_receiver_takes_stays_byte_for_byte() -> None:
    exif = make.array(make.smooth(), "JPEG", exif=b"Exif\0\0" + make.exif(6))
    messages = [user(PNG), user(JPEG, mime="image/jpeg"), user(exif, mime="image/jpeg"), user(WEBP, mime="image/webp")]
    repaired = fixed(messages)
    assert repaired == Repaired(messages, ())


def test_a_wrong_media_type_is_relabelled_and_the_bytes_stay() -> None:
    repaired = fixed([user(JPEG, mime="image/webp")])
    (image,) = wires.images(repaired.messages, "anthropic")
    assert (image.mime, image.decode()) == ("image/jpeg", JPEG)
    assert codes(repaired) == ["relabelled"]
    assert repaired.changes[0].path == (0, "content", 1)
    assert repaired.changes[0].text == "declared as image/webp, the bytes are image/jpeg"


def test_image_jpg_is_no_type_and_becomes_jpeg() -> None:
    (image,) = wires.images(fixed([user(JPEG, mime="image/jpg")]).messages, "anthropic")
    assert image.mime == "image/jpeg"


def test_a_name_that_the_receiver_lists_is_kept() -> None:
    messages = [user(WEBP, wire="gemini", mime="image/webp")]
    assert fixed(messages, "gemini_3", "gemini").changes == ()


@pytest.mark.parametrize("data", [BMP, SVG, make.flat(make.RED, form="TIFF"), make.flat(make.RED, form="ICO")])
def test_a_format_that_is_not_taken_is_encoded_anew(data: bytes) -> None:
    repaired = fixed([user(data), user(PNG)])
    (first, second) = shown(repaired.messages)
    assert first is not None
    assert first[:4] in (b"\x89PNG", b"\xff\xd8\xff\xe0", b"\xff\xd8\xff\xdb")
    assert second == PNG
    assert codes(repaired) == ["transcoded"]


def test_a_format_is_judged_by_who_receives_it() -> None:
    for wire, profile, data in (("gemini", "gemini_3", GIF), ("litellm", "xai", WEBP), ("ollama", "local", WEBP)):
        repaired = fixed([user(data, wire=wire)], profile, wire)
        assert codes(repaired) == ["transcoded"], profile
    assert codes(fixed([user(WEBP, mime="image/webp")])) == []


@pytest.mark.parametrize(
    ("data", "declared", "placeholder"),
    [
        (NOT_DECODED, "image/jxl", "[image omitted: image/jxl is not a supported image format]"),
        (HTML, "image/png", "[image omitted: image/png, not an image]"),
        (b"", "image/jpeg", "[image omitted: image/jpeg, empty input]"),
        (BROKEN, "image/png", "[image omitted: image/png, truncated input]"),
    ],
    ids=["a format that is not decoded", "a web page", "nothing", "a header only"],
)
def test_what_cannot_be_saved_becomes_a_placeholder_that_names_the_type(data: bytes, declared: str, placeholder: str) -> None:
    bad = wires.get("anthropic").image_part(declared, data)
    repaired = fixed([user(PNG, bad, wires.get("anthropic").image_part("image/jpeg", JPEG))])
    assert codes(repaired)[0] == "omitted"
    assert [block.get("text") for block in repaired.messages[0]["content"]] == ["look", None, placeholder, None]
    assert shown(repaired.messages) == [PNG, JPEG]


def test_base64_with_line_breaks_is_written_anew() -> None:
    lined = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": base64.encodebytes(PNG).decode()}}
    repaired = fixed([user(lined)])
    assert codes(repaired) == ["respelled"]
    assert wires.images(repaired.messages, "anthropic")[0].data == base64.b64encode(PNG).decode()


def test_broken_base64_is_omitted() -> None:
    broken = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "*not base64*"}}
    assert codes(fixed([user(broken, PNG)])) == ["omitted"]


def test_a_damaged_picture_that_a_browser_shows_is_encoded_anew() -> None:
    repaired = fixed([user(JPEG[:-2], mime="image/jpeg")])
    assert codes(repaired) == ["transcoded"]
    assert "damaged" in repaired.changes[0].text


def test_bytes_after_the_end_are_no_damage() -> None:
    messages = [user(PNG + b"more"), user(JPEG + PNG, mime="image/jpeg")]
    assert fixed(messages) == Repaired(messages, ())


def test_of_a_truncated_picture_what_is_there_is_shown() -> None:
    repaired = fixed([user(PHOTO[: len(PHOTO) // 2], mime="image/jpeg")])
    assert codes(repaired) == ["transcoded"]
    assert "ends early" in repaired.changes[0].text
    assert len(shown(repaired.messages)) == 1


def test_an_animation_goes_only_where_it_is_taken() -> None:
    frames = [Image.new("RGB", (20, 20), colour) for colour in (make.RED, make.BLUE)]
    moving = make.encode(frames[0], "GIF", save_all=True, append_images=frames[1:])
    assert codes(fixed([user(moving, mime="image/gif")])) == []
    repaired = fixed([user(moving, wire="openai_chat", mime="image/gif")], "openai_chat", "openai_chat")
    assert codes(repaired) == ["transcoded"]


@pytest.mark.parametrize(
    ("profile", "limit"),
    [
        ({"max_side_px": 300}, "takes 300 px on a side, this has 600"),
        ({"max_image_bytes": 60_000, "bytes_basis": "raw"}, "takes 60,000 bytes, this has"),
        ({"max_image_bytes": 60_000, "bytes_basis": "base64"}, "takes 60,000 bytes, this has"),
        ({"max_image_bytes": 60_000, "bytes_basis": "data_url"}, "takes 60,000 bytes, this has"),
    ],
)
def test_a_limit_is_met_with_as_much_as_it_allows(profile: dict[str, Any], limit: str) -> None:
    narrow = altered(profiles.get("anthropic"), **profile)
    repaired = fixed([user(PHOTO, mime="image/jpeg")], narrow)
    assert codes(repaired) == ["shrunk"]
    assert limit in repaired.changes[0].text
    (data,) = shown(repaired.messages)
    assert data is not None
    assert len(data) > 20_000 or "max_side_px" in profile  # no halving below what is asked
    assert fixed(repaired.messages, narrow).changes == ()


def test_a_tool_result_of_responses_takes_a_shorter_data_url_than_a_message() -> None:
    class Tight(OpenAIResponses):
        max_tool_url_chars = 60_000

    assert OpenAIResponses.max_tool_url_chars == 20_971_520
    wire = Tight()
    part = wire.image_part("image/jpeg", PHOTO)
    assert repair([wire.user_message([part])], "openai_responses", wire).changes == ()
    repaired = repair([wire.tool_message("1", [part])], "openai_responses", wire)
    assert codes(repaired) == ["shrunk"]
    assert len(wires.images(repaired.messages, wire)[0].part["image_url"]) <= 60_000


def test_an_image_exactly_at_a_limit_stays() -> None:
    chars = len(base64.b64encode(PHOTO))
    limits: dict[Any, int] = {"raw": len(PHOTO), "base64": chars, "data_url": chars + len("data:image/jpeg;base64,")}
    for basis, limit in limits.items():
        at_limit = altered(profiles.get("anthropic"), max_image_bytes=limit, bytes_basis=basis, max_side_px=600)
        assert fixed([user(PHOTO, mime="image/jpeg")], at_limit).changes == ()
        below = altered(at_limit, max_image_bytes=limit - 1)
        assert codes(fixed([user(PHOTO, mime="image/jpeg")], below)) == ["shrunk"]


def test_a_shape_that_no_size_can_mend_gives_way() -> None:
    repaired = fixed([user(LONG, wire="litellm"), user(PNG, wire="litellm")], "qwen_dashscope", "litellm")
    assert codes(repaired)[0] == "omitted"
    assert shown(repaired.messages, "litellm") == [PNG]


# URLs ------------------------------------------------------------------------------------------------------------------------


def test_a_url_passes_verbatim_where_urls_are_taken_and_is_named_where_not() -> None:
    url = {"type": "image_url", "image_url": {"url": "https://example.com/a.png?b=1"}}
    messages = [user(url, wire="openai_chat")]
    assert fixed(messages, "openai_chat", "openai_chat") == Repaired(messages, ())
    repaired = fixed(messages, "moonshot_kimi", "openai_chat")
    assert codes(repaired) == ["omitted"]
    assert "[Image, not shown: https://example.com/a.png?b=1]" in said(repaired.messages, "openai_chat")


def test_a_wire_without_urls_names_them_whatever_its_profile_says() -> None:
    message = {"role": "user", "content": "look", "images": ["https://example.com/a.png"]}
    repaired = fixed([message], "openai_chat", "ollama")
    assert repaired.messages == [{"role": "user", "content": "look\n\n[Image, not shown: https://example.com/a.png]"}]


def test_a_file_url_never_reaches_a_provider() -> None:
    url = {"type": "image_url", "image_url": {"url": "file:///etc/passwd"}}
    repaired = fixed([user(url, wire="openai_chat")], "openai_chat", "openai_chat")
    assert codes(repaired) == ["omitted"]


# Tool results ----------------------------------------------------------------------------------------------------------------


def test_tool_images_move_behind_all_results_where_the_receiver_drops_them() -> None:
    messages = [tool(PNG, wire="openai_chat"), tool(JPEG, wire="openai_chat", mime="image/jpeg"), user(wire="openai_chat")]
    repaired = fixed(messages, "openai_chat", "openai_chat")
    assert codes(repaired) == ["moved", "moved"]
    assert [message["role"] for message in repaired.messages] == ["tool", "tool", "user", "user"]
    images = wires.images(repaired.messages, "openai_chat")
    assert [(image.message_index, image.in_tool_result, image.decode()) for image in images] == [
        (2, False, PNG),
        (2, False, JPEG),
    ]
    assert repaired.messages[0]["content"] == f"taken\n\n{DEFAULT.moved}"  # one string: such a receiver may take no list


def test_tool_images_stay_where_the_receiver_shows_them() -> None:
    for wire, profile in (("anthropic", "anthropic"), ("openai_responses", "openai_responses"), ("gemini", "gemini_3")):
        messages = [tool(PNG, wire=wire)]
        assert fixed(messages, profile, wire) == Repaired(messages, ()), wire


def test_gemini_before_3_gets_tool_images_beside_the_response() -> None:
    repaired = fixed([tool(PNG, wire="gemini")], "gemini_2_5", "gemini")
    response, words, image = repaired.messages[0]["parts"]
    assert "parts" not in response["functionResponse"]
    assert response["functionResponse"]["response"]["images"] == DEFAULT.moved
    assert words["text"] == DEFAULT.moved_here
    assert "inlineData" in image


def test_where_no_user_message_may_follow_a_tool_the_image_is_described() -> None:
    seen: list[bytes] = []

    def describe(data: bytes) -> str:
        seen.append(data)
        return "a red box"

    messages = [tool(PNG, wire="mistral")]
    repaired = fixed(messages, "mistral", "mistral", describe=describe)
    assert codes(repaired) == ["described"]
    assert "[image, described: a red box]" in said(repaired.messages, "mistral")
    assert seen == [PNG]
    assert codes(repair(messages, "mistral", "mistral")) == ["omitted"]


def test_a_failed_description_is_never_handed_on_as_one_and_is_asked_for_again() -> None:
    asked = []

    def fails(data: bytes) -> str:
        asked.append(data)
        raise ConnectionError("no route")

    memory = Memory()
    for _ in range(2):
        repaired = repair([tool(PNG, wire="mistral")], "mistral", "mistral", fails, memory=memory)
        assert codes(repaired) == ["omitted"]
        assert "no route" in repaired.changes[0].text
        assert "described" not in said(repaired.messages, "mistral")
        assert "no route" not in said(repaired.messages, "mistral")
    assert len(asked) == 2


def test_a_screenshot_item_that_takes_no_words_gets_a_blank_picture() -> None:
    url = "data:image/png;base64," + base64.b64encode(HTML).decode()
    item = {"type": "computer_call_output", "call_id": "c", "output": {"type": "computer_screenshot", "image_url": url}}
    repaired = fixed([item], "openai_responses", "openai_responses")
    assert codes(repaired) == ["omitted"]
    assert repaired.messages[0]["output"]["type"] == "computer_screenshot"
    assert fixed(repaired.messages, "openai_responses", "openai_responses").changes == ()


def test_tool_images_move_on_a_wire_of_which_the_profile_does_not_speak() -> None:
    repaired = fixed([tool(PNG, wire="openai_chat")], "anthropic", "openai_chat")
    assert codes(repaired) == ["moved"]
    assert codes(fixed([tool(PNG)], "anthropic", "anthropic")) == []
