"""A refused request becomes one that can be sent: what is touched, what is kept, and what stands in place of pixels."""

from __future__ import annotations

import base64
import io
from dataclasses import replace as altered
from typing import Any

import pytest
from PIL import Image

from pixlane import profiles
from pixlane.messages import ImageFault, Memory, Recovery, classify_error, recover, wires
from pixlane.messages.sentences import DEFAULT
from tests.pure import make
from tests.pure.histories import BMP, BROKEN, HTML, JPEG, MEMORY, NOT_DECODED, PHOTO, PNG, SVG, WEBP, said, shown, tool, user

WIDE = make.flat(make.GREEN, (3000, 40))
ASSISTANT = {"role": "assistant", "content": "seen"}


def fault(text: str, provider: str = "anthropic", status: int = 400) -> ImageFault:
    found = classify_error(status, text, provider)
    assert found is not None
    return found


def at(message: int, part: int, rest: str, inner: str = "") -> ImageFault:
    return fault(f"messages.{message}.content.{part}.{inner}image.source.base64: {rest}")


def recovered(
    messages: list[Any], found: ImageFault, profile: Any = "anthropic", wire: str = "anthropic", **more: Any
) -> Recovery:
    return recover(messages, found, profile, wire, memory=MEMORY, **more)


def codes(recovery: Recovery) -> list[str]:
    return [change.code for change in recovery.changes]


def chars(data: bytes | None) -> int:
    return len(base64.b64encode(data or b""))


def opened(data: bytes | None) -> Image.Image:
    return Image.open(io.BytesIO(data or b""))


OVER_60K = f"image exceeds 60 KB maximum: {chars(PHOTO)} bytes > 60000 bytes"

# Too large ---------------------------------------------------------------------------------------------------------------------


def test_only_the_image_that_is_named_is_touched() -> None:
    messages = [user(PHOTO, mime="image/jpeg"), ASSISTANT, user(PNG, PHOTO, text="now")]
    recovery = recovered(messages, at(2, 2, OVER_60K))
    assert recovery.retry
    assert [change.path for change in recovery.changes] == [(2, "content", 2)]
    first, second, third = shown(recovery.messages)
    assert (first, second) == (PHOTO, PNG)
    assert chars(third) < 60_000
    assert recovery.messages[:2] == messages[:2]


def test_an_image_in_a_tool_result_is_named_by_three_numbers() -> None:
    messages = [tool(PHOTO, PHOTO, mime="image/jpeg")]
    recovery = recovered(messages, at(0, 0, OVER_60K, inner="tool_result.content.2."))
    assert [change.path for change in recovery.changes] == [(0, "content", 0, "content", 2)]
    assert shown(recovery.messages)[0] == PHOTO


def test_a_place_of_another_shape_is_not_believed_but_a_size_is() -> None:
    # Behind a gateway the messages of Anthropic are numbered without the system's.
    system = {"role": "system", "content": "be brief"}
    photo = user(PHOTO, wire="litellm", mime="image/jpeg")
    messages = [system, user(PNG, wire="litellm"), photo]
    found = at(1, 1, OVER_60K)
    recovery = recovered(messages, found, "openrouter", "litellm")
    assert [change.path[0] for change in recovery.changes] == [2]


@pytest.mark.parametrize(
    ("basis", "limit", "count"),
    [
        ("base64", 60_001, chars),
        ("raw", 60_001, lambda data: len(data)),
        ("data_url", 60_001, lambda data: chars(data) + len("data:image/jpeg;base64,")),
        (None, 60_001, chars),
    ],
)
def test_the_result_is_below_the_limit_that_was_named(basis: Any, limit: int, count: Any) -> None:
    found = ImageFault("bytes", "too large", "any", limit, basis=basis)
    (data,) = shown(recovered([user(PHOTO, mime="image/jpeg")], found).messages)
    assert 20_000 < count(data) < limit
    for lower, same in ((count(data), False), (count(data) + 32, True)):  # at the limit is not below it
        (again,) = shown(recovered([user(PHOTO, mime="image/jpeg")], altered(found, limit=lower)).messages)
        assert count(again) < lower
        assert (again == data) is same


def test_without_a_limit_it_gets_less_than_half() -> None:
    (data,) = shown(recovered([user(PHOTO, mime="image/jpeg")], fault("image too large", "")).messages)
    assert 0 < chars(data) <= chars(PHOTO) // 2


def test_where_no_limit_is_named_the_profile_says_which_are_too_large() -> None:
    narrow = altered(profiles.get("anthropic"), max_image_bytes=60_000, bytes_basis="raw")
    recovery = recovered([user(PHOTO, mime="image/jpeg"), ASSISTANT, user(PNG)], fault("image too large", ""), narrow)
    assert [change.path[0] for change in recovery.changes] == [0]


def test_where_no_limit_is_known_the_largest_of_the_newest_turn_is_meant() -> None:
    messages = [user(WIDE), ASSISTANT, user(PNG, PHOTO, JPEG)]
    first = recovered(messages, fault("image too large", ""))
    assert [change.path for change in first.changes] == [(2, "content", 2)]
    second = recovered(first.messages, fault("image too large", ""), after=first)
    assert [(change.code, change.path) for change in second.changes] == [("omitted", (2, "content", 2))]


def test_quality_goes_before_pixels_and_pixels_by_halves_to_a_floor() -> None:
    noise = make.array(make.noise(640, 520), "PNG")
    sizes = set()
    for limit in (600_000, 90_000, 30_000, 9_000, 4_000):
        recovery = recovered([user(noise)], ImageFault("bytes", "", "any", limit, basis="base64"))
        if codes(recovery) == ["shrunk"]:
            sizes.add(opened(shown(recovery.messages)[0]).size)
        else:
            assert codes(recovery) == ["omitted"]
    assert sizes <= {(640, 520), (320, 260), (160, 130), (80, 65)}
    assert len(sizes) > 2


def test_what_cannot_get_below_the_limit_gives_way_at_once() -> None:
    recovery = recovered([user(PHOTO, PNG, mime="image/jpeg")], ImageFault("bytes", "", "any", 200, basis="base64"))
    assert codes(recovery) == ["omitted"]
    assert DEFAULT.omitted_because.format(reason="the provider refused it as too large") in said(recovery.messages)
    assert shown(recovery.messages) == [PNG]


def test_a_side_that_is_too_long_is_cut_to_the_limit_and_no_further() -> None:
    text = "At least one of the image dimensions exceed max allowed size: 2000 pixels"
    recovery = recovered([user(WIDE, PNG)], fault(text))
    wide, png = shown(recovery.messages)
    assert opened(wide).size == (2000, 27)
    assert png == PNG


def test_a_limit_for_many_images_holds_for_all_of_them_though_one_is_named() -> None:
    text = "At least one of the image dimensions exceed max allowed size for many-image requests: 2000 pixels"
    messages = [user(WIDE, PNG), ASSISTANT, user(make.flat(make.RED, (2500, 30)))]
    recovery = recovered(messages, at(0, 1, text))
    assert [opened(data).width for data in shown(recovery.messages)] == [2000, 40, 2000]


def test_a_picture_that_is_too_small_never_grows() -> None:
    text = "The image length and width do not meet the model restrictions. [height:1 or width:1 must be larger than 10]"
    tiny = make.flat(make.RED, (4, 4))
    recovery = recovered([user(tiny, PNG, wire="litellm")], fault(text, "dashscope"), "qwen_dashscope", "litellm")
    assert codes(recovery) == ["omitted"]
    assert shown(recovery.messages, "litellm") == [PNG]


def test_after_its_one_attempt_an_image_gives_way() -> None:
    messages = [user(PHOTO, mime="image/jpeg"), ASSISTANT, user(PNG)]
    first = recovered(messages, at(0, 1, OVER_60K))
    second = recovered(first.messages, at(0, 1, OVER_60K), after=first)
    assert codes(second) == ["omitted"]
    assert shown(second.messages) == [PNG]
    third = recovered(second.messages, at(0, 1, OVER_60K), after=second)
    assert third.messages[0] == second.messages[0]


def test_images_of_tool_results_give_way_before_those_of_the_user() -> None:
    messages = [
        user(PHOTO, mime="image/jpeg"),
        tool(make.array(make.noise(500, 400, seed=2), "JPEG", quality=95), mime="image/jpeg"),
    ]
    found = fault("image too large", "")
    first = recovered(messages, found)
    assert codes(first) == ["shrunk", "shrunk"]
    second = recovered(first.messages, found, after=first)
    assert [change.path[0] for change in second.changes] == [1]
    third = recovered(second.messages, found, after=second)
    assert [change.path[0] for change in third.changes] == [0]
    assert shown(third.messages) == []
    last = recovered(third.messages, found, after=third)
    assert (last.retry, last.messages) == (False, third.messages)


def test_a_request_that_is_too_large_is_made_lighter_as_a_whole() -> None:
    photos = [make.array(make.noise(500, 400, seed=seed), "JPEG", quality=95) for seed in range(6)]
    messages = [user(photo, mime="image/jpeg") for photo in photos]
    recovery = recovered(messages, fault("Request payload size exceeds the limit: 900000 bytes.", "gemini"))
    assert len(shown(recovery.messages)) == 6
    assert sum(chars(data) for data in shown(recovery.messages)) < 900_000
    again = recovered(recovery.messages, fault("Request payload size exceeds the limit: 900000 bytes.", "gemini"), after=recovery)
    assert shown(again.messages) == []


def test_a_request_without_images_has_nothing_to_recover() -> None:
    recovery = recovered([user(text="x" * 9000)], fault("Request exceeds the maximum size", status=413))
    assert (recovery.retry, recovery.changes) == (False, ())


# Too many ----------------------------------------------------------------------------------------------------------------------


def test_of_too_many_images_the_newest_stay() -> None:
    shots = [make.flat((shade, 9, 9), (20, 20)) for shade in range(7)]
    messages = [user(shot, wire="vercel") for shot in shots]
    text = "At most 4 image(s) may be provided in one prompt. (parameter=image)"
    recovery = recovered(messages, fault(text, "vllm"), "vllm", "vercel")
    assert shown(recovery.messages, "vercel") == shots[3:]
    assert codes(recovery) == ["omitted"] * 3


def test_without_a_number_half_of_them_stay_and_a_wrong_number_costs_one() -> None:
    messages = [user(make.flat((shade, 9, 9), (20, 20))) for shade in range(6)]
    limitless = altered(profiles.get("safe"), max_images=None)
    assert len(shown(recovered(messages, fault("too many images", ""), limitless).messages)) == 3
    text = "Exceeded maximum number of images (50) allowed in the request."
    assert len(shown(recovered(messages, fault(text, "azure"), limitless).messages)) == 5


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
