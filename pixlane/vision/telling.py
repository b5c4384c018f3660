"""An observation in words, for a model that is not shown the picture. What stands in a picture is quoted, never obeyed.

Every line that comes from the picture or from a model begins with a quotation mark of its own, so that none of them can pass for
one of the lines around it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from pixlane.errors import PixlaneError
from pixlane.messages.invisible import clean
from pixlane.messages.parts import one_line
from pixlane.messages.presenting import disarmed
from pixlane.messages.sentences import DEFAULT, Sentences
from pixlane.vision.findings import Box, Text
from pixlane.vision.observation import Observation

MAX_CHARS: Final = 16_000
"""Of one description; the middle of a longer one is left out."""

HEAD_SHARE: Final = 0.7
SAME_ROW: Final = 1.5  # heights between the middles of two texts of one row, at most: a page may lie askew


def words(seen: Observation, sentences: Sentences = DEFAULT) -> str:
    """What was seen: the summary, the text row by row, elements, issues, and what is uncertain."""
    said = [seen.summary]
    if seen.ocr:
        said += ["Text in it:", *rows(seen.ocr)]
    named = [
        " ".join(filter(None, (element.role, element.text and repr(element.text), element.description, _at(element.box))))
        for element in seen.elements
    ]
    said += ["Elements:", *named] if named else []
    said += [f"Issue: {issue.type}: {issue.description}{_at(issue.box, ' ')}" for issue in seen.issues]
    said += [f"Uncertain: {one}" for one in seen.uncertainties]
    return cut(plain("\n".join(said), sentences), MAX_CHARS, sentences)


def attributed(seen: Observation, sentences: Sentences = DEFAULT) -> str:
    """The words, and who says them, for a place that has no line of its own for that."""
    return f"({by(seen, sentences)}) {words(seen, sentences)}"


def by(seen: Observation, sentences: Sentences = DEFAULT) -> str:
    """Who looked."""
    who = seen.generated_by
    if who.mode == "local_ocr":
        return sentences.by_ocr.format(model=who.model)
    return sentences.by_model.format(model=one_line(f"{who.provider}/{who.model}"))


def what(seen: Observation) -> str:
    """The file: type and size."""
    reference = seen.reference
    size = f", {reference.size[0]} x {reference.size[1]} px" if reference.size else ""
    region = seen.region
    part = f", of which x {region.x}, y {region.y}, {region.width} x {region.height} px" if region else ""
    return f"{reference.mime}{size}{part}, {reference.id}"


def quoted(text: str, sentences: Sentences = DEFAULT) -> str:
    return "\n".join(sentences.quoted.format(line=line) for line in text.splitlines())


def why_not(error: BaseException) -> str:
    """The true reason of a failure, on one line."""
    if not isinstance(error, PixlaneError):
        return one_line(f"{type(error).__name__}: {error}")[:300]
    local = error.details.get("local")
    return one_line(f"{error.code}: {error.message}{f'; {local}' if local else ''}")


def rows(texts: Iterable[Text]) -> list[str]:
    """Texts that follow each other and stand beside each other are one row."""
    found: list[list[Text]] = []
    for text in texts:
        if found and _beside(found[-1][-1].box, text.box):
            found[-1].append(text)
        else:
            found.append([text])
    return ["   ".join(text.text for text in row) for row in found]


def plain(text: str, sentences: Sentences) -> str:
    """Nothing invisible, and no line that speaks of a file as only this library may."""
    return disarmed(str(clean(text).value), sentences)[0]


def cut(text: str, limit: int, sentences: Sentences) -> str:
    if len(text) <= limit:
        return text
    head = int(limit * HEAD_SHARE)
    tail = limit - head
    return f"{text[:head]}\n{sentences.text_cut.format(count=len(text) - limit)}\n{text[-tail:]}"


def _beside(first: Box | None, second: Box | None) -> bool:
    if first is None or second is None or second.x < first.x + first.width:
        return False
    apart = abs(first.y + first.height / 2 - second.y - second.height / 2)
    return apart <= SAME_ROW * min(first.height, second.height)


def _at(box: Box | None, before: str = "") -> str:
    return f"{before}at {box.x:.0f},{box.y:.0f} {box.width:.0f}x{box.height:.0f}" if box else ""


def blocks(parts: Sequence[str]) -> str:
    """Parts with an empty line between them; empty ones are left out."""
    return "\n\n".join(part for part in parts if part)
