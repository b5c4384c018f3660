"""The vision tool: a question about one picture, answered with the picture where the model sees, with words where it does not.

gate = native_tool_images("anthropic", "claude-sonnet-4-5", config)
analyze("shot.png", "What does the dialog say?", gate=gate).message(call_id, "anthropic")
"""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from pixlane import profiles, sizing
from pixlane.errors import BY_CODE, InvalidArgument, PixlaneError
from pixlane.messages.admission import AdmissionLimits, Candidate, admit
from pixlane.messages.budgets import CallBudget
from pixlane.messages.media import MediaFolder
from pixlane.messages.parts import About, one_line
from pixlane.messages.pictures import Memory as Renditions
from pixlane.messages.presenting import Gate
from pixlane.messages.sentences import DEFAULT, Sentences
from pixlane.messages.tool_results import ToolResult, from_capture, tool_recipe
from pixlane.recipe import Recipe, Region
from pixlane.sources import Given
from pixlane.vision import telling
from pixlane.vision.eyes import Eyes
from pixlane.vision.looking import Question, path_of
from pixlane.vision.memory import Memory
from pixlane.vision.named import Named, called, load
from pixlane.vision.results import failed
from pixlane.vision.text_lane import ANY_RECEIVER

if TYPE_CHECKING:
    from pixlane.client import Client


def analyze(
    image: Given,
    question: str,
    region: Region | Sequence[int] | None = None,
    *,
    gate: Gate,
    profile: str = ANY_RECEIVER,
    recipe: Recipe | None = None,
    attached: Collection[str] = (),
    budget: CallBudget | None = None,
    model: str | None = None,
    workspace: str | os.PathLike[str] | None = None,
    roots: Sequence[str | os.PathLike[str]] | None = None,
    client: Client | None = None,
    config: Mapping[str, Any] | None = None,
    environ: Mapping[str, str] | None = None,
    remembered: Memory | None = None,
    renditions: Renditions | None = None,
    media: MediaFolder | None = None,
    limits: AdmissionLimits | None = None,
    timeout_s: float | None = None,
    sentences: Sentences = DEFAULT,
) -> ToolResult:
    """What a vision tool returns. `str(result)` is text alone, `.message(call_id, wire)` and `.envelope(wire)` carry the picture.

    Args:
        image: a path, a `file:` or `data:` URL, an http(s) URL where `PIXLANE_URL_SOURCES` allows it, or bytes; at most 20 MiB.
        question: about it.
        region: x, y, width, height in px of the upright source; that part in full detail.
        gate: `native_tool_images(...)`: open, the model gets the picture itself; closed, somebody else looks and answers.
        profile: of the receiver: its limits and its price.
        recipe: of the picture that is sent; None: `tool_recipe(config, profile)`.
        attached: what the model is shown already, by path or SHA-256: it is pointed there, where the whole picture is asked for.
        budget: `CallBudget`, how often the same picture may be loaded in the conversation; asked where the gate is open.
        model, workspace, roots, config, environ, remembered, timeout_s: as for `view_image`.
        client: workers draw and look; None: this process.
        renditions: encodings of earlier calls.
        media: where a picture without a file is kept; None: the usual folder.
        limits: of a request.
        sentences: what the model reads.

    Raises InvalidArgument for a question that is none, InvalidRecipe for a region that is none, UnknownProfile; never for the
    image: then `is_error`, and the text says why.
    """
    asked = Question.of(question, model, region)
    try:
        found = load(image, workspace, roots)
    except PixlaneError as error:
        return failed(called(image), error, sentences)
    if not gate.open:
        eyes = Eyes(model, client, config, environ, remembered, timeout_s)
        return _answered(found, asked, eyes, gate, sentences)
    if asked.region is None and _is_attached(found, attached, workspace):
        said = sentences.already_shown.format(path=one_line(found.path or found.name))
        note = About(found.name, "already_shown", "its content is attached already")
        return ToolResult(telling.blocks([said, sentences.question.format(question=one_line(asked.prompt))]), notes=(note,))
    admission = admit([Candidate(found.data, name=found.name)], profile, limits=limits)
    if admission.error is not None:
        return failed(found.name, admission.error, sentences)
    loaded = from_capture(
        found.data,
        gate,
        replace(recipe or tool_recipe(config, profile), region=asked.region),
        text=sentences.question.format(question=one_line(asked.prompt)),
        path=found.path,
        client=client,
        memory=renditions,
        media=media,
        budget=budget,
        sentences=sentences,
    )
    return _priced(loaded, profile) if loaded.images else _not_loaded(loaded, sentences)


def _priced(result: ToolResult, profile: str) -> ToolResult:
    """With what the picture costs as it is sent, where the receiver publishes a formula."""
    (image,) = result.images
    tokens = sizing.estimate_tokens(image.width, image.height, profiles.get(profile))
    return result if tokens is None else replace(result, meta={**result.meta, "tokens": tokens})


def _not_loaded(result: ToolResult, sentences: Sentences) -> ToolResult:
    """An error, whose text has the whole reason."""
    whys = [f"{note.code}: {note.text}" for note in result.notes if note.code in BY_CODE]
    said = [sentences.not_shown.format(reason=one_line(why)) for why in whys]
    return replace(result, text="\n".join((result.text, *said)), is_error=True)


def _answered(found: Named, asked: Question, eyes: Eyes, gate: Gate, sentences: Sentences) -> ToolResult:
    try:
        seen, _ = eyes.look(found.data, asked.prompt, region=asked.region)
    except PixlaneError as error:
        why = telling.why_not(error)
        said = sentences.eye_no_answer.format(name=one_line(found.name), reason=why)
        return ToolResult(said, is_error=True, notes=(About(found.name, "no_answer", f"{gate.reason}; {why}"),))
    head = sentences.eye_answer.format(what=f"{one_line(found.name)}, {telling.what(seen)}", by=telling.by(seen, sentences))
    text = "\n".join((head, telling.quoted(telling.words(seen, sentences), sentences)))
    notes = [About(found.name, "answered", gate.reason), *(About(found.name, note.code, note.text) for note in seen.notes)]
    return ToolResult(text, meta={"observation": seen.to_dict()}, notes=tuple(notes))


def _is_attached(found: Named, attached: Collection[str], workspace: str | os.PathLike[str] | None) -> bool:
    """By its content, or by a path that leads to the same file; relative ones begin where those of pictures do."""
    if found.path is None or found.sha256 in attached:
        return found.sha256 in attached
    paths = set()
    for one in attached:
        with suppress(InvalidArgument):  # what can name no file names none that is shown
            paths.add(os.path.realpath(path_of(one, workspace)))
    return found.path in paths
