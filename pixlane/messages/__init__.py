"""An agent's side of images: which lane they take, how they are attached, and what happens when they are refused.

Functions over plain message structures; no framework, no engine until pixels are touched. The input is never changed.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pixlane.messages.admission import Admission as Admission
    from pixlane.messages.admission import AdmissionLimits as AdmissionLimits
    from pixlane.messages.admission import Candidate as Candidate
    from pixlane.messages.admission import admit as admit
    from pixlane.messages.budgets import CallBudget as CallBudget
    from pixlane.messages.call_counts import MemoryCounts as MemoryCounts
    from pixlane.messages.call_counts import RedisCounts as RedisCounts
    from pixlane.messages.capability import Finding as Finding
    from pixlane.messages.capability import Rung as Rung
    from pixlane.messages.capability import ladder as ladder
    from pixlane.messages.changes import Change as Change
    from pixlane.messages.config import Config as Config
    from pixlane.messages.config import coerce_bool as coerce_bool
    from pixlane.messages.config import load_config as load_config
    from pixlane.messages.faults import ImageFault as ImageFault
    from pixlane.messages.faults import classify_error as classify_error
    from pixlane.messages.gate import Gate as Gate
    from pixlane.messages.gate import native_tool_images as native_tool_images
    from pixlane.messages.invisible import clean as clean
    from pixlane.messages.lane import Decision as Decision
    from pixlane.messages.lane import Explanation as Explanation
    from pixlane.messages.lane import decide_lane as decide_lane
    from pixlane.messages.lane import explain as explain
    from pixlane.messages.lane import explicit_backend as explicit_backend
    from pixlane.messages.mcp_results import from_mcp as from_mcp
    from pixlane.messages.mcp_results import from_mcp_async as from_mcp_async
    from pixlane.messages.media import MediaFolder as MediaFolder
    from pixlane.messages.parts import Attached as Attached
    from pixlane.messages.parts import build_parts as build_parts
    from pixlane.messages.pictures import Memory as Memory
    from pixlane.messages.recovery import Recovery as Recovery
    from pixlane.messages.recovery import recover as recover
    from pixlane.messages.refs import Ignored as Ignored
    from pixlane.messages.refs import ImageRefs as ImageRefs
    from pixlane.messages.refs import extract_image_refs as extract_image_refs
    from pixlane.messages.repairs import Repaired as Repaired
    from pixlane.messages.repairs import repair as repair
    from pixlane.messages.routes import Route as Route
    from pixlane.messages.routes import dispatchable as dispatchable
    from pixlane.messages.sending import Answer as Answer
    from pixlane.messages.sending import with_recovery as with_recovery
    from pixlane.messages.sentences import Sentences as Sentences
    from pixlane.messages.tool_results import ToolResult as ToolResult
    from pixlane.messages.tool_results import from_capture as from_capture
    from pixlane.messages.tool_results import from_capture_async as from_capture_async

_HOMES = {
    "Attached": "pixlane.messages.parts",
    "Change": "pixlane.messages.changes",
    "Memory": "pixlane.messages.pictures",
    "build_parts": "pixlane.messages.parts",
    "repair": "pixlane.messages.repairs",
    "Repaired": "pixlane.messages.repairs",
    "Sentences": "pixlane.messages.sentences",
    "CallBudget": "pixlane.messages.budgets",
    "MemoryCounts": "pixlane.messages.call_counts",
    "RedisCounts": "pixlane.messages.call_counts",
    "Admission": "pixlane.messages.admission",
    "AdmissionLimits": "pixlane.messages.admission",
    "Candidate": "pixlane.messages.admission",
    "admit": "pixlane.messages.admission",
    "Route": "pixlane.messages.routes",
    "dispatchable": "pixlane.messages.routes",
    "ImageRefs": "pixlane.messages.refs",
    "Ignored": "pixlane.messages.refs",
    "extract_image_refs": "pixlane.messages.refs",
    "Decision": "pixlane.messages.lane",
    "Explanation": "pixlane.messages.lane",
    "decide_lane": "pixlane.messages.lane",
    "explain": "pixlane.messages.lane",
    "explicit_backend": "pixlane.messages.lane",
    "Gate": "pixlane.messages.gate",
    "native_tool_images": "pixlane.messages.gate",
    "Config": "pixlane.messages.config",
    "coerce_bool": "pixlane.messages.config",
    "load_config": "pixlane.messages.config",
    "Finding": "pixlane.messages.capability",
    "Rung": "pixlane.messages.capability",
    "ladder": "pixlane.messages.capability",
    "ToolResult": "pixlane.messages.tool_results",
    "from_capture": "pixlane.messages.tool_results",
    "from_capture_async": "pixlane.messages.tool_results",
    "from_mcp": "pixlane.messages.mcp_results",
    "from_mcp_async": "pixlane.messages.mcp_results",
    "MediaFolder": "pixlane.messages.media",
    "ImageFault": "pixlane.messages.faults",
    "classify_error": "pixlane.messages.faults",
    "Recovery": "pixlane.messages.recovery",
    "recover": "pixlane.messages.recovery",
    "Answer": "pixlane.messages.sending",
    "with_recovery": "pixlane.messages.sending",
    "clean": "pixlane.messages.invisible",
}
"""Public name to the module that has it, imported on first use."""

__all__ = [
    "Admission",
    "AdmissionLimits",
    "Answer",
    "Attached",
    "CallBudget",
    "Candidate",
    "Change",
    "Config",
    "Decision",
    "Explanation",
    "Finding",
    "Gate",
    "Ignored",
    "ImageFault",
    "ImageRefs",
    "MediaFolder",
    "Memory",
    "MemoryCounts",
    "Recovery",
    "RedisCounts",
    "Repaired",
    "Route",
    "Rung",
    "Sentences",
    "ToolResult",
    "admit",
    "build_parts",
    "classify_error",
    "clean",
    "coerce_bool",
    "decide_lane",
    "dispatchable",
    "explain",
    "explicit_backend",
    "extract_image_refs",
    "from_capture",
    "from_capture_async",
    "from_mcp",
    "from_mcp_async",
    "ladder",
    "load_config",
    "native_tool_images",
    "recover",
    "repair",
    "with_recovery",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = getattr(import_module(_HOMES[name]), name)
    globals()[name] = found  # a name may also be that of a module, which an import would put here
    return found


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOMES])
