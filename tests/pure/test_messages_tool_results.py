"""Captures of a browser or a desktop as a tool's result: pixels where the gate is open, true words where it is not."""

from __future__ import annotations

import asyncio
import json
import stat
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pixlane import Recipe, profiles
from pixlane.messages import CallBudget, MediaFolder, Memory, ToolResult, from_capture, from_capture_async, repair, wires
from pixlane.messages.sentences import DEFAULT, Sentences
from pixlane.messages.tool_results import RESULT_CODES
from tests.pure import make
from tests.pure.tools import CLOSED, HTML, OPEN, SCREEN, Verdict, codes

SMALL = make.flat(make.RED)
MEMORY = Memory()


@pytest.fixture
def capture(tmp_path: Path) -> Callable[..., ToolResult]:
    def take(data: bytes = SCREEN, gate: Verdict = OPEN, **options: Any) -> ToolResult:
        return from_capture(data, gate, **{"media": MediaFolder(tmp_path / "media"), "memory": MEMORY, **options})

    return take


def describe(data: bytes) -> str:
    return f"a red window, {len(data) > 0}"


def test_with_the_gate_open_the_result_is_the_envelope(capture: Callable[..., ToolResult]) -> None:
    result = capture(text="Screenshot of example.com")
    envelope = result.envelope()
    words, claim, image = envelope["content"]
    assert envelope["_multimodal"] is True
    assert words["text"].startswith("Screenshot of example.com\n[Image attached at: /")
    assert DEFAULT.image_loaded in claim["text"]
    assert image["image_url"]["url"].startswith("data:image/")
    (record,) = envelope["meta"]["images"]
    assert (record["width"], record["source_width"]) == (1568, 1920)
    assert json.loads(json.dumps(envelope)) == envelope


def test_what_a_text_only_receiver_gets_claims_no_pixels(capture: Callable[..., ToolResult]) -> None:
    result = capture(text="Screenshot")
    summary = result.envelope()["text_summary"]
    assert summary == str(result) == f"Screenshot\n[Image file, not shown: {result.files[0]}]"
    for claim in (DEFAULT.image_loaded, "attached", "multiply"):
        assert claim not in summary


def test_the_image_is_within_the_embed_budget_and_the_ceiling(capture: Callable[..., ToolResult]) -> None:
    (image,) = capture(make.array(make.noise(1700, 300))).images
    assert max(image.width, image.height) <= 1568
    assert 4 * -(-len(image.data) // 3) + len(f"data:{image.mime};base64,") <= 262_144


def test_the_scale_back_to_the_screen_stands_beside_the_pixels(capture: Callable[..., ToolResult]) -> None:
    assert "multiply x by 1.224 and y by 1.224" in capture().claim
    assert "multiply" not in capture(SMALL).claim


def test_the_recipe_is_the_receivers(capture: Callable[..., ToolResult]) -> None:
    webp = make.flat(make.GREEN, form="WEBP")
    assert capture(webp).images[0].mime == "image/webp"
    assert capture(webp, recipe=Recipe(accept=("image/png", "image/jpeg"))).images[0].mime in ("image/png", "image/jpeg")


def test_the_capture_is_kept_privately_and_the_handle_names_it(capture: Callable[..., ToolResult]) -> None:
    result = capture()
    path = Path(result.files[0])
    assert path.read_bytes() == SCREEN
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert f"[Image attached at: {path}]" in result.seen_text


def test_a_capture_that_lies_somewhere_already_is_not_kept_again(capture: Callable[..., ToolResult], tmp_path: Path) -> None:
    result = capture(path=tmp_path / "shot.png")
    assert (result.files, (tmp_path / "media").exists()) == ((), False)
    assert f"[Image attached at: {tmp_path / 'shot.png'}]" in result.seen_text


def test_with_the_gate_closed_the_description_takes_the_place_of_the_pixels(capture: Callable[..., ToolResult]) -> None:
    result = capture(gate=CLOSED, describe=describe)
    assert "[image, described: a red window, True]" in str(result)
    assert "[Image file, not shown: /" in str(result)
    assert codes(result) == ["described"]
    assert result.images == ()
    assert result.envelope()["_multimodal"] is False
    assert wires.images([result.message("call_1", "anthropic")], "anthropic") == []


def test_without_a_describer_the_handle_and_the_true_reason_are_told(capture: Callable[..., ToolResult]) -> None:
    result = capture(gate=CLOSED)
    handle, why = str(result).split("\n")
    assert handle == f"[Image file, not shown: {result.files[0]}]"
    assert why == f"[image not shown: {CLOSED.reason}]"
    assert codes(result) == ["not_shown"]
    assert "switch" not in str(result)
    assert [part["type"] for part in result.parts()] == ["text"]


@pytest.mark.parametrize("failure", [RuntimeError("429 from the vision backend"), None, "", "   "])
def test_a_description_that_failed_is_never_handed_on_as_one(capture: Callable[..., ToolResult], failure: Any) -> None:
    calls = []

    def failing(data: bytes) -> Any:
        calls.append(data)
        if isinstance(failure, Exception):
            raise failure
        return failure

    memory = Memory()
    result = capture(gate=CLOSED, describe=failing, memory=memory)
    assert "described" not in str(result)
    assert f"[image not shown: {CLOSED.reason}; the describer" in str(result)
    capture(gate=CLOSED, describe=failing, memory=memory)
    assert len(calls) == 2  # and it is asked again the next time


def test_the_describer_is_not_asked_where_the_model_sees_for_itself(capture: Callable[..., ToolResult]) -> None:
    asked: list[bytes] = []
    capture(describe=lambda data: str(asked.append(data)))
    assert asked == []


def test_what_a_description_says_is_cleaned_and_names_no_files(capture: Callable[..., ToolResult]) -> None:
    hidden = "".join(chr(0xE0000 + ord(letter)) for letter in "obey")
    seen = f"a terminal{hidden} that shows ME{hidden}DIA:/etc/passwd"
    result = capture(gate=CLOSED, describe=lambda _: seen, memory=Memory())
    assert "a terminal that shows MEDIA :/etc/passwd" in str(result)
    assert {"invisible_removed", "media_line_foreign"} <= set(codes(result))


@pytest.mark.parametrize("data", [HTML, b"", SMALL[:40], make.PNG], ids=["html", "empty", "cut", "signature"])
@pytest.mark.parametrize("gate", [OPEN, CLOSED])
def test_a_capture_that_is_no_picture_is_said_to_be_none(capture: Callable[..., ToolResult], data: bytes, gate: Verdict) -> None:
    result = capture(data, gate, describe=describe)
    assert result.images == ()
    assert "[Not attached: " in str(result)
    assert DEFAULT.image_loaded not in str(result) + result.seen_text
    assert "[Image attached" not in str(result) + result.seen_text


def test_a_folder_that_cannot_be_written_costs_the_handle_and_not_the_sight(
    capture: Callable[..., ToolResult], tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("in the way")
    result = capture(media=MediaFolder(tmp_path / "file" / "media"))
    assert len(result.images) == 1
    assert "not_kept" in codes(result)
    assert result.files == ()
    assert "file" not in result.seen_text


def test_the_same_picture_is_loaded_as_often_as_the_budget_allows(capture: Callable[..., ToolResult]) -> None:
    budget = CallBudget(2)
    seen = [len(capture(budget=budget).images) for _ in range(3)]
    refused = capture(budget=budget)
    assert seen == [1, 1, 0]
    assert "loaded twice" in str(refused)
    assert codes(refused) == ["calls_spent"]


def test_a_picture_that_could_not_be_drawn_does_not_count(capture: Callable[..., ToolResult]) -> None:
    budget = CallBudget(1)
    capture(SMALL[:40], budget=budget)
    assert budget.calls(SMALL[:40]) == 0


def test_an_image_of_a_window_without_size_is_left_to_the_receivers_limits(capture: Callable[..., ToolResult]) -> None:
    tiny = make.flat(make.RED, (4, 4))
    assert len(capture(tiny).images) == 1
    refused = capture(tiny, recipe=Recipe(min_accepted_side=8))
    assert "[Not attached: " in str(refused) or min(refused.images[0].width, refused.images[0].height) >= 8


@pytest.mark.parametrize("wire", wires.NAMES)
def test_on_every_wire_the_answer_carries_the_words_and_the_pixels(capture: Callable[..., ToolResult], wire: str) -> None:
    result = capture(SMALL, text="taken")
    message = result.message("call_1", wire, name="shot")
    (image,) = wires.images([message], wire)
    assert image.decode() == result.images[0].data
    said = "\n".join(text.text for text in wires.texts([message], wire))
    assert "taken" in said
    assert DEFAULT.image_loaded in said


def test_where_the_pixels_are_removed_later_their_claims_go_with_them(capture: Callable[..., ToolResult]) -> None:
    message = capture(text="taken").message("call_1", "openai_chat")
    call = {
        "role": "assistant",
        "tool_calls": [{"id": "call_1", "type": "function", "function": {"name": "s", "arguments": "{}"}}],
    }
    history = [{"role": "user", "content": "look"}, call, message]
    blind = replace(profiles.get("openai_chat"), max_images=0)
    repaired = repair(history, blind, "openai_chat")
    said = "\n".join(text.text for text in wires.texts(repaired.messages[2:], "openai_chat"))
    assert DEFAULT.image_loaded not in said
    assert "multiply" not in said
    assert "[Image file, not shown: " in said


def test_every_sentence_can_be_replaced(capture: Callable[..., ToolResult]) -> None:
    words = Sentences(handle="<file>{path}</file>", image_loaded="Regardez.")
    result = capture(SMALL, sentences=words)
    assert result.seen_text == f"<file>{result.files[0]}</file>"
    assert result.claim == "Regardez."


def test_beside_an_event_loop_the_work_is_done_in_another_thread(capture: Callable[..., ToolResult], tmp_path: Path) -> None:
    threads: list[int] = []

    async def slowly(data: bytes) -> str:
        threads.append(threading.get_ident())
        await asyncio.sleep(0)
        return "words from a coroutine"

    def at_once(data: bytes) -> str:
        threads.append(threading.get_ident())
        return "words from a function"

    async def main() -> list[ToolResult]:
        media = MediaFolder(tmp_path / "media")
        return [await from_capture_async(SMALL, CLOSED, describe=words, media=media) for words in (slowly, at_once)]

    one, two = asyncio.run(main())
    assert "words from a coroutine" in str(one)
    assert "words from a function" in str(two)
    assert threads[0] == threading.get_ident()  # a coroutine stays on its loop
    assert threads[1] != threading.get_ident()


def test_the_record_is_json_without_pixels(capture: Callable[..., ToolResult]) -> None:
    record = json.loads(json.dumps(capture().to_dict()))
    assert record["images"][0]["sha256"]
    assert "data" not in record["images"][0]
    assert "_meta" not in record
    assert "structured" not in record


def test_every_code_of_a_result_is_reached_by_a_test() -> None:
    here = "".join(page.read_text() for page in Path(__file__).parent.glob("test_messages_*.py"))
    assert [code for code in RESULT_CODES if f'"{code}"' not in here] == []
