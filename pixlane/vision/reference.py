"""The visual reference: what was looked at, recorded for every call, whether or not anybody could say what is in it."""

from __future__ import annotations

import datetime
from dataclasses import asdict, dataclass
from typing import Any

ID_DIGITS = 16
"""Hex digits of the SHA-256 in an id."""


@dataclass(frozen=True)
class VisualReference:
    """An image file as it was at one call.

    Attributes:
        id: `vis_` and the first 16 hex digits of the SHA-256: the same bytes have the same id, whatever their path.
        mime: by the bytes.
        byte_count: of the file.
        sha256: lower-case hex.
        path: absolute, links resolved; None for bytes without a file.
        size: width and height of the upright picture, px; None where the header does not say.
        created_at: of the call, ISO 8601, UTC.
    """

    id: str
    mime: str
    byte_count: int
    sha256: str
    path: str | None
    size: tuple[int, int] | None
    created_at: str

    @classmethod
    def of(cls, sha256: str, mime: str, byte_count: int, path: str | None, size: tuple[int, int] | None) -> VisualReference:
        now = datetime.datetime.now(datetime.UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        return cls(reference_id(sha256), mime, byte_count, sha256, path, size, now)

    def to_dict(self) -> dict[str, Any]:
        record = asdict(self)
        record["size"] = {"width": self.size[0], "height": self.size[1]} if self.size else None
        return record

    @classmethod
    def from_dict(cls, record: dict[str, Any]) -> VisualReference:
        size = record.get("size")
        known = {name: record[name] for name in cls.__dataclass_fields__}
        return cls(**{**known, "size": (size["width"], size["height"]) if size else None})


def reference_id(sha256: str) -> str:
    return f"vis_{sha256[:ID_DIGITS]}"
