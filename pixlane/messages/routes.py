"""Fallback routes: one that cannot see is refused before a request that needs its images is sent, not by its provider after."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any, Protocol

from pixlane.errors import ImageInputUnsupported
from pixlane.messages.admission import Admission


class Verdict(Protocol):
    """What `decide_lane` says of a route."""

    @property
    def lane(self) -> str: ...

    @property
    def reason(self) -> str: ...


@dataclass(frozen=True)
class Route:
    """A route in the order in which they are tried; `sees` is False also where it is not known, which is never a guess."""

    name: str
    sees: bool
    reason: str = ""

    @classmethod
    def of(cls, name: str, decision: Verdict) -> Route:
        return cls(name, decision.lane == "native", decision.reason)


@dataclass(frozen=True)
class Dispatch:
    """Where the request may go.

    Attributes:
        routes: may be tried, in their order.
        refused: cannot see, and the request needs its images.
        without_images: those of `routes` that cannot see: the request goes there with words in place of its optional images.
    """

    routes: tuple[Route, ...]
    refused: tuple[Route, ...] = ()
    without_images: tuple[Route, ...] = ()

    @property
    def error(self) -> ImageInputUnsupported | None:
        """Why nothing may be sent; None: there is a route."""
        if self.routes or not self.refused:
            return None
        named = "; ".join(f"{route.name}: {route.reason or 'it cannot see'}" for route in self.refused)
        return ImageInputUnsupported(f"the request needs its images and no route can see ({named})", actual=self.refused[0].name)

    def to_dict(self) -> dict[str, Any]:
        error = self.error
        return {**asdict(self), "error": error.to_dict() if error else None}


def dispatchable(routes: Iterable[Route], admission: Admission) -> Dispatch:
    """The routes that may take a request with these images."""
    routes = tuple(routes)
    blind = tuple(route for route in routes if not route.sees) if admission.admitted else ()
    if any(image.required for image in admission.admitted):
        return Dispatch(tuple(route for route in routes if route.sees), refused=blind)
    return Dispatch(routes, without_images=blind)
