"""A model behind an API as an eye: it is asked, its reply is read strictly, and asked for once more where that is not valid."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Any

from pixlane.errors import VisionObservationFailed
from pixlane.recipe import Recipe, Region
from pixlane.rendition import Rendition
from pixlane.vision import apis, reply, wording
from pixlane.vision.adapter import Deadline
from pixlane.vision.apis import Api, Ask, Reply, Turn
from pixlane.vision.boxes import from_thousandths, in_fractions
from pixlane.vision.findings import Findings
from pixlane.vision.observation import GeneratedBy
from pixlane.vision.sending import Sender, Unanswered
from pixlane.vision.target import Target

SHOWN_CHARS = 200
BAD_REQUEST = (400, 404, 415, 422, 501)
"""How servers refuse a schema that they do not take."""


@dataclass(frozen=True)
class ModelEye:
    """The model of a target."""

    target: Target
    sender: Sender = field(default_factory=Sender)

    @property
    def route(self) -> str:
        return self.target.name

    @property
    def heeds_prompt(self) -> bool:
        return True

    def recipe(self, region: Region | None) -> Recipe:
        return self.target.recipe(region)

    def observe(self, picture: Rendition, prompt: str, deadline: Deadline) -> tuple[Findings, GeneratedBy]:
        return _Conversation(self.target, self.sender, picture, prompt, deadline).findings()


class _Conversation:
    """The requests of one observation: the first, without a schema where it is refused, and one for a reply that is not valid."""

    def __init__(self, target: Target, sender: Sender, picture: Rendition, prompt: str, deadline: Deadline) -> None:
        self.target, self.sender, self.picture, self.prompt, self.deadline = target, sender, picture, prompt, deadline
        self.api: Api = apis.get(target.wire)
        self.schema: dict[str, Any] | None = reply.schema()
        self.attempts = 0

    def findings(self) -> tuple[Findings, GeneratedBy]:
        began = time.monotonic()
        turns: tuple[Turn, ...] = ()
        first = self._ask(turns)
        try:
            findings = self._read(first)
        except reply.InvalidReply as error:
            said = wording.AGAIN_SHORTER if first.ended == "cut" else wording.AGAIN.format(problem=error)
            turns = (Turn(first.text, said),)
            second = self._ask(turns)
            try:
                findings = self._read(second)
            except reply.InvalidReply as again:
                clause = f"its reply is not valid, and neither is that to a second request: {again}"
                raise self._failed("invalid_reply", clause, reply=second.text[:SHOWN_CHARS]) from None
        if self.api.units == "thousandths":
            findings = from_thousandths(findings, self.picture.width, self.picture.height)
        route = self.target.route
        took_ms = (time.monotonic() - began) * 1000
        return findings, GeneratedBy(
            "vision_adapter",
            route.provider,
            route.model,
            route.endpoint,
            structured="prompt" if self.schema is None else "schema",
            repaired=bool(turns),
            attempts=self.attempts,
            elapsed_ms=took_ms,
        )

    def _read(self, said: Reply) -> Findings:
        findings = reply.read(said.text)
        if max(self.picture.width, self.picture.height) > 1 and in_fractions(findings):
            raise reply.InvalidReply(f"its boxes are fractions and not {self.api.units}")
        return findings

    def _ask(self, turns: tuple[Turn, ...]) -> Reply:
        try:
            answer = self._send(turns)
        except Unanswered as error:
            if not self._refuses_the_schema(error):
                raise self._unanswered(error) from None
            self.schema = None
            try:
                answer = self._send(turns)
            except Unanswered as again:
                raise self._unanswered(again) from None
        try:
            said = self.api.read(answer)
        except (ValueError, TypeError, LookupError, AttributeError) as error:
            clause = f"the answer has not the form of {self.target.wire}: {type(error).__name__}"
            raise self._failed("answer", clause) from None
        if said.ended == "refused":
            raise self._failed("refused", f"the model would not say what it sees: {said.said[:SHOWN_CHARS]}")
        return said

    def _send(self, turns: tuple[Turn, ...]) -> Any:
        target, picture = self.target, self.picture
        system = wording.system(self.api.units, picture.width, picture.height, None if self.schema else reply.schema())
        ask = Ask(
            target.route.provider,
            target.route.model,
            system,
            self.prompt,
            picture.mime,
            picture.data,
            schema=self.schema,
            turns=turns,
            bounded=target.key is not None,
        )
        url = self.api.url(target.base_url, target.route.model)
        try:
            answer = self.sender.post(url, self.api.headers(target.key), self.api.body(ask), target.key, self.deadline)
        except Unanswered as error:
            self.attempts += error.tries
            raise
        self.attempts += answer.tries
        return answer.value

    def _refuses_the_schema(self, error: Unanswered) -> bool:
        words = self.api.schema_words
        return (
            self.schema is not None
            and error.status in BAD_REQUEST
            and any(word.lower() in error.message.lower() for word in words)
        )

    def _unanswered(self, error: Unanswered) -> VisionObservationFailed:
        return self._failed(error.reason, error.message, status=error.status, transient=error.transient)

    def _failed(self, reason: str, clause: str, **details: Any) -> VisionObservationFailed:
        named = {name: value for name, value in details.items() if value is not None}
        message = f"{self.target.route} gave no observation: {clause}"
        return VisionObservationFailed(message, reason=reason, attempts=self.attempts, **named)
