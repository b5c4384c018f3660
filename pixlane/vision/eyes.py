"""Who looks: workers behind a client, or this process; and text recognition last, where nobody else can."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pixlane.errors import PixlaneError, VisionAdapterUnavailable
from pixlane.messages.sentences import DEFAULT, Sentences
from pixlane.recipe import Region
from pixlane.sources import Given
from pixlane.vision import telling
from pixlane.vision.looking import view_image
from pixlane.vision.memory import Memory
from pixlane.vision.observation import Observation
from pixlane.vision.route import LOCAL

if TYPE_CHECKING:
    from pixlane.client import Client

DESCRIBE = (
    "Describe this picture for somebody who cannot see it: what kind of picture it is, all text in it word for word, and what "
    "matters of objects, people, layout, colours, numbers, and anything that looks wrong."
)
"""What is asked where nobody asked anything in particular."""


@dataclass(frozen=True)
class Eyes:
    """Looks at pictures.

    Args:
        model: as for `view_image`: who is named here is never replaced by another.
        client: workers look, with their keys and configuration; None: this process.
        config, environ, remembered: as for `view_image`; without a client only.
        timeout_s: of one look; None: the setting `vision_timeout_s`.
    """

    model: str | None = None
    client: Client | None = None
    config: Mapping[str, Any] | None = None
    environ: Mapping[str, str] | None = None
    remembered: Memory | None = None
    timeout_s: float | None = None

    def look(
        self,
        given: Given,
        prompt: str = DESCRIBE,
        *,
        region: Region | Sequence[int] | None = None,
        workspace: str | os.PathLike[str] | None = None,
        roots: Sequence[str | os.PathLike[str]] | None = None,
        timeout_s: float | None = None,
    ) -> tuple[Observation, VisionAdapterUnavailable | None]:
        """What is to be seen; and, where only text recognition could look, why nobody else did.

        Raises as `view_image`. The reason why nobody can look comes with why text cannot be read either.
        """

        def ask(model: str | None) -> Observation:
            wait_s = self.timeout_s if timeout_s is None else timeout_s
            if self.client is not None:
                return self.client.observe(given, prompt, model, region=region).result(wait_s)
            return view_image(
                given,
                prompt,
                model,
                workspace,
                region=region,
                roots=roots,
                config=self.config,
                environ=self.environ,
                remembered=self.remembered,
                timeout_s=wait_s,
            )

        try:
            return ask(self.model), None
        except VisionAdapterUnavailable as nobody:
            if self.model is not None:
                raise
            try:
                return ask(LOCAL), nobody
            except PixlaneError as error:
                nobody.details["local"] = error.message
                raise nobody from error


def describer(prompt: str = DESCRIBE, *, sentences: Sentences = DEFAULT, **eyes: Any) -> Describer:
    """What `pixlane.messages` takes as `describe=`; arguments of `Eyes`."""
    return Describer(Eyes(**eyes), prompt, sentences)


@dataclass(frozen=True)
class Describer:
    """Bytes to words that say who looked. Raises where nobody can: a failure is never words."""

    eyes: Eyes
    prompt: str = DESCRIBE
    sentences: Sentences = DEFAULT

    def __call__(self, data: bytes) -> str:
        seen, _ = self.eyes.look(data, self.prompt)
        return telling.attributed(seen, self.sentences)
