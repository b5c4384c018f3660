"""A history before it is sent: what is wrong is put right, what is right stays, and nothing goes without a word."""

from __future__ import annotations

import base64
import copy
import io
import json
from collections.abc import Callable
from dataclasses import replace as altered
from typing import Any

import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from PIL import Image

from pixlane import profiles
from pixlane.messages import Memory, Repaired, repair, wires
from pixlane.messages.changes import CHANGE_CODES
from pixlane.messages.sentences import DEFAULT
from pixlane.messages.wires.openai_responses import OpenAIResponses
from tests.pure import make

PNG = make.flat(make.RED, (40, 30))
JPEG = make.array(make.smooth(64, 48), "JPEG")
PHOTO = make.array(make.noise(600, 400), "JPEG", quality=95)
WEBP = make.flat(make.GREEN, (20, 20), "WEBP")
GIF = make.flat(make.BLUE, (20, 20), "GIF")
BMP = make.flat(make.BLUE, (40, 40), "BMP")
SVG = b'<svg xmlns="http://www.w3.org/2000/svg" width="24" height="24"><rect width="9" height="9"/></svg>'
HTML = b"<html><body>Not found</body></html>"
LONG = make.flat(make.RED, (9000, 20))
BROKEN = PNG[:30]
NOT_DECODED = b"\x00\x00\x00\x0cJXL \r\n\x87\n" + bytes(40)

MEMORY = Memory()  # proofs are facts of the bytes; the tests share them
ROUTES = [
    ("openai_chat", "openai_chat"),
    ("openai_responses", "openai_responses"),
    ("anthropic", "anthropic"),
    ("bedrock", "bedrock_claude"),
    ("gemini", "gemini_3"),
    ("gemini", "gemini_2_5"),
    ("mistral", "mistral"),
    ("ollama", "local"),
    ("mcp", "safe"),
    ("langchain", "xai"),
    ("vercel", "safe"),
    ("litellm", "groq"),
]


def fixed(messages: list[Any], profile: Any = "anthropic", wire: str = "anthropic", **options: Any) -> Repaired:
    return repair(messages, profile, wire, memory=MEMORY, **options)


def user(*images: Any, wire: str = "anthropic", text: str = "look", mime: str = "image/png") -> dict[str, Any]:
    """A user message; an image is its bytes, declared as `mime`, or a finished part."""
    spoken = wires.get(wire)
    parts = [one if isinstance(one, dict) else spoken.image_part(mime, one) for one in images]
    return spoken.user_message([spoken.text_part(text), *parts])


def tool(*images: bytes, wire: str = "anthropic", text: str = "taken", mime: str = "image/png") -> dict[str, Any]:
    spoken = wires.get(wire)
    return spoken.tool_message("call_1", [spoken.text_part(text), *(spoken.image_part(mime, one) for one in images)], "shot")


def codes(repaired: Repaired) -> list[str]:
    return [change.code for change in repaired.changes]


def shown(messages: Any, wire: str = "anthropic") -> list[bytes | None]:
    return [image.decode() for image in wires.images(messages, wire)]


def said(messages: Any, wire: str = "anthropic") -> str:
    return "\n".join(text.text for text in wires.texts(messages, wire))


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
    assert repaired.messages[0]["content"][1]["text"] == DEFAULT.moved


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


# All together ------------------------------------------------------------------------------------------------------------------

PIECES: dict[str, Callable[[str], Any]] = {
    "plain": lambda wire: user(wire=wire),
    "png": lambda wire: user(PNG, wire=wire),
    "wrong type": lambda wire: user(JPEG, wire=wire),
    "svg and bmp": lambda wire: user(SVG, BMP, wire=wire),
    "html": lambda wire: user(HTML, PNG, wire=wire, text=f"x\n\n{DEFAULT.handle.format(path='/a.png')}"),
    "broken": lambda wire: user(BROKEN, wire=wire),
    "cut": lambda wire: user(PHOTO[:9000], wire=wire, mime="image/jpeg"),
    "long": lambda wire: user(LONG, wire=wire),
    "photo": lambda wire: user(PHOTO, wire=wire, mime="image/jpeg"),
    "gif": lambda wire: user(GIF, wire=wire, mime="image/gif"),
    "tool png": lambda wire: tool(PNG, wire=wire, text=DEFAULT.image_loaded),
    "tool html": lambda wire: tool(HTML, JPEG, wire=wire, text=DEFAULT.image_loaded),
    "tool bmp": lambda wire: tool(BMP, wire=wire),
    "empty": lambda wire: {"role": "user", "content": None},
}
GOOD = (PNG, JPEG)  # every receiver takes these


@given(
    route=st.sampled_from(ROUTES),
    pieces=st.lists(st.sampled_from(sorted(PIECES)), max_size=9),
    max_images=st.sampled_from([None, 2, 5]),
    max_request_bytes=st.sampled_from([None, 60_000]),
)
@hypothesis_settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_repair_keeps_its_promises(
    route: tuple[str, str], pieces: list[str], max_images: int | None, max_request_bytes: int | None
) -> None:
    wire, name = route
    own = profiles.get(name)
    profile = altered(own, max_images=max_images or own.max_images, max_request_bytes=max_request_bytes or own.max_request_bytes)
    messages = [PIECES[piece](wire) for piece in pieces]
    before = copy.deepcopy(messages)
    repaired = fixed(messages, profile, wire)

    assert messages == before, "the input is untouched"
    again = fixed(repaired.messages, profile, wire)
    assert (again.messages, again.changes) == (repaired.messages, ()), "a second run changes nothing"
    if not repaired.changes:
        assert repaired.messages == messages

    gone = {change.path for change in repaired.changes if change.code in ("omitted", "described", "repeated")}
    after = shown(repaired.messages, wire)
    assert len(after) == len(wires.images(messages, wire)) - len(gone), "nothing goes without a change that says so"
    limited = max_images or max_request_bytes or own.max_images or wire in ("mistral", "mcp")
    if not limited:
        for data in GOOD:
            assert (data in shown(messages, wire)) == (data in after), "an accepted image is there, byte for byte"
    if profile.max_images:
        assert len(after) <= profile.max_images
    if max_request_bytes and own.bytes_basis:
        assert len(json.dumps(repaired.messages, default=str)) <= max_request_bytes or len(after) <= 1

    order = [data for data in after if data in GOOD]
    carried = all(not image.in_tool_result for image in wires.images(messages, wire))
    if carried:
        first = [data for at, data in enumerate(shown(messages, wire)) if data in GOOD]
        assert order == list(dict.fromkeys(data for data in first if data in order)), "the order stays"


WORDS = ["type", "role", "content", "parts", "image", "image_url", "source", "data", "url", "text", "output", "value", "images"]
WORDS += ["input_image", "tool_result", "toolResult", "bytes", "inlineData", "functionResponse", "mimeType", "response", "base64"]
WORDS += ["tool", "user", "file", "mediaType", "resource", "blob", "image/png", "document", "format", "media_type", "file_id"]
WORDS += ["data:image/png;base64,AAAA", "https://example.com/a.png", "computer_screenshot", "computer_call_output", "message"]
LEAVES = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.binary(max_size=4) | st.sampled_from(WORDS)
ODD = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(WORDS), inner, max_size=5),
    max_leaves=12,
)


def paths(node: Any) -> list[tuple[Any, ...]]:
    """Every place in a nested value."""
    children = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
    return [(), *((key, *rest) for key, child in children for rest in paths(child))]


def with_value(node: Any, path: tuple[Any, ...], value: Any) -> Any:
    if not path:
        return value
    copied = copy.copy(node)
    copied[path[0]] = with_value(node[path[0]], path[1:], value)
    return copied


@given(wire=st.sampled_from(wires.NAMES), data=st.data())
@hypothesis_settings(max_examples=400, deadline=None)
def test_no_history_of_any_shape_raises(wire: str, data: st.DataObject) -> None:
    messages: Any = [user(PNG, BMP, wire=wire), tool(JPEG, HTML, wire=wire)]
    for _ in range(data.draw(st.integers(1, 2))):
        places = [place for place in paths(messages) if place]
        messages = with_value(messages, data.draw(st.sampled_from(places)), data.draw(ODD))
    before = copy.deepcopy(messages)
    repaired = fixed(messages, "safe", wire)
    assert messages == before
    assert fixed(repaired.messages, "safe", wire).messages == repaired.messages


@pytest.mark.parametrize(("wire", "profile"), ROUTES)
def test_one_bad_image_never_changes_what_becomes_of_the_others(wire: str, profile: str) -> None:
    good = [user(PNG, wire=wire), user(JPEG, wire=wire, mime="image/jpeg")]
    for bad in (HTML, BROKEN, b"", NOT_DECODED, LONG, SVG[:30]):
        repaired = fixed([good[0], user(bad, wire=wire), good[1]], profile, wire)
        assert [repaired.messages[0], repaired.messages[2]] == good
        assert fixed(repaired.messages, profile, wire).changes == ()


def test_every_change_code_is_reached() -> None:
    everything = [
        user(JPEG),
        user(
            {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": base64.encodebytes(PNG).decode()}}
        ),
        user(BMP, LONG, PNG),
        tool(HTML, text=DEFAULT.image_loaded),
        user(JPEG),
    ]
    found = set(codes(fixed(everything)))
    found |= set(codes(fixed([tool(PNG, wire="openai_chat")], "openai_chat", "openai_chat")))
    found |= set(codes(fixed([tool(JPEG, wire="mistral")], "mistral", "mistral", describe=lambda _: "words")))
    assert found == set(CHANGE_CODES)


def test_changes_are_json() -> None:
    assert json.loads(json.dumps([change.to_dict() for change in fixed([user(JPEG)]).changes])) == [
        {"code": "relabelled", "path": [0, "content", 1], "text": "declared as image/png, the bytes are image/jpeg"}
    ]


# Memory -------------------------------------------------------------------------------------------------------------------------


def test_a_second_turn_decodes_nothing_again(monkeypatch: pytest.MonkeyPatch) -> None:
    from pixlane.imaging import proof

    memory = Memory()
    messages = [user(PNG), user(BMP), user(BROKEN)]
    first = repair(messages, "anthropic", "anthropic", memory=memory)
    decoded: list[bytes] = []
    monkeypatch.setattr(proof, "prove", lambda data: decoded.append(data))
    assert repair(messages, "anthropic", "anthropic", memory=memory) == first
    assert decoded == []


def test_what_may_go_better_the_next_time_is_not_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    from pixlane.errors import DeadlineExceeded
    from pixlane.imaging import proof

    def slow(data: bytes) -> None:
        raise DeadlineExceeded("the image took longer than allowed")

    memory = Memory()
    with monkeypatch.context() as busy:
        busy.setattr(proof, "prove", slow)
        assert codes(repair([user(PNG)], "anthropic", "anthropic", memory=memory)) == ["omitted"]
    assert repair([user(PNG)], "anthropic", "anthropic", memory=memory).changes == ()


def test_the_memory_stays_within_its_bounds() -> None:
    memory = Memory(byte_count=10_000, entries=5)
    for number in range(9):
        memory.put((str(number),), b"", 1_000)
    assert len(memory) == 5
    memory.put(("large",), b"", 8_000)
    assert memory.byte_count <= 10_000
    assert memory.get(("0",)) is None
    assert memory.get(("large",)) == b""
