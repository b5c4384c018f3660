"""Reading a file in one step: an image with its words in one result, a PDF's text or pages, and the truth about anything else.

read_image("shot.png", gate=gate).message(call_id, "anthropic")
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from pixlane import formats
from pixlane.errors import PageOutOfRange, PixlaneError, ServiceError
from pixlane.messages.admission import AdmissionLimits, Candidate, admit
from pixlane.messages.budgets import CallBudget
from pixlane.messages.parts import About, one_line, scale_line
from pixlane.messages.pictures import Memory as Renditions
from pixlane.messages.pictures import Pictures
from pixlane.messages.presenting import Gate, ToolImage
from pixlane.messages.sentences import DEFAULT, Sentences
from pixlane.messages.tool_results import ToolResult, tool_recipe
from pixlane.recipe import Recipe
from pixlane.rendition import Rendition
from pixlane.vision import documents, telling
from pixlane.vision.eyes import DESCRIBE, Eyes
from pixlane.vision.memory import Memory
from pixlane.vision.named import Named, called, load
from pixlane.vision.pages import numbers, ranges
from pixlane.vision.results import failed
from pixlane.vision.text_lane import ANY_RECEIVER

if TYPE_CHECKING:
    from pixlane.client import Client

MAX_PAGES: Final = 8
"""Pages of a PDF that one call draws; the images that a request may carry."""

MAX_TEXT_CHARS: Final = 100_000
"""Of the text of a PDF."""


def read_image(
    path: str | os.PathLike[str],
    *,
    gate: Gate,
    profile: str = ANY_RECEIVER,
    recipe: Recipe | None = None,
    pages: str | Sequence[int] | None = None,
    max_pages: int = MAX_PAGES,
    prompt: str = DESCRIBE,
    budget: CallBudget | None = None,
    model: str | None = None,
    workspace: str | os.PathLike[str] | None = None,
    roots: Sequence[str | os.PathLike[str]] | None = None,
    client: Client | None = None,
    config: Mapping[str, Any] | None = None,
    environ: Mapping[str, str] | None = None,
    remembered: Memory | None = None,
    renditions: Renditions | None = None,
    limits: AdmissionLimits | None = None,
    timeout_s: float | None = None,
    sentences: Sentences = DEFAULT,
) -> ToolResult:
    """What an agent's file-read tool returns for a file that may be an image or a PDF.

    Gate open: name, type, bytes, size and scale in words, and the image, in one result. Closed: the description. Anything else:
    what it is by its bytes, as an error. A file of more than 20 MiB is refused before it is read.

    Args:
        path: as for `vision.analyze`.
        gate: whether the model sees what a tool returns.
        profile: of the receiver: its limits and its price.
        recipe: of what is sent; None: `tool_recipe(config, profile)`.
        pages: of a PDF, from 1: "3", "2-5", or a list; these are drawn. None: its text.
        max_pages: that are drawn in one call.
        prompt: what is asked where somebody else has to look.
        budget: how often the same file may be loaded in the conversation.
        model, workspace, roots, client, config, environ, remembered, timeout_s: as for `vision.analyze`.
        renditions: encodings of earlier calls.
        limits: of a request.
        sentences: what the model reads.

    Raises InvalidArgument for pages that are none, UnknownProfile; never for the file: then `is_error`, and the text says why.
    """
    wanted = numbers(pages)
    try:
        found = load(path, workspace, roots)
    except PixlaneError as error:
        return failed(called(path), error, sentences)
    reader = _Reader(
        found,
        gate,
        profile,
        recipe or tool_recipe(config, profile),
        Pictures(renditions, client),
        Eyes(model, client, config, environ, remembered, timeout_s),
        prompt,
        budget,
        limits or AdmissionLimits(),
        sentences,
    )
    try:
        return reader.read(wanted, max_pages)
    except PixlaneError as error:
        return failed(found.name, error, sentences)


@dataclass(frozen=True)
class _Reader:
    """One file."""

    found: Named
    gate: Gate
    profile: str
    recipe: Recipe
    pictures: Pictures
    eyes: Eyes
    prompt: str
    budget: CallBudget | None
    limits: AdmissionLimits
    sentences: Sentences

    @property
    def name(self) -> str:
        return one_line(self.found.name)

    def read(self, pages: Sequence[int] | None, max_pages: int) -> ToolResult:
        kind = formats.detect(self.found.data, tail=self.found.data[-26:]).format
        if "pdf" in kind.engines:
            return self._document() if pages is None else self._counted(lambda: self._pages(pages, max_pages))
        if not kind.image:
            what = f"{kind.mime}, {len(self.found.data):,} bytes"
            note = About(self.found.name, "not_an_image", what)
            return ToolResult(self.sentences.file_no_image.format(path=self.name, what=what), is_error=True, notes=(note,))
        return self._counted(self._image) if self.gate.open else self._described()

    # An image ----------------------------------------------------------------------------------------------------------------

    def _image(self) -> ToolResult:
        admission = admit([Candidate(self.found.data, name=self.found.name)], self.profile, limits=self.limits)
        rendition = admission.error or self.pictures.draw(self.found.sha256, self.found.data, self.recipe)
        if isinstance(rendition, PixlaneError):
            raise rendition
        return self._result([rendition], f"{self._file(rendition)}", admission.tokens)

    def _file(self, rendition: Rendition) -> str:
        source = rendition.source
        what = f"{source.mime}, {source.byte_count:,} bytes, {source.width} x {source.height} px"
        return self.sentences.file_read.format(path=self.name, what=what)

    def _result(self, renditions: Sequence[Rendition], text: str, tokens: int | None) -> ToolResult:
        scales = [scale_line(self.found.name, one, self.sentences) for one in renditions]
        loaded = self.sentences.image_loaded if len(renditions) == 1 else self.sentences.images_loaded
        images = tuple(self._shown(one) for one in renditions)
        notes = [About(self.found.name, note.code, note.text) for one in renditions for note in one.notes]
        claim = "\n".join(filter(None, (loaded, *dict.fromkeys(scales))))
        return ToolResult(text, images, claim=claim, meta={} if tokens is None else {"tokens": tokens}, notes=tuple(notes))

    def _shown(self, one: Rendition) -> ToolImage:
        source = one.source
        return ToolImage(one.data, one.mime, one.width, one.height, source.sha256, source.width, source.height, self.found.path)

    def _described(self) -> ToolResult:
        try:
            seen, _ = self.eyes.look(self.found.data, self.prompt)
        except PixlaneError as error:
            why = telling.why_not(error)
            note = About(self.found.name, "no_answer", f"{self.gate.reason}; {why}")
            said = self.sentences.eye_failed.format(number=1, count=1, name=self.name, reason=why)
            return ToolResult(said, is_error=True, notes=(note,))
        what = f"{self.name}, {telling.what(seen)}, {len(self.found.data):,} bytes"
        head = self.sentences.eye_described.format(number=1, count=1, what=what, by=telling.by(seen, self.sentences))
        text = "\n".join((head, telling.quoted(telling.words(seen, self.sentences), self.sentences)))
        return ToolResult(
            text, meta={"observation": seen.to_dict()}, notes=(About(self.found.name, "answered", self.gate.reason),)
        )

    # A PDF -------------------------------------------------------------------------------------------------------------------

    def _document(self) -> ToolResult:
        read = documents.text(self.found.data, MAX_TEXT_CHARS)
        shown = "Its text:" if any(text.strip() for text in read.pages) else "It holds no text: ask for pages to see them."
        parts = [self._head(read.count, shown)]
        for number, text in enumerate(read.pages, 1):
            words = telling.plain(text, self.sentences).replace("\r\n", "\n").strip()
            if words:
                parts.append(f"{self.sentences.document_page.format(page=number)}\n{telling.quoted(words, self.sentences)}")
        notes = []
        if read.cut or len(read.pages) < read.count:
            said = f"{len(read.pages)} of {read.count} pages, at most {MAX_TEXT_CHARS:,} characters, were read"
            parts.append(f"[{said}]")
            notes.append(About(self.found.name, "text_cut", said))
        return ToolResult(telling.blocks(parts), meta={"pages": read.count}, notes=tuple(notes))

    def _pages(self, pages: Sequence[int], max_pages: int) -> ToolResult:
        count = documents.page_count(self.found.data)
        beyond = [page for page in pages if not 1 <= page <= count]
        if beyond:
            raise PageOutOfRange(f"the PDF has {count} pages, page {beyond[0]} was asked for", limit=count, actual=beyond[0])
        drawn, rest = list(pages[:max_pages]), list(pages[max_pages:])
        notes = []
        shown = f"Pages {', '.join(map(str, drawn))}."
        if rest:
            said = f"at most {max_pages} pages are drawn in one call; not drawn: {ranges(rest)}"
            notes.append(About(self.found.name, "pages_left_out", said))
            shown = f"{shown} {said[0].upper()}{said[1:]}."
        renditions = [self._page(page) for page in drawn]
        if not self.gate.open:
            return self._described_pages(drawn, renditions, self._head(count, shown), notes)
        admission = admit(
            [Candidate(one.data, name=f"page {page}") for page, one in zip(drawn, renditions, strict=True)],
            self.profile,
            limits=self.limits,
        )
        if not admission.admitted:
            raise admission.error or PageOutOfRange("no page may go along")
        kept = [renditions[one.sources[0]] for one in admission.admitted]
        same = [
            f"page {drawn[other]} looks like page {drawn[first]}"
            for first, *others in (one.sources for one in admission.admitted)
            for other in others
        ]
        notes += [About(self.found.name, out.code, out.text) for out in admission.left_out]
        notes += [About(self.found.name, "same_content", f"{said}; shown once") for said in same]
        whole = telling.blocks(
            [self._head(count, shown), "\n".join((*admission.notices, *(f"[{said}; shown once]" for said in same)))]
        )
        result = self._result(kept, whole, admission.tokens)
        return replace(result, notes=(*notes, *result.notes))

    def _page(self, page: int) -> Rendition:
        drawn = self.pictures.draw(self.found.sha256, self.found.data, replace(self.recipe, page=page - 1))
        if isinstance(drawn, PixlaneError):
            raise drawn
        return drawn

    def _described_pages(self, pages: Sequence[int], drawn: Sequence[Rendition], head: str, notes: list[About]) -> ToolResult:
        from pixlane.vision.text_lane import describe_for_text_model

        eyes = self.eyes
        words = describe_for_text_model(
            "",
            [one.data for one in drawn],
            prompt=self.prompt,
            model=eyes.model,
            client=eyes.client,
            config=eyes.config,
            environ=eyes.environ,
            remembered=eyes.remembered,
            deadline_s=eyes.timeout_s,
            limits=self.limits,
            sentences=self.sentences,
        )
        notes.append(About(self.found.name, "answered", self.gate.reason))
        return ToolResult(telling.blocks([head, words]), notes=tuple(notes))

    def _head(self, count: int, shown: str) -> str:
        what = f"application/pdf, {len(self.found.data):,} bytes"
        return self.sentences.document.format(path=self.name, what=what, pages=count, shown=shown)

    # The budget --------------------------------------------------------------------------------------------------------------

    def _counted(self, draw: Callable[[], ToolResult]) -> ToolResult:
        """What the model is shown counts; what came to nothing does not."""
        if self.budget is None or not self.gate.open:
            return draw()
        try:
            call = self.budget.take(self.found.sha256)
        except ServiceError as error:  # a budget that cannot be asked must not cost the model its eyes
            result = draw()
            return replace(result, notes=(*result.notes, About(self.found.name, "budget_unknown", error.message)))
        if not call.allowed:
            note = About(self.found.name, "calls_spent", f"loaded {call.times}, allowed are {call.limit}")
            return ToolResult(call.refusal, is_error=True, notes=(note,))
        try:
            return draw()
        except PixlaneError:
            with suppress(ServiceError):  # then it counts
                self.budget.give_back(self.found.sha256)
            raise
