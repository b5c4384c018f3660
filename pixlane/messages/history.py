"""A history under repair: its images, what becomes of each, and the messages that come out."""

from __future__ import annotations

import re
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

from pixlane.errors import PixlaneError
from pixlane.messages import describing, wires
from pixlane.messages.changes import Change
from pixlane.messages.describing import Describe
from pixlane.messages.pictures import FULL_SIDE_PX, QUALITIES, VECTOR_ENGINES, Pictures
from pixlane.messages.sentences import Sentences
from pixlane.messages.wires import ImageAt, Part, Path, Wire
from pixlane.profiles import DEFAULT_CEILING_PX, Profile
from pixlane.recipe import OUTPUT_TYPES, Recipe

ALREADY_SAID = ("resized", "declared_type_wrong")  # notes of a rendition that a change tells in its own words
ID_DIGITS = 12  # hex digits of the SHA-256 by which a reference names a picture


@dataclass
class Item:
    """An image and what becomes of it.

    Attributes:
        at: where it stands.
        sha256: of the bytes that came in; "" where they are elsewhere.
        data, mime, size: what is sent: bytes, type, px; None for an image that is elsewhere.
        source: the bytes that came in; every new encoding begins there.
        rewritten: the part has to be written anew.
        words: what takes its place; None: it stays.
        moved: it goes out of its tool result.
        vector: the source has no pixels of its own.
    """

    at: ImageAt
    sha256: str = ""
    data: bytes | None = field(default=None, repr=False)
    mime: str = ""
    size: tuple[int, int] | None = None
    source: bytes = field(default=b"", repr=False)
    rewritten: bool = False
    words: str | None = None
    moved: bool = False
    vector: bool = False

    @property
    def shown(self) -> bool:
        return self.words is None

    @property
    def chars(self) -> int:
        """Base64 characters that it takes in the request."""
        return 4 * -(-len(self.data) // 3) if self.data is not None else 0

    @property
    def reference(self) -> str:
        return self.sha256[:ID_DIGITS]


class History:
    """The messages, the images in them, and what was changed so far."""

    def __init__(
        self,
        messages: Sequence[Any],
        profile: Profile,
        wire: Wire,
        describe: Describe | None,
        required: frozenset[Path],
        sentences: Sentences,
        pictures: Pictures,
    ) -> None:
        self.messages = messages
        self.profile = profile
        self.wire = wire
        self.describe = describe
        self.required = required
        self.sentences = sentences
        self.pictures = pictures
        self.items = [Item(image) for image in wires.images(messages, wire)]
        self.texts = wires.texts(messages, wire)
        self.new_texts: dict[Path, str] = {}
        self.changes: list[Change] = []
        self.plain: set[int] = set()  # messages that become one string, where only texts are left in them
        self._described: dict[str, tuple[str | None, str]] = {}

    @property
    def shown(self) -> list[Item]:
        return [item for item in self.items if item.shown]

    @property
    def accept(self) -> tuple[str, ...]:
        return self.profile.accept or self.wire.accepts

    def note(self, code: str, item: Item, text: str) -> None:
        self.changes.append(Change(code, item.at.path, text))

    def say(self, item: Item, code: str, words: str, why: str) -> None:
        """Words in place of the image."""
        item.words = words
        self.note(code, item, why)

    def omit(self, item: Item, why: str, *, words: str | None = None) -> None:
        self.say(item, "omitted", words or self.sentences.omitted_because.format(reason=why), why)

    def give_way(self, item: Item, why: str) -> None:
        """A description in place of the image, or a placeholder with the true reason."""
        if item.data is None:
            self.omit(item, why)
            return
        words, failure = self._words(item) if self.describe is not None else (None, "")
        if words is None:
            said = f"{why}; {failure}" if failure else why
            self.omit(item, said, words=self.sentences.omitted_because.format(reason=why))
        else:
            self.say(item, "described", self.sentences.described.format(description=words), why)

    def describe_ahead(self, items: Sequence[Item]) -> None:
        """Asks for the descriptions of images that will give way, several at once."""
        asked = list({item.sha256: item for item in items if item.data is not None}.values())
        if self.describe is not None and len(asked) > 1:
            with ThreadPoolExecutor(min(describing.MAX_AT_ONCE, len(asked)), "pixlane-describe") as pool:
                list(pool.map(self._words, asked))

    def _words(self, item: Item) -> tuple[str | None, str]:
        """The description, or None and why there is none; asked for once in a run."""
        if item.sha256 not in self._described:
            failure = ""

            def ask() -> str | None:
                nonlocal failure
                words, failure = describing.attempt(self.describe, item.data or b"")
                return words

            self._described[item.sha256] = self.pictures.words(item.sha256, ask), failure
        return self._described[item.sha256]

    def redraw(
        self,
        item: Item,
        code: str,
        why: str,
        *,
        side_px: int | None = None,
        chars: int | None = None,
        pixels: int | None = None,
    ) -> bool:
        """The image encoded anew within the receiver's limits and these; gives way where that cannot be."""
        profile = self.profile
        sides = (FULL_SIDE_PX, profile.max_side_px, side_px, (profile.ceiling_px or DEFAULT_CEILING_PX) if item.vector else None)
        targets = [limit for limit in (profile.max_data_url_chars, chars) if limit is not None]
        recipe = Recipe(
            target_bytes=min(targets, default=None),
            embed=False,
            max_side=min(side for side in sides if side is not None),
            accept=tuple(mime for mime in OUTPUT_TYPES if mime in self.accept),
            shrink="fine",
            jpeg_qualities=QUALITIES,
            min_accepted_side=profile.min_side_px,
            max_aspect=profile.max_aspect,
            max_total_pixels=pixels,
            allow_truncated=True,
        )
        return self.draw(item, recipe, code, why)

    def draw(self, item: Item, recipe: Recipe, code: str, why: str) -> bool:
        """The image as the recipe wants it; gives way where that cannot be."""
        rendition = self.pictures.draw(item.sha256, item.source, recipe)
        if isinstance(rendition, PixlaneError):
            if item.data is None:
                self.omit(item, rendition.message, words=self.placeholder(item, rendition))
            else:
                self.give_way(item, rendition.message)
            return False
        before = item.size
        item.data, item.mime, item.rewritten = rendition.data, rendition.mime, True
        item.size = rendition.width, rendition.height
        resized = (
            f"; {before[0]} x {before[1]} px became {item.size[0]} x {item.size[1]}" if before not in (None, item.size) else ""
        )
        told = "".join(f"; {note.text}" for note in rendition.notes if note.code not in ALREADY_SAID)
        self.note(code, item, f"{why}; now {item.mime}, {len(rendition.data):,} bytes{resized}{told}")
        return True

    def placeholder(self, item: Item, error: PixlaneError) -> str:
        """What stands for an image that cannot be saved; names its type."""
        if error.code in ("unsupported_format", "engine_missing", "unsafe_svg", "render_failed"):
            return self.sentences.omitted.format(type=item.mime or item.at.mime or "this data")
        return self.sentences.omitted_because.format(reason=f"{item.at.mime or 'image'}, {error.code.replace('_', ' ')}")

    def part(self, item: Item) -> Any:
        """The image's part as it is sent."""
        if not item.rewritten or item.data is None:
            return item.at.part
        return self.wire.with_image(item.at.part, item.mime, item.data)

    def assembled(self, *, without_images: bool = False) -> list[Any]:
        """The messages that come out; `without_images` for measuring the rest."""
        changed: dict[Path, Sequence[Any] | str] = dict(self.new_texts)
        for text in self.texts:
            if self.new_texts.get(text.path) == "" and text.part_path != text.path:
                del changed[text.path]
                changed[text.part_path] = []
        moved: dict[int, list[Part]] = {}
        for item in self.items:
            if item.words is not None:
                changed[item.at.path] = [self.wire.text_part(item.words)]
            elif without_images:
                changed[item.at.path] = []
            elif item.moved:
                changed[item.at.path] = [self.wire.text_part(self.sentences.moved)]
                parts = [self.wire.text_part(self.sentences.moved_here), self._outside(item)]
                moved.setdefault(item.at.message_index, []).extend(parts)
            elif item.rewritten:
                changed[item.at.path] = [self.part(item)]
        messages = wires.replace(self.messages, self.wire, changed)
        for index in self.plain:
            messages[index] = self.wire.as_string(messages[index])
        return _with_moved(messages, moved, self.wire)

    def _outside(self, item: Item) -> Part:
        """The part that a moved image has in a user's message."""
        if item.data is not None:
            return self.wire.image_part(item.mime, item.data)
        return self.wire.url_part(item.at.url) if item.at.url and self.wire.takes_url else item.at.part


def reference_pattern(sentences: Sentences) -> re.Pattern[str]:
    """Matches the sentence that refers to a picture elsewhere; its one group is the picture's id."""
    before, _, after = sentences.repeated.partition("{id}")
    return re.compile(f"{re.escape(before)}([0-9a-f]{{{ID_DIGITS}}}){re.escape(after)}")


def is_vector(engines: Sequence[str]) -> bool:
    return bool(set(engines) & set(VECTOR_ENGINES))


def _with_moved(messages: list[Any], moved: dict[int, list[Part]], wire: Wire) -> list[Any]:
    """The messages with parts after the tool results that they came in, by the index of the message."""
    if wire.tool_results_in_user:
        return [wire.append(message, moved[index]) if index in moved else message for index, message in enumerate(messages)]
    out: list[Any] = []
    waiting: list[Part] = []
    for index, message in enumerate(messages):
        if waiting and not wire.is_tool_message(message):
            out.append(wire.user_message(waiting))
            waiting = []
        out.append(message)
        waiting = [*waiting, *moved.get(index, ())]
    return [*out, wire.user_message(waiting)] if waiting else out
