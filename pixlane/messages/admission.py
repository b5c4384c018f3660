"""Admission: which images a request may carry, decided before it is built, from headers alone.

What the user needs comes before what the history brought; the same content counts once; what is left out is said in words. No
pixel is decoded and nothing is fetched; a price is the receiver's own formula over width and height, never the length of base64.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import PurePath
from typing import Any

from pixlane import profiles, settings, sizing, sources
from pixlane.errors import ImageBudgetExceeded, PixlaneError
from pixlane.messages.parts import one_line
from pixlane.messages.sentences import DEFAULT, Sentences
from pixlane.probe import Probe, probe
from pixlane.profiles import Profile

WORST_SHAPES = ((1, 1), (3, 2), (16, 9), (2, 1), (3, 1), (10, 1))
"""Shapes that are tried, at the largest area, for the price of a picture whose size is not known."""

LEFT_OUT_CODES: dict[str, str] = {
    "too_many_paths": "more distinct paths in one turn than are looked at",
    "too_many_images": "more different images than a request may carry",
    "too_many_bytes": "the files together are larger than a request may carry",
    "image_too_large": "the file is larger than one image may be",
    "too_many_pixels": "the header promises more pixels than one image may have",
    "not_an_image": "the bytes are something else",
    "unreadable": "the file cannot be read; the text says why",
}


@dataclass(frozen=True)
class Candidate:
    """An image that wants to go along.

    Attributes:
        source: its bytes, or the path of its file; `~` is expanded.
        required: the user's message or the tool call of this turn needs it; False: it is history.
        name: what it is called in notices; "": its path, or its place.
    """

    source: bytes | str | os.PathLike[str] = field(repr=False)
    required: bool = True
    name: str = ""


@dataclass(frozen=True)
class AdmissionLimits:
    """Of one request; all are inclusive. A receiver's own smaller number of images goes before `max_images`."""

    max_images: int = 8
    max_total_bytes: int = 20 * settings.MIB
    max_image_bytes: int = 20_971_520
    max_image_pixels: int = 50_000_000
    max_paths: int = 16


@dataclass(frozen=True)
class Admitted:
    """An image that goes along.

    Attributes:
        names: what it is called; several where the same content came under several names.
        sources: the places of those candidates in the input.
        width, height: upright, px; None where the first 64 KiB do not say.
        tokens: by the receiver's formula; None where it publishes none. For an unknown size the most that one can cost.
    """

    names: tuple[str, ...]
    sources: tuple[int, ...]
    required: bool
    sha256: str
    mime: str
    byte_count: int
    width: int | None
    height: int | None
    tokens: int | None


@dataclass(frozen=True)
class LeftOut:
    """An image that does not; `code` is one of LEFT_OUT_CODES, `notice` what the model is told."""

    name: str
    source: int
    required: bool
    code: str
    text: str
    notice: str
    limit: int | None = None
    actual: int | None = None


@dataclass(frozen=True)
class Admission:
    """The decision. `admitted` and `left_out` are in the order of the input."""

    profile: str
    admitted: tuple[Admitted, ...] = ()
    left_out: tuple[LeftOut, ...] = ()

    @property
    def byte_count(self) -> int:
        return sum(image.byte_count for image in self.admitted)

    @property
    def tokens(self) -> int | None:
        """Of all images; None where the receiver publishes no formula."""
        counts = [image.tokens for image in self.admitted]
        return None if None in counts else sum(count for count in counts if count is not None)

    @property
    def notices(self) -> tuple[str, ...]:
        """What the model is told of the images that it does not get."""
        return tuple(image.notice for image in self.left_out)

    @property
    def error(self) -> ImageBudgetExceeded | None:
        """Why the request must not be sent: a required image is left out. None: it may."""
        missing = [image for image in self.left_out if image.required]
        if not missing:
            return None
        first = missing[0]
        return ImageBudgetExceeded(
            f"{first.name} is needed and cannot go along: {first.text}",
            limit=first.limit,
            actual=first.actual,
            limit_kind=first.code,
            admitted=[image.names[0] for image in self.admitted],
            rejected=[image.name for image in missing],
        )

    def to_dict(self) -> dict[str, Any]:
        error = self.error
        return {
            **asdict(self),
            "byte_count": self.byte_count,
            "tokens": self.tokens,
            "notices": list(self.notices),
            "error": error.to_dict() if error else None,
        }


def admit(
    images: Iterable[Candidate | bytes | str | os.PathLike[str]],
    profile: Profile | str,
    *,
    limits: AdmissionLimits | None = None,
    sentences: Sentences = DEFAULT,
) -> Admission:
    """Which of the images a request to this receiver carries.

    Args:
        images: in the order in which they appear, oldest first; one that is no Candidate is required. Required ones are served in
            that order, then the others, newest first.
        profile: the receiver, for its own number of images and its price.
        limits: None: the defaults.
        sentences: what the model reads.

    Raises UnknownProfile. Never for an image: that stands in `left_out`, and in `error` where it was required.
    """
    receiver = profiles.get(profile) if isinstance(profile, str) else profile
    office = _Office(receiver, limits or AdmissionLimits(), sentences)
    asked = [(at, one if isinstance(one, Candidate) else Candidate(one)) for at, one in enumerate(images)]
    required = [pair for pair in asked if pair[1].required]
    for at, candidate in [*required, *reversed([pair for pair in asked if not pair[1].required])]:
        office.hear(at, candidate)
    admitted = sorted(office.admitted.values(), key=lambda image: min(image.sources))
    return Admission(receiver.name, tuple(admitted), tuple(sorted(office.left_out, key=lambda image: image.source)))


class _Refused(Exception):
    def __init__(self, code: str, text: str, limit: int | None = None, actual: int | None = None) -> None:
        super().__init__(text)
        self.code, self.text, self.limit, self.actual = code, text, limit, actual


_Seen = tuple[Probe, str, int]  # what the header says, SHA-256, bytes


def _seen(data: bytes, path: str | None) -> _Seen:
    # All bytes tell what it is the same as; what it is, the probe tells from at most 64 KiB of them.
    return probe(data, name=path), hashlib.sha256(data).hexdigest(), len(data)


class _Office:
    """Hears the candidates one after the other."""

    def __init__(self, receiver: Profile, limits: AdmissionLimits, sentences: Sentences) -> None:
        self.receiver = receiver
        self.limits = limits
        self.sentences = sentences
        own = receiver.max_images
        self.max_images = limits.max_images if own is None else min(own, limits.max_images)
        self.paths: dict[str, _Seen | _Refused] = {}
        self.admitted: dict[str, Admitted] = {}
        self.left_out: list[LeftOut] = []
        self.byte_count = 0

    def hear(self, at: int, candidate: Candidate) -> None:
        name = one_line(candidate.name or _name(candidate.source, at))
        what = "not looked at"
        try:
            found, sha256, byte_count = self._look(candidate.source)
            known = self.admitted.get(sha256)
            if known is not None:
                places = (*known.sources, at)
                self.admitted[sha256] = Admitted(**{**vars(known), "names": (*known.names, name), "sources": places})
                return
            size = f", {found.width} x {found.height}" if found.width else ""
            what = f"{found.format.mime}{size}, {byte_count:,} bytes, {sha256[:8]}"
            if not found.format.image or "pdf" in found.format.engines:
                raise _Refused("not_an_image", f"it is {found.format.mime}")
            self._check(found.width, found.height, byte_count)
        except _Refused as refused:
            notice = self.sentences.left_out.format(name=name, what=what, reason=refused.text)
            self.left_out.append(
                LeftOut(name, at, candidate.required, refused.code, refused.text, notice, refused.limit, refused.actual)
            )
            return
        self.byte_count += byte_count
        tokens = price(found.width, found.height, self.receiver, self.limits.max_image_pixels)
        self.admitted[sha256] = Admitted(
            (name,), (at,), candidate.required, sha256, found.format.mime, byte_count, found.width, found.height, tokens
        )

    def _look(self, source: bytes | str | os.PathLike[str]) -> _Seen:
        if isinstance(source, (bytes, bytearray, memoryview)):
            self._check_bytes(len(source))
            return _seen(bytes(source), None)
        path = os.path.abspath(os.path.expanduser(os.fspath(source)))
        if path not in self.paths:
            if len(self.paths) >= self.limits.max_paths:
                limit = self.limits.max_paths
                raise _Refused("too_many_paths", f"at most {limit} paths are looked at in a turn", limit)
            self.paths[path] = self._read(path)
        seen = self.paths[path]
        if isinstance(seen, _Refused):
            raise seen
        return seen

    def _read(self, path: str) -> _Seen | _Refused:
        try:
            self._check_bytes(os.stat(path).st_size)
            return _seen(b"".join(sources.blocks(path, self.limits.max_image_bytes)), path)
        except _Refused as refused:
            return refused
        except PixlaneError as error:
            return _Refused("unreadable", error.message)
        except (OSError, ValueError) as error:  # ValueError: a NUL in the name
            return _Refused("unreadable", getattr(error, "strerror", None) or str(error))

    def _check_bytes(self, byte_count: int) -> None:
        limit = self.limits.max_image_bytes
        if byte_count > limit:
            text = f"an image may have {limit:,} bytes, this has {byte_count:,}"
            raise _Refused("image_too_large", text, limit, byte_count)

    def _check(self, width: int | None, height: int | None, byte_count: int) -> None:
        most, pixels = self.limits.max_image_pixels, (width or 0) * (height or 0)
        if pixels > most:
            raise _Refused("too_many_pixels", f"an image may have {most:,} px, this has {pixels:,}", most, pixels)
        if len(self.admitted) >= self.max_images:
            text = f"a request may carry {self.max_images} images"
            raise _Refused("too_many_images", text, self.max_images, len(self.admitted) + 1)
        total, limit = self.byte_count + byte_count, self.limits.max_total_bytes
        if total > limit:
            text = f"the images of a request may have {limit:,} bytes together, with this one they have {total:,}"
            raise _Refused("too_many_bytes", text, limit, total)


def price(width: int | None, height: int | None, receiver: Profile, max_pixels: int) -> int | None:
    """Tokens of a picture; where its size is not known, the most that one of `max_pixels` can cost."""
    if width and height:
        return sizing.estimate_tokens(width, height, receiver)
    costs: list[int] = []
    for across, down in _turned(WORST_SHAPES):
        unit = (max_pixels / (across * down)) ** 0.5
        cost = sizing.estimate_tokens(max(1, int(across * unit)), max(1, int(down * unit)), receiver)
        if cost is None:
            return None
        costs.append(cost)
    return max(costs)


def _turned(shapes: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    return [*shapes, *((down, across) for across, down in shapes)]


def _name(source: Any, at: int) -> str:
    return f"image {at + 1}" if isinstance(source, (bytes, bytearray, memoryview)) else str(PurePath(os.fspath(source)))
