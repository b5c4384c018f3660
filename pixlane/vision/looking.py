"""Looking at one picture: read it, name it, choose who looks, show it, and bring what was seen back to the source.

view_image("screen.png", "What does the error say?")

The whole order of work stands in `Looker.look`.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from pixlane import settings as knobs
from pixlane import sources
from pixlane.errors import InvalidArgument, PixlaneError
from pixlane.recipe import Region
from pixlane.settings import Limits, Settings
from pixlane.sources import Given
from pixlane.vision import boxes, memory
from pixlane.vision.adapter import Adapter, Deadline
from pixlane.vision.eye import ModelEye
from pixlane.vision.findings import SCHEMA
from pixlane.vision.local.eye import LocalEye
from pixlane.vision.memory import Memory, Seen
from pixlane.vision.observation import Observation
from pixlane.vision.reference import VisualReference
from pixlane.vision.route import parse
from pixlane.vision.selecting import Chosen, Selector
from pixlane.vision.sending import Sender
from pixlane.vision.wording import WORDING

MAX_FILE_BYTES: Final = 20_971_520
"""The largest file that is looked at; 20 MiB."""

MAX_PIXELS: Final = 50_000_000
"""The most pixels of a picture that is looked at."""

MAX_PROMPT_CHARS: Final = 32_768


@dataclass(frozen=True)
class Question:
    """What is asked of a picture; checked and trimmed by `of`."""

    prompt: str
    model: str | None = None
    region: Region | None = None

    @classmethod
    def of(
        cls, prompt: str, model: str | None = None, region: Region | Mapping[str, int] | Sequence[int] | None = None
    ) -> Question:
        """Raises InvalidArgument, and InvalidRecipe for a region that is none."""
        from pixlane.recipe import Recipe

        if not isinstance(prompt, str) or not prompt.strip():
            raise InvalidArgument("prompt must say what to look for, got nothing", actual=str(prompt))
        if len(prompt) > MAX_PROMPT_CHARS:
            raise InvalidArgument(
                f"prompt has {len(prompt):,} characters, {MAX_PROMPT_CHARS:,} are allowed",
                limit=MAX_PROMPT_CHARS,
                actual=len(prompt),
            )
        asked = None if model is None or not model.strip() else model.strip()
        if asked is not None:
            parse(asked)
        return cls(prompt.strip(), asked, Recipe(region=region).region)  # type: ignore[arg-type]

    def to_dict(self) -> dict[str, Any]:
        region = self.region
        return {
            "prompt": self.prompt,
            "model": self.model,
            "region": [region.x, region.y, region.width, region.height] if region else None,
        }

    @classmethod
    def from_dict(cls, record: Mapping[str, Any]) -> Question:
        return cls.of(record["prompt"], record.get("model"), record.get("region"))

    def fingerprint(self, eye: str) -> str:
        """16 hex digits over the question, the form of the answer, and who answers."""
        asked = {**self.to_dict(), "model": eye, "schema": SCHEMA, "wording": WORDING}
        canonical = json.dumps(asked, sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(canonical.encode()).hexdigest()[:16]


def view_image(
    path: Given,
    prompt: str,
    model: str | None = None,
    workspace: str | os.PathLike[str] | None = None,
    *,
    region: Region | Sequence[int] | None = None,
    roots: Sequence[str | os.PathLike[str]] | None = None,
    config: Mapping[str, Any] | None = None,
    environ: Mapping[str, str] | None = None,
    remembered: Memory | None = None,
    timeout_s: float | None = None,
    settings: Settings | None = None,
) -> Observation:
    """What is to be seen in a picture.

    Args:
        path: of an image file; relative to `workspace`. Or the bytes themselves.
        prompt: the question, at most 32,768 characters.
        model: for this call alone: `provider/model`, `provider@endpoint/model`, or `local` for text recognition on this machine.
            Who is named here is never replaced by another. None: `vision.default`, `auxiliary.vision`, or whoever can look.
        workspace: folder that relative paths begin at; None: the current one.
        region: x, y, width, height in px of the upright source: only that is shown, in full detail.
        roots: folders that a file must lie in. None: the workspace where it is given, and the setting `allowed_roots`; where
            neither is, any file that this process can read. Links are followed first: where they lead must lie in a root.
        config: of the agent, nested; None: `load_config()`.
        environ: where the providers' keys are; None: the environment of the process.
        remembered: where answers are kept; None: the store where `redis_url` or `cache_url` is set, else this process.
        timeout_s: None: the setting `vision_timeout_s`.
        settings: None: those of this process.

    Raises a PixlaneError: for the file SourceMissing, NotAFile, SourceUnreadable, PathNotAllowed, SourceTooLarge; for its content
    what `normalize` raises; VisionAdapterUnavailable; VisionObservationFailed. Once the bytes were read, `details["reference"]`
    is there.
    """
    settings = settings or knobs.current()
    question = Question.of(prompt, model, region)
    data, resolved = read(path, workspace, roots, settings)
    looker = Looker(settings, config, environ, remembered)
    return looker.look(data, question, resolved, timeout_s)


@dataclass(frozen=True)
class Looker:
    """Looks; arguments as `view_image`."""

    settings: Settings
    config: Mapping[str, Any] | None = None
    environ: Mapping[str, str] | None = None
    remembered: Memory | None = None
    sender: Sender = field(default_factory=Sender)

    def look(self, data: bytes, question: Question, path: str | None, timeout_s: float | None = None) -> Observation:
        deadline = Deadline.after(self.settings.vision_timeout_s if timeout_s is None else timeout_s)
        kept = self.remembered or memory.usual(self.settings)
        reference = refer(data, path)
        kept.record(reference)
        try:
            chosen = self.selector().choose(question.model)
            try:
                eye = self.eye(chosen)
                key = (question if eye.heeds_prompt else replace(question, prompt="")).fingerprint(eye.route)
                seen, reused, forgot = kept.once(
                    reference.sha256, key, lambda: self._see(eye, data, question, deadline), deadline
                )
            except PixlaneError as error:
                error.details.setdefault("selection", chosen.selection.to_dict())
                raise
        except PixlaneError as error:
            error.details["reference"] = reference.to_dict()
            raise
        # Now the size is known whatever the header said; a vector source has that at which it was drawn.
        return Observation(
            replace(reference, size=seen.size),
            seen.generated_by,
            question.prompt,
            **vars(seen.findings),
            selection=chosen.selection,
            region=question.region,
            shown=seen.shown,
            notes=(*seen.notes, *((forgot,) if forgot else ())),
            reused=reused,
        )

    def selector(self) -> Selector:
        from pixlane.messages.config import load_config

        return Selector(load_config(environ=self.environ) if self.config is None else self.config, self.environ)

    def eye(self, chosen: Chosen) -> Adapter:
        if chosen.target is None:
            return LocalEye()
        return ModelEye(chosen.target, self.sender)

    def _see(self, eye: Adapter, data: bytes, question: Question, deadline: Deadline) -> Seen:
        from pixlane.imaging import normalize

        picture = normalize(data, eye.recipe(question.region), limits=limits(self.settings))
        findings, by = eye.observe(picture, question.prompt, deadline)
        placed, notes = boxes.to_source(findings, picture)
        size = picture.source.width, picture.source.height
        return Seen(placed, by, (picture.width, picture.height), size, (*picture.notes, *notes))


def limits(settings: Settings) -> Limits:
    """Those of the settings, and at most 20 MiB and 50,000,000 px."""
    usual = Limits.of(settings)
    return replace(
        usual, max_source_bytes=min(usual.max_source_bytes, MAX_FILE_BYTES), max_pixels=min(usual.max_pixels, MAX_PIXELS)
    )


def refer(data: bytes, path: str | None) -> VisualReference:
    """The reference of these bytes; for any bytes, also such that are no picture."""
    from pixlane.probe import probe

    header = probe(data, name=path)
    size = (header.width, header.height) if header.width is not None and header.height is not None else None
    return VisualReference.of(hashlib.sha256(data).hexdigest(), header.format.mime, len(data), path, size)


def read(
    given: Given,
    workspace: str | os.PathLike[str] | None,
    roots: Sequence[str | os.PathLike[str]] | None,
    settings: Settings,
) -> tuple[bytes, str | None]:
    """The bytes and the resolved path; the rules are those of `view_image`."""
    limit = min(settings.max_source_bytes, MAX_FILE_BYTES)
    if isinstance(given, (bytes, bytearray, memoryview)):
        (source,) = sources.identify(given, limit)
        assert source is not None
        return source.data or b"", None
    path = path_of(given, workspace)
    if roots is None:
        configured = sources.allowed_roots(settings)
        roots = [workspace, *configured] if workspace is not None else configured or None
    resolved = os.path.realpath(path)
    if roots is None:
        return b"".join(sources.blocks(resolved, limit)), resolved
    return sources.read_under(path, [os.path.realpath(root) for root in roots], limit), resolved


def path_of(given: str | os.PathLike[str], workspace: str | os.PathLike[str] | None) -> str:
    """The path, from the workspace on; no link is followed. Raises InvalidArgument."""
    start = os.getcwd() if workspace is None else os.fspath(workspace)
    return os.path.join(start, os.path.expanduser(sources.checked_path(given)))
