"""Noise, ridges and colour for the computed photographs of make.py."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageFilter

Pixels = NDArray[np.float64]  # height x width (x 3), 0 .. 1


def fractal(rng: np.random.Generator, height: int, width: int, cells: int, stretch: float = 1) -> Pixels:
    """Cloud-like noise, 0 .. 1: five octaves of smoothed random grids; `cells` grid rows, `stretch` times longer than high."""
    total = np.zeros((height, width))
    for octave in range(5):
        rows = min(cells * 2**octave, height) + 1
        columns = max(2, int(min(cells * 2**octave * width / height / stretch, width)) + 1)
        grid = Image.fromarray(rng.random((rows, columns)).astype(np.float32))
        total += np.asarray(grid.resize((width, height), Image.Resampling.BICUBIC), float) * 0.5**octave
    return (total - total.min()) / (total.max() - total.min())


def ridge(rng: np.random.Generator, width: int, cells: int) -> Pixels:
    """A mountain line, 0 .. 1 from the top: smooth far shapes with ever smaller teeth."""
    x = np.linspace(0, 1, width)
    total = np.zeros(width)
    for octave in range(9):
        knots = cells * 2**octave + 1
        total += np.interp(x, np.linspace(0, 1, knots), rng.random(knots)) * 0.5**octave
    return (total - total.min()) / (total.max() - total.min())


def trees(rng: np.random.Generator, width: int, high: float) -> Pixels:
    """Tree tops along a ridge: the largest of many triangles, as a share of the picture's height."""
    x = np.arange(width)
    tops = np.zeros(width)
    half = high * 330
    for centre in np.arange(0, width, half * 0.8) + rng.normal(0, half * 0.3, len(np.arange(0, width, half * 0.8))):
        tops = np.maximum(tops, (high * rng.uniform(0.4, 1.0)) * (1 - np.abs(x - centre) / half))
    return tops * (0.9 + 0.1 * rng.random(width))


def perspective(size: tuple[int, int], corners: list[tuple[int, int]]) -> list[float]:
    """Pillow's eight coefficients: from where the corners are seen back to the flat sheet of `size` px."""
    width, height = size
    rows, values = [], []
    for (x, y), (u, v) in zip(corners, [(0, 0), (width, 0), (width, height), (0, height)], strict=True):
        rows += [[x, y, 1, 0, 0, 0, -u * x, -u * y], [0, 0, 0, x, y, 1, -v * x, -v * y]]
        values += [u, v]
    return [float(value) for value in np.linalg.solve(np.array(rows, float), np.array(values, float))]


def blend(at: Pixels, colours: list[tuple[float, float, float]]) -> Pixels:
    """The colour at 0 .. 1 along a list of colours."""
    stops = np.linspace(0, 1, len(colours))
    return np.stack([np.interp(at, stops, [colour[channel] for colour in colours]) for channel in range(3)], axis=-1)


def mix(below: Pixels, above: Pixels, share: Pixels | float) -> Pixels:
    return below * (1 - share) + above * share


def clip01(values: Pixels) -> Pixels:
    return values.clip(0, 1)


def blurred(values: Pixels, radius_px: float) -> Pixels:
    return np.asarray(Image.fromarray(to_bytes(values)).filter(ImageFilter.GaussianBlur(radius_px)), float) / 255


def to_bytes(values: Pixels) -> NDArray[np.uint8]:
    return (clip01(values) * 255 + 0.5).astype(np.uint8)
