"""What was done to a history: one record a change, with a code that is stable. Used by `repair` and by `recover`."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from pixlane.messages.wires.wire import Path

CHANGE_CODES: dict[str, str] = {
    "relabelled": "the declared type contradicted the bytes and was put right; the bytes are the same",
    "respelled": "the part was not spelled as the receiver takes it (base64 with line breaks, the shape of another wire, a field "
    "that was refused) and was written anew; picture and words are the same",
    "transcoded": "the receiver does not take the format, or would stumble over the file; the picture was encoded anew",
    "shrunk": "the picture has fewer pixels or bytes than before, because a limit asks for it",
    "moved": "the picture stands outside of the tool result that it came in, because the receiver drops it there",
    "described": "words took the place of the picture",
    "omitted": "a short placeholder took the place of the picture; the text says why",
    "repeated": "the same picture stands elsewhere in the history; a reference took its place",
    "claim_removed": "a sentence that spoke of pixels which are not there any more was removed or put right",
}


@dataclass(frozen=True)
class Change:
    """One thing that was done. `path` is the place in the messages as they came in; `text` one sentence with the values."""

    code: str
    path: Path
    text: str

    def to_dict(self) -> dict[str, Any]:
        return {**asdict(self), "path": list(self.path)}
