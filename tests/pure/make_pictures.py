"""Pictures made in code, as arrays and as files, and an opened source around an array."""

from __future__ import annotations

import io
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyvips
from PIL import Image, ImageDraw, ImageFont

from pixlane.imaging.deadline import Deadline
from pixlane.imaging.picture import resize
from pixlane.imaging.work import Facts, Work
from pixlane.recipe import Recipe, Region
from pixlane.settings import Limits

WORDS = ("the", "quick", "brown", "fox", "jumps", "over", "a", "lazy", "dog", "while", "seven", "wizards", "box", "with", "jugs")


def text(width: int, height: int, ink: Any = "black", paper: Any = "white", px: int = 16) -> np.ndarray:
    """A page of words in Pillow's own font."""
    page = Image.new("RGB", (width, height), paper)
    pen, font = ImageDraw.Draw(page), ImageFont.load_default(px)
    for row, y in enumerate(range(4, height - px, int(px * 1.5))):
        line = " ".join(WORDS[(row * 5 + k * 7) % len(WORDS)] for k in range(width // (3 * px)))
        pen.text((6, y), line, fill=ink, font=font)
    return np.asarray(page)


def noise(width: int, height: int, seed: int = 1) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 256, (height, width, 3), dtype=np.uint8)


def gradient(width: int, height: int) -> np.ndarray:
    across, down = np.linspace(0, 255, width), np.linspace(0, 255, height)[:, None]
    return np.stack([across + 0 * down, down + 0 * across, (across + down) / 2], axis=2).astype(np.uint8)


def photo(width: int, height: int, seed: int = 1, grain: float = 6.0) -> np.ndarray:
    """Soft shapes at several sizes and a little grain: behaves like a photograph under every encoder."""
    random = np.random.default_rng(seed)
    total = np.zeros((height, width, 3))
    for cells in (3, 9, 27, 81):
        coarse = Image.fromarray(random.integers(0, 256, (cells, cells, 3), dtype=np.uint8))
        total += np.asarray(coarse.resize((width, height), Image.Resampling.BICUBIC)).astype(float) * (3 / cells)
    total = (total - total.min()) / (total.max() - total.min()) * 235 + 10
    return np.clip(total + random.normal(0, grain, total.shape), 0, 255).astype(np.uint8)


def signs_on_a_texture(width: int, height: int) -> np.ndarray:
    """Coloured words on a ground of many small plain spots, as on a desktop."""
    ground = photo(width // 4 + 1, height // 4 + 1, grain=0).repeat(4, axis=0).repeat(4, axis=1)[:height, :width]
    page = Image.fromarray(np.ascontiguousarray(ground))
    pen, font = ImageDraw.Draw(page), ImageFont.load_default(14)
    for row, y in enumerate(range(4, height - 14, 30)):
        pen.text((6 + 20 * (row % 3), y), " ".join(WORDS), fill=("#ff2020", "#20ff20", "#2020ff")[row % 3], font=font)
    return np.asarray(page)


def luma(pixels: np.ndarray) -> np.ndarray:
    return pixels @ np.array([0.299, 0.587, 0.114])


def vips(pixels: np.ndarray) -> pyvips.Image:
    """The array as an image in memory. It aliases the array and keeps it alive; what `copy_memory` gives would not."""
    return pyvips.Image.new_from_array(np.ascontiguousarray(pixels))


def pixels(data: bytes) -> np.ndarray:
    """What a reader of its own, Pillow, sees in the bytes."""
    return np.asarray(Image.open(io.BytesIO(data)).convert("RGB"))


def save(picture: np.ndarray | Image.Image, form: str, **options: Any) -> bytes:
    target = io.BytesIO()
    (picture if isinstance(picture, Image.Image) else Image.fromarray(picture)).save(target, form, **options)
    return target.getvalue()


@dataclass
class OpenedArray:
    """An opened source whose upright pixels are an array."""

    picture: np.ndarray
    facts: Facts
    sound: bool = True
    drawn: list[tuple[Region, int, int]] = field(default_factory=list)

    def draw(self, region: Region, width: int, height: int) -> pyvips.Image:
        self.drawn.append((region, width, height))
        part = self.picture[region.y : region.y + region.height, region.x : region.x + region.width]
        image = vips(part)
        return image if (image.width, image.height) == (width, height) else resize(image, width, height).copy_memory()

    def prove(self) -> bool:
        return self.sound


def work(picture: np.ndarray, recipe: Recipe, *, data: bytes = b"", mime: str = "image/png", **facts: Any) -> Work:
    """Opened work on an array; `data` is the file where its bytes matter."""
    height, width = picture.shape[:2]
    opened = OpenedArray(picture, Facts(mime, width, height, **facts))
    return Work(data, recipe, Limits(), Deadline(60), opened=opened, region=recipe.region)
