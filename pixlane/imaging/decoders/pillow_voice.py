"""What Pillow says beside its result: warnings become notes, and its own limit on pixels an error with our limit."""

from __future__ import annotations

import ctypes
import os
import re
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

from pixlane.errors import TooManyPixels
from pixlane.imaging.work import Work

_PLACES = ("PIL", "pillow_avif", "pillow_heif")  # packages whose warnings are taken
_NUMBER = re.compile(r"\((\d+) pixels\)")


class _Turn:
    """One thread at a time: the filters of warnings are the process's."""

    lock = threading.RLock()
    registered = False

    def take(self) -> threading.RLock:
        if not self.registered and hasattr(os, "register_at_fork"):
            self.registered = True
            os.register_at_fork(after_in_child=self._anew)  # another thread may have held it
        return self.lock

    def _anew(self) -> None:
        self.lock = threading.RLock()


_turn = _Turn()


@contextmanager
def heard(work: Work) -> Iterator[None]:
    """Around a call of Pillow. What it warns of goes into the note `repaired`; what others warn of meanwhile is passed on.

    Raises TooManyPixels in place of Pillow's DecompressionBombError.
    """
    from PIL import Image

    try:
        with _turn.take(), _quiet_libtiff(work.detected.name), warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            yield
    except Image.DecompressionBombError as error:
        raise _too_many(work, str(error)) from error
    finally:
        for warning in caught:
            if not _is_theirs(warning.filename):
                warnings.warn_explicit(warning.message, warning.category, warning.filename, warning.lineno)
            elif warning.category is UserWarning:  # sizes, which have a class of their own, are checked by `guard`
                work.note("repaired", f"passed over: {' '.join(str(warning.message).split())[:200]}")


@contextmanager
def _quiet_libtiff(name: str) -> Iterator[None]:
    """Pillow's own libtiff prints what it then raises as well; for this call it prints nothing."""
    setters = _libtiff_setters() if name == "tiff" else ()
    before = [setter(None) for setter in setters]
    try:
        yield
    finally:
        for setter, handler in zip(setters, before, strict=True):
            setter(handler)


@cache
def _libtiff_setters() -> tuple[Any, ...]:
    """The functions that take a handler and give the one before; none where the library does not show them."""
    from PIL import _imaging

    try:
        library = ctypes.CDLL(_imaging.__file__)  # which finds what it was linked with
        setters = library.TIFFSetErrorHandler, library.TIFFSetWarningHandler
    except (OSError, AttributeError, TypeError):
        return ()
    for setter in setters:
        setter.argtypes, setter.restype = [ctypes.c_void_p], ctypes.c_void_p
    return setters


def _too_many(work: Work, said: str) -> TooManyPixels:
    limit = work.limits.max_pixels
    number = _NUMBER.search(said)
    pixels = int(number[1]) if number else None
    has = f"{pixels:,} px" if pixels else "too many pixels"
    return TooManyPixels(f"a picture inside has {has}, allowed are {limit:,}", limit=limit, actual=pixels)


def _is_theirs(filename: str) -> bool:
    return any(f"{os.sep}{place}{os.sep}" in filename for place in _PLACES)
