"""One thing that was looked at."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Literal

Verdict = Literal["ok", "warn", "fail"]


@dataclass(frozen=True)
class Check:
    """`found` is what is there, `advice` what to do about it; advice is empty when the verdict is ok.

    `warn`: it works, with less than it could. `fail`: something that was promised does not work.
    """

    area: str
    name: str
    verdict: Verdict
    found: str
    advice: str = ""

    def to_dict(self) -> dict[str, str]:
        return asdict(self)
