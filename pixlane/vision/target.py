"""A route with everything that is needed to ask it."""

from __future__ import annotations

from dataclasses import dataclass, field

from pixlane import profiles
from pixlane.messages import wires
from pixlane.messages.capability import shown
from pixlane.recipe import MAX_TARGET_BYTES, Recipe, Region
from pixlane.vision.credentials import Secret
from pixlane.vision.route import Route


@dataclass(frozen=True)
class Target:
    """Where a question goes, in which wire, and with which key."""

    route: Route
    wire: str
    base_url: str
    key: Secret | None = field(default=None, repr=False)

    @property
    def name(self) -> str:
        """Everything that changes what would be answered, without anything secret."""
        return f"{self.route} {self.wire} {shown(self.base_url)}"

    def recipe(self, region: Region | None = None) -> Recipe:
        """The picture that this provider takes: its own limits, at most 4 MiB, in a type that its wire takes too.

        More than the budget of a picture that stays in a conversation: this one is sent once.
        """
        profile = profiles.resolve(self.route.provider, self.wire, self.route.model)
        fields = profiles.recipe_fields(profile.name, embed=False)
        taken = wires.get(self.wire).accepts
        fields["accept"] = tuple(mime for mime in fields["accept"] if mime in taken)
        fields["target_bytes"] = min(filter(None, (fields["target_bytes"], MAX_TARGET_BYTES)))
        return Recipe(**{**fields, "region": region})
