"""Profiles: the facts of the table, the recipes that come of them, and the way from a route to a profile."""

from __future__ import annotations

import re

import pytest

from pixlane import profiles, sizing
from pixlane.errors import UnknownProfile
from pixlane.recipe import Recipe

ALL = profiles.names()


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("many_images", [False, True])
@pytest.mark.parametrize("embed", [False, True])
def test_every_profile_yields_a_valid_recipe_inside_its_own_limits(name: str, many_images: bool, embed: bool) -> None:
    profile = profiles.get(name)
    recipe = Recipe.for_profile(name, many_images=many_images, embed=embed)

    assert Recipe.from_dict(recipe.to_dict()) == recipe
    assert set(recipe.accept) <= set(profile.accept or recipe.accept)
    if profile.max_side_px:
        assert recipe.max_side <= profile.max_side_px
    if profile.max_data_url_chars:
        assert recipe.budget is not None
        assert recipe.budget <= profile.max_data_url_chars
    if embed:
        assert recipe.budget is not None
        assert recipe.budget <= 262_144
    else:
        assert recipe.budget == profile.max_data_url_chars


@pytest.mark.parametrize("name", ALL)
def test_every_profile_is_dated_names_its_sources_and_its_rules_exist(name: str) -> None:
    profile = profiles.get(name)
    assert re.fullmatch(r"20\d\d-\d\d-\d\d", profile.as_of)
    assert profile.evidence or name == "together"  # nothing is confirmed of that one
    assert profile.sources or name in ("together", "safe")
    for rule in filter(None, (profile.size_rule, profile.token_rule)):
        assert sizing.rule(rule)(100, 100) == (100, 100)
    if profile.ceiling_px and profile.size_rule:
        # No pixel of the ceiling is wasted on a strip, and none is missing.
        assert sizing.rule(profile.size_rule)(profile.ceiling_px, 20) == (profile.ceiling_px, 20)


def test_facts_of_the_table() -> None:
    anthropic = profiles.get("anthropic")
    assert (anthropic.max_image_bytes, anthropic.bytes_basis, anthropic.max_side_px) == (10_000_000, "base64", 8000)
    assert anthropic.many_images == profiles.ManyImages(20, 2000)
    assert profiles.get("bedrock_claude").max_image_bytes == 5_242_880
    assert profiles.get("bedrock_claude").many_images == profiles.ManyImages(20, 2000, documents_count=True)
    assert profiles.get("bedrock_converse").bytes_basis == "raw"
    assert profiles.get("openai_chat").tool_result_images is False
    assert profiles.get("openai_responses").tool_result_images is True
    assert profiles.get("gemini_2_5").tool_result_images is False
    assert profiles.get("gemini_3").accept == ("image/png", "image/jpeg", "image/webp", "image/heic", "image/heif")
    assert profiles.get("xai").accept == ("image/jpeg", "image/png")
    assert profiles.get("groq").max_pixels == 33_177_600
    assert profiles.get("groq").accept is None
    assert (profiles.get("qwen_dashscope").min_side_px, profiles.get("qwen_dashscope").max_aspect) == (11, 200)
    assert profiles.get("deepseek").max_image_bytes is None  # reported only


@pytest.mark.parametrize(
    ("name", "chars"),
    [
        ("bedrock_converse", 5_000_000 + 22),  # 3,750,000 raw bytes
        ("bedrock_claude", 5_242_880 + 22),  # base64 already
        ("groq", 4_000_000 + 22),  # of the request, in base64
        ("openai_chat", None),  # none stated
        ("azure_foundry_responses", 65_520),  # of the data URL itself
    ],
)
def test_a_byte_limit_is_counted_as_the_provider_counts_it(name: str, chars: int | None) -> None:
    assert Recipe.for_profile(name, embed=False).target_bytes == chars


def test_the_embed_target_stays_unless_the_provider_allows_less() -> None:
    assert Recipe.for_profile("anthropic").target_bytes == 262_144
    narrow = Recipe.for_profile("azure_foundry_responses")
    assert narrow.budget == 65_520  # below the clamp, and still what counts


def test_many_images_bring_the_side_below_the_rule_of_many_images() -> None:
    assert Recipe.for_profile("anthropic_highres").max_side == 2576
    assert Recipe.for_profile("anthropic_highres", many_images=True).max_side == 2000
    assert Recipe.for_profile("anthropic", many_images=True).max_side == 1568


def test_changes_go_over_the_profile() -> None:
    assert Recipe.for_profile("anthropic", max_side=800).max_side == 800


def test_a_screenshot_for_claude_gets_a_size_that_claude_does_not_resample() -> None:
    recipe = Recipe.for_profile("anthropic")
    size = sizing.rule(recipe.size_rule or "")(1568, 882)
    assert size == (1456, 819)
    assert sizing.estimate_tokens(*size, "anthropic") == 1560


def test_safe_is_within_every_known_limit() -> None:
    safe = Recipe.for_profile("safe", embed=False)
    for name in ALL:
        other = profiles.get(name)
        if name == "azure_foundry_responses":
            continue  # 65,520 characters; nobody else is that narrow, and a recipe for all would be useless
        assert set(safe.accept) <= set(other.accept or safe.accept), name
        assert safe.max_side <= min(filter(None, (other.max_side_px, 2000))), name
        assert (safe.min_accepted_side or 0) >= (other.min_side_px or 0), name
        assert (safe.max_aspect or 0) <= (other.max_aspect or 200), name
        if other.max_data_url_chars:
            assert safe.target_bytes is not None
            assert safe.target_bytes <= other.max_data_url_chars, name


def test_local_takes_only_what_a_stb_decoder_reads() -> None:
    assert set(profiles.get("local").accepted_outputs) == {"image/png", "image/jpeg"}


@pytest.mark.parametrize(
    ("route", "name"),
    [
        (("anthropic", None, "claude-sonnet-4-20250514"), "anthropic"),
        (("anthropic", "messages", "claude-opus-4-6"), "anthropic"),
        (("anthropic", "messages", "claude-opus-4-7"), "anthropic_highres"),
        (("Anthropic", None, "claude-sonnet-5"), "anthropic_highres"),
        (("amazon-bedrock", "converse", "eu.anthropic.claude-sonnet-4-20250514-v1:0"), "bedrock_claude"),
        (("bedrock", "converse", "amazon.nova-pro-v1:0"), "bedrock_converse"),
        (("google-vertex", None, "claude-sonnet-4@20250514"), "vertex_claude"),
        (("vertex_ai", None, "gemini-2.5-pro"), "vertex_gemini"),
        (("openai", None, None), "openai_chat"),
        (("openai", "codex_responses", "gpt-5.4"), "openai_responses/gpt-5.4"),
        (("openai", "chat_completions", "gpt-4o-mini"), "openai_chat/gpt-4o-mini"),
        (("openai", "responses", "gpt-6-sol"), "openai_responses"),
        (("azure", "responses", "gpt-4o"), "openai_responses/gpt-4o"),
        (("azure_openai", None, "my-deployment"), "azure_openai_chat"),
        (("gemini", None, "gemini-3-pro"), "gemini_3"),
        (("google", None, "gemini-2.5-flash"), "gemini_2_5"),
        (("mistral", None, "pixtral-large-latest"), "mistral/pixtral-large-latest"),
        (("mistral", None, "mistral-large-2512"), "mistral"),
        (("openrouter", None, "openai/gpt-5-mini"), "openrouter/gpt-5-mini"),
        (("openrouter", None, "anthropic/claude-opus-4.7"), "openrouter/claude-opus-4.7"),
        (("ollama", None, "llava"), "ollama_openai_compat"),
        (("llama.cpp", None, None), "llama_cpp"),
        (("lm_studio", None, None), "lm_studio"),
        (("somebody new", "whatever", "x"), "safe"),
        (("", None, None), "safe"),
    ],
)
def test_a_route_leads_to_one_profile(route: tuple[str, str | None, str | None], name: str) -> None:
    profile = profiles.resolve(*route)
    assert profile.name == name
    assert profiles.get(profile.name) == profile


def test_the_model_decides_the_size_where_a_surface_has_several() -> None:
    assert sizing.estimate_tokens(1024, 1024, "openai_chat/gpt-4o") == 765
    assert sizing.estimate_tokens(1800, 2400, "openai_responses/gpt-5.2") == 1452
    assert sizing.estimate_tokens(1024, 1024, profiles.resolve("openai", "chat", "gpt-4.1-nano")) == round(1024 * 2.46)
    assert Recipe.for_profile("openai_chat/gpt-4o").size_rule == "openai_tile512"
    assert Recipe.for_profile("openai_responses/gpt-5.5").max_side == 6000


@pytest.mark.parametrize(
    ("name", "close"),
    [
        ("anthropc", "anthropic"),
        ("openai", "openai_chat, openai_responses"),
        ("Gemini", "gemini_3"),
        ("claude", "anthropic"),
        ("zzz", "known are"),
    ],
)
def test_an_unknown_profile_is_refused_with_the_close_names(name: str, close: str) -> None:
    with pytest.raises(UnknownProfile, match=close) as caught:
        Recipe.for_profile(name)
    assert caught.value.actual == name


def test_a_model_of_which_nothing_is_published_is_no_profile() -> None:
    with pytest.raises(UnknownProfile, match="no sizes are published"):
        profiles.get("openai_chat/gpt-6-sol")
