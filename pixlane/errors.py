"""One tree of errors; each has a stable code, says whether a retry can help, and names the limit and the actual value.

The codes are interface: they travel as JSON through Redis, stand in manifests and in the output of the commands.
`PixlaneError.to_dict()` and `PixlaneError.from_dict()` are that form; an error that came back from a worker is of the
same class as one that was raised in process.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

__all__ = ["PixlaneError"]


class PixlaneError(Exception):
    """Base of everything that pixlane raises on purpose.

    Attributes:
        code: stable machine-readable name, snake_case.
        retryable: True when the same call may succeed later without any change by the caller.
        cacheable: True when the same source and recipe give the same error every time, so that it may be remembered.
        message: one sentence for a person; names the limit and the actual value where there are any.
        limit, actual: the two values behind the sentence, JSON scalars or None.
        details: further JSON scalars by name (for example `decoded_fraction`).
    """

    code: str = "pixlane_error"
    retryable: bool = False
    cacheable: bool = False

    def __init_subclass__(cls, *, code: str = "", retryable: bool | None = None, cacheable: bool | None = None) -> None:
        """What a kind does not say it has from its base."""
        cls.code = code or cls.code
        cls.retryable = cls.retryable if retryable is None else retryable
        cls.cacheable = cls.cacheable if cacheable is None else cacheable

    def __init__(self, message: str, *, limit: Any = None, actual: Any = None, **details: Any) -> None:
        super().__init__(message)
        self.message = message
        self.limit = limit
        self.actual = actual
        self.details = details

    def __reduce__(self) -> tuple[Any, ...]:
        return _revive, (self.to_dict(),)

    def to_dict(self) -> dict[str, Any]:
        """The JSON form: code, message, limit, actual, retryable, and `details` when there are any."""
        record: dict[str, Any] = {
            "code": self.code,
            "message": self.message,
            "limit": self.limit,
            "actual": self.actual,
            "retryable": self.retryable,
        }
        if self.details:
            record["details"] = self.details
        return record

    @staticmethod
    def from_dict(record: dict[str, Any]) -> PixlaneError:
        """The error that `to_dict` described; a code of a newer version becomes a plain PixlaneError that keeps it."""
        return _revive(record)


def _revive(record: dict[str, Any]) -> PixlaneError:
    kind = BY_CODE.get(str(record.get("code")), PixlaneError)
    error = kind(
        str(record.get("message", "")),
        limit=record.get("limit"),
        actual=record.get("actual"),
        **record.get("details", {}),
    )
    if kind is PixlaneError:
        error.code = str(record.get("code", PixlaneError.code))
        error.retryable = bool(record.get("retryable", False))
    return error


# What the caller asked for -------------------------------------------------------------------------------------------


class InvalidArgument(PixlaneError, code="invalid_argument"):
    """An argument, option or setting is not of its form."""


class InvalidRecipe(InvalidArgument, code="invalid_recipe", cacheable=True):
    """A field of the recipe is unknown or out of its bounds."""


class UnknownProfile(InvalidArgument, code="unknown_profile"):
    """No provider profile has that name."""


class RegionOutOfRange(PixlaneError, code="region_out_of_range", cacheable=True):
    """The region does not lie inside the upright source."""


class PageOutOfRange(PixlaneError, code="page_out_of_range", cacheable=True):
    """The source has fewer frames, pages or images than `page` asks for."""


# The source --------------------------------------------------------------------------------------------------------------


class SourceError(PixlaneError, code="source_error", cacheable=True):
    """Something about the bytes that came in; the same bytes give the same error."""


class EmptyInput(SourceError, code="empty_input"):
    """There are no bytes."""


class NotAnImage(SourceError, code="not_an_image"):
    """The bytes are something else: text, HTML, an archive, a program ..."""


class UnsupportedFormat(SourceError, code="unsupported_format"):
    """The bytes are an image of a kind that pixlane names but does not decode."""


class SourceTooLarge(SourceError, code="source_too_large"):
    """The source, or what it inflates to, has more bytes than allowed."""


class TooManyPixels(SourceError, code="too_many_pixels"):
    """The header promises more pixels than allowed; nothing was decoded."""


class TooLargeToDecode(SourceError, code="too_large_to_decode"):
    """Decoding would take more memory than allowed, by the estimate from the header; nothing was decoded."""


class TooManyFrames(SourceError, code="too_many_frames"):
    """The source holds more frames or pages than allowed."""


class InvalidDimensions(SourceError, code="invalid_dimensions"):
    """A side is zero, negative or beyond what the format can mean."""


class TruncatedInput(SourceError, code="truncated_input"):
    """Picture data is missing at the end; `decoded_fraction` says how much is there, None where the codec cannot tell."""


class CorruptInput(SourceError, code="corrupt_input"):
    """The picture data is damaged beyond what a browser would show."""


class EncryptedInput(SourceError, code="encrypted_input"):
    """The document wants a password."""


class UnsafeSvg(SourceError, code="unsafe_svg"):
    """The SVG asks for more than the sanitizer lets through: depth, elements, references, size, entities."""


class RenderFailed(SourceError, code="render_failed"):
    """No rasterizer could draw the document."""


class TargetUnreachable(SourceError, code="target_unreachable"):
    """No candidate of the ladder meets every limit of the recipe; `smallest_bytes` names the nearest one."""


# Where the source was named ------------------------------------------------------------------------------------------------


class SourceUnreadable(PixlaneError, code="source_unreadable"):
    """The file could not be read."""


class SourceMissing(SourceUnreadable, code="source_missing"):
    """The file, or the stored source, is not there."""


class NotAFile(SourceUnreadable, code="not_a_file"):
    """The path names a folder, a device, a pipe or a socket."""


class PathNotAllowed(SourceUnreadable, code="path_not_allowed"):
    """The worker may not read there: the path lies outside its allowed roots."""


class UrlNotAllowed(SourceUnreadable, code="url_not_allowed"):
    """The URL is not followed: URLs are switched off, or it leads to where no stranger's URL may."""


class FetchFailed(SourceUnreadable, code="fetch_failed"):
    """The URL could not be fetched; `details["transient"]` says whether another time may be better."""

    def __init__(self, message: str, *, limit: Any = None, actual: Any = None, **details: Any) -> None:
        super().__init__(message, limit=limit, actual=actual, **details)
        self.retryable = details.get("transient") is True


class SourceChanged(PixlaneError, code="source_changed"):
    """The bytes that were read have another SHA-256 than the job names."""


class OutputUnwritable(PixlaneError, code="output_unwritable"):
    """A result could not be written: full disk, missing rights."""


# What a request may carry --------------------------------------------------------------------------------------------------


class ImageBudgetExceeded(PixlaneError, code="image_budget_exceeded"):
    """An image that the request needs does not fit into what a request may carry; nothing was sent."""


class ImageInputUnsupported(PixlaneError, code="image_input_unsupported"):
    """The request needs images and no route is left whose model can see; nothing was sent."""


# Seeing by description ---------------------------------------------------------------------------------------------------


class VisionError(PixlaneError, code="vision_error"):
    """Nobody could say what is in the picture; `details["reference"]` names it all the same."""


class VisionAdapterUnavailable(VisionError, code="vision_adapter_unavailable"):
    """No model can look, or the one that was asked for cannot; `details["candidates"]` says of each why not."""


class VisionObservationFailed(VisionError, code="vision_observation_failed"):
    """The model that was chosen gave no observation; `details["reason"]` says why, with `transient` a retry may help."""

    def __init__(self, message: str, *, limit: Any = None, actual: Any = None, **details: Any) -> None:
        super().__init__(message, limit=limit, actual=actual, **details)
        self.retryable = details.get("transient") is True


# Engines and limits of a run ---------------------------------------------------------------------------------------------------


class EngineMissing(PixlaneError, code="engine_missing"):
    """The package that decodes this format is not installed; the message names it."""


class EngineAfterFork(PixlaneError, code="engine_after_fork"):
    """libvips ran before this process was forked and would hang here; fork first or use spawn."""


class DeadlineExceeded(PixlaneError, code="timeout", retryable=True):
    """The image took longer than allowed."""


class OutOfMemory(PixlaneError, code="out_of_memory", retryable=True):
    """The estimate or the run passed the memory allowed for one image."""


class InternalError(PixlaneError, code="internal_error"):
    """A fault of pixlane itself, each time that this image was tried; the job is put aside with its source."""


class Crashed(PixlaneError, code="crashed"):
    """The process that ran this image died each time; the job is put aside with its source."""


# The service -------------------------------------------------------------------------------------------------------------


class ServiceError(PixlaneError, code="service_error", retryable=True):
    """The service could not answer; the job itself may be fine."""


class StoreUnavailable(ServiceError, code="store_unavailable"):
    """Redis refused, hung or failed within the deadline of the call."""


class StoreFull(ServiceError, code="store_full"):
    """Redis is out of memory."""


class ServiceUnavailable(ServiceError, code="service_unavailable"):
    """There is no service to use and none could be started."""


class QueueFull(ServiceError, code="queue_full"):
    """The queue holds as much as it may; `details["retry_after_s"]` says when to try again."""

    @property
    def retry_after_s(self) -> float:
        return float(self.details.get("retry_after_s", 1.0))


class ResultTimeout(ServiceError, code="result_timeout"):
    """The waiter's own time ran out; the job goes on."""


class JobLost(ServiceError, code="job_lost"):
    """Neither result nor record is there; submit again."""


class Expired(PixlaneError, code="expired"):
    """The deadline that the job was submitted with passed before it was done."""


class Cancelled(PixlaneError, code="cancelled"):
    """Whoever wanted the job has cancelled it."""


def causes(error: BaseException) -> Iterator[BaseException]:
    """The error, and what it was raised from or while."""
    seen: set[int] = set()
    cause: BaseException | None = error
    while cause is not None and id(cause) not in seen:
        seen.add(id(cause))
        yield cause
        cause = cause.__cause__ or cause.__context__


def _walk(kind: type[PixlaneError]) -> list[type[PixlaneError]]:
    return [kind, *(deeper for sub in kind.__subclasses__() for deeper in _walk(sub))]


BY_CODE: dict[str, type[PixlaneError]] = {kind.code: kind for kind in _walk(PixlaneError)}
