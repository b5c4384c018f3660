"""ICC profiles as far as pixlane needs them: is this one sRGB, and a matrix profile for primaries that a header only names.

Specification: ICC.1:2022, sections 7 (header and tags) and 10 (curveType, parametricCurveType, XYZType).
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from functools import lru_cache

HEADER_BYTES = 128
MAX_PROFILE_BYTES = 4 * 1024 * 1024
COLORANT_TOLERANCE = 0.003  # XYZ
CURVE_TOLERANCE = 2.5  # levels of 255; a plain power of 2.2 is off by 9 in the shadows

XY = tuple[float, float]
Primaries = tuple[XY, XY, XY]  # red, green, blue

D50 = (0.9642, 1.0, 0.8249)
D65: XY = (0.3127, 0.3290)
SRGB: Primaries = ((0.64, 0.33), (0.30, 0.60), (0.15, 0.06))
DISPLAY_P3: Primaries = ((0.680, 0.320), (0.265, 0.690), (0.150, 0.060))
BT2020: Primaries = ((0.708, 0.292), (0.170, 0.797), (0.131, 0.046))
_SRGB_COLORANTS = ((0.4361, 0.2225, 0.0139), (0.3851, 0.7169, 0.0971), (0.1431, 0.0606, 0.7141))


def space(profile: bytes) -> str:
    """ "RGB", "GRAY", "CMYK", "Lab" ... as the header says; "" where it is no profile."""
    if len(profile) < HEADER_BYTES or profile[36:40] != b"acsp" or len(profile) > MAX_PROFILE_BYTES:
        return ""
    return profile[16:20].decode("latin-1").strip()


_NEEDED = {"RGB": ({"rXYZ", "gXYZ", "bXYZ", "rTRC", "gTRC", "bTRC"}, {"A2B0"}), "GRAY": ({"kTRC"}, {"A2B0"})}
_ANY_TABLE = ({"A2B0"}, {"A2B1"}, {"A2B2"})


def is_whole(profile: bytes) -> bool:
    """Whether the tags that a conversion needs are there and inside the profile; else libvips takes another one unasked."""
    try:
        tags = _tags(profile)
    except struct.error:
        return False
    there = {name for name, content in tags.items() if len(content) >= 12}
    return any(needed <= there for needed in _NEEDED.get(space(profile), _ANY_TABLE))


@lru_cache(maxsize=32)
def is_srgb(profile: bytes) -> bool:
    """Whether the profile means the same numbers as sRGB, within what 8 bits show."""
    try:
        tags = _tags(profile)
        if space(profile) == "GRAY":
            return _is_srgb_curve(tags["kTRC"])
        if space(profile) != "RGB" or "A2B0" in tags:
            return False
        colorants = [_xyz(tags[name]) for name in ("rXYZ", "gXYZ", "bXYZ")]
        near = all(
            abs(value - wanted) < COLORANT_TOLERANCE
            for row, wanted_row in zip(colorants, _SRGB_COLORANTS, strict=True)
            for value, wanted in zip(row, wanted_row, strict=True)
        )
        return near and all(_is_srgb_curve(tags[name]) for name in ("rTRC", "gTRC", "bTRC"))
    except (KeyError, struct.error, IndexError, ValueError, ZeroDivisionError, OverflowError):
        return False


def linear_to_srgb(value: float) -> float:
    """IEC 61966-2-1."""
    value = min(max(value, 0.0), 1.0)
    if value <= 0.0031308:
        return value * 12.92
    return 1.055 * float(value ** (1 / 2.4)) - 0.055


@lru_cache(maxsize=32)
def matrix_profile(primaries: Primaries, white: XY = D65, gamma: float | None = None) -> bytes:
    """An RGB profile of these primaries (CIE xy); its curve is a power, or sRGB's where gamma is None."""
    colorants = _colorants(primaries, white)
    if gamma is None:
        curve = b"para" + struct.pack(
            ">IHH5i", 0, 3, 0, *(_fixed(v) for v in (2.4, 1 / 1.055, 0.055 / 1.055, 1 / 12.92, 0.04045))
        )
    else:
        curve = b"para" + struct.pack(">IHHi", 0, 0, 0, _fixed(gamma))
    name = b"pixlane\x00"
    tags = {
        b"desc": b"desc" + struct.pack(">II", 0, len(name)) + name + bytes(79),
        b"cprt": b"text" + bytes(4) + b"none\x00",
        b"wtpt": _xyz_tag(D50),
        b"rXYZ": _xyz_tag(colorants[0]),
        b"gXYZ": _xyz_tag(colorants[1]),
        b"bXYZ": _xyz_tag(colorants[2]),
        b"rTRC": curve,
        b"gTRC": curve,
        b"bTRC": curve,
    }
    table, body, at = b"", b"", HEADER_BYTES + 4 + 12 * len(tags)
    for tag, content in tags.items():
        table += tag + struct.pack(">II", at + len(body), len(content))
        body += content + bytes(-len(content) % 4)
    size = at + len(body)
    header = struct.pack(">I4s4s4s4s4s12s4s", size, bytes(4), b"\x02\x40\x00\x00", b"mntr", b"RGB ", b"XYZ ", bytes(12), b"acsp")
    header += bytes(28) + struct.pack(">3i", *(_fixed(value) for value in D50)) + bytes(48)
    return header + struct.pack(">I", len(tags)) + table + body


# Reading ------------------------------------------------------------------------------------------------------------------


def _tags(profile: bytes) -> dict[str, bytes]:
    (count,) = struct.unpack_from(">I", profile, HEADER_BYTES)
    tags = {}
    for index in range(min(count, 200)):
        name, offset, size = struct.unpack_from(">4sII", profile, HEADER_BYTES + 4 + 12 * index)
        if offset + size <= len(profile):
            tags[name.decode("latin-1")] = profile[offset : offset + size]
    return tags


def _xyz(tag: bytes) -> tuple[float, ...]:
    return tuple(value / 65536 for value in struct.unpack_from(">3i", tag, 8))


def _is_srgb_curve(tag: bytes) -> bool:
    curve = _curve(tag)
    return all(abs(linear_to_srgb(curve(step / 32)) - step / 32) * 255 < CURVE_TOLERANCE for step in range(1, 33))


def _curve(tag: bytes) -> Callable[[float], float]:
    if tag[:4] == b"para":
        (kind,) = struct.unpack_from(">H", tag, 8)
        g, a, b, c, d, e, f = [*(v / 65536 for v in struct.unpack_from(f">{(1, 3, 4, 5, 7)[kind]}i", tag, 12)), *[0.0] * 6][:7]
        if kind == 0:
            return lambda x: x**g
        if kind < 3:
            return lambda x: (a * x + b) ** g + (c if kind == 2 else 0) if x >= -b / a else (c if kind == 2 else 0)
        return lambda x: (a * x + b) ** g + e if x >= d else c * x + f
    (count,) = struct.unpack_from(">I", tag, 8)
    if count == 0:
        return lambda x: x
    values: Sequence[int] = struct.unpack_from(f">{count}H", tag, 12)
    if count == 1:
        return lambda x: x ** (values[0] / 256)

    def between(x: float) -> float:
        below = min(int(x * (count - 1)), count - 2)
        part = x * (count - 1) - below
        return float(values[below] * (1 - part) + values[below + 1] * part) / 65535

    return between


# Writing ------------------------------------------------------------------------------------------------------------------


def _fixed(value: float) -> int:
    return round(value * 65536)


def _xyz_tag(value: Sequence[float]) -> bytes:
    return b"XYZ " + struct.pack(">I3i", 0, *(_fixed(part) for part in value))


_BRADFORD = ((0.8951, 0.2664, -0.1614), (-0.7502, 1.7135, 0.0367), (0.0389, -0.0685, 1.0296))
Matrix = Sequence[Sequence[float]]


def rgb_to_xyz(primaries: Primaries, white: XY) -> Matrix:
    """The matrix from linear RGB to XYZ, with the white at Y = 1."""
    columns = [_xy_to_xyz(point) for point in primaries]
    plain = [[column[row] for column in columns] for row in range(3)]
    scale = _apply(invert(plain), _xy_to_xyz(white))
    return [[plain[row][column] * scale[column] for column in range(3)] for row in range(3)]


def _colorants(primaries: Primaries, white: XY) -> list[list[float]]:
    """The XYZ of red, green and blue, adapted to D50."""
    source, target = (_apply(_BRADFORD, point) for point in (_xy_to_xyz(white), D50))
    adapt = multiply(
        invert(_BRADFORD), [[_BRADFORD[row][column] * target[row] / source[row] for column in range(3)] for row in range(3)]
    )
    matrix = multiply(adapt, rgb_to_xyz(primaries, white))
    return [[matrix[row][column] for row in range(3)] for column in range(3)]


def _xy_to_xyz(point: XY) -> tuple[float, float, float]:
    x, y = point
    return x / y, 1.0, (1 - x - y) / y


def _apply(matrix: Matrix, vector: Sequence[float]) -> list[float]:
    return [sum(a * b for a, b in zip(row, vector, strict=True)) for row in matrix]


def multiply(left: Matrix, right: Matrix) -> Matrix:
    return [[sum(left[row][k] * right[k][column] for k in range(3)) for column in range(3)] for row in range(3)]


def invert(m: Matrix) -> Matrix:
    """The inverse of a 3 x 3 matrix."""
    (a, b, c), (d, e, f), (g, h, i) = m
    det = a * (e * i - f * h) - b * (d * i - f * g) + c * (d * h - e * g)
    return [
        [(e * i - f * h) / det, (c * h - b * i) / det, (b * f - c * e) / det],
        [(f * g - d * i) / det, (a * i - c * g) / det, (c * d - a * f) / det],
        [(d * h - e * g) / det, (b * g - a * h) / det, (a * e - b * d) / det],
    ]
