"""The generated tables of the pages in `docs/` say what the code says."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"
TABLES = runpy.run_path(str(DOCS / "tables.py"))


@pytest.mark.parametrize("page", sorted(DOCS.glob("*.md")), ids=lambda page: page.name)
def test_the_tables_are_as_the_code_has_them(page: Path) -> None:
    assert page.read_text() == TABLES["filled"](page.read_text()), "run `python docs/tables.py`"


def test_every_table_stands_in_some_page() -> None:
    text = "".join(page.read_text() for page in DOCS.glob("*.md"))
    assert set(re.findall(r"<!-- (\w+) -->\n[|`]", text)) == set(TABLES["TABLES"])
