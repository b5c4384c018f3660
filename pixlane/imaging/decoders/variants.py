"""Variants of a format that the Pillow plugin of that format does not know: refused by name, as they are not damaged."""

from __future__ import annotations

from pixlane.errors import UnsupportedFormat

UNKNOWN: dict[str, tuple[tuple[str, int, bytes], ...]] = {
    "psd": (
        ("the large form of PSD (PSB)", 4, b"\x00\x02"),
        ("a PSD of 16 bits a channel", 22, b"\x00\x10"),
        ("a PSD of 32 bits a channel", 22, b"\x00\x20"),
    ),
    "pnm": (("PAM (P7)", 0, b"P7"), ("a PFM in colour (PF)", 0, b"PF")),
}
"""Format to the name of a variant, an offset, and the bytes that stand there."""


def check(name: str, data: bytes) -> None:
    """Raise UnsupportedFormat for one of them."""
    for variant, start, mark in UNKNOWN.get(name, ()):
        if data[start : start + len(mark)] == mark:
            raise UnsupportedFormat(f"{variant} is not decoded; convert it to PNG or JPEG first", actual=variant)
