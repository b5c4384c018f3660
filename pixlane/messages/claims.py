"""Sentences that speak of pixels: where the pixels are gone, they go too, or say what is true."""

from __future__ import annotations

import re

from pixlane.messages.changes import Change
from pixlane.messages.history import History, reference_pattern
from pixlane.messages.sentences import CLAIMS, Sentences

GONE = ("omitted", "described")
HANDLES = (("handle", "handle_unseen"), ("handle_url", "handle_url_unseen"))


def correct_references(history: History) -> None:
    """References to a picture that gave way, of this run and of earlier ones."""
    known = {item.reference for item in history.items if item.sha256}
    gone = known - {item.reference for item in history.shown}
    pattern = reference_pattern(history.sentences)
    unseen = history.sentences.repeated_unseen
    for item in history.items:
        if item.words is not None and item.reference in gone:
            item.words = pattern.sub(unseen, item.words)
    for text in history.texts if gone else ():
        told = pattern.sub(lambda found: unseen if found[1] in gone else found[0], text.text)
        if told != text.text:
            history.new_texts[text.path] = told
            history.changes.append(Change("claim_removed", text.path, "the text referred to an image that is not there any more"))


def correct(history: History) -> None:
    """Every text that stands beside images which gave way."""
    gone = {change.path for change in history.changes if change.code in GONE}
    for text in history.texts if gone else ():
        beside = [item.at.path in gone for item in history.items if item.at.path[: len(text.holder)] == text.holder]
        before = history.new_texts.get(text.path, text.text)
        told = _told(before, beside, history.sentences) if any(beside) else before
        if told != before:
            history.new_texts[text.path] = told
            history.changes.append(Change("claim_removed", text.path, "the text spoke of an image that is not there any more"))


def _told(text: str, gone: list[bool], sentences: Sentences) -> str:
    """The text without its claims; the handle of an image that is gone says that it is not shown."""
    if all(gone):
        for name in CLAIMS:
            text = _pattern(getattr(sentences, name)).sub("", text)
    lines = text.split("\n")
    handles = [(place, *found) for place, line in enumerate(lines) if (found := _handle(line, sentences))]
    # Handles stand in the order of the images; where their numbers differ, only what holds for all of them is sure.
    told = gone if len(gone) == len(handles) else [all(gone)] * len(handles)
    for (place, unseen, values), is_gone in zip(handles, told, strict=True):
        if is_gone:
            lines[place] = unseen.format(**values)
    whole = "\n".join(lines)
    return whole.strip("\n") if whole.strip() else ""


def _handle(line: str, sentences: Sentences) -> tuple[str, dict[str, str]] | None:
    for name, unseen in HANDLES:
        found = _pattern(getattr(sentences, name)).fullmatch(line)
        if found:
            return getattr(sentences, unseen), found.groupdict()
    return None


def _pattern(template: str) -> re.Pattern[str]:
    words = re.split(r"\{(\w+)\}", template)
    return re.compile("".join(f"(?P<{word}>.+)" if place % 2 else re.escape(word) for place, word in enumerate(words)))
