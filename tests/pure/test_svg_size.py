"""A vector is drawn at the size that its document names, from 512 px to `max_side` on the longer side."""

from __future__ import annotations

import pytest

from pixlane.errors import InvalidDimensions
from pixlane.imaging.svg import size, tree
from pixlane.recipe import Recipe
from tests.pure.make_svg import codes, drawn, opened, share, svg

BOX = 'viewBox="0 0 24 12"'
SHAPE = '<rect width="50" height="30" fill="green"/>'


def said(attributes: str) -> tuple[float | None, float | None]:
    return size.intrinsic_size(tree.parse(svg("", attributes).decode()).root)


@pytest.mark.parametrize(
    ("attributes", "expected"),
    [
        ('width="100" height="50"', (100, 50)),
        ('width=" 100px " height="1e2"', (100, 100)),
        ('width="1in" height="2.54cm"', (96, 96)),
        ('width="25.4mm" height="72pt"', (96, 96)),
        ('width="6pc" height="101.6Q"', (96, 96)),
        ('width="2em" height="2ex"', (32, 16)),
        (BOX, (24, 12)),
        (f'width="100%" height="100%" {BOX}', (24, 12)),
        (f'width="100%" {BOX}', (24, 12)),
        (f'width="50%" height="100%" {BOX}', (12, 12)),
        (f'width="240" {BOX}', (240, 120)),
        (f'height="240" {BOX}', (480, 240)),
        (f'width="240" height="10" {BOX}', (240, 10)),
        (f'width="auto" height="nonsense" {BOX}', (24, 12)),
        ('viewBox="-5,-5, 10 20"', (10, 20)),
        ('width="0.2" height="0.2"', (0.2, 0.2)),
        ('width="200"', (200, None)),
        ('width="100%" height="100%"', (None, None)),
        ('viewBox="0 0 1"', (None, None)),
        ('viewBox="0 0 nan nan" width="9" height="8"', (9, 8)),
        ("", (None, None)),
    ],
)
def test_the_root_says_the_size(attributes: str, expected: tuple[float | None, float | None]) -> None:
    assert said(attributes) == pytest.approx(expected)


@pytest.mark.parametrize(
    "attributes",
    [
        'width="0" height="10"',
        'width="10" height="-1"',
        'width="0%"',
        'width="1e999"',
        'viewBox="0 0 0 10"',
        'viewBox="0 0 10 -10" width="10" height="10"',
    ],
)
def test_a_side_of_nothing_is_an_error_with_the_value(attributes: str) -> None:
    with pytest.raises(InvalidDimensions) as refusal:
        opened(svg(SHAPE, attributes))
    assert refusal.value.limit == 0
    assert refusal.value.actual is not None


@pytest.mark.parametrize(
    ("document", "max_side", "expected"),
    [
        ((24, 12), 1568, (512, 256)),
        ((0.2, 0.2), 1568, (512, 512)),
        ((800, 600), 1568, (800, 600)),
        ((3000, 1500), 1568, (1568, 784)),
        ((24, 12), 100, (100, 50)),
        ((1e9, 1), 1568, (1568, 1)),
        ((1e-9, 1e9), 1568, (1, 1568)),
        ((1e6, 1e6), 60_000, (4000, 4000)),
    ],
)
def test_it_is_drawn_from_512_px_to_the_ceiling(document: size.Size, max_side: int, expected: tuple[int, int]) -> None:
    assert size.drawn_size(document, max_side, size.MAX_DRAWN_PIXELS) == expected


def test_the_size_that_is_drawn_is_the_size_of_the_source() -> None:
    work = opened(svg(SHAPE, 'width="100" height="60"'))
    assert work.opened is not None
    assert (work.opened.facts.width, work.opened.facts.height) == (512, 307)
    assert drawn(work).shape == (307, 512, 3)
    assert [note.text for note in work.notes if note.code == "vector_scaled"] == ["the SVG is 100 x 60 px; drawn at 512 x 307 px"]
    assert "vector_scaled" not in codes(opened(svg(SHAPE, 'width="600" height="600"')))
    assert opened(svg(SHAPE), Recipe(max_side=40)).opened.facts.width == 40  # type: ignore[union-attr]


def test_without_a_size_it_is_what_the_content_covers() -> None:
    work = opened(svg(SHAPE, ""))
    assert work.opened is not None
    assert (work.opened.facts.width, work.opened.facts.height) == (512, 307)
    assert share(drawn(work), (0, 128, 0)) > 0.98
    assert "vector_size_assumed" in codes(work)


def test_a_side_that_is_missing_is_what_the_content_covers() -> None:
    work = opened(svg(SHAPE, 'width="100"'))
    assert work.opened is not None
    assert (work.opened.facts.width, work.opened.facts.height) == (512, 154)


def test_content_that_cannot_be_measured_gets_the_size_of_a_replaced_element() -> None:
    work = opened(svg('<rect width="200000" height="200000" fill="green"/>', ""))
    assert work.opened is not None
    assert (work.opened.facts.width, work.opened.facts.height) == (512, 256)
    assert share(drawn(work), (0, 128, 0)) == 1
    assert "vector_size_assumed" in codes(work)


def test_proportions_that_differ_from_the_viewbox_are_kept_as_the_document_wants_them() -> None:
    square = '<rect width="10" height="10" fill="green"/>'
    meet = drawn(opened(svg(square, 'width="600" height="300" viewBox="0 0 10 10"')))
    assert share(meet, (0, 128, 0)) == pytest.approx(0.5, abs=0.01)
    fill = drawn(opened(svg(square, 'width="600" height="300" viewBox="0 0 10 10" preserveAspectRatio="none"')))
    assert share(fill, (0, 128, 0)) == 1
