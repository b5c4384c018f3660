"""Draws the example images into `examples/images`: run `python examples/make.py [NAME ...]` after `apt-get install chromium`.

Pages become screenshots (`pages/*.html` through a headless Chromium), the photographs are computed. Everything is seeded, so
only another Chromium or other fonts (Inter and JetBrains Mono, else DejaVu) change a picture.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from io import BytesIO
from pathlib import Path

import numpy as np
import pillow_heif
from paint import Pixels, blend, clip01, fractal, mix, perspective, ridge, to_bytes, trees
from PIL import Image, ImageDraw, ImageFilter

HERE = Path(__file__).parent
OUT = HERE / "images"
PAGES = HERE / "pages"

ORIENTATION, MAKE, MODEL, TAKEN, GPS = 0x0112, 0x010F, 0x0110, 0x0132, 0x8825  # EXIF tags

CHROMIUM = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--hide-scrollbars",
]


def main(names: list[str]) -> None:
    OUT.mkdir(exist_ok=True)
    for name in names or PICTURES:
        (OUT / name).write_bytes(PICTURES[name]())
        print(f"{name:28} {(OUT / name).stat().st_size:>9,} bytes")


# Screenshots -------------------------------------------------------------------------------------------------------------


def screenshot(page: str, width: int, height: int, scale: int = 1, *, clear: bool = False) -> Image.Image:
    """The page as Chromium paints it, `width * scale` by `height * scale` px; `clear` leaves the ground transparent."""
    browser = shutil.which("chromium") or shutil.which("google-chrome")
    if browser is None:
        sys.exit("make.py needs chromium on the PATH")
    with tempfile.TemporaryDirectory() as folder:
        shot = Path(folder) / "shot.png"
        command = [browser, *CHROMIUM, f"--user-data-dir={folder}/profile", f"--window-size={width},{height}"]
        command += [f"--force-device-scale-factor={scale}", f"--screenshot={shot}"]
        command += ["--default-background-color=00000000"] if clear else []
        subprocess.run([*command, (PAGES / page).as_uri()], check=True, capture_output=True, timeout=120)
        picture = Image.open(shot)
        picture.load()
    return picture if clear else picture.convert("RGB")


def png(picture: Image.Image) -> bytes:
    out = BytesIO()
    picture.save(out, "PNG", optimize=True)
    return out.getvalue()


# Photographs -------------------------------------------------------------------------------------------------------------


def mountains() -> bytes:
    """Five ridges at dusk, each paler the farther it is; 2400 x 1600 px, with a camera's EXIF and a place in it."""
    width, height = 2400, 1600
    rng = np.random.default_rng(5)
    y = np.linspace(0, 1, height)[:, None]
    x = np.linspace(0, 1, width)[None, :]
    sky = blend(y / 0.62, [(0.15, 0.22, 0.42), (0.50, 0.45, 0.62), (0.95, 0.64, 0.50), (1.0, 0.83, 0.60)])
    glow = np.exp(-(((x - 0.66) / 0.30) ** 2 + ((y - 0.50) / 0.22) ** 2))[..., None]
    picture = sky + glow * np.array([0.30, 0.20, 0.06])
    sun = np.clip((0.030 - np.hypot((x - 0.66) * width / height, y - 0.47)) * 260, 0, 1)[..., None]
    picture = picture * (1 - sun) + sun * np.array([1.0, 0.95, 0.80])
    clouds = clip01((fractal(rng, height, width, cells=3, stretch=7) - 0.52) * 3.2) * (1 - y / 0.5).clip(0, 1)
    picture = mix(picture, np.array([1.0, 0.78, 0.70]), clouds[..., None] * 0.55)
    near, far = np.array([0.055, 0.075, 0.095]), np.array([0.72, 0.56, 0.58])
    for layer in range(6):
        depth = layer / 5
        crest = 0.50 + 0.085 * layer + (0.15 - 0.015 * layer) * (ridge(rng, width, 2 + layer) - 0.5)
        if layer >= 4:  # the nearest ones carry a forest: a saw of tree tops
            crest = crest - trees(rng, width, high=0.012 + 0.03 * (layer - 4))
        inside = clip01((y - crest[None, :]) * height)[..., None]
        haze = clip01((y - crest[None, :]) / 0.26)[..., None] * (1 - depth) * 0.5
        rock = fractal(rng, height, width, cells=10 + 6 * layer, stretch=1.5)[..., None] * 0.13 * (1 - 0.6 * depth)
        tone = mix(far, near, depth**0.7) * (0.93 + rock)
        picture = mix(picture, mix(tone, np.array([0.93, 0.70, 0.62]), haze), inside)
    exif = Image.Exif()
    exif[MAKE], exif[MODEL], exif[TAKEN], exif[ORIENTATION] = "Lantern", "LX-40", "2024:05:14 20:41:09", 1
    exif[GPS] = {1: "N", 2: (46.0, 34.0, 12.5), 3: "E", 4: (8.0, 0.0, 21.7)}
    return jpeg(develop(picture, rng, grain=0.012), quality=84, exif=exif)


def receipt() -> bytes:
    """A receipt on a wooden table, taken with the phone turned: the pixels lie on their side, EXIF orientation 6."""
    width, height = 1512, 2016
    rng = np.random.default_rng(14)
    table = wood(rng, width, height)
    paper = screenshot("receipt.html", 760, 1180).convert("RGBA")
    corners = [(262, 196), (1208, 300), (1120, 1802), (150, 1690)]  # top left, top right, bottom right, bottom left
    placed = paper.transform(
        (width, height), Image.Transform.PERSPECTIVE, perspective(paper.size, corners), Image.Resampling.BICUBIC
    )
    cover = placed.getchannel("A")
    shadow = Image.new("L", (width, height))
    shadow.paste(cover, (26, 34))
    dark = np.asarray(shadow.filter(ImageFilter.GaussianBlur(26)), float)[..., None] / 255 * 0.55
    alpha = np.asarray(cover, float)[..., None] / 255
    creases = 1 - 0.10 * np.exp(-(((np.linspace(0, 1, height)[:, None, None] - 0.52) / 0.006) ** 2))
    picture = mix(table * (1 - dark), np.asarray(placed.convert("RGB"), float) / 255 * 0.93 * creases, alpha)
    y, x = np.linspace(-1, 1, height)[:, None], np.linspace(-1, 1, width)[None, :]
    lamp = 1.10 - 0.34 * np.hypot(x + 0.35, y + 0.45)[..., None]
    exif = Image.Exif()
    exif[MAKE], exif[MODEL], exif[ORIENTATION] = "Lantern", "Pocket 9", 6
    upright = develop(picture * lamp * np.array([1.03, 0.99, 0.90]), rng, grain=0.012).filter(ImageFilter.GaussianBlur(0.5))
    return jpeg(upright.transpose(Image.Transpose.ROTATE_90), quality=86, exif=exif)


def harbour() -> bytes:
    """A lit shore and its reflection under the moon; HEIC as a phone writes it, 2016 x 1512 px."""
    width, height = 2016, 1512
    rng = np.random.default_rng(9)
    shore = 780
    y = np.linspace(0, 1, shore)[:, None]
    x = np.linspace(0, 1, width)[None, :]
    sky = blend(y, [(0.02, 0.04, 0.12), (0.06, 0.10, 0.24), (0.24, 0.22, 0.36), (0.52, 0.34, 0.34)]) * np.ones((1, width, 1))
    stars = (rng.random((shore, width)) > 0.9992) * rng.random((shore, width)) ** 2 * (1 - y)
    sky += (
        np.asarray(Image.fromarray((stars * 255).astype(np.uint8)).filter(ImageFilter.GaussianBlur(0.8)), float)[..., None]
        / 255
        * 3.2
    )
    distance = np.hypot((x - 0.27) * width, (y - 0.30) * shore)
    moon = clip01(46 - distance)[..., None]
    sky = mix(sky, np.array([0.98, 0.95, 0.86]) * (0.86 + 0.2 * fractal(rng, shore, width, cells=30)[..., None]), moon)
    sky += np.exp(-distance / 130)[..., None] * np.array([0.30, 0.28, 0.24]) * (1 - moon)
    for layer, tone in enumerate([(0.13, 0.12, 0.21), (0.05, 0.055, 0.10)]):
        crest = (0.72 + 0.10 * layer) + 0.22 * (ridge(rng, width, 2 + 2 * layer) - 0.5)
        sky = mix(sky, np.array(tone), clip01((y - crest[None, :]) * shore)[..., None])
    lit = Image.fromarray(to_bytes(sky))
    glow = Image.new("RGB", lit.size)
    town(rng, ImageDraw.Draw(lit), ImageDraw.Draw(glow), width, shore)
    land = np.asarray(lit, float) / 255
    land = land + np.asarray(glow.filter(ImageFilter.GaussianBlur(14)), float) / 255 * 1.3
    rows = np.arange(height - shore)
    depth = rows / rows[-1]
    ripple = fractal(rng, len(rows), width, cells=90, stretch=9) - 0.5
    source = np.clip(shore - 1 - rows[:, None] * 0.98 - ripple * (20 + 190 * depth[:, None]), 0, shore - 1).astype(int)
    smeared = np.asarray(Image.fromarray(to_bytes(land)).filter(ImageFilter.BoxBlur(4)), float) / 255
    water = smeared[source, np.arange(width)[None, :]] * (0.78 - 0.42 * depth)[:, None, None] + np.array([0.01, 0.02, 0.045])
    water += clip01(ripple * 2 - 0.35)[..., None] * np.array([0.16, 0.17, 0.22])
    heif = pillow_heif.from_pillow(develop(np.concatenate([land, water]), rng, grain=0.010))
    out = BytesIO()
    heif.save(out, quality=62)
    return out.getvalue()


def town(rng: np.random.Generator, houses: ImageDraw.ImageDraw, glow: ImageDraw.ImageDraw, width: int, base: int) -> None:
    """A row of houses with some windows lit, and lamps along the quay; the light alone goes onto `glow` too."""
    left = 0
    while left < width:
        wide, high = int(rng.integers(46, 130)), int(rng.integers(50, 170))
        top = base - high
        shade = int(rng.integers(16, 34))
        houses.rectangle([left, top, left + wide, base], fill=(shade, shade, shade + 9))
        houses.polygon(
            [(left - 4, top), (left + wide // 2, top - wide // 3), (left + wide + 4, top)], fill=(shade - 6, shade - 6, shade)
        )
        for row in range(top + 14, base - 22, 26):
            for column in range(left + 10, left + wide - 14, 22):
                if rng.random() < 0.42:
                    colour = [(255, 205, 120), (255, 226, 168), (250, 180, 96), (190, 214, 255)][int(rng.integers(0, 4))]
                    for canvas in (houses, glow):
                        canvas.rectangle([column, row, column + 9, row + 13], fill=colour)
        left += wide + int(rng.integers(0, 26))
    for x in range(60, width, 168):
        houses.rectangle([x, base - 64, x + 2, base], fill=(12, 12, 16))
        for canvas in (houses, glow):
            canvas.ellipse([x - 7, base - 76, x + 9, base - 60], fill=(255, 214, 140))


def wood(rng: np.random.Generator, width: int, height: int) -> Pixels:
    """A table top: boards across the picture, growth rings along them."""
    y = np.linspace(0, 1, height)[:, None]
    bend = fractal(rng, height, width, cells=3, stretch=4)
    rings = 0.5 + 0.5 * np.sin((y * 46 + bend * 17) * 2 * np.pi)
    pores = fractal(rng, height, width, cells=240, stretch=26)
    tone = 0.55 * rings + 0.45 * pores
    boards = np.floor(y * 5)
    shade = np.array([0.92, 1.06, 0.97, 1.03, 0.90, 1.0])[boards.astype(int)] * (
        1 - 0.75 * np.exp(-((((y * 5) % 1) / 0.012) ** 2))
    )
    return mix(np.array([0.33, 0.20, 0.12]), np.array([0.58, 0.39, 0.24]), tone[..., None]) * shade[..., None]


def develop(picture: Pixels, rng: np.random.Generator, grain: float) -> Image.Image:
    """Vignette and sensor noise, then 8 bits."""
    height, width = picture.shape[:2]
    y, x = np.linspace(-1, 1, height)[:, None], np.linspace(-1, 1, width)[None, :]
    picture = picture * (1 - 0.16 * (x * x + y * y))[..., None]
    noise = np.asarray(
        Image.fromarray(to_bytes(0.5 + rng.normal(0, 0.16, picture.shape))).filter(ImageFilter.GaussianBlur(0.7)), float
    )
    return Image.fromarray(to_bytes(picture + (noise / 255 - 0.5) * grain * 6))


def jpeg(picture: Image.Image, *, quality: int, exif: Image.Exif) -> bytes:
    out = BytesIO()
    picture.save(out, "JPEG", quality=quality, exif=exif, optimize=True, subsampling="4:2:0")
    return out.getvalue()


# The tide, moving ----------------------------------------------------------------------------------------------------------


def tide() -> bytes:
    """A gauge that fills and empties once: 18 frames of 420 x 260 px."""
    frames = []
    for step in range(18):
        level = 0.5 - 0.5 * np.cos(step / 18 * 2 * np.pi)
        frame = Image.new("RGB", (420, 260), (246, 248, 252))
        draw = ImageDraw.Draw(frame)
        x = np.arange(24, 397)
        for back, colour in ((10, (168, 203, 255)), (0, (10, 108, 255))):
            surface = 214 - 150 * level - back + 5 * np.sin((x / 40 + step / 18 * 4 + back) * np.pi / 2)
            points = [(24, 230), *((int(a), float(b)) for a, b in zip(x, surface, strict=True)), (396, 230)]
            draw.polygon(points, fill=colour)
        for metre in range(5):
            draw.line([(24, 230 - 42 * metre), (36, 230 - 42 * metre)], fill=(40, 52, 72), width=2)
        draw.rectangle([24, 50, 396, 230], outline=(40, 52, 72), width=2)
        draw.text(
            (24, 20),
            f"Old mill pier   {1.1 + 3.4 * level:.1f} m   {6 + step * 2 // 3:02d}:{step * 40 % 60:02d}",
            (28, 36, 48),
            font_size=18,
        )
        frames.append(frame.quantize(32))
    out = BytesIO()
    frames[0].save(out, "GIF", save_all=True, append_images=frames[1:], duration=90, loop=0, optimize=True)
    return out.getvalue()


PICTURES: dict[str, Callable[[], bytes]] = {
    "editor.png": lambda: png(screenshot("editor.html", 1920, 1200)),
    "dashboard.png": lambda: png(screenshot("dashboard.html", 1440, 900, 2)),
    "terminal.png": lambda: png(screenshot("terminal.html", 1600, 1000)),
    "phone.png": lambda: png(screenshot("phone.html", 390, 844, 3)),
    "logo.png": lambda: png(screenshot("logo.html", 720, 240, 1, clear=True)),
    "mountains.jpg": mountains,
    "receipt-sideways.jpg": receipt,
    "harbour.heic": harbour,
    "tide.gif": tide,
}

if __name__ == "__main__":
    main(sys.argv[1:])
