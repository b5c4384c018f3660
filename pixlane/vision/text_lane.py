"""The text lane: images as words in front of what the user said, for a model that is not shown any.

print(describe_for_text_model("What is wrong here?", ["shot.png"]))
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as Late
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from pixlane import settings as knobs
from pixlane.errors import DeadlineExceeded, PixlaneError
from pixlane.messages.admission import Admission, AdmissionLimits, Candidate, admit
from pixlane.messages.parts import one_line
from pixlane.messages.sentences import DEFAULT, Sentences
from pixlane.sources import Given
from pixlane.vision import telling
from pixlane.vision.adapter import Deadline
from pixlane.vision.eyes import DESCRIBE, Eyes
from pixlane.vision.memory import Memory
from pixlane.vision.named import Named, called, load
from pixlane.vision.observation import Observation

if TYPE_CHECKING:
    from pixlane.client import Client

AT_ONCE: Final = 4
"""Images that are looked at at the same time."""

ANY_RECEIVER: Final = "safe"


def describe_for_text_model(
    text: str,
    paths: Iterable[Given],
    *,
    prompt: str = DESCRIBE,
    model: str | None = None,
    workspace: str | os.PathLike[str] | None = None,
    roots: Sequence[str | os.PathLike[str]] | None = None,
    client: Client | None = None,
    config: Mapping[str, Any] | None = None,
    environ: Mapping[str, str] | None = None,
    remembered: Memory | None = None,
    deadline_s: float | None = None,
    limits: AdmissionLimits | None = None,
    sentences: Sentences = DEFAULT,
) -> str:
    """A block for each image, in their order, then the text.

    A block holds the description, who gave it, and the handle to look again; or it says that there is none, and the true reason.
    Where no model can look, text recognition on this machine reads what stands there (extra `ocr`), and the block says so.

    Args:
        text: what the user said; may be empty.
        paths: as for `vision.analyze`: files, `file:`, `data:` or http(s) URLs, or bytes. The same content is described once.
        prompt: what is asked of each.
        model: as for `view_image`; who is named here is never replaced by another.
        workspace, roots: as for `view_image`.
        client: workers look; None: this process, up to 4 images at a time.
        config, environ, remembered: as for `view_image`; without a client only.
        deadline_s: for all of them together; None: the setting `vision_timeout_s`. What is not there by then says so.
        limits: None: those of a request, 8 images, 20 MiB together, 16 paths.
        sentences: what the model reads.

    Never raises for an image; InvalidArgument for a deadline that is none.
    """
    deadline = Deadline.after(knobs.current().vision_timeout_s if deadline_s is None else deadline_s)
    room = limits or AdmissionLimits()
    images = [_Image(number, given) for number, given in enumerate(paths)]
    for image in images:
        image.load(room, workspace, roots)
    _admit(images, room)
    eyes = Eyes(model, client, config, environ, remembered)
    _describe(images, eyes, prompt, deadline)
    return telling.blocks([*(image.block(len(images), sentences) for image in images), text])


@dataclass
class _Image:
    """One image on its way to words."""

    number: int
    given: Given
    named: Named | None = None
    failure: str = ""
    seen: Observation | None = None
    same_as: _Image | None = None

    @property
    def name(self) -> str:
        if self.named is not None:
            return one_line(self.named.name)
        if isinstance(self.given, (bytes, bytearray, memoryview)):
            return f"image {self.number + 1}"
        return one_line(called(self.given))

    def load(self, room: AdmissionLimits, workspace: Any, roots: Any) -> None:
        if self.number >= room.max_paths:
            self.failure = f"at most {room.max_paths} paths are looked at in a turn"
            return
        try:
            self.named = load(self.given, workspace, roots)
        except PixlaneError as error:
            self.failure = telling.why_not(error)

    def block(self, count: int, sentences: Sentences) -> str:
        """What the model reads of it."""
        seen = self.same_as.seen if self.same_as is not None else self.seen
        failure = self.same_as.failure if self.same_as is not None else self.failure
        path = self.named.path if self.named is not None else None
        number = self.number + 1
        if seen is None or failure:
            lines = [sentences.eye_failed.format(number=number, count=count, name=self.name, reason=one_line(failure))]
            lines += [sentences.eye_again.format(path=one_line(path))] if path else []
            return "\n".join(lines)
        what = f"{self.name}, {telling.what(seen)}"
        lines = [sentences.eye_described.format(number=number, count=count, what=what, by=telling.by(seen, sentences))]
        lines.append(telling.quoted(telling.words(seen, sentences), sentences))
        lines += [sentences.eye_closer.format(path=one_line(path))] if path else []
        return "\n".join(lines)


def _admit(images: Sequence[_Image], room: AdmissionLimits) -> Admission:
    """Counts and bytes are held to before anybody looks; what is left out says why, the same content is looked at once."""
    loaded = [image for image in images if image.named is not None]
    admission = admit(
        [Candidate(image.named.data, name=image.name) for image in loaded if image.named], ANY_RECEIVER, limits=room
    )
    for out in admission.left_out:
        loaded[out.source].failure = out.text
    for one in admission.admitted:
        for place in one.sources[1:]:
            loaded[place].same_as = loaded[one.sources[0]]
    return admission


def _describe(images: Sequence[_Image], eyes: Eyes, prompt: str, deadline: Deadline) -> None:
    """Fills in what was seen, or why not."""
    wanted = [image for image in images if image.named is not None and not image.failure and image.same_as is None]
    if not wanted:
        return

    def look(data: bytes) -> Observation:
        left_s = deadline.left_s
        if left_s <= 0:
            raise _late(deadline)
        return eyes.look(data, prompt, timeout_s=left_s)[0]

    pool = ThreadPoolExecutor(min(AT_ONCE, len(wanted)), "pixlane-look")
    try:
        looks: list[tuple[_Image, Future[Observation]]] = [
            (image, pool.submit(look, image.named.data)) for image in wanted if image.named
        ]
        for image, coming in looks:
            try:
                image.seen = coming.result(max(0.0, deadline.left_s))
            except Late:
                image.failure = telling.why_not(_late(deadline))
            except Exception as error:  # noqa: BLE001  whatever it is, the image is only not described, and the block says so
                image.failure = telling.why_not(error)
    finally:
        pool.shutdown(wait=False, cancel_futures=True)  # what is on its way ends at its own deadline


def _late(deadline: Deadline) -> DeadlineExceeded:
    return DeadlineExceeded(f"the description was not there within {deadline.seconds:g} s", limit=deadline.seconds)
