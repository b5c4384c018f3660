"""A refused request becomes one that can be sent: what is touched, what is kept, and what stands in place of pixels."""

from __future__ import annotations

import base64
import io
import threading

import pytest
from PIL import Image

from pixlane.messages import Memory, Recovery, recover, wires
from pixlane.messages.sentences import DEFAULT
from tests.pure.histories import BMP, BROKEN, HTML, JPEG, NOT_DECODED, PHOTO, PNG, SVG, WEBP, said, shown, tool, user
from tests.pure.recoveries import ASSISTANT, codes, fault, recovered

# Bad pictures ------------------------------------------------------------------------------------------------------------------


def test_a_wrong_label_is_put_right_and_the_bytes_stay() -> None:
    messages = [user(JPEG), user(PNG)]
    text = "The image was specified using the image/png media type, but the image appears to be a image/jpeg image"
    recovery = recovered(messages, fault(text))
    assert codes(recovery) == ["relabelled"]
    image, _ = wires.images(recovery.messages, "anthropic")
    assert (image.mime, image.decode()) == ("image/jpeg", JPEG)


@pytest.mark.parametrize(("data", "declared"), [(BMP, "image/bmp"), (SVG, "image/svg+xml"), (WEBP, "image/webp")])
def test_a_format_that_was_refused_is_encoded_anew(data: bytes, declared: str) -> None:
    messages = [user(PNG, wire="litellm"), ASSISTANT, user(data, wire="litellm", mime=declared)]
    found = fault("Invalid request content: Downloaded response does not contain a valid JPG or PNG image.", "xai")
    recovery = recovered(messages, found, "xai", "litellm")
    assert codes(recovery) == ["transcoded"]
    assert {image.mime for image in wires.images(recovery.messages, "litellm")} <= {"image/png", "image/jpeg"}
    assert shown(recovery.messages, "litellm")[0] == PNG


@pytest.mark.parametrize("bad", [HTML, BROKEN, NOT_DECODED, b""])
def test_an_image_that_cannot_be_decoded_here_either_gives_way_and_no_other_does(bad: bytes) -> None:
    messages = [user(PHOTO, mime="image/jpeg"), user(PNG, bad, JPEG)]
    recovery = recovered(messages, fault("Could not process image"))
    assert codes(recovery) == ["omitted"]
    assert shown(recovery.messages) == [PHOTO, PNG, JPEG]
    assert "[image omitted:" in said(recovery.messages)


def test_broken_base64_gives_way() -> None:
    broken = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "*no*"}}
    recovery = recovered([user(broken, PNG)], fault("Could not process image"))
    assert codes(recovery) == ["omitted"]
    assert shown(recovery.messages) == [PNG]


def test_where_every_image_decodes_the_newest_are_at_fault() -> None:
    messages = [user(JPEG, mime="image/jpeg"), ASSISTANT, user(PNG)]
    recovery = recovered(messages, fault("Could not process image"))
    assert codes(recovery) == ["omitted"], "encoding it anew would give the same bytes"
    assert shown(recovery.messages) == [JPEG]


def test_an_error_that_may_mean_something_else_touches_only_what_can_be_seen_to_be_wrong() -> None:
    found = fault("Request contains an invalid argument.", "gemini")
    good = [user(PNG, wire="gemini")]
    assert recovered(good, found, "gemini_3", "gemini") == Recovery(good, (), False)
    recovery = recovered([*good, user(BMP, wire="gemini", mime="image/bmp")], found, "gemini_3", "gemini")
    assert codes(recovery) == ["transcoded"]
    assert recovery.messages[0] == good[0]


def test_a_field_that_was_refused_goes_and_the_picture_stays() -> None:
    part = {"type": "image_url", "image_url": {"url": "https://example.com/a.png", "detail": "auto"}}
    inline = wires.get("openai_chat").image_part("image/png", PNG)
    inline["image_url"]["detail"] = "auto"
    messages = [user(part, inline, wire="openai_chat")]
    found = fault("invalid params, invalid image detail: auto (2013)", "minimax")
    recovery = recovered(messages, found, "minimax", "openai_chat")
    assert codes(recovery) == ["respelled", "respelled"]
    assert "detail" not in str(recovery.messages)
    assert shown(recovery.messages, "openai_chat") == [None, PNG]


def test_a_part_of_chat_becomes_one_of_responses() -> None:
    part = wires.get("openai_chat").image_part("image/png", PNG)
    messages = [user(part, PNG, wire="openai_responses")]
    found = fault("Invalid value: 'image_url'. Supported values are: 'input_text', 'input_image'.", "openai")
    recovery = recovered(messages, found, "openai_responses", "openai_responses")
    assert codes(recovery) == ["respelled"]
    assert recovery.messages[0]["content"][1] == wires.get("openai_responses").image_part("image/png", PNG)


# Elsewhere ---------------------------------------------------------------------------------------------------------------------


def test_a_url_that_was_refused_is_named_in_words_and_other_images_stay() -> None:
    good, bad = "https://example.com/good.png", "https://example.com/bad.png"
    parts = [wires.get("openai_chat").url_part(url) for url in (good, bad)]
    messages = [user(*parts, PNG, wire="openai_chat")]
    found = fault(f"Failed to download image from {bad}. Image URL is invalid.", "openai")
    recovery = recovered(messages, found, "openai_chat", "openai_chat")
    assert DEFAULT.handle_url_unseen.format(url=bad) in said(recovery.messages, "openai_chat")
    assert [image.url for image in wires.images(recovery.messages, "openai_chat")] == [good, None]


def test_what_only_the_provider_can_look_at_goes_before_what_was_proved_here() -> None:
    part = wires.get("openai_chat").url_part("https://example.com/a.png")
    messages = [user(PNG, part, wire="openai_chat")]
    found = fault("The image data you provided does not represent a valid image", "openai")
    first = recovered(messages, found, "openai_chat", "openai_chat")
    assert shown(first.messages, "openai_chat") == [PNG]
    second = recovered(first.messages, found, "openai_chat", "openai_chat", after=first)
    assert shown(second.messages, "openai_chat") == []


def test_a_long_url_is_known_by_its_beginning() -> None:
    urls = [f"https://example.com/{letter}.png?signature={'x' * 900}" for letter in "ab"]
    messages = [user(*(wires.get("openai_chat").url_part(url) for url in urls), wire="openai_chat")]
    found = fault(f"Failed to download image from {urls[1]}. Image URL is invalid.", "openai")
    recovery = recovered(messages, found, "openai_chat", "openai_chat")
    assert [image.url for image in wires.images(recovery.messages, "openai_chat")] == [urls[0]]


# No pixels at all --------------------------------------------------------------------------------------------------------------

NO_VISION = "unknown variant `image_url`, expected `text`"


@pytest.mark.parametrize("wire", wires.NAMES)
def test_to_a_model_that_does_not_see_no_pixels_are_sent_again(wire: str) -> None:
    messages = [user(PNG, BMP, HTML, wire=wire), tool(PHOTO, wire=wire, mime="image/jpeg"), user(wire=wire)]
    recovery = recovered(messages, fault(NO_VISION, ""), "safe", wire)
    assert recovery.retry
    assert wires.images(recovery.messages, wire) == []
    assert codes(recovery) == ["omitted"] * 4
    assert "shrunk" not in codes(recovery)
    assert said(recovery.messages, wire).count("this model is given no images") == 4


def test_who_describes_is_asked_once_for_each_and_gets_a_picture_that_it_can_read() -> None:
    asked = []

    def describe(data: bytes) -> str:
        asked.append(Image.open(io.BytesIO(data)).format)
        return f"a picture in {asked[-1]}"

    recovery = recover([user(PNG, BMP, HTML)], fault(NO_VISION, ""), "safe", "anthropic", describe, memory=Memory())
    assert codes(recovery) == ["described", "described", "omitted"]
    assert len(asked) == 2
    assert set(asked) <= {"PNG", "JPEG", "GIF", "WEBP"}
    assert DEFAULT.described.format(description="a picture in PNG") in said(recovery.messages)


def test_several_images_are_described_at_once_and_each_content_once() -> None:
    together = threading.Barrier(3, timeout=30)

    def describe(data: bytes) -> str:
        together.wait()  # one after the other they would wait for ever
        return f"a picture of {len(data)} bytes"

    messages = [user(PNG, JPEG, PNG, mime="image/png"), tool(WEBP)]
    recovery = recover(messages, fault(NO_VISION, ""), "safe", "anthropic", describe, memory=Memory())
    assert codes(recovery) == ["described"] * 4
    assert said(recovery.messages).count(f"a picture of {len(PNG)} bytes") == 2


def test_a_failed_description_is_a_placeholder() -> None:
    def fails(_: bytes) -> str:
        raise TimeoutError("no model")

    recovery = recover([user(PNG)], fault(NO_VISION, ""), "safe", "anthropic", fails)
    assert codes(recovery) == ["omitted"]
    assert "no model" not in said(recovery.messages)


@pytest.mark.parametrize("wire", wires.NAMES)
def test_images_of_tool_results_give_way_at_once_and_the_users_stay(wire: str) -> None:
    messages = [user(PNG, wire=wire), tool(JPEG, wire=wire, mime="image/jpeg", text=DEFAULT.image_loaded)]
    recovery = recovered(messages, fault("tool message content must be a string", ""), "safe", wire)
    assert shown(recovery.messages, wire) == [PNG]
    assert codes(recovery) == ["omitted", "claim_removed"]
    assert DEFAULT.image_loaded not in said(recovery.messages, wire)


def test_a_tool_message_becomes_the_string_that_is_wanted() -> None:
    messages = [tool(wire="openai_chat"), tool(PNG, wire="openai_chat")]
    recovery = recovered(messages, fault("messages[1].content must be a string", "groq"), "groq", "openai_chat")
    assert [type(message["content"]) for message in recovery.messages] == [str, str]
    assert recovery.messages[0]["content"] == "taken"
    assert "this provider takes no images in tool results" in recovery.messages[1]["content"]


def test_a_users_message_that_has_to_be_a_string_is_meant_where_it_is_named() -> None:
    messages = [user(PNG, wire="openai_chat"), tool(JPEG, wire="openai_chat", mime="image/jpeg")]
    recovery = recovered(messages, fault("message[0].content must be a string", "groq"), "groq", "openai_chat")
    assert isinstance(recovery.messages[0]["content"], str)
    assert shown(recovery.messages, "openai_chat") == [JPEG]


def test_claims_leave_with_their_pixels_and_handles_say_what_is_true() -> None:
    text = f"what is this?\n\n{DEFAULT.handle.format(path='/tmp/a.png')}"
    recovery = recovered([user(PNG, text=text)], fault(NO_VISION, ""))
    assert DEFAULT.handle_unseen.format(path="/tmp/a.png") in said(recovery.messages)
    assert DEFAULT.handle.format(path="/tmp/a.png") not in said(recovery.messages)


def test_a_screenshot_that_takes_no_words_is_not_sent_for_ever() -> None:
    url = "data:image/png;base64," + base64.b64encode(PNG).decode()
    item = {"type": "computer_call_output", "call_id": "c", "output": {"type": "computer_screenshot", "image_url": url}}
    first = recovered([item], fault(NO_VISION, ""), "openai_responses", "openai_responses")
    assert first.retry
    assert PNG not in shown(first.messages, "openai_responses")
    assert not recovered(first.messages, fault(NO_VISION, ""), "openai_responses", "openai_responses", after=first).retry
