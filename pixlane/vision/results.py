"""What the results of the vision tool and of reading have in common: the codes of their notes, and how a failure is told."""

from __future__ import annotations

from pixlane.errors import PixlaneError
from pixlane.messages.parts import About, one_line
from pixlane.messages.sentences import Sentences
from pixlane.messages.tool_results import ToolResult
from pixlane.vision import telling

CODES: dict[str, str] = {
    "already_shown": "the picture is in the conversation already; it was not sent a second time",
    "answered": "the gate is closed; somebody else looked and answered in words",
    "no_answer": "the gate is closed and nobody could look; the text says why",
    "not_loaded": "the file could not be read or drawn, or may not go along; the text says why",
    "not_an_image": "the bytes are something else",
    "pages_left_out": "more pages were asked for than one call draws",
    "text_cut": "the text of the document is longer than is read",
}
"""Beside those of `pixlane.messages.tool_results`, of the admission and of the rendition."""


def failed(name: str, error: PixlaneError, sentences: Sentences) -> ToolResult:
    """An error as a result: what is not there and the true reason."""
    why = telling.why_not(error)
    said = sentences.file_failed.format(path=one_line(name), reason=why)
    return ToolResult(said, is_error=True, notes=(About(name, "not_loaded", why),))
