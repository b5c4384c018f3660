"""Sources to measure: those of folders, or a set that is made in code, screen-like and photo-like, the same each time."""

from __future__ import annotations

import random
from collections.abc import Callable, Collection, Iterable
from pathlib import Path
from typing import Any

import numpy
import pyvips
from PIL import ExifTags, Image, ImageDraw, ImageFont

Array = numpy.ndarray[Any, numpy.dtype[numpy.uint8]]

SUFFIXES = {".png", ".jpg", ".jpeg", ".webp", ".gif", ".tif", ".tiff", ".avif", ".bmp", ".heic"}

TEXT = """
queue worker ledger deadline retry payload digest region screen window terminal editor invoice quarter revenue margin forecast
station bridge harbour timetable platform departure arrival delayed cancelled return import class yield value error
"""
WORDS = TEXT.split()


def listed(folders: Iterable[Path]) -> list[Path]:
    """The pictures of these folders (and files), by name; hidden files are left out."""
    found: list[Path] = []
    for place in folders:
        inside = sorted(place.rglob("*")) if place.is_dir() else [place]
        found += [path for path in inside if path.suffix.lower() in SUFFIXES and not path.name.startswith(".")]
    return found


def make(folder: Path, scale: float = 1.0, only: Collection[str] = ()) -> list[Path]:
    """Write the made corpus, or `only` these of it, into the folder; `scale` shrinks every side. Returns the paths."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    for name, draw, (width, height) in MADE:
        if only and name not in only:
            continue
        path = folder / name
        draw(path, max(64, int(width * scale)), max(64, int(height * scale)))
        paths.append(path)
    return paths


def _editor(path: Path, width: int, height: int) -> None:
    """Coloured code on a dark ground, with an opaque alpha channel as screenshots have."""
    image = Image.new("RGBA", (width, height), (30, 32, 38, 255))
    colours = [(220, 220, 220), (120, 190, 255), (250, 170, 90), (150, 210, 130), (200, 140, 230)]
    _lines(image, random.Random(1), 15, lambda pick: pick.choice(colours), left=60)
    image.save(path)


def _sheet(path: Path, width: int, height: int) -> None:
    """A table: thin grey rules, black numbers, some cells filled."""
    pick = random.Random(2)
    image = Image.new("RGB", (width, height), "white")
    draw = ImageDraw.Draw(image)
    font = ImageFont.load_default(14)
    for y in range(0, height, 22):
        for x in range(0, width, 110):
            if pick.random() < 0.08:
                draw.rectangle((x, y, x + 110, y + 22), fill=pick.choice(["#dce9ff", "#e2f6dd", "#fff3cd", "#f8d7da"]))
            draw.rectangle((x, y, x + 110, y + 22), outline="#d0d0d0")
            draw.text((x + 8, y + 3), f"{pick.choice(WORDS)[:7]} {pick.randrange(9999)}", fill="black", font=font)
    image.save(path)


def _page(path: Path, width: int, height: int) -> None:
    """A light page of text with photographs in it."""
    image = Image.new("RGB", (width, height), "#fafafa")
    _lines(image, random.Random(3), 20, lambda pick: (30, 30, 40), left=width // 12)
    for seed in range(3):
        photo = Image.fromarray(noise(max(32, width // 4), max(32, height // 5), seed))
        image.paste(photo, (int(width * (0.1 + 0.3 * seed)), int(height * (0.15 + 0.25 * seed))))
    image.save(path)


def _photo(orientation: int = 1, **options: Any) -> Callable[[Path, int, int], None]:
    def draw(path: Path, width: int, height: int) -> None:
        exif = Image.Exif()
        exif[ExifTags.Base.Orientation] = orientation
        Image.fromarray(noise(width, height, 7)).save(path, exif=exif, **options)

    return draw


def noise(width: int, height: int, seed: int) -> Array:
    """Photo-like: noise at every scale, weighted as in nature, and a little grain; the same for the same seed."""
    numbers = numpy.random.default_rng(seed)
    scales = max(1, max(width, height).bit_length() - 2)
    total = pyvips.Image.black(2, 2, bands=3).cast("float")
    for step in range(scales, -1, -1):  # each scale is twice as fine as the one before, and 0.78 times as strong
        size = (-(-width >> step) or 1, -(-height >> step) or 1) if step else (width, height)
        finer = total.resize(size[0] / total.width, vscale=size[1] / total.height, kernel="linear")
        grain = numbers.standard_normal((finer.height, finer.width, 3 if step > 1 else 1), numpy.float32)
        total = (finer + pyvips.Image.new_from_array(grain) * 20 * 0.78 ** (scales - step)).copy_memory()
    picture = (total + 128).cast("uchar").crop(0, 0, width, height)
    return numpy.asarray(picture.numpy())


def _lines(
    image: Image.Image, pick: random.Random, size: int, colour: Callable[[random.Random], tuple[int, ...]], left: int
) -> None:
    draw = ImageDraw.Draw(image)
    font = ImageFont.load_default(size)
    for y in range(10, image.height - size, int(size * 1.5)):
        x = left + size * 2 * pick.randrange(4)
        while x < image.width * 0.9:
            word = pick.choice(WORDS)
            draw.text((x, y), word, fill=colour(pick), font=font)
            x += int(draw.textlength(word + " ", font=font))
            if pick.random() < 0.08:
                break


MADE: list[tuple[str, Callable[[Path, int, int], None], tuple[int, int]]] = [
    ("screen-editor.png", _editor, (1920, 1080)),
    ("screen-sheet.png", _sheet, (2560, 1440)),
    ("screen-page.png", _page, (1440, 2400)),
    ("photo-phone.jpg", _photo(quality=92, orientation=6), (4032, 3024)),
    ("photo-progressive.jpg", _photo(quality=88, progressive=True), (3840, 2160)),
    ("photo.webp", _photo(quality=85, method=2), (3000, 2000)),
]
