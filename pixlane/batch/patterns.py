"""The globs of --include and --exclude.

`*` and `?` stay inside a name, `**` crosses folders, `[...]` is a set; case does not matter. A pattern without a slash is
compared with each name on the way (`*.png`, `node_modules`), one with a slash with the path from the top (`a/**/*.png`).
What matches a folder covers all that is in it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable


class Patterns:
    def __init__(self, patterns: Iterable[str]) -> None:
        given = [pattern.strip("/") if pattern.endswith("/") else pattern for pattern in patterns]
        self._names = [_compiled(pattern) for pattern in given if "/" not in pattern]
        self._paths = [_compiled(pattern.lstrip("/")) for pattern in given if "/" in pattern]

    def __bool__(self) -> bool:
        return bool(self._names or self._paths)

    def match(self, path: str) -> bool:
        """True when the path (with `/` between names) or a folder on the way to it matches."""
        names = path.split("/")
        if any(pattern.fullmatch(name) for pattern in self._names for name in names):
            return True
        if not self._paths:
            return False
        ways = ["/".join(names[:end]) for end in range(1, len(names) + 1)]
        return any(pattern.fullmatch(way) for pattern in self._paths for way in ways)


_TOKENS = re.compile(r"\*\*/|\*\*|\*|\?|\[!?\]?[^\]]*\]|.", re.DOTALL)
_FIXED = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}


def _compiled(pattern: str) -> re.Pattern[str]:
    parts = [_FIXED.get(token) or _one(token) for token in _TOKENS.findall(pattern)]
    return re.compile("".join(parts), re.DOTALL | re.IGNORECASE)


def _one(token: str) -> str:
    if len(token) == 1:
        return re.escape(token)
    body = token[1:-1].replace("\\", "\\\\").replace("[", "\\[")
    negated = body.startswith("!")
    body = body.removeprefix("!").replace("^", "\\^")
    body = "\\]" + body[1:] if body.startswith("]") else body
    return f"[^/{body}]" if negated else f"[{body}]"
