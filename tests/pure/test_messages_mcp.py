"""What an MCP server returned: its pictures reach the model, or words about them."""

from __future__ import annotations

import base64
import os
import stat
import threading
from pathlib import Path

import pytest

from pixlane import Recipe
from pixlane.errors import StoreUnavailable
from pixlane.messages import CallBudget, Memory, MemoryCounts
from pixlane.messages.sentences import DEFAULT
from tests.pure import make
from tests.pure.conftest import Limit
from tests.pure.tools import CLOSED, PNGS, SCREEN, SVG, Read, codes, image, resource, text

# Pictures ----------------------------------------------------------------------------------------------------------------


def test_a_screenshot_reaches_the_model_and_its_file_is_named(read: Read) -> None:
    result = read(text("The screen now:"), image(SCREEN))
    (shown,) = result.images
    assert (max(shown.width, shown.height), shown.source_width) == (1568, 1920)
    (path,) = result.files
    assert str(result) == f"The screen now:\nMEDIA:{path}"
    assert Path(path).read_bytes() == SCREEN
    assert stat.S_IMODE(os.stat(path).st_mode) == 0o600
    assert [part["type"] for part in result.parts()] == ["text", "text", "image_url"]


def test_four_images_are_shown_and_the_others_named(read: Read) -> None:
    result = read(*(image(data) for data in PNGS[:6]))
    assert len(result.images) == 4
    assert len(result.files) == 6
    assert str(result).count("MEDIA:") == 6
    for path in result.files[4:]:
        assert f"MEDIA:{path}\n[Not attached: {path} (at most 4 images of a result are shown)]" in str(result)
    assert codes(result).count("too_many_images") == 2
    assert result.claim == DEFAULT.images_loaded


def test_one_that_cannot_be_drawn_leaves_its_place_to_the_next(read: Read) -> None:
    result = read(image(PNGS[0][:40]), *(image(data) for data in PNGS[1:6]))
    assert [shown.sha256 for shown in result.images] == [read(image(data)).images[0].sha256 for data in PNGS[1:5]]
    assert "[Not attached: " in str(result)


def test_of_a_flood_of_broken_images_only_some_are_tried(read: Read) -> None:
    broken = [image(data[:40] + bytes([number])) for number, data in enumerate(PNGS)]
    result = read(*broken, image(PNGS[0]))
    assert result.images == ()
    assert len(result.files) == 25
    assert codes(result).count("too_many_images") == 25 - 16


def test_the_same_content_is_shown_once(read: Read) -> None:
    result = read(*[image(PNGS[0])] * 3)
    assert (len(result.images), len(result.files), str(result).count("MEDIA:")) == (1, 1, 3)
    assert codes(result) == ["same_content"] * 2


@pytest.mark.parametrize(
    ("data", "declared"),
    [
        (make.flat(make.RED, form="AVIF"), "image/avif"),
        (make.flat(make.RED, form="TIFF"), "image/tiff"),
        (make.flat(make.RED, form="BMP"), "application/octet-stream"),
        (make.flat(make.RED, form="ICO"), ""),
        (SVG, "image/svg+xml"),
        (PNGS[0], "text/plain"),
        (PNGS[0], "image/jpeg"),
    ],
    ids=["avif", "tiff", "octet-stream", "undeclared", "svg", "as text", "as jpeg"],
)
def test_any_format_under_any_declared_type_is_shown_in_the_receivers(read: Read, data: bytes, declared: str) -> None:
    (shown,) = read(image(data, declared), recipe=Recipe(accept=("image/png", "image/jpeg"))).images
    assert shown.mime in ("image/png", "image/jpeg")


def test_an_embedded_resource_that_is_a_picture_is_one(read: Read) -> None:
    blob = base64.b64encode(PNGS[0]).decode()
    assert len(read(resource(blob=blob, mimeType="application/octet-stream")).images) == 1


@pytest.mark.parametrize("spelled", ["data url", "line breaks", "no padding", "url alphabet"])
def test_base64_is_read_as_servers_write_it(read: Read, spelled: str) -> None:
    plain = base64.b64encode(PNGS[0]).decode()
    payload = {
        "data url": f"data:image/png;base64,{plain}",
        "line breaks": base64.encodebytes(PNGS[0]).decode(),
        "no padding": plain.rstrip("="),
        "url alphabet": base64.urlsafe_b64encode(PNGS[0]).decode(),
    }[spelled]
    assert len(read({"type": "image", "data": payload, "mimeType": "image/png"}).images) == 1


def test_pictures_of_a_result_that_says_it_failed_are_shown_too(read: Read) -> None:
    result = read(text("could not click"), image(PNGS[0]), isError=True)
    assert (len(result.images), result.is_error) == (1, True)


@pytest.mark.parametrize("side", [1568, 800])
def test_the_recipe_cannot_lift_the_ceiling(read: Read, side: int) -> None:
    wide = Recipe(target_bytes=4 << 20, max_side=2576)
    (shown,) = read(image(SCREEN), recipe=wide, max_side_px=side).images
    assert max(shown.width, shown.height) == side


def test_a_picture_that_is_too_large_is_refused_by_its_length_before_its_base64_is_read(read: Read, limit: Limit) -> None:
    limit(max_source_bytes=1000)
    result = read({"type": "image", "data": "*" * 5000, "mimeType": "image/png"})  # to read it would fail in other words
    assert "more than 1,000 bytes" in str(result)
    assert codes(result) == ["content_not_read"]


def test_a_budget_names_an_image_that_was_loaded_often_enough(read: Read) -> None:
    budget = CallBudget(1)
    assert len(read(image(PNGS[0]), budget=budget).images) == 1
    result = read(image(PNGS[0]), image(PNGS[1]), budget=budget)
    assert len(result.images) == 1
    assert "calls_spent" in codes(result)
    assert f"MEDIA:{result.files[0]}\n[image not loaded: it has been loaded once" in str(result)


def test_a_budget_that_cannot_be_asked_does_not_cost_the_sight(read: Read) -> None:
    class Gone(MemoryCounts):
        def take(self, conversation: str, sha256: str, limit: int) -> tuple[bool, int]:
            raise StoreUnavailable("the Redis server did not answer within 2 s")

    result = read(image(PNGS[0]), budget=CallBudget(1, counts=Gone()))
    assert (len(result.images), codes(result)) == (1, ["budget_unknown"])


# The gate is closed ------------------------------------------------------------------------------------------------------


def test_with_the_gate_closed_there_are_descriptions_and_files_and_no_pixels(read: Read) -> None:
    result = read(
        text("two windows"), image(PNGS[0]), image(PNGS[1]), gate=CLOSED, describe=lambda _: "a window", memory=Memory()
    )
    assert result.images == ()
    assert str(result).count("[image, described: a window]") == 2
    assert str(result).count("MEDIA:") == 2
    assert [part["type"] for part in result.parts()] == ["text"]


def test_several_images_are_described_at_once(read: Read) -> None:
    together = threading.Barrier(4, timeout=30)

    def describe(_: bytes) -> str:
        together.wait()  # one after the other they would wait for ever
        return "a window"

    result = read(*(image(data) for data in PNGS[:4]), gate=CLOSED, describe=describe, memory=Memory())
    assert str(result).count("described") == 4


def test_without_a_describer_the_reason_stands_with_the_file(read: Read) -> None:
    result = read(image(PNGS[0]), gate=CLOSED)
    assert str(result) == f"MEDIA:{result.files[0]}\n[image not shown: {CLOSED.reason}]"
    assert codes(result) == ["not_shown"]
