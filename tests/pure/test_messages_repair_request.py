"""What a whole request may hold, which words leave with pixels, and what is remembered from turn to turn."""

from __future__ import annotations

import io
import json
from dataclasses import replace as altered
from socket import socket

import pytest
from PIL import Image

from pixlane import Client, profiles
from pixlane.messages import Memory, repair
from pixlane.messages.sentences import DEFAULT
from tests.pure import make
from tests.pure.conftest import Limit
from tests.pure.histories import (
    BMP,
    BROKEN,
    HTML,
    JPEG,
    PNG,
    ROUTES,
    codes,
    fixed,
    said,
    shown,
    tool,
    user,
)

# The request -------------------------------------------------------------------------------------------------------------------


def test_the_same_content_is_sent_once_where_it_came_first() -> None:
    repaired = fixed([user(PNG), user(JPEG, PNG, mime="image/png"), tool(PNG)])
    assert shown(repaired.messages) == [PNG, JPEG]
    assert codes(repaired).count("repeated") == 2
    assert repaired.messages[0] == user(PNG)


def test_an_image_that_the_last_message_repeats_is_required() -> None:
    one, two = (make.flat((shade, 3, 3), (20, 20)) for shade in (10, 60))
    few = altered(profiles.get("anthropic"), max_images=1)
    assert shown(fixed([user(one), user(one), tool(two)], few).messages) == [one]


def test_a_reference_to_an_image_that_gave_way_does_not_claim_that_it_is_shown() -> None:
    one, two = (make.flat((shade, 5, 5), (20, 20)) for shade in (10, 60))
    few = altered(profiles.get("anthropic"), max_images=1)
    sent = fixed([user(one), user(one)]).messages
    assert "is shown elsewhere" in said(sent)
    for history in (sent, [user(one), user(one)]):
        repaired = fixed([*history, user(two)], few)
        assert shown(repaired.messages) == [two]
        assert "is shown elsewhere" not in said(repaired.messages)
        assert fixed(repaired.messages, few).changes == ()


def test_a_bad_image_that_comes_twice_is_twice_a_placeholder() -> None:
    repaired = fixed([user(HTML), user(HTML)])
    assert codes(repaired) == ["omitted", "omitted"]


def test_of_too_many_images_the_newest_and_those_of_the_last_message_stay() -> None:
    many = [make.flat((shade, 0, 0), (20, 20)) for shade in range(0, 250, 25)]
    messages = [*(user(one) for one in many[:6]), user(many[6], many[7]), tool(many[8]), tool(many[9])]
    few = altered(profiles.get("anthropic"), max_images=3)
    repaired = fixed(messages, few)
    assert shown(repaired.messages) == [many[6], many[7], many[9]]
    assert codes(repaired) == ["omitted"] * 7
    assert "takes 3 images in a request, there were 10" in repaired.changes[0].text


def test_required_images_are_the_last_to_give_way() -> None:
    one, two, three = (make.flat((shade, 9, 9), (20, 20)) for shade in (10, 60, 110))
    few = altered(profiles.get("anthropic"), max_images=2)
    repaired = fixed([user(one), user(two), user(three)], few, required=[(0, "content", 1)])
    assert shown(repaired.messages) == [one, three]


def test_an_image_is_as_new_as_the_last_reference_to_it() -> None:
    one, two, three = (make.flat((shade, 7, 7), (20, 20)) for shade in (10, 60, 110))
    sent = fixed([user(one), user(two), user(one)]).messages
    few = altered(profiles.get("anthropic"), max_images=2)
    assert shown(fixed([*sent, user(three)], few).messages) == [one, three]


def test_many_images_are_made_smaller_only_from_the_number_on_that_asks_for_it() -> None:
    large = [make.flat((shade, 0, 9), (2100, 30)) for shade in range(21)]
    assert fixed([user(*large[:20])]).changes == ()
    repaired = fixed([user(*large)])
    assert set(codes(repaired)) == {"shrunk"}
    assert {Image.open(io.BytesIO(data or b"")).width for data in shown(repaired.messages)} == {2000}


def test_documents_count_where_the_provider_counts_them() -> None:
    large = [make.flat((shade, 3, 9), (2100, 30)) for shade in range(20)]
    document = {"type": "document", "source": {"type": "base64", "media_type": "application/pdf", "data": "JVBERg=="}}
    messages = [user(*large, document)]
    assert fixed(messages, "anthropic").changes == ()
    assert set(codes(fixed(messages, "vertex_claude"))) == {"shrunk"}


def test_a_request_over_its_bytes_presses_the_largest_and_keeps_all() -> None:
    photos = [make.array(make.noise(700, 500, seed=seed), "JPEG", quality=95) for seed in range(4)]
    small = altered(profiles.get("anthropic"), max_request_bytes=1_200_000)
    repaired = fixed([user(PNG), user(*photos, mime="image/jpeg")], small)
    assert set(codes(repaired)) == {"shrunk"}
    assert len(shown(repaired.messages)) == 5
    assert shown(repaired.messages)[0] == PNG
    assert len(json.dumps(repaired.messages)) <= 1_200_000


def test_where_pressing_is_not_enough_the_oldest_give_way() -> None:
    photos = [make.array(make.noise(700, 500, seed=seed), "JPEG", quality=95) for seed in range(4)]
    small = altered(profiles.get("anthropic"), max_request_bytes=600_000)
    repaired = fixed([user(one, mime="image/jpeg") for one in photos], small)
    assert codes(repaired).count("omitted") == 2
    assert len(shown(repaired.messages)) == 2
    assert len(json.dumps(repaired.messages)) <= 600_000


def test_all_pixels_of_a_request_count_together() -> None:
    photos = [make.array(make.smooth(1000 + seed, 1000), "JPEG") for seed in range(4)]
    narrow = altered(profiles.get("anthropic"), max_pixels=2_000_000)
    repaired = fixed([user(*photos)], narrow)
    sizes = [Image.open(io.BytesIO(data or b"")).size for data in shown(repaired.messages)]
    assert len(sizes) == 4
    assert 1_900_000 < sum(width * height for width, height in sizes) <= 2_000_000


# Claims ------------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("wire", "profile"), [route for route in ROUTES if route[0] != "mcp"])
def test_a_claim_leaves_with_its_pixels(wire: str, profile: str) -> None:
    messages = [tool(HTML, wire=wire, text=f"Clicked. {DEFAULT.image_loaded}")]
    repaired = fixed(messages, profile, wire)
    assert codes(repaired) == ["omitted", "claim_removed"]
    assert DEFAULT.image_loaded not in json.dumps(repaired.messages, default=str)
    assert "Clicked." in said(repaired.messages, wire)


def test_no_empty_text_is_left_where_a_claim_was_all_that_was_said() -> None:
    repaired = fixed([tool(HTML, text=DEFAULT.image_loaded)])
    assert [block["text"] for block in repaired.messages[0]["content"][0]["content"]] == [
        "[image omitted: image/png, not an image]"
    ]


def test_a_claim_stays_beside_pixels_that_stay() -> None:
    messages = [tool(PNG, text=DEFAULT.image_loaded), tool(HTML, text=DEFAULT.image_loaded)]
    repaired = fixed(messages)
    assert repaired.messages[0] == messages[0]
    assert DEFAULT.image_loaded not in said(repaired.messages[1:])


def test_the_handle_of_an_image_that_is_gone_says_so_and_still_names_the_file() -> None:
    text = "what is this?\n\n[Image attached at: /a.png]\n[Image attached at: /b.png]\n[Image attached: https://e.com/c.png]"
    url = {"type": "image", "source": {"type": "url", "url": "https://e.com/c.png"}}
    repaired = fixed([user(PNG, HTML, url, text=text)])
    assert repaired.messages[0]["content"][0]["text"] == text.replace(
        "[Image attached at: /b.png]", "[Image file, not shown: /b.png]"
    )


# Memory -------------------------------------------------------------------------------------------------------------------------


def test_a_second_turn_decodes_nothing_again(limit: Limit) -> None:
    memory = Memory()
    messages = [user(PNG), user(BMP), user(BROKEN)]
    first = repair(messages, "anthropic", "anthropic", memory=memory)
    limit(max_source_bytes=1)  # from here on every decode is refused
    assert repair(messages, "anthropic", "anthropic", memory=memory) == first
    assert repair(messages, "anthropic", "anthropic") != first


def test_what_may_go_better_the_next_time_is_not_remembered() -> None:
    memory = Memory()
    with socket() as bound:  # and nobody listens
        bound.bind(("127.0.0.1", 0))
        with Client(f"redis://127.0.0.1:{bound.getsockname()[1]}") as client:
            away = repair([user(BMP)], "anthropic", "anthropic", client=client, memory=memory)
    assert codes(away) == ["omitted"]
    assert codes(repair([user(BMP)], "anthropic", "anthropic", memory=memory)) == ["transcoded"]


def test_the_memory_stays_within_its_bounds() -> None:
    memory = Memory(byte_count=10_000, entries=5)
    for number in range(9):
        memory.put((str(number),), b"", 1_000)
    assert len(memory) == 5
    memory.put(("large",), b"", 8_000)
    assert memory.byte_count <= 10_000
    assert memory.get(("0",)) is None
    assert memory.get(("large",)) == b""
