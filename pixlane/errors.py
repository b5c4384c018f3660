"""One tree of errors; each has a stable code, says whether a retry can help, and names the limit and the actual value.

The codes are interface: they travel as JSON through Redis, stand in manifests and in the output of the commands.
`PixlaneError.to_dict()` and `PixlaneError.from_dict()` are that form; an error that came back from a worker is of the
same class as one that was raised in process.
"""

from __future__ import annotations

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


class InvalidArgument(PixlaneError):
    """An argument, option or setting is not of its form."""

    code = "invalid_argument"


class InvalidRecipe(InvalidArgument):
    """A field of the recipe is unknown or out of its bounds."""

    code = "invalid_recipe"
    cacheable = True


class UnknownProfile(InvalidArgument):
    """No provider profile has that name."""

    code = "unknown_profile"


class RegionOutOfRange(PixlaneError):
    """The region does not lie inside the upright source."""

    code = "region_out_of_range"
    cacheable = True


class PageOutOfRange(PixlaneError):
    """The source has fewer frames, pages or images than `page` asks for."""

    code = "page_out_of_range"
    cacheable = True


# The source --------------------------------------------------------------------------------------------------------------


class SourceError(PixlaneError):
    """Something about the bytes that came in; the same bytes give the same error."""

    code = "source_error"
    cacheable = True


class EmptyInput(SourceError):
    """There are no bytes."""

    code = "empty_input"


class NotAnImage(SourceError):
    """The bytes are something else: text, HTML, an archive, a program ..."""

    code = "not_an_image"


class UnsupportedFormat(SourceError):
    """The bytes are an image of a kind that pixlane names but does not decode."""

    code = "unsupported_format"


class SourceTooLarge(SourceError):
    """The source, or what it inflates to, has more bytes than allowed."""

    code = "source_too_large"


class TooManyPixels(SourceError):
    """The header promises more pixels than allowed; nothing was decoded."""

    code = "too_many_pixels"


class TooLargeToDecode(SourceError):
    """Decoding would take more memory than allowed, by the estimate from the header; nothing was decoded."""

    code = "too_large_to_decode"


class TooManyFrames(SourceError):
    """The source holds more frames or pages than allowed."""

    code = "too_many_frames"


class InvalidDimensions(SourceError):
    """A side is zero, negative or beyond what the format can mean."""

    code = "invalid_dimensions"


class TruncatedInput(SourceError):
    """Picture data is missing at the end; `decoded_fraction` says how much is there, None where the codec cannot tell."""

    code = "truncated_input"


class CorruptInput(SourceError):
    """The picture data is damaged beyond what a browser would show."""

    code = "corrupt_input"


class EncryptedInput(SourceError):
    """The document wants a password."""

    code = "encrypted_input"


class UnsafeSvg(SourceError):
    """The SVG asks for more than the sanitizer lets through: depth, elements, references, size, entities."""

    code = "unsafe_svg"


class RenderFailed(SourceError):
    """No rasterizer could draw the document."""

    code = "render_failed"


class TargetUnreachable(SourceError):
    """No candidate of the ladder meets every limit of the recipe; `smallest_bytes` names the nearest one."""

    code = "target_unreachable"


# Where the source was named ------------------------------------------------------------------------------------------------


class SourceUnreadable(PixlaneError):
    """The file could not be read."""

    code = "source_unreadable"


class SourceMissing(SourceUnreadable):
    """The file, or the stored source, is not there."""

    code = "source_missing"


class NotAFile(SourceUnreadable):
    """The path names a folder, a device, a pipe or a socket."""

    code = "not_a_file"


class PathNotAllowed(SourceUnreadable):
    """The worker may not read there: the path lies outside its allowed roots."""

    code = "path_not_allowed"


class SourceChanged(PixlaneError):
    """The bytes that were read have another SHA-256 than the job names."""

    code = "source_changed"


class OutputUnwritable(PixlaneError):
    """A result could not be written: full disk, missing rights."""

    code = "output_unwritable"


# What a request may carry --------------------------------------------------------------------------------------------------


class ImageBudgetExceeded(PixlaneError):
    """An image that the request needs does not fit into what a request may carry; nothing was sent."""

    code = "image_budget_exceeded"


class ImageInputUnsupported(PixlaneError):
    """The request needs images and no route is left whose model can see; nothing was sent."""

    code = "image_input_unsupported"


# Engines and limits of a run ---------------------------------------------------------------------------------------------------


class EngineMissing(PixlaneError):
    """The package that decodes this format is not installed; the message names it."""

    code = "engine_missing"


class EngineAfterFork(PixlaneError):
    """libvips ran before this process was forked and would hang here; fork first or use spawn."""

    code = "engine_after_fork"


class DeadlineExceeded(PixlaneError):
    """The image took longer than allowed."""

    code = "timeout"
    retryable = True


class OutOfMemory(PixlaneError):
    """The estimate or the run passed the memory allowed for one image."""

    code = "out_of_memory"
    retryable = True


class Crashed(PixlaneError):
    """The process that ran this image died each time; the job is put aside with its source."""

    code = "crashed"


# The service -------------------------------------------------------------------------------------------------------------


class ServiceError(PixlaneError):
    """The service could not answer; the job itself may be fine."""

    code = "service_error"
    retryable = True


class StoreUnavailable(ServiceError):
    """Redis refused, hung or failed within the deadline of the call."""

    code = "store_unavailable"


class StoreFull(ServiceError):
    """Redis is out of memory."""

    code = "store_full"


class ServiceUnavailable(ServiceError):
    """There is no service to use and none could be started."""

    code = "service_unavailable"


class ResultTimeout(ServiceError):
    """The waiter's own time ran out; the job goes on."""

    code = "result_timeout"


class JobLost(ServiceError):
    """Neither result nor record is there; submit again."""

    code = "job_lost"


def _walk(kind: type[PixlaneError]) -> list[type[PixlaneError]]:
    return [kind, *(deeper for sub in kind.__subclasses__() for deeper in _walk(sub))]


BY_CODE: dict[str, type[PixlaneError]] = {kind.code: kind for kind in _walk(PixlaneError)}
