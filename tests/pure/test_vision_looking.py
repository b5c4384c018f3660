"""What is looked at: which files, within which bounds, and that each call leaves its reference; what is remembered of it."""

from __future__ import annotations

import hashlib
import os
import re
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pixlane import settings
from pixlane.errors import (
    BY_CODE,
    InvalidArgument,
    NotAFile,
    NotAnImage,
    PathNotAllowed,
    PixlaneError,
    SourceMissing,
    SourceTooLarge,
    TooManyPixels,
    VisionAdapterUnavailable,
    VisionObservationFailed,
)
from pixlane.vision import view_image
from pixlane.vision.looking import MAX_FILE_BYTES, MAX_PIXELS, Looker, Question
from pixlane.vision.memory import LocalMemory
from pixlane.vision.observation import NOTE_CODES, Observation
from pixlane.vision.sending import Sender
from tests.pure import make
from tests.stubs.http import Reply
from tests.stubs.vision import FINDINGS, GOOD, REFUSING, Provider, Said, said

PNG = make.flat(make.RED, size=(20, 10))
NOBODY: dict[str, str] = {}


def view(provider: Provider, path: Any, prompt: str = "What?", **asked: Any) -> Observation:
    given = {"model": provider.model, "remembered": LocalMemory(), **asked}
    return view_image(path, prompt, config=provider.config, environ=provider.environ, **given)


@pytest.fixture
def provider() -> Any:
    with Provider("anthropic", [GOOD]) as provider:
        yield provider


# The result --------------------------------------------------------------------------------------------------------------------


def test_an_observation_says_what_was_seen_by_whom_and_of_what(provider: Provider, tmp_path: Path) -> None:
    path = tmp_path / "a red field.png"
    path.write_bytes(PNG)
    seen = view(provider, path, "  What is there?  ")
    assert seen.prompt == "What is there?"
    assert seen.summary == FINDINGS["summary"]
    reference = seen.reference
    sha256 = hashlib.sha256(PNG).hexdigest()
    assert (reference.id, reference.sha256, reference.mime) == (f"vis_{sha256[:16]}", sha256, "image/png")
    assert (reference.byte_count, reference.path, reference.size) == (len(PNG), str(path), (20, 10))
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", reference.created_at)
    assert seen.selection is not None
    assert (seen.selection.reason, seen.selection.chosen and seen.selection.chosen.ref) == (
        "requested_model",
        "anthropic@default/stub-vlm",
    )
    assert not seen.reused


def test_an_observation_survives_json(provider: Provider) -> None:
    import json

    seen = view(provider, PNG, region=(2, 2, 10, 8))
    record = json.loads(json.dumps(seen.to_dict()))
    assert record["schema"] == "visual_observation.v1"
    assert Observation.from_dict({**record, "of a newer version": 1}) == seen


# Which files --------------------------------------------------------------------------------------------------------------


def test_a_relative_path_begins_at_the_workspace(provider: Provider, tmp_path: Path) -> None:
    (tmp_path / "shots").mkdir()
    (tmp_path / "shots" / "a.png").write_bytes(PNG)
    assert view(provider, "shots/a.png", workspace=tmp_path).reference.path == str(tmp_path / "shots" / "a.png")


@pytest.mark.parametrize("path", ["../secret.png", "shots/../../secret.png"])
def test_a_path_out_of_the_workspace_is_refused(provider: Provider, tmp_path: Path, path: str) -> None:
    (tmp_path / "secret.png").write_bytes(PNG)
    (tmp_path / "work" / "shots").mkdir(parents=True)
    for given in (path, str(tmp_path / "secret.png")):
        with pytest.raises(PathNotAllowed):
            view(provider, given, workspace=tmp_path / "work")
    assert provider.asked == []


def test_a_link_counts_as_where_it_leads(provider: Provider, tmp_path: Path) -> None:
    (tmp_path / "secret.png").write_bytes(PNG)
    work = tmp_path / "work"
    work.mkdir()
    (work / "inside.png").write_bytes(PNG)
    (work / "out.png").symlink_to(tmp_path / "secret.png")
    (work / "in.png").symlink_to(work / "inside.png")
    (tmp_path / "way-in").symlink_to(work)
    assert view(provider, "in.png", workspace=work).reference.path == str(work / "inside.png")
    assert view(provider, tmp_path / "way-in" / "inside.png", workspace=work).reference.path == str(work / "inside.png")
    with pytest.raises(PathNotAllowed):
        view(provider, "out.png", workspace=work)


def test_further_roots_are_those_of_the_call_or_of_the_settings(provider: Provider, tmp_path: Path) -> None:
    shared, work = tmp_path / "shared", tmp_path / "work"
    for folder in (shared, work):
        folder.mkdir()
    (shared / "a.png").write_bytes(PNG)
    with pytest.raises(PathNotAllowed):
        view(provider, shared / "a.png", workspace=work)
    assert view(provider, shared / "a.png", workspace=work, roots=[work, shared]).reference.path == str(shared / "a.png")
    allowed = settings.load({"PIXLANE_ALLOWED_ROOTS": str(shared)})
    assert view(provider, shared / "a.png", workspace=work, settings=allowed)
    (work / "b.png").write_bytes(PNG)
    with pytest.raises(PathNotAllowed):
        view(provider, work / "b.png", settings=allowed)


def test_what_is_no_regular_file_is_refused_before_it_is_opened(provider: Provider, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.png")
    for path in (tmp_path, tmp_path / "pipe.png", "/dev/zero"):
        with pytest.raises(NotAFile):
            view(provider, path)
    with pytest.raises(SourceMissing):
        view(provider, tmp_path / "gone.png")


def test_twenty_mebibytes_are_taken_and_a_byte_more_is_not(provider: Provider, tmp_path: Path) -> None:
    padded = make.png(make.smooth(), make.chunk(b"prVt", b"\0" * (MAX_FILE_BYTES - len(make.png(make.smooth())) - 12)))
    assert len(padded) == MAX_FILE_BYTES == 20_971_520
    assert view(provider, padded).summary
    (tmp_path / "a.png").write_bytes(padded + b"\0")
    for given in (padded + b"\0", tmp_path / "a.png"):
        with pytest.raises(SourceTooLarge) as caught:
            view(provider, given)
        assert (caught.value.limit, caught.value.actual) == (MAX_FILE_BYTES, MAX_FILE_BYTES + 1)


@pytest.mark.slow
def test_fifty_million_pixels_are_taken_and_a_row_more_is_not(provider: Provider) -> None:
    assert MAX_PIXELS == 50_000_000
    assert view(provider, make.array(np.zeros((5000, 10_000), np.uint8))).reference.size == (10_000, 5000)
    with pytest.raises(TooManyPixels) as caught:
        view(provider, make.array(np.zeros((5001, 10_000), np.uint8)))
    assert caught.value.details["reference"]["size"] == {"width": 10_000, "height": 5001}


@pytest.mark.parametrize("form", ["BMP", "TIFF", "GIF", "WEBP", "ICO", "AVIF"])
def test_a_format_that_the_model_does_not_take_is_brought_into_one_that_it_does(form: str) -> None:
    with Provider("ollama", [GOOD]) as provider:
        seen = view(provider, make.flat(make.RED, size=(64, 64), form=form))
    _, shown = provider.pictures[0]
    assert shown.startswith((b"\x89PNG", b"\xff\xd8"))
    assert seen.reference.mime != "image/png"
    assert seen.shown == (64, 64)


def test_the_bytes_decide_and_not_the_name(provider: Provider, tmp_path: Path) -> None:
    (tmp_path / "a.jpg").write_bytes(PNG)
    (tmp_path / "b.png").write_text("no picture")
    assert view(provider, tmp_path / "a.jpg").reference.mime == "image/png"
    with pytest.raises(NotAnImage) as caught:
        view(provider, tmp_path / "b.png")
    assert caught.value.details["reference"]["mime"] == "text/plain"


def test_a_picture_that_cannot_be_decoded_is_sent_to_nobody(provider: Provider) -> None:
    data = bytearray(make.png(make.noise(64, 64)))
    data[120:400] = b"\x55" * 280
    for broken in (bytes(data), PNG[:40], b"\x89PNG\r\n\x1a\n"):
        with pytest.raises(PixlaneError) as caught:
            view(provider, broken)
        assert caught.value.code in ("corrupt_input", "truncated_input", "invalid_dimensions"), caught.value.code
        assert caught.value.details["reference"]["sha256"] == hashlib.sha256(broken).hexdigest()
    assert provider.asked == []


def test_a_photo_is_shown_upright_and_its_size_is_told_upright(provider: Provider) -> None:
    turned = make.with_segment(make.flat(make.RED, size=(40, 20), form="JPEG"), 0xE1, b"Exif\0\0" + make.exif(6))
    seen = view(provider, turned)
    assert (seen.reference.size, seen.shown) == ((20, 40), (20, 40))


@pytest.mark.parametrize("prompt", ["", "  \n"])
def test_a_question_says_something(prompt: str) -> None:
    with pytest.raises(InvalidArgument, match="prompt"):
        Question.of(prompt)


def test_a_question_has_an_end() -> None:
    with pytest.raises(InvalidArgument, match="32,768"):
        Question.of("x" * 32_769)


def test_the_size_is_that_in_which_boxes_are_told_also_of_a_vector_source_and_one_whose_header_does_not_say() -> None:
    small = b'<svg xmlns="http://www.w3.org/2000/svg" width="100" height="50"><rect width="90" height="40" fill="red"/></svg>'
    late = make.with_segment(make.flat(make.RED, size=(300, 200), form="JPEG"), 0xE2, b"x" * 65_000)
    late = make.with_segment(late, 0xE2, b"x" * 65_000)
    whole = {"x": 0, "y": 0, "width": 9_999, "height": 9_999}
    with Provider("openai_chat", [said(ocr=[{"text": "w", "box": whole, "confidence": None}])]) as provider:
        for data, size in ((small, (512, 256)), (late, (300, 200))):
            seen = view(provider, data)
            box = seen.ocr[0].box
            assert box is not None
            assert (seen.reference.size, (box.width, box.height)) == (size, size)


def test_a_model_that_cannot_be_named_so_is_refused_before_anything_is_read() -> None:
    with pytest.raises(InvalidArgument, match="provider/model"):
        view_image("nowhere.png", "What?", model="gpt-4o")


# The reference, whatever happens -----------------------------------------------------------------------------------------------


def test_the_reference_is_recorded_and_handed_out_though_nobody_can_look() -> None:
    memory = LocalMemory()
    with pytest.raises(VisionAdapterUnavailable) as caught:
        view_image(PNG, "?", model="openai/gpt-5.4", config={}, environ=NOBODY, remembered=memory)
    reference = caught.value.details["reference"]
    assert reference["id"] == f"vis_{hashlib.sha256(PNG).hexdigest()[:16]}"
    assert memory.references[reference["id"]].to_dict() == reference
    again = BY_CODE["vision_adapter_unavailable"]("x", **caught.value.details).to_dict()
    assert again["details"]["candidates"][0]["reason"] == "no_credentials"


def test_the_reference_and_the_choice_are_handed_out_though_the_model_fails() -> None:
    memory = LocalMemory()
    with Provider("openai_responses", [REFUSING]) as provider, pytest.raises(VisionObservationFailed) as caught:
        view(provider, PNG, remembered=memory)
    details = caught.value.details
    assert details["selection"]["chosen"] == "openai@default/stub-vlm"
    assert list(memory.references) == [details["reference"]["id"]]


# What is remembered ----------------------------------------------------------------------------------------------------


def test_the_same_question_is_answered_once_and_says_so(provider: Provider) -> None:
    memory = LocalMemory()
    first, second = (view(provider, PNG, remembered=memory) for _ in range(2))
    assert (first.reused, second.reused, len(provider.asked)) == (False, True, 1)
    assert second.generated_by == first.generated_by
    assert second.summary == first.summary


@pytest.mark.parametrize(
    "other",
    [{"prompt": "Another?"}, {"region": (0, 0, 5, 5)}, {"path": make.flat(make.BLUE)}, {"model": "anthropic@direct/stub-vlm"}],
    ids=["question", "region", "picture", "model"],
)
def test_another_question_region_picture_or_model_is_asked_anew(provider: Provider, other: dict[str, Any]) -> None:
    memory = LocalMemory()
    asked: dict[str, Any] = {"path": PNG, "prompt": "What?", "remembered": memory}
    view(provider, **asked)
    assert not view(provider, **{**asked, **other}).reused
    assert len(provider.asked) == 2


def test_a_failure_is_not_remembered() -> None:
    memory = LocalMemory()
    with Provider("openai_chat", [Reply({}, 400), GOOD]) as provider:
        with pytest.raises(VisionObservationFailed):
            view(provider, PNG, remembered=memory)
        assert not view(provider, PNG, remembered=memory).reused


def test_whoever_asks_while_somebody_looks_waits_for_that_answer() -> None:
    memory = LocalMemory()
    with Provider("openai_chat", [Said(GOOD.text, after_s=0.3)]) as provider:
        seen: list[Observation] = []
        threads = [threading.Thread(target=lambda: seen.append(view(provider, PNG, remembered=memory))) for _ in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert len(provider.asked) == 1
    assert sorted(each.reused for each in seen) == [False] + [True] * 5


def test_after_a_failure_the_next_one_looks() -> None:
    memory = LocalMemory()
    with Provider("openai_chat", [Reply({}, 400), GOOD]) as provider:
        outcomes: list[Any] = []

        def ask() -> None:
            try:
                outcomes.append(view(provider, PNG, remembered=memory).reused)
            except VisionObservationFailed as error:
                outcomes.append(error.code)

        threads = [threading.Thread(target=ask) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert len(provider.asked) == 2
    assert sorted(map(str, outcomes)) == ["False", "True", "True", "vision_observation_failed"]


def test_memory_ends_with_time_and_has_a_bound() -> None:
    now = [0.0]
    memory = LocalMemory(life_s=10, entry_limit=2, clock=lambda: now[0])
    with Provider("openai_chat", [GOOD]) as provider:
        for prompt in ("a", "b", "c"):
            view(provider, PNG, prompt, remembered=memory)
        assert view(provider, PNG, "c", remembered=memory).reused
        assert not view(provider, PNG, "a", remembered=memory).reused
        now[0] = 11
        assert not view(provider, PNG, "c", remembered=memory).reused


def test_every_note_of_an_observation_stands_in_the_table(provider: Provider) -> None:
    from pixlane.vision.boxes import SAID

    assert set(SAID) | {"not_remembered"} == set(NOTE_CODES)


def test_a_store_that_is_away_costs_the_memory_and_not_the_observation() -> None:
    away = settings.load({"PIXLANE_REDIS_URL": "redis://127.0.0.1:9/0", "PIXLANE_STORE_TIMEOUT_S": "0.2"})
    with Provider("gemini", [GOOD]) as provider:
        seen = Looker(away, provider.config, provider.environ, sender=Sender()).look(PNG, Question.of("?", provider.model), None)
    assert [note.code for note in seen.notes] == ["not_remembered"]
