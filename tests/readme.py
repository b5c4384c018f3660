"""The examples of the README and of `docs/`, as they stand there."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGES = (ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md")))


@dataclass(frozen=True)
class Example:
    page: str
    line: int
    language: str
    text: str

    def __str__(self) -> str:
        return f"{self.page}:{self.line}"


def examples(language: str) -> list[Example]:
    """Every fenced block of that language, in order."""
    found = []
    for page in PAGES:
        text = page.read_text()
        for match in re.finditer(rf"^```{language}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL):
            name, line = str(page.relative_to(ROOT)), text.count("\n", 0, match.start()) + 1
            found.append(Example(name, line, language, match[1]))
    return found


def first_commands() -> list[str]:
    """The two commands with which the README begins."""
    return examples("sh")[0].text.splitlines()


def needs_redis(example: Example) -> bool:
    return "redis-" in example.text
