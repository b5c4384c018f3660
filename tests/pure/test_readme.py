"""The README begins with what works, promises before it shows, and its table is the recipe."""

from __future__ import annotations

import re
from dataclasses import fields

from pixlane.recipe import Recipe
from tests.readme import PAGES, ROOT, examples, first_commands

README = (ROOT / "README.md").read_text()


def test_the_first_screen_has_two_commands() -> None:
    install_and_run, install_and_test = first_commands()
    assert install_and_run.endswith("pixlane batch examples/images --out ready")
    assert "pytest" in install_and_test
    assert examples("sh")[0].line < 15


def test_the_second_command_runs_the_fast_rings() -> None:
    rings = re.findall(r"tests/\w+", first_commands()[1])
    assert rings == ["tests/pure", "tests/embedded"]
    assert all(list((ROOT / ring).glob("test_*.py")) for ring in rings)


def test_what_can_go_wrong_is_told_before_the_first_example_in_python() -> None:
    assert README.index("## What is promised") < README.index("```python")


def test_the_table_of_the_recipe_has_every_field_with_its_default() -> None:
    rows = re.findall(r"^\| (`.*?) \| (.*?) \|", README, re.MULTILINE)
    names = [name for cell, _ in rows for name in re.findall(r"`(\w+)`", cell)]
    assert sorted(names) == sorted(field.name for field in fields(Recipe) if field.init)
    told = {name: default for cell, default in rows for name in re.findall(r"`(\w+)`", cell)}
    recipe = Recipe()
    assert told["target_bytes"] == f"{recipe.target_bytes:,}"
    assert told["max_side"] == str(recipe.max_side)
    assert told["jpeg_qualities"] == ", ".join(map(str, recipe.jpeg_qualities))
    assert told["max_halvings"] == f"{recipe.max_halvings}, {recipe.min_side}"
    assert told["accept"] == ", ".join(f"`{mime}`" for mime in recipe.accept)
    assert all(told[name] == f'`"{getattr(recipe, name)}"`' for name in ("shrink", "background", "on_miss"))


def test_every_link_inside_the_repository_leads_somewhere() -> None:
    for page in PAGES:
        for target in re.findall(r"\]\((?!https?:)([^)#]+)", page.read_text()):
            assert (page.parent / target).exists(), f"{page.name} links to {target}"


def test_the_example_folder_holds_what_the_readme_says() -> None:
    names = {path.name for path in (ROOT / "examples" / "images").iterdir()}
    kinds = {"editor.png", "dashboard.png", "terminal.png", "phone.png", "mountains.jpg", "receipt-sideways.jpg"}
    assert names == kinds | {"harbour.heic", "pipeline.svg", "logo.png", "tide.gif"}
