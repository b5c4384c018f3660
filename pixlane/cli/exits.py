"""The exit codes of every command, in one place."""

from __future__ import annotations

from pixlane.errors import InvalidArgument, PixlaneError, ServiceError

DONE = 0
NOT_THERE = 1
WRONG_USE = 2
SOME_FAILED = 3
NO_SERVICE = 4
INTERRUPTED = 130
BROKEN_PIPE = 141
TERMINATED = 143

MEANINGS = {
    DONE: "everything asked for is done",
    NOT_THERE: "`get`: not in the cache; `retry`: nothing to try again; `purge`: not confirmed; "
    "`health`, `doctor`: something needs attention",
    WRONG_USE: "wrong use: an argument, option or setting",
    SOME_FAILED: "an image failed; the others are done",
    NO_SERVICE: "no service: Redis or the embedded service cannot be reached or started, or gives no result in time",
    INTERRUPTED: "interrupted (Ctrl-C)",
    BROKEN_PIPE: "whoever reads the output went away",
    TERMINATED: "ended by SIGTERM",
}
TABLE = "\n".join(f"  {code:>3}  {meaning}" for code, meaning in MEANINGS.items())


def of(error: PixlaneError) -> int:
    """The exit code that an error ends a command with."""
    if isinstance(error, InvalidArgument):
        return WRONG_USE
    if isinstance(error, ServiceError):
        return NO_SERVICE
    return SOME_FAILED
