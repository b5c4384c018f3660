"""The vision tool and its sources: the picture where the model sees, words where it does not, else the true reason."""

from __future__ import annotations

import base64
import io
import os
import struct
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from PIL import Image

from pixlane import profiles, sizing
from pixlane.errors import CorruptInput, EmptyInput, InvalidArgument, InvalidRecipe, PixlaneError, SourceTooLarge, UrlNotAllowed
from pixlane.messages import CallBudget, MediaFolder, ToolResult
from pixlane.settings import Settings
from pixlane.vision import analyze
from pixlane.vision.looking import MAX_FILE_BYTES
from pixlane.vision.memory import LocalMemory
from pixlane.vision.named import load
from tests.pure import make
from tests.pure.tools import CLOSED, HTML, OPEN, codes
from tests.stubs.http import Reply, Server
from tests.stubs.vision import FINDINGS, GOOD, REFUSING, Provider

SCREEN = make.array(make.smooth(1920, 1080))
RED = make.flat(make.RED, size=(40, 20))
B64 = base64.b64encode(RED).decode()


@pytest.fixture
def provider() -> Iterator[Provider]:
    with Provider("gemini", [GOOD]) as provider:
        yield provider


@pytest.fixture
def shot(tmp_path: Path) -> Path:
    (tmp_path / "shot.png").write_bytes(SCREEN)
    return tmp_path / "shot.png"


def answered(provider: Provider, image: Any, question: str = "What is it?", region: Any = None, **options: Any) -> ToolResult:
    given = {"model": provider.model, "remembered": LocalMemory(), **options}
    return analyze(image, question, region, gate=CLOSED, config=provider.config, environ=provider.environ, **given)


# The model sees ------------------------------------------------------------------------------------------------------------


def test_a_model_that_sees_gets_the_picture_the_question_and_the_scale(shot: Path) -> None:
    result = analyze(shot, "What does the dialog say?", gate=OPEN, profile="anthropic")
    (image,) = result.images
    assert (image.source_width, image.source_height) == (1920, 1080)
    assert image.width <= 1568
    words = str(result.parts("anthropic"))
    assert "Question: What does the dialog say?" in words
    assert f"[Image attached at: {shot}]" in words
    assert "multiply x by" in words
    assert result.envelope("anthropic")["_multimodal"] is True
    assert "attached" not in result.text  # where no pixels arrive, nothing claims any


def test_a_region_is_shown_in_full_detail(shot: Path) -> None:
    (image,) = analyze(shot, "?", (100, 100, 300, 200), gate=OPEN).images
    assert (image.width, image.height) == (300, 200)


def test_a_picture_is_loaded_as_often_as_the_conversation_allows_whatever_it_is_called(shot: Path) -> None:
    budget = CallBudget(2)
    assert analyze(shot, "?", gate=OPEN, budget=budget).images
    assert analyze(SCREEN, "?", (0, 0, 50, 50), gate=OPEN, budget=budget).images
    refused = analyze(f"file://{shot}", "?", gate=OPEN, budget=budget)
    assert refused.images == ()
    assert "calls_spent" in codes(refused)
    assert "it has been loaded twice" in refused.text


def test_a_picture_that_cannot_be_drawn_costs_no_call(tmp_path: Path) -> None:
    (tmp_path / "half.png").write_bytes(SCREEN[: len(SCREEN) // 2])
    budget = CallBudget(1)
    for _ in range(3):
        assert "truncated_input" in codes(analyze(tmp_path / "half.png", "?", gate=OPEN, budget=budget))


@pytest.mark.parametrize("gate", [OPEN, CLOSED])
@pytest.mark.parametrize(
    "image", [None, 5, [], "", "a\0b.png", "\ud800.png", "x" * 5000, "/dev/zero", "file:///a%00b", "~nobody/x"]
)
def test_whatever_a_model_gives_as_an_image_is_answered_with_the_reason(image: Any, gate: Any) -> None:
    result = analyze(image, "?", gate=gate, config={}, environ={})
    assert result.is_error
    assert "could NOT be read" in result.text
    assert codes(result) == ["not_loaded"]


def test_what_cannot_be_drawn_or_lies_outside_is_an_error_with_the_whole_reason(shot: Path) -> None:
    outside = analyze(shot, "?", (0, 0, 5000, 50), gate=OPEN)
    assert (outside.is_error, outside.images) == (True, ())
    assert "(1920, 1080)" in outside.text
    assert analyze(SCREEN[:5000], "?", gate=OPEN).is_error


def test_it_tells_what_the_picture_costs_as_it_is_sent(shot: Path) -> None:
    whole = analyze(shot, "?", gate=OPEN, profile="anthropic")
    (image,) = whole.images
    assert whole.meta["tokens"] == sizing.estimate_tokens(image.width, image.height, profiles.get("anthropic"))
    part = analyze(shot, "?", (0, 0, 300, 200), gate=OPEN, profile="anthropic")
    assert 0 < part.meta["tokens"] < whole.meta["tokens"]


def test_what_is_attached_is_named_from_the_workspace_and_what_names_no_file_names_nothing(shot: Path) -> None:
    again = analyze("shot.png", "?", gate=OPEN, workspace=shot.parent, attached=["a\0b", "\ud800", "", "shot.png"])
    assert codes(again) == ["already_shown"]


@pytest.mark.slow
def test_a_large_photo_is_not_refused_for_bytes_that_are_not_sent(tmp_path: Path) -> None:
    data = make.array(make.noise(1600, 1300))
    result = analyze(data, "?", gate=OPEN, profile="anthropic", media=MediaFolder(tmp_path))
    assert result.images
    assert len(result.images[0].data) < len(data)


@pytest.mark.parametrize("by", ["path", "link", "hash"])
def test_what_is_shown_already_is_pointed_at_and_not_sent_again(shot: Path, by: str) -> None:
    import hashlib

    (shot.parent / "link.png").symlink_to(shot)
    attached = {"path": str(shot), "link": str(shot.parent / "link.png"), "hash": hashlib.sha256(SCREEN).hexdigest()}[by]
    budget = CallBudget(1)
    again = analyze(shot, "What is in it?", gate=OPEN, attached=[attached], budget=budget)
    assert (again.images, codes(again), again.is_error) == ((), ["already_shown"], False)
    assert "in this conversation already" in again.text
    assert "What is in it?" in again.text
    closer = analyze(shot, "?", (0, 0, 100, 100), gate=OPEN, attached=[attached], budget=budget)
    assert closer.images, "a region is new"


def test_what_may_not_go_along_is_not_drawn() -> None:
    wide = make.PNG + make.chunk(b"IHDR", struct.pack(">IIBBBBB", 10_001, 5_000, 8, 2, 0, 0, 0))
    refused = analyze(wide, "?", gate=OPEN)
    assert refused.is_error
    assert "50,000,000" in refused.text


# The model does not see ----------------------------------------------------------------------------------------------------


def test_a_model_that_does_not_see_gets_an_answer_in_words_and_no_pixels(provider: Provider, shot: Path) -> None:
    result = answered(provider, shot, "What is in the corner?", (10, 10, 100, 50))
    assert result.images == ()
    assert codes(result)[0] == "answered"
    assert f"> {FINDINGS['summary']}" in result.text
    assert provider.model in result.text
    assert "x 10, y 10, 100 x 50 px" in result.text
    assert "What is in the corner?" in str(provider.asked[0])
    _mime, data = provider.pictures[0]
    assert Image.open(io.BytesIO(data)).size == (100, 50)
    assert result.envelope("anthropic")["_multimodal"] is False
    assert "base64" not in str(result.parts("openai_chat"))


def test_where_nobody_answers_the_text_says_so_and_why(shot: Path) -> None:
    with Provider("gemini", [REFUSING]) as provider:
        result = answered(provider, shot)
    assert result.is_error
    assert codes(result) == ["no_answer"]
    assert "could NOT be answered" in result.text
    assert "refused" in result.text or "would not say" in result.text


def test_what_is_no_picture_is_said_by_its_bytes(provider: Provider, tmp_path: Path) -> None:
    (tmp_path / "page.png").write_bytes(HTML)
    for result in (answered(provider, tmp_path / "page.png"), analyze(tmp_path / "page.png", "?", gate=OPEN)):
        assert "html" in result.text.lower()
        assert result.images == ()
    assert provider.asked == []


@pytest.mark.parametrize("question", ["", "   "])
def test_a_question_is_asked(question: str) -> None:
    with pytest.raises(InvalidArgument):
        analyze(RED, question, gate=OPEN)


@pytest.mark.parametrize("question", ["42", "true", '{"a": 1}'])
def test_a_question_that_looks_like_a_value_is_a_question(provider: Provider, question: str) -> None:
    answered(provider, RED, question)
    assert question in [part.get("text") for part in provider.asked[0]["contents"][0]["parts"]]


def test_a_region_is_four_numbers() -> None:
    with pytest.raises(InvalidRecipe):
        analyze(RED, "?", (1, 2, 3), gate=OPEN)


def test_a_region_outside_of_the_picture_is_said_with_its_size(provider: Provider) -> None:
    for result in (answered(provider, RED, "?", (100, 0, 10, 10)), analyze(RED, "?", (100, 0, 10, 10), gate=OPEN)):
        assert "region_out_of_range" in result.text.replace(" ", "_")


# Where pictures come from ----------------------------------------------------------------------------------------------------

LEGAL = {
    "the usual form": f"data:image/png;base64,{B64}",
    "upper case": f"DATA:IMAGE/PNG;BASE64,{B64}",
    "parameters before base64": f"data:image/png;charset=utf-8;name=a.png;base64,{B64}",
    "no type": f"data:;base64,{B64}",
    "another type than the bytes": f"data:text/plain;base64,{B64}",
    "percent-encoded bytes": f"data:image/png,{quote(RED)}",
    "percent-encoded base64": f"data:image/png;base64,{quote(B64, safe='')}",
    "base64 in lines": f"data:image/png;base64,{chr(10).join(B64[at : at + 40] for at in range(0, len(B64), 40))}",
    "white space around it": f"\n  data:image/png;base64, {B64} \n",
    "no padding": f"data:image/png;base64,{B64.rstrip('=')}",
    "the alphabet of URLs": f"data:image/png;base64,{base64.urlsafe_b64encode(RED).decode()}",
}


@pytest.mark.parametrize("url", LEGAL.values(), ids=list(LEGAL))
def test_any_legal_data_url_is_read(url: str) -> None:
    assert load(url).data == RED


ILLEGAL: dict[str, tuple[str, type[PixlaneError]]] = {
    "broken base64": ("data:image/png;base64,@@@@", CorruptInput),
    "nothing in it": ("data:image/png;base64,", EmptyInput),
    "no comma": ("data:image/png", EmptyInput),
    "too much": (f"data:image/png;base64,{base64.b64encode(bytes(MAX_FILE_BYTES + 1)).decode()}", SourceTooLarge),
}


@pytest.mark.parametrize(("url", "kind"), ILLEGAL.values(), ids=list(ILLEGAL))
def test_any_other_data_url_is_a_typed_error(url: str, kind: type[PixlaneError]) -> None:
    with pytest.raises(kind):
        load(url)


@pytest.mark.parametrize("name", ["my shot.png", "bild-ä-写真.png", "100%.png", "a(1).png", "a#b?.png", "%41.png"])
@pytest.mark.parametrize("form", ["file://{}", "file:{}", "FILE://{}", "file://localhost{}"])
def test_a_file_url_is_decoded(tmp_path: Path, name: str, form: str) -> None:
    (tmp_path / name).write_bytes(RED)
    found = load(form.format(quote(str(tmp_path / name))))
    assert (found.data, found.path) == (RED, str(tmp_path / name))


@pytest.mark.parametrize(
    "url", ["file://server/share/a.png", "file:a.png", "ftp://host/a.png", "s3://bucket/a.png", "file:///a%00b"]
)
def test_what_names_no_file_of_this_machine_is_refused(url: str) -> None:
    with pytest.raises(InvalidArgument):
        load(url)


def test_a_path_with_a_colon_is_a_path(tmp_path: Path) -> None:
    (tmp_path / "shot:2.png").write_bytes(RED)
    assert load("shot:2.png", workspace=tmp_path).data == RED


def test_a_file_url_may_not_leave_the_workspace(tmp_path: Path) -> None:
    (tmp_path / "secret.png").write_bytes(RED)
    os.mkdir(tmp_path / "work")
    result = analyze(f"file://{tmp_path}/secret.png", "?", gate=OPEN, workspace=tmp_path / "work")
    assert result.is_error
    assert "path_not_allowed" in result.text


def test_a_url_is_fetched_only_where_that_is_switched_on() -> None:
    with Server(lambda request: Reply(RED, headers={"Content-Type": "image/png"})) as server:
        url = f"{server.url}/shot.png"
        with pytest.raises(UrlNotAllowed):
            load(url)
        assert server.log == []
        with pytest.raises(UrlNotAllowed):  # on, but loopback is no public address
            load(url, settings=Settings(url_sources=True))
        allowed = replace(Settings(url_sources=True), url_allowed_networks="127.0.0.0/8")
        assert load(url, settings=allowed).data == RED
        refused = analyze(url, "?", gate=OPEN)
    assert refused.is_error
    assert "PIXLANE_URL_SOURCES" in refused.text


def test_a_picture_without_a_file_is_kept_so_that_it_can_be_looked_at_again(tmp_path: Path) -> None:
    result = analyze(f"data:image/png;base64,{B64}", "?", gate=OPEN, media=MediaFolder(tmp_path / "media"))
    (path,) = result.files
    assert Path(path).read_bytes() == RED
    assert path in result.text
