"""How often an image may be loaded in one conversation: each load rides along in every later request."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pixlane.errors import InvalidArgument
from pixlane.messages.call_counts import Counts, MemoryCounts
from pixlane.messages.sentences import DEFAULT, Sentences

DELEGATED_LIMIT = 3  # for an agent that another agent started, where nothing is configured
_SHA256 = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True)
class Call:
    """Whether an image may be loaded now.

    Attributes:
        allowed: it may, and this call is counted.
        count: counted calls of this image in this conversation, this one among them when it is allowed.
        limit: None: there is none.
        refusal: what the model is told; "" when it is allowed.
    """

    allowed: bool
    count: int
    limit: int | None
    refusal: str = ""

    @property
    def times(self) -> str:
        """The count in words."""
        return times(self.count)


def times(count: int) -> str:
    return {1: "once", 2: "twice"}.get(count, f"{count} times")


class CallBudget:
    """The calls of one conversation. An image is what its bytes are: other paths and crops of it count as the same.

    Args:
        max_calls_per_image: None, 0 or less: no limit; then nothing is counted.
        conversation: any text that is the same for all processes of the conversation.
        counts: `MemoryCounts()` shared by who counts together in this process, or `RedisCounts(url)`; None: counts of its own.
        sentences: what the model reads.
    """

    def __init__(
        self,
        max_calls_per_image: int | None,
        conversation: str = "",
        counts: Counts | None = None,
        *,
        sentences: Sentences = DEFAULT,
    ) -> None:
        self.limit = max_calls_per_image if max_calls_per_image is not None and max_calls_per_image > 0 else None
        self.conversation = conversation
        self.counts: Counts = counts if counts is not None else MemoryCounts()
        self.sentences = sentences

    def take(self, image: bytes | str) -> Call:
        """Asks for one load of an image: its bytes, or their SHA-256. A region of it is asked for by the whole image.

        Checking and counting are one step: of any number of callers at once, no more than the limit are allowed. Raises
        InvalidArgument, and with `RedisCounts` StoreUnavailable and StoreFull.
        """
        if self.limit is None:
            return Call(True, 0, None)
        taken, count = self.counts.take(self.conversation, _identity(image), self.limit)
        refusal = "" if taken else self.sentences.calls_spent.format(count=count, times=times(count), limit=self.limit)
        return Call(taken, count, self.limit, refusal)

    def give_back(self, image: bytes | str) -> None:
        """Of an allowed call that came to nothing, so that it does not count."""
        if self.limit is not None:
            self.counts.give_back(self.conversation, _identity(image))

    def calls(self, image: bytes | str) -> int:
        """Counted calls of the image so far."""
        return 0 if self.limit is None else self.counts.count(self.conversation, _identity(image))


def call_limit(config: Mapping[str, Any], *, delegated: bool = False) -> int | None:
    """`vision.max_calls_per_image` of an agent's configuration; None: no limit.

    A whole number counts for everybody, 0 and less are no limit. Where it is unset, or no whole number, an agent that another
    one started has 3 calls, any other no limit.
    """
    vision = config.get("vision")
    value = vision.get("max_calls_per_image") if isinstance(vision, Mapping) else None
    if isinstance(value, str) and re.fullmatch(r"\s*[+-]?\d{1,9}\s*", value):
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int):
        return DELEGATED_LIMIT if delegated else None
    return value if value > 0 else None


def _identity(image: bytes | str) -> str:
    if isinstance(image, (bytes, bytearray, memoryview)):
        return hashlib.sha256(image).hexdigest()
    if isinstance(image, str) and _SHA256.fullmatch(image):
        return image
    raise InvalidArgument(
        "an image is counted by its bytes or by their SHA-256, 64 lower-case hex digits", actual=str(image)[:80]
    )
