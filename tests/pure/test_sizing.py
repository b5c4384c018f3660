"""Size and token rules: the published examples to the pixel and the token, and what must hold for every picture."""

from __future__ import annotations

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from pixlane import sizing
from pixlane.errors import InvalidRecipe, UnknownProfile

RULES = [
    "claude_patch28:1568:1568",
    "claude_patch28:2576:4784",
    "claude_patch28:28:1",
    "openai_patch32:1536:2048",
    "openai_patch32:2500:2048",
    "openai_patch32:10000:6000",
    "openai_patch32:10:0",
    "openai_patch32:0:0",
    "openai_tile512",
    "gemini_tile768",
    "gemini_media_resolution:1120",
    "mistral:1540",
    "mistral:1024:16",
    "cohere_tile512",
]

sides = st.one_of(
    st.integers(1, 65_535), st.integers(1, 3000), st.sampled_from([1, 2, 27, 28, 29, 384, 768, 1153, 1540, 1568, 2048])
)


@pytest.mark.slow
@given(name=st.sampled_from(RULES), width=sides, height=sides)
@example(name="claude_patch28:1568:1568", width=1, height=65_535)
@example(name="openai_patch32:10:0", width=65_535, height=1)
@example(name="gemini_tile768", width=40, height=20_000)
@settings(max_examples=600, deadline=None)
def test_every_rule_gives_a_size_that_it_leaves_alone_and_that_is_the_largest_of_the_shape(
    name: str, width: int, height: int
) -> None:
    rule = sizing.rule(name)
    w, h = rule(width, height)

    assert rule(w, h) == (w, h)
    assert 1 <= w <= width
    assert 1 <= h <= height
    long, short = max(width, height), min(width, height)
    assert abs(max(w, h) * short / long - min(w, h)) <= 1  # the shape, within a pixel
    if (w, h) != (width, height):
        larger = max(w, h) + 1
        other = round(larger * short / long) + 1
        bigger = (larger, other) if width >= height else (other, larger)
        assert rule(*bigger) != bigger


@given(name=st.sampled_from(RULES), width=sides, height=sides)
@settings(max_examples=300, deadline=None)
def test_every_rule_has_a_price_for_every_size_and_turning_the_picture_does_not_change_the_size(
    name: str, width: int, height: int
) -> None:
    assert sizing.tokens(name)(width, height) >= 1
    w, h = sizing.rule(name)(width, height)
    assert sizing.rule(name)(height, width) == (h, w)


@pytest.mark.parametrize(
    ("profile", "size", "resized", "tokens"),
    [
        # https://platform.claude.com/docs/en/build-with-claude/vision and .../vision-coordinates
        ("anthropic", (200, 200), (200, 200), 64),
        ("anthropic", (1000, 1000), (1000, 1000), 1296),
        ("anthropic", (1092, 1092), (1092, 1092), 1521),
        ("anthropic", (1920, 1080), (1456, 819), 1560),
        ("anthropic", (3840, 2160), (1456, 819), 1560),
        ("anthropic", (1075, 1520), (924, 1307), 1551),
        ("anthropic", (2000, 1500), (1270, 952), 1564),
        ("anthropic_highres", (1920, 1080), (1920, 1080), 2691),
        ("anthropic_highres", (3840, 2160), (2576, 1449), 4784),
    ],
)
def test_claude_examples_come_out_to_the_pixel_and_the_token(
    profile: str, size: tuple[int, int], resized: tuple[int, int], tokens: int
) -> None:
    from pixlane import profiles

    assert sizing.rule(profiles.get(profile).size_rule or "")(*size) == resized
    assert sizing.estimate_tokens(*size, profile) == tokens
    assert sizing.estimate_tokens(*resized, profile) == tokens


@pytest.mark.parametrize(
    ("name", "size", "tokens"),
    [
        # https://developers.openai.com/api/docs/guides/images-vision
        ("openai_tile512", (1024, 1024), 765),
        ("openai_tile512", (2048, 4096), 1105),
        ("openai_tile512:2833:5667", (512, 512), 8500),
        ("openai_patch32", (1024, 1024), 1024),
        ("openai_patch32:1536:2048", (1800, 2400), 1452),
        # bills: https://community.openai.com/t/1281361 and /1230130, less the text around the picture
        ("openai_tile512", (2049, 513), 85 + 8 * 170),
        ("openai_tile512", (2050, 513), 85 + 4 * 170),
        ("openai_patch32:1536:2048:1.62", (2400, 1800), 2352),
        ("openai_patch32:1536:2048:1.62", (4000, 1474), 2488),
        # https://ai.google.dev/gemini-api/docs/image-understanding and /media-resolution
        ("gemini_tile768", (384, 384), 258),
        ("gemini_tile768", (960, 540), 6 * 258),
        ("gemini_media_resolution:1120", (4000, 3000), 1120),
        # mistralai/platform-docs-public, vision.md: the two maxima
        ("mistral:1540", (1540, 1540), 3025),
        ("mistral:1540", (9000, 9000), 3025),
        ("mistral:1024:16", (2000, 2000), 4096),
        # cohere-ai/cohere-developer-experience, image-inputs.mdx
        ("cohere_tile512", (10_000, 20_000), 2304),
        ("cohere_tile512", (768, 768), 256),
        ("cohere_tile512", (769, 100), 3 * 256),
    ],
)
def test_published_examples_come_out_to_the_token(name: str, size: tuple[int, int], tokens: int) -> None:
    assert sizing.tokens(name)(*size) == tokens


@pytest.mark.parametrize(
    ("name", "size", "resized"),
    [
        ("openai_tile512", (1920, 1080), (1365, 768)),
        ("openai_tile512", (2048, 4096), (768, 1536)),  # 1537 would still pass, and cost a row of tiles more
        ("openai_tile512", (1024, 1024), (768, 768)),
        ("openai_patch32:1536:2048", (1800, 2400), (1080, 1440)),  # 34 x 45 patches; the provider alone would stop at 1056x1408
        ("gemini_tile768", (3840, 2160), (2048, 1152)),
        ("mistral:1540", (3080, 1000), (1540, 500)),
        ("cohere_tile512", (10_000, 20_000), (1024, 2048)),
        ("cohere_tile512", (4096, 3072), (2048, 1536)),
        ("gemini_media_resolution", (4000, 3000), (4000, 3000)),
    ],
)
def test_a_picture_gets_the_size_that_the_provider_leaves_alone(
    name: str, size: tuple[int, int], resized: tuple[int, int]
) -> None:
    assert sizing.rule(name)(*size) == resized


def test_the_default_ceiling_of_1568_costs_claude_more_than_its_budget_and_the_rule_mends_it() -> None:
    assert 56 * 32 == 1792  # patches of 1568x882
    assert sizing.rule("claude_patch28")(1568, 882) == (1456, 819)


def test_a_profile_without_a_published_rule_has_no_price() -> None:
    assert sizing.estimate_tokens(1000, 1000, "xai") is None
    with pytest.raises(UnknownProfile, match="anthropic"):
        sizing.estimate_tokens(1000, 1000, "antropic")


@pytest.mark.parametrize(
    "name",
    [
        "",
        "claude",
        "claude_patch28:",
        "claude_patch28:x",
        "claude_patch28:27",
        "claude_patch28:1568:1568:1",
        "mistral:-1",
        "openai_patch32:1:1:nan",
        "cohere_tile512:1",
    ],
)
def test_a_name_that_is_no_rule_is_refused_with_the_reason(name: str) -> None:
    with pytest.raises(InvalidRecipe, match="size_rule"):
        sizing.rule(name)
