"""What an engine's words mean: libraries tell by their sentences alone whether data is missing, or memory, or a codec."""

from __future__ import annotations

import errno
import re

from pixlane.errors import CorruptInput, OutOfMemory, PixlaneError, UnsupportedFormat

_DATA_MISSING = re.compile(
    r"truncated|not processed|unexpected end|end of (?:file|stream|data)|\beof\b|not enough (?:image )?data", re.IGNORECASE
)
# libheif calls it a memory allocation error too where a file passes a bound of its own, and then says which; libtiff speaks of
# memory where a tag claims more values than there can be.
_NO_MEMORY = re.compile(
    r"out of memory(?! reading of)|insufficient memory|memory allocation error \("
    r"|allocating \d+ bytes failed|error creating thread",
    re.IGNORECASE,
)
# What libheif says of a damaged picture, and as well where its decoder found no memory.
_EITHER = re.compile(r"unexpected c\+\+ exception|did not give a decompressed image", re.IGNORECASE)
_NOT_BUILT_IN = re.compile(
    r"unsupported|not supported|not configured|not implemented|no decode|not a whole number of bytes", re.IGNORECASE
)


def means_cut_off(said: str) -> bool:
    """Data is missing at the end."""
    return bool(_DATA_MISSING.search(said))


def check_memory(said: str) -> None:
    """Raise OutOfMemory where that was it: it says something about this machine now, and nothing about the picture."""
    if _NO_MEMORY.search(said):
        raise OutOfMemory(f"there was not enough memory to decode it: {said}")


def lacks_memory(error: Exception) -> bool:
    """There was no memory for something beside the picture either: a library to be loaded, a thread to be begun."""
    return (
        isinstance(error, MemoryError)
        or (isinstance(error, OSError) and error.errno == errno.ENOMEM)
        or (isinstance(error, ImportError) and "failed to map segment" in str(error))
        or (isinstance(error, RuntimeError) and "can't start new thread" in str(error))
    )


def check_room(said: str, needed_bytes: int) -> None:
    """Raise OutOfMemory where the words leave it open, and there is not so much memory as the picture needs in any case."""
    if _EITHER.search(said):
        try:
            bytearray(needed_bytes)  # not touched, so it costs nothing where there is room
        except MemoryError:
            raise OutOfMemory(f"there was not enough memory to decode it: {said}", actual=needed_bytes) from None


def unreadable(said: str, otherwise: str = "the picture data is damaged") -> PixlaneError:
    """The error for what an engine refuses in these words; `otherwise` says what is wrong with it. Raises OutOfMemory."""
    check_memory(said)
    if _NOT_BUILT_IN.search(said):
        return UnsupportedFormat(f"the picture is coded in a way that is not decoded: {said}")
    return CorruptInput(f"{otherwise}: {said}")
