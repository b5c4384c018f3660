"""Refused for size or number: one attempt below the limit, then words; in tool results first, and the newest last."""

from __future__ import annotations

from dataclasses import replace as altered
from typing import Any

import pytest

from pixlane import profiles
from pixlane.messages import ImageFault
from pixlane.messages.sentences import DEFAULT
from tests.pure import make
from tests.pure.histories import JPEG, PHOTO, PNG, said, shown, tool, user
from tests.pure.recoveries import ASSISTANT, WIDE, at, chars, codes, fault, opened, recovered

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
    found = ImageFault("bytes", "", "any", 200, unit="bytes", basis="base64")
    recovery = recovered([user(PHOTO, PNG, mime="image/jpeg")], found)
    assert codes(recovery) == ["omitted"]
    assert DEFAULT.omitted_because.format(reason="the provider refused it as too large (it takes 200 bytes)") in said(
        recovery.messages
    )
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
    found = fault("At least one of the image dimensions exceed max allowed size: 300 pixels")
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
