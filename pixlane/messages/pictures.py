"""Proofs and renditions of the images of a conversation, remembered by content: a history is looked at again with every turn."""

from __future__ import annotations

import hashlib
import threading
from collections import OrderedDict
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from pixlane import formats, settings
from pixlane.errors import PixlaneError
from pixlane.recipe import OUTPUT_TYPES, Recipe

if TYPE_CHECKING:
    from pixlane.client import Client, Job
    from pixlane.imaging.proof import Proof
    from pixlane.rendition import Rendition

FULL_SIDE_PX = 65_500  # the largest side that a recipe can name: no limit
QUALITIES = (92, 85, 70, 50)  # where nothing but the format forces a new encoding, little is lost
VECTOR_ENGINES = ("svg", "pdf")

MEMORY_BYTES = 64 * settings.MIB
MEMORY_ENTRIES = 4096
QUEUE_PATIENCE_S = 30.0  # a job may wait so long behind others, seconds
ENTRY_BYTES = 512  # what an entry costs besides its pixels


class Memory:
    """What was found out about images, by SHA-256: at most `entries` findings and `byte_count` bytes; the oldest use leaves.

    Safe to share between threads, conversations and calls. Findings are facts of the bytes, so they never get old.
    """

    def __init__(self, byte_count: int = MEMORY_BYTES, entries: int = MEMORY_ENTRIES) -> None:
        self.byte_limit = byte_count
        self.entry_limit = entries
        self.byte_count = 0
        self._kept: OrderedDict[tuple[str, ...], tuple[Any, int]] = OrderedDict()
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._kept)

    def get(self, key: tuple[str, ...]) -> Any:
        with self._lock:
            if key not in self._kept:
                return None
            self._kept.move_to_end(key)
            return self._kept[key][0]

    def put(self, key: tuple[str, ...], value: Any, byte_count: int = 0) -> None:
        cost = byte_count + ENTRY_BYTES
        with self._lock:
            self.byte_count += cost - self._kept.pop(key, (None, 0))[1]
            self._kept[key] = value, cost
            while self.byte_count > self.byte_limit or len(self._kept) > self.entry_limit:
                self.byte_count -= self._kept.popitem(last=False)[1][1]


class Pictures:
    """Proofs and renditions, from the memory where they are there.

    Args:
        memory: None: one that ends with this object.
        client: draws through the queue and its cache; None: in this process.
    """

    def __init__(self, memory: Memory | None = None, client: Client | None = None) -> None:
        self.memory = memory if memory is not None else Memory()
        self.client = client
        self._jobs: dict[tuple[str, ...], Job] = {}

    def begin(self, sha256: str, data: bytes, recipe: Recipe) -> None:
        """Tells the queue of an image that `draw` will ask for: several are made at once. In this process nothing happens."""
        key = sha256, recipe.fingerprint
        if self.client is None or key in self._jobs or self.memory.get(key) is not None:
            return
        with suppress(PixlaneError):  # `draw` submits again, and says what is wrong
            self._jobs[key] = self.client.submit(data, recipe)

    def prove(self, sha256: str, data: bytes) -> Proof | PixlaneError:
        """One decode of the image, or what is wrong with it."""
        from pixlane.imaging.proof import prove

        return self._remembered((sha256, "proof"), lambda: prove(data), lambda _: 0)  # type: ignore[no-any-return]

    def draw(self, sha256: str, data: bytes, recipe: Recipe) -> Rendition | PixlaneError:
        """The image as the recipe wants it, or why that cannot be."""
        return self._remembered(  # type: ignore[no-any-return]
            (sha256, recipe.fingerprint), lambda: self._drawn(sha256, data, recipe), lambda rendition: len(rendition.data)
        )

    def words(self, sha256: str, describe: Callable[[], str | None]) -> str | None:
        """A description; one that failed is asked for again the next time."""
        known: str | None = self.memory.get((sha256, "words"))
        if known is None and (known := describe()) is not None:
            self.memory.put((sha256, "words"), known, len(known))
        return known

    def _drawn(self, sha256: str, data: bytes, recipe: Recipe) -> Rendition:
        if self.client is not None:
            job = self._jobs.pop((sha256, recipe.fingerprint), None) or self.client.submit(data, recipe)
            return job.result(settings.current().hard_timeout_s + QUEUE_PATIENCE_S)
        from pixlane.imaging import normalize

        return normalize(data, recipe)

    def _remembered(self, key: tuple[str, ...], find: Callable[[], Any], weigh: Callable[[Any], int]) -> Any:
        known = self.memory.get(key)
        if known is not None:
            return known
        try:
            found = find()
        except PixlaneError as error:
            if error.cacheable:
                self.memory.put(key, error)
            return error
        self.memory.put(key, found, weigh(found))
        return found


def full_size(data: bytes, accept: tuple[str, ...] = OUTPUT_TYPES) -> Recipe:
    """The recipe for an image that nothing limits but the receiver's formats; a vector is drawn at the usual ceiling."""
    vector = set(formats.detect(data).format.engines) & set(VECTOR_ENGINES)
    side = {} if vector else {"max_side": FULL_SIDE_PX}
    return Recipe(target_bytes=None, embed=False, accept=accept, jpeg_qualities=QUALITIES, **side)  # type: ignore[arg-type]


def is_untouched(rendition: Rendition) -> bool:
    """Whether the pixels are those of the source: then its bytes may go as they are."""
    return any(attempt.chosen and attempt.encoder == "untouched" for attempt in rendition.attempts)


def sha256_of(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
