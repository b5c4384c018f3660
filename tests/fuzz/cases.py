"""Case number to input: the same number always gives the same bytes and recipe, so a failure is told by its number."""

from __future__ import annotations

import random
import struct
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache

from pixlane import Recipe
from pixlane.imaging.anatomy import PNG_SIGNATURE
from pixlane.recipe import Region
from tests.fuzz.seeds import seeds

MAX_CHANGES = 6
MAX_BYTES = 64 * 1024  # of a piece that is copied or put in
RECIPES = (
    Recipe(),
    Recipe(allow_truncated=True),
    Recipe(page=1),
    Recipe(max_side=16, background="dark"),
    Recipe(region=Region(1, 2, 9, 7)),
    Recipe(accept=("image/jpeg",), shrink="fine", on_miss="smallest"),
)
_NUMBERS = (0, 1, 2, 7, 0x7F, 0x80, 0xFF, 0x7FFF, 0xFFFF, 0x10000, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF)
_WORDS = (
    b"<use href='#c'/>",
    b"<g>",
    b"</g>",
    b"url(#f)",
    b"1e99",
    b"NaN",
    b"&x;",
    b"\x00",
    b"%PDF-",
    b"<!DOCTYPE svg [",
    b"obj",
)

Change = Callable[[bytearray], None]


@dataclass(frozen=True)
class Case:
    """An input with what leads to it; `data(kept)` applies only some of the changes."""

    number: int
    seed: str
    recipe: Recipe
    changes: tuple[int, ...]  # a seed of its own for each, so that leaving one out does not move the others
    mends: bool  # check sums of a PNG are put right, so that what is behind them is reached

    @property
    def name(self) -> str:
        return f"a.{self.seed.partition('-')[0]}"

    def data(self, kept: Sequence[int] | None = None) -> bytes:
        data = bytearray(_seeds()[self.seed])
        for change in self.changes if kept is None else kept:
            _change(data, random.Random(change))
        return _mended(bytes(data)) if self.mends else bytes(data)


def case(number: int) -> Case:
    """Seeds come in turn."""
    names = sorted(_seeds())
    rng = random.Random(number)
    changes = tuple(rng.getrandbits(48) for _ in range(rng.randint(1, MAX_CHANGES)))
    return Case(number, names[number % len(names)], rng.choice(RECIPES), changes, rng.random() < 0.7)


@cache
def _seeds() -> dict[str, bytes]:
    return seeds()


def _change(data: bytearray, rng: random.Random) -> None:
    if not data:
        return
    at = min(int(len(data) * rng.random() ** rng.choice((1, 1, 3))), len(data) - 1)  # more often near the head
    length = min(rng.choice((1, 2, 4, 16, 64, 500)), len(data) - at)
    kind = rng.randrange(9)
    if kind == 0:
        data[at] ^= 1 << rng.randrange(8)
    elif kind == 1:
        data[at] = rng.randrange(256)
    elif kind == 2:
        form = rng.choice(("<H", ">H", "<I", ">I", "B"))
        limit = (1 << 8 * struct.calcsize(form)) - 1
        value = struct.pack(form, rng.choice(_NUMBERS) & limit)
        data[at : at + len(value)] = value
    elif kind == 3:
        del data[at : at + length]
    elif kind == 4 and len(data) < MAX_BYTES:
        data[at:at] = data[at : at + length] * rng.choice((1, 3, 40))
    elif kind == 5:
        data[at : at + length] = rng.randbytes(length)
    elif kind == 6 and len(data) < MAX_BYTES:
        data[at:at] = rng.choice(_WORDS)
    elif kind == 7:
        other = _seeds()[rng.choice(sorted(_seeds()))]
        start = rng.randrange(len(other))
        data[at : at + length] = other[start : start + length]
    elif rng.random() < 0.5:
        del data[at:]


def _mended(data: bytes) -> bytes:
    """A PNG whose chunks have right check sums, as far as their lengths make sense; other data as it is."""
    if not data.startswith(PNG_SIGNATURE):
        return data
    done, at = bytearray(PNG_SIGNATURE), len(PNG_SIGNATURE)
    while at + 12 <= len(data):
        end = at + 12 + int.from_bytes(data[at : at + 4], "big")
        if end > len(data):
            break
        done += data[at : end - 4] + zlib.crc32(data[at + 4 : end - 4]).to_bytes(4, "big")
        at = end
    return bytes(done) + data[at:]
