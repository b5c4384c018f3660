"""What it may cost to look for images in a text: work that grows with its length alone, and few looks at the disk."""

from __future__ import annotations

import sys
from collections import Counter
from types import FrameType
from typing import Any

import pytest

from pixlane.messages import ImageRefs, extract_image_refs, refs
from pixlane.messages.refs import MAX_LOOKUPS, MAX_REFERENCES

ADVERSARIES = (
    "https://a",
    "/a.png ",
    "/a ",
    "'/a '",
    '"/a b ',
    "`/a.png`",
    "`` ` ",
    "` `` ",
    "```\n",
    "a`\n\n",
    "\n",
    "\\",
    "(",
    ")](",
    "~/",
    ".png",
    "x.png.png",
    "C:\\",
    "é/",
    "看/",
    "> ",
    "data:image/",
    "a://b ",
    "http://h/a.png ",
    "[](/a.png",
    "/a b.png c.jpg ",
    "a+",
)


@pytest.mark.parametrize("unit", ADVERSARIES)
def test_ten_times_the_text_is_at_most_twelve_times_the_work(unit: str) -> None:
    small, large = (work(unit * (chars // len(unit)) + " https://h/a`.png /b.png") for chars in (600, 6_000))
    assert large <= 12 * small


def work(text: str) -> int:
    """How many lines of the scanner ran."""
    own = {refs.__file__, *(refs.__file__.replace("refs", name) for name in ("path_marks", "urls", "code_spans"))}
    counted: Counter[str] = Counter()

    def trace(frame, event, argument):  # type: ignore[no-untyped-def]
        if frame.f_code.co_filename not in own:
            return None
        counted["lines"] += event == "line"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        extract_image_refs(text)
    finally:
        sys.settrace(before)
    return counted["lines"]


def calls(text: str) -> tuple[ImageRefs, Counter[str]]:
    """What was found, and how often each function ran for it."""
    counted: Counter[str] = Counter()

    def profile(frame: FrameType, event: str, argument: Any) -> None:
        if event == "c_call":
            counted[argument.__name__] += 1
        elif event == "call":
            counted[frame.f_code.co_name] += 1

    before = sys.getprofile()
    sys.setprofile(profile)
    try:
        found = extract_image_refs(text)
    finally:
        sys.setprofile(before)
    return found, counted


@pytest.mark.slow
def test_at_most_a_thousand_files_are_touched_and_the_rest_is_told() -> None:
    found, counted = calls(" ".join(f"/x/{number} b.png" for number in range(70_000)))  # 1 MB
    assert 0 < counted["stat"] <= MAX_LOOKUPS
    assert found.ignored[-1].reason == "too_many"
    assert len(found.ignored) <= MAX_REFERENCES + 2


@pytest.mark.slow
@pytest.mark.parametrize("unit", ADVERSARIES)
def test_a_text_of_references_ends_after_a_count(unit: str) -> None:
    _, counted = calls(unit * (250_000 // len(unit)) + ".png")
    assert counted["_take"] <= MAX_REFERENCES
    assert counted["stat"] <= MAX_LOOKUPS
