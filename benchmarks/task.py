"""The task that everybody does: upright, sRGB, on white, at most the ceiling, the ladder until the data URL fits the budget."""

from __future__ import annotations

import base64
from dataclasses import dataclass, field
from typing import Any

from pixlane.recipe import Recipe


@dataclass(frozen=True)
class Task:
    """`budget` counts the characters of the data URL; sides in px."""

    ceiling: int = 1568
    budget: int = 262_144
    qualities: tuple[int, ...] = (85, 70, 50)
    halvings: int = 4
    floor: int = 64

    def recipe(self) -> Recipe:
        return Recipe(
            target_bytes=self.budget,
            embed=False,
            max_side=self.ceiling,
            jpeg_qualities=self.qualities,
            max_halvings=self.halvings,
            min_side=self.floor,
            on_miss="smallest",
        )

    def halved(self, width: int, height: int) -> tuple[int, int] | None:
        """The next smaller size of the ladder, None below the floor."""
        if min(width, height) // 2 < self.floor:
            return None
        return width // 2, height // 2


@dataclass(frozen=True)
class Outcome:
    """What came out. `quality` is None for a lossless encoder."""

    width: int
    height: int
    encoder: str
    quality: int | None
    byte_count: int
    data: bytes = field(default=b"", repr=False)

    def label(self) -> str:
        quality = "" if self.quality is None else str(self.quality)
        return f"{self.width}x{self.height} {self.encoder}{quality} {self.byte_count / 1024:.0f}K"

    def to_dict(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in ("width", "height", "encoder", "quality", "byte_count")}


def data_url(mime: str, data: bytes) -> str:
    return f"data:{mime};base64,{base64.b64encode(data).decode('ascii')}"
