"""What shows through transparency: white, unless that hides the outlines of what is there."""

from __future__ import annotations

from io import BytesIO

import pytest
from PIL import Image, ImageDraw

from pixlane import Recipe, normalize

WHITE, BLACK, BLUE, SHADOW = (255, 255, 255, 255), (0, 0, 0, 255), (40, 90, 250, 255), (0, 0, 0, 60)


def on_nothing(*words: tuple[str, tuple[int, ...]], mode: str = "RGBA", **drawing: object) -> bytes:
    """Words beside each other on a clear ground."""
    picture = Image.new("RGBA", (150 * len(words), 60))
    for number, (word, colour) in enumerate(words):
        ImageDraw.Draw(picture).text((150 * number + 8, 8), word, colour, font_size=32, **drawing)
    return png(picture.convert(mode))


def png(picture: Image.Image) -> bytes:
    out = BytesIO()
    picture.save(out, "PNG")
    return out.getvalue()


def corner(data: bytes, **recipe: object) -> tuple[int, ...]:
    """The colour of the background, as RGB."""
    rendition = normalize(data, Recipe(**recipe))  # type: ignore[arg-type]
    dark = "background_dark" in [note.code for note in rendition.notes]
    colour = Image.open(BytesIO(rendition.data)).convert("RGB").getpixel((0, 0))
    assert isinstance(colour, tuple)
    assert dark == (colour != (255, 255, 255) and recipe.get("background", "auto") == "auto")
    return colour


@pytest.mark.parametrize("mode", ["RGBA", "LA", "P"])
def test_a_white_word_on_nothing_stays_visible(mode: str) -> None:
    assert corner(on_nothing(("harbour", WHITE), mode=mode)) == (32, 32, 32)


def test_a_faint_white_word_on_nothing_stays_visible() -> None:
    assert corner(on_nothing(("harbour", (255, 255, 255, 90)))) == (32, 32, 32)


def test_a_white_word_beside_a_coloured_one_stays_visible() -> None:
    assert corner(on_nothing(("blue", BLUE), ("white", WHITE))) == (32, 32, 32)


def test_a_black_word_on_nothing_lies_on_white() -> None:
    assert corner(on_nothing(("harbour", BLACK))) == (255, 255, 255)


def test_a_white_word_with_a_black_outline_lies_on_white() -> None:
    assert corner(on_nothing(("harbour", WHITE), stroke_width=3, stroke_fill=BLACK)) == (255, 255, 255)


def test_a_white_window_with_a_shadow_lies_on_white() -> None:
    window = Image.new("RGBA", (300, 120))
    draw = ImageDraw.Draw(window)
    draw.rectangle((20, 24, 290, 112), SHADOW)
    draw.rounded_rectangle((14, 14, 284, 104), 10, WHITE)
    draw.text((30, 30), "settings", BLACK, font_size=30)
    assert corner(png(window)) == (255, 255, 255)


def test_nothing_at_all_lies_on_white() -> None:
    assert corner(png(Image.new("RGBA", (80, 80)))) == (255, 255, 255)


@pytest.mark.parametrize(("asked", "colour"), [("white", (255, 255, 255)), ("dark", (32, 32, 32)), ("#804020", (128, 64, 32))])
def test_what_was_asked_for_is_not_questioned(asked: str, colour: tuple[int, ...]) -> None:
    assert corner(on_nothing(("harbour", WHITE)), background=asked) == colour
