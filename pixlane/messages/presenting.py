"""The images of one tool result: kept as files, then shown to the model, described, or named with the true reason."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, Protocol

from pixlane.errors import OutputUnwritable, PixlaneError, ServiceError
from pixlane.messages import describing
from pixlane.messages.budgets import CallBudget
from pixlane.messages.describing import Describe
from pixlane.messages.invisible import clean
from pixlane.messages.media import MediaFolder
from pixlane.messages.parts import About, one_line, scale_line
from pixlane.messages.pictures import Pictures, sha256_of
from pixlane.messages.sentences import Sentences
from pixlane.recipe import Recipe
from pixlane.rendition import Rendition

MAX_TRIES = 16  # images of one result that are decoded; one that fails leaves its place to the next


class Gate(Protocol):
    """Whether pixels in a tool result reach the model on this route, and why."""

    @property
    def open(self) -> bool: ...

    @property
    def reason(self) -> str: ...


@dataclass(frozen=True)
class ToolImage:
    """An image as it goes to the model. Sizes in px; `sha256` and the source's size are of what the tool returned."""

    data: bytes = field(repr=False)
    mime: str
    width: int
    height: int
    sha256: str
    source_width: int
    source_height: int
    path: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """Without the pixels."""
        return {**{name: value for name, value in vars(self).items() if name != "data"}, "byte_count": len(self.data)}


@dataclass
class Shot:
    """An image that a tool returned, and what becomes of it.

    Attributes:
        name: what it is called where it has no file.
        path: of its file.
        image: what the model sees; None: it does not.
        lines: what the model is told of it.
        beside: what is true only beside the pixels.
    """

    data: bytes = field(repr=False)
    name: str
    path: str | None = None
    image: ToolImage | None = None
    lines: list[str] = field(default_factory=list)
    beside: list[str] = field(default_factory=list)
    sha256: str = ""

    def __post_init__(self) -> None:
        self.sha256 = sha256_of(self.data)

    @property
    def called(self) -> str:
        return self.path or self.name


@dataclass
class Presenter:
    """Where the images of one result are made ready. `notes` says what was done and what was not."""

    gate: Gate
    recipe: Recipe
    describe: Describe | None
    pictures: Pictures
    media: MediaFolder
    budget: CallBudget | None
    sentences: Sentences
    notes: list[About] = field(default_factory=list)

    def note(self, source: str, code: str, text: str) -> None:
        self.notes.append(About(source, code, text))

    def keep(self, data: bytes, sha256: str, extension: str, name: str) -> str | None:
        """The path of the file that holds the data; None where it cannot be written, which a note tells."""
        try:
            return self.media.keep(data, sha256, extension)
        except OutputUnwritable as error:
            self.note(name, "not_kept", error.message)
            return None

    def sweep(self) -> None:
        """Files whose day is over are removed."""
        try:
            self.media.sweep()
        except OutputUnwritable as error:
            self.note("files", "not_kept", error.message)

    def present(self, shots: Sequence[Shot], max_images: int) -> None:
        """Each content once, at most `max_images` of them; the others are named."""
        first: dict[str, Shot] = {}
        for shot in shots:
            if first.setdefault(shot.sha256, shot) is not shot:
                self.note(shot.called, "same_content", f"the same content as {first[shot.sha256].called}; shown once")
        unique = list(first.values())
        if self.gate.open:
            self._show(unique, max_images)
        else:
            self._tell(unique, max_images)

    # The gate is open ------------------------------------------------------------------------------------------------------

    def _show(self, shots: list[Shot], max_images: int) -> None:
        for shot in shots[:max_images]:
            self.pictures.begin(shot.sha256, shot.data, self.recipe)
        for tries, shot in enumerate(shots):
            if sum(one.image is not None for one in shots) >= max_images or tries >= MAX_TRIES:
                self._too_many(shot, max_images)
            elif self._may_load(shot):
                rendition = self._draw(shot)
                if rendition is None:
                    self._give_back(shot)
                else:
                    self._attach(shot, rendition)

    def _attach(self, shot: Shot, rendition: Rendition) -> None:
        source = rendition.source
        shot.image = ToolImage(
            rendition.data,
            rendition.mime,
            rendition.width,
            rendition.height,
            shot.sha256,
            source.width,
            source.height,
            shot.path,
        )
        scale = scale_line(shot.called, rendition, self.sentences)
        if scale:
            shot.beside.append(scale)
        self.notes += [About(shot.called, note.code, note.text) for note in rendition.notes]

    def _may_load(self, shot: Shot) -> bool:
        if self.budget is None:
            return True
        try:
            call = self.budget.take(shot.sha256)
        except ServiceError as error:  # a budget that cannot be asked must not cost the model its eyes
            self.note(shot.called, "budget_unknown", error.message)
            return True
        if not call.allowed:
            self.note(shot.called, "calls_spent", f"loaded {call.times}, allowed are {call.limit}")
            shot.lines.append(call.refusal)
        return call.allowed

    def _give_back(self, shot: Shot) -> None:
        if self.budget is not None:
            try:
                self.budget.give_back(shot.sha256)
            except ServiceError as error:
                self.note(shot.called, "budget_unknown", error.message)

    # The gate is closed ----------------------------------------------------------------------------------------------------

    def _tell(self, shots: list[Shot], max_images: int) -> None:
        """Words in place of pixels; the describer works on several at once."""
        told = shots[:max_images]
        for shot in shots[max_images:]:
            self._too_many(shot, max_images)
        if self.describe is None:
            for shot in told:
                self._not_shown(shot, self.gate.reason)
            return
        for shot in told:
            self.pictures.begin(shot.sha256, shot.data, self.recipe)
        drawn = [(shot, rendition) for shot in told if (rendition := self._draw(shot)) is not None]
        if not drawn:
            return
        with ThreadPoolExecutor(min(describing.MAX_AT_ONCE, len(drawn)), "pixlane-describe") as pool:
            for (shot, _), (words, failure) in zip(drawn, pool.map(self._describe, drawn), strict=True):
                if words is None:
                    self._not_shown(shot, f"{self.gate.reason}; {failure}")
                else:
                    self.note(shot.called, "described", self.gate.reason)
                    shot.lines.append(self.sentences.described.format(description=self.plain(words)))

    def _describe(self, drawn: tuple[Shot, Rendition]) -> tuple[str | None, str]:
        shot, rendition = drawn
        failure = ""

        def ask() -> str | None:
            nonlocal failure
            words, failure = describing.attempt(self.describe, rendition.data)
            return words

        return self.pictures.words(shot.sha256, ask), failure

    def _not_shown(self, shot: Shot, why: str) -> None:
        self.note(shot.called, "not_shown", why)
        shot.lines.append(self.sentences.not_shown.format(reason=one_line(why)))

    # Both ------------------------------------------------------------------------------------------------------------------

    def _draw(self, shot: Shot) -> Rendition | None:
        found = self.pictures.draw(shot.sha256, shot.data, self.recipe)
        if not isinstance(found, PixlaneError):
            return found
        self._not_attached(shot, found.code, found.message, found.code.replace("_", " "))
        return None

    def _too_many(self, shot: Shot, max_images: int) -> None:
        why = f"at most {max_images} images of a result are shown"
        self._not_attached(shot, "too_many_images", why, why)

    def _not_attached(self, shot: Shot, code: str, text: str, told: str) -> None:
        self.note(shot.called, code, text)
        shot.lines.append(self.sentences.not_attached.format(path=one_line(shot.called), reason=told))

    def plain(self, text: str) -> str:
        """Somebody else's words: nothing invisible, and no line that speaks of a file as only this library may."""
        cleaned = clean(text)
        if cleaned.changed:
            removed = f"{cleaned.tags} TAG characters were removed, {cleaned.surrogates} lone surrogates replaced"
            self.note("text", "invisible_removed", removed)
        text, count = disarmed(str(cleaned.value), self.sentences)
        if count:
            self.note("text", "media_line_foreign", f"{count} media lines that name no file of this result were made plain text")
        return text


def disarmed(text: str, sentences: Sentences) -> tuple[str, int]:
    """The text with each beginning of a media line spelled apart ("MEDIA :"), and how many there were.

    Programs send the file that such a line names to the user; a server could name any file of this machine.
    """
    start = sentences.media.partition("{path}")[0].strip()
    if not start or start not in text:
        return text, 0
    return text.replace(start, f"{start[:-1]} {start[-1]}"), text.count(start)
