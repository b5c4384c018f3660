"""Pictures of odd forms before a model: shown in a form that it takes, or sent to nobody."""

from __future__ import annotations

import io
import struct
from collections.abc import Iterator

import pytest
from PIL import Image

from pixlane.errors import EmptyInput, InvalidDimensions, NotAnImage, PixlaneError, TruncatedInput
from pixlane.vision import Observation, view_image
from pixlane.vision.memory import LocalMemory
from tests.pure import make
from tests.pure.test_pdf import pdf
from tests.stubs.vision import GOOD, Provider


@pytest.fixture
def provider() -> Iterator[Provider]:
    with Provider("ollama", [GOOD]) as provider:
        yield provider


def view(provider: Provider, data: bytes) -> Observation:
    return view_image(data, "?", provider.model, config=provider.config, environ=provider.environ, remembered=LocalMemory())


JPEG = make.flat(make.RED, size=(64, 48), form="JPEG")
FRAME = JPEG.find(b"\xff\xc0")  # its header: length, depth, height, width
FRAMES = [Image.new("RGB", (64, 48), colour) for colour in ("red", "blue", "green")]


def moving(form: str) -> bytes:
    out = io.BytesIO()
    FRAMES[0].save(out, form, save_all=True, append_images=FRAMES[1:], duration=100)
    return out.getvalue()


ODD: dict[str, tuple[bytes, tuple[int, int]]] = {
    "a JPEG in inks": (make.flat((9, 9, 9, 9), size=(64, 48), mode="CMYK", form="JPEG"), (64, 48)),
    "a progressive JPEG": (make.flat(make.RED, size=(64, 48), form="JPEG", progressive=True), (64, 48)),
    "a size after 200 KiB of EXIF": (JPEG[:2] + 4 * make.segment(0xE1, b"Exif\0\0" + bytes(52_000)) + JPEG[2:], (64, 48)),
    "a moving GIF": (moving("GIF"), (64, 48)),
    "a moving WebP": (moving("WEBP"), (64, 48)),
    "a moving PNG": (moving("PNG"), (64, 48)),
    "a strip": (make.array(make.smooth(2, 60_000)), (2, 60_000)),
    "an edge of 8,001 px": (make.flat(make.RED, size=(8001, 20)), (8001, 20)),
    "a drawing": (b"<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 3 2'><path d='M0 0h3v2z'/></svg>", (512, 341)),
    "a page": (pdf(("/MediaBox[0 0 200 100]", "1 0 0 rg 0 0 200 100 re f")), (833, 417)),
}


@pytest.mark.parametrize(("data", "size"), ODD.values(), ids=list(ODD))
def test_an_odd_picture_is_shown_in_a_form_that_the_model_takes(provider: Provider, data: bytes, size: tuple[int, int]) -> None:
    seen = view(provider, data)
    assert seen.reference.size == size
    assert seen.shown is not None
    assert max(seen.shown) <= 1568


HOPELESS: dict[str, tuple[bytes, type[PixlaneError]]] = {
    "nothing": (b"", EmptyInput),
    "text": (b"hello", NotAnImage),
    "a PNG of 0 x 0": (make.PNG + make.chunk(b"IHDR", struct.pack(">IIBBBBB", 0, 0, 8, 2, 0, 0, 0)), InvalidDimensions),
    "the head of a PNG": (make.PNG, TruncatedInput),
    "a JPEG that tells its height later": (
        JPEG[: FRAME + 5] + bytes(2) + JPEG[FRAME + 7 :],
        InvalidDimensions,
    ),
}


@pytest.mark.parametrize(("data", "kind"), HOPELESS.values(), ids=list(HOPELESS))
def test_what_can_be_shown_to_nobody_is_sent_to_nobody(provider: Provider, data: bytes, kind: type[PixlaneError]) -> None:
    with pytest.raises(kind):
        view(provider, data)
    assert provider.asked == []
