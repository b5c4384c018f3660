"""Pillow, the way a careful developer writes it: `draft` where it helps, one resize, JPEG qualities before each halving."""

from __future__ import annotations

import io
from pathlib import Path

import PIL
from PIL import ExifTags, Image, ImageCms

from benchmarks.clock import Sample, measure
from benchmarks.task import Outcome, Task, data_url

TURNS = {  # by EXIF orientation; ImageOps.exif_transpose forgets it when the colours are converted first
    2: Image.Transpose.FLIP_LEFT_RIGHT,
    3: Image.Transpose.ROTATE_180,
    4: Image.Transpose.FLIP_TOP_BOTTOM,
    5: Image.Transpose.TRANSPOSE,
    6: Image.Transpose.ROTATE_270,
    7: Image.Transpose.TRANSVERSE,
    8: Image.Transpose.ROTATE_90,
}
SRGB = ImageCms.createProfile("sRGB")


class Pillow:
    name = "pillow"
    version = PIL.__version__

    def run(self, path: Path, task: Task) -> tuple[Sample, Outcome]:
        data = path.read_bytes()
        return measure(lambda: ladder(data, task))

    def close(self) -> None:
        pass


def ladder(data: bytes, task: Task) -> Outcome:
    """Always JPEG: a lossless try before the qualities would only cost this peer time."""
    image = load(data, task)
    for _ in range(task.halvings + 1):
        for quality in task.qualities:
            out = io.BytesIO()
            image.save(out, "JPEG", quality=quality)
            encoded = out.getvalue()
            if len(data_url("image/jpeg", encoded)) <= task.budget:
                return Outcome(*image.size, "jpeg", quality, len(encoded), encoded)
        smaller = task.halved(*image.size)
        if smaller is None:
            break
        image = image.resize(smaller, Image.Resampling.LANCZOS)
    return Outcome(*image.size, "jpeg", quality, len(encoded), encoded)


def load(data: bytes, task: Task) -> Image.Image:
    """Upright 8-bit sRGB on white, inside the ceiling."""
    image: Image.Image = Image.open(io.BytesIO(data))
    turn = TURNS.get(image.getexif().get(ExifTags.Base.Orientation, 1))
    profile = image.info.get("icc_profile")
    image.draft("RGB", fitted(image.size, task.ceiling))
    if image.has_transparency_data:
        rgba = small(image.convert("RGBA"), task)
        image = Image.new("RGB", rgba.size, "white")
        image.paste(rgba, mask=rgba.getchannel("A"))
    else:
        image = small(image if image.mode in ("RGB", "L") else image.convert("RGB"), task)
    if profile and image.mode == "RGB":
        source = ImageCms.ImageCmsProfile(io.BytesIO(profile))
        image = ImageCms.profileToProfile(image, source, SRGB, outputMode="RGB") or image
    return image.transpose(turn) if turn is not None else image


def fitted(size: tuple[int, int], ceiling: int) -> tuple[int, int]:
    scale = min(1.0, ceiling / max(size))
    return max(1, round(size[0] * scale)), max(1, round(size[1] * scale))


def small(image: Image.Image, task: Task) -> Image.Image:
    """Inside the ceiling; `reducing_gap` is Pillow's own way to be fast at no visible cost."""
    size = fitted(image.size, task.ceiling)
    return image if size == image.size else image.resize(size, Image.Resampling.LANCZOS, reducing_gap=3.0)
