"""The knobs: read once from the environment, refused by name when they are wrong, documented as they are."""

from __future__ import annotations

import re
from dataclasses import fields
from pathlib import Path

import pytest

from pixlane.errors import InvalidArgument
from pixlane.settings import Limits, Settings, environment_name, load

ROOT = Path(__file__).parents[2]
NUMBERS = [knob for knob in fields(Settings) if knob.metadata["low"] is not None]
EVERY = fields(Settings)


@pytest.mark.parametrize("knob", EVERY, ids=lambda knob: knob.name)
def test_every_knob_can_be_set_by_its_variable(knob) -> None:
    by_type = {str: "elsewhere", bool: not knob.default, int: knob.metadata["low"], float: knob.metadata["low"]}
    value = by_type[type(knob.default)]
    read = getattr(load({environment_name(knob.name): str(value)}), knob.name)
    assert (read, type(read)) == (value, type(knob.default))


@pytest.mark.parametrize("knob", [knob for knob in NUMBERS if knob.name != "embed_target_bytes"], ids=lambda knob: knob.name)
def test_a_value_below_its_bound_is_refused_with_bound_and_value(knob) -> None:
    below = knob.metadata["low"] - 1
    with pytest.raises(InvalidArgument) as caught:
        load({environment_name(knob.name): str(below)})
    assert environment_name(knob.name) in caught.value.message
    assert (caught.value.limit, caught.value.actual) == (knob.metadata["low"], below)


@pytest.mark.parametrize("knob", [knob for knob in NUMBERS if knob.metadata["high"] is not None], ids=lambda knob: knob.name)
def test_a_value_above_its_bound_is_refused_or_for_the_budget_left_to_the_clamp(knob) -> None:
    raw = {environment_name(knob.name): str(knob.metadata["high"] + 1)}
    if knob.name == "embed_target_bytes":
        assert load(raw).embed_target_bytes == knob.metadata["high"] + 1
    else:
        with pytest.raises(InvalidArgument):
            load(raw)


@pytest.mark.parametrize("raw", ["ten", "1.5", "1e3", "0x10", " "])
def test_what_is_no_whole_number_is_refused_by_name(raw: str) -> None:
    with pytest.raises(InvalidArgument, match="PIXLANE_MAX_PIXELS must be a whole number"):
        load({"PIXLANE_MAX_PIXELS": raw})


@pytest.mark.parametrize("raw", ["nan", "inf", "-inf", "soon"])
def test_a_time_without_end_is_refused(raw: str) -> None:
    with pytest.raises(InvalidArgument, match="PIXLANE_HARD_TIMEOUT_S must be a finite number"):
        load({"PIXLANE_HARD_TIMEOUT_S": raw})


def test_an_empty_variable_is_a_variable_that_is_not_set() -> None:
    assert load({"PIXLANE_MAX_PIXELS": ""}) == load({}) == Settings()


def test_the_limits_of_one_image_are_those_of_the_settings() -> None:
    assert Limits.of(Settings()) == Limits()
    assert Limits.of(load({"PIXLANE_MAX_PIXELS": "5"})).max_pixels == 5


def test_nothing_else_reads_the_environment() -> None:
    readers = {
        str(path.relative_to(ROOT))
        for room in ("pixlane", "tasks", "worker")
        for path in (ROOT / room).rglob("*.py")
        if re.search(r"environ(\.get\(|\[|\.setdefault\()[^)\]]*PIXLANE_|getenv", path.read_text())
    }
    assert readers == set()
