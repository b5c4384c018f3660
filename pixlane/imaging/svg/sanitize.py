"""What an SVG may ask for, before any engine sees it: elements that draw, and references that stay inside the document.

A list of what is let through, not of what is taken out: known SVG elements, attributes without a namespace or of XLink and XML,
references of the forms `#id` and `data:`. All else is dropped; where that can be seen in the picture, a note says so.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pixlane.errors import CorruptInput, UnsafeSvg
from pixlane.imaging.svg import bounds, css, tree
from pixlane.imaging.svg.embedded import Rasters
from pixlane.imaging.svg.text import characters
from pixlane.imaging.svg.tree import Node
from pixlane.settings import Limits

if TYPE_CHECKING:
    from pixlane.imaging.deadline import Deadline

MAX_NESTED_DOCUMENTS = 3  # an SVG in a data: reference of an SVG ...

NoteWriter = Callable[[str, str], None]

_STRUCTURE = "svg g defs symbol use switch a style image"
_SHAPES = "rect circle ellipse line polyline polygon path"
_TEXT = "text tspan textPath tref"
_PAINT = "linearGradient radialGradient stop pattern clipPath mask marker solidColor"
_FILTERS = (
    "filter feBlend feColorMatrix feComponentTransfer feComposite feConvolveMatrix feDiffuseLighting feDisplacementMap "
    "feDistantLight feDropShadow feFlood feFuncA feFuncB feFuncG feFuncR feGaussianBlur feImage feMerge feMergeNode "
    "feMorphology feOffset fePointLight feSpecularLighting feSpotLight feTile feTurbulence"
)
ELEMENTS = frozenset(f"{_STRUCTURE} {_SHAPES} {_TEXT} {_PAINT} {_FILTERS}".split())

_SCRIPTS = frozenset({"script", "handler", "listener"})
_FOREIGN = frozenset({"foreignObject", "iframe", "video", "audio", "canvas", "embed", "object", "html", "body", "div", "img"})
_ANIMATIONS = frozenset({"animate", "animateColor", "animateMotion", "animateTransform", "set", "discard"})
_FONTS = frozenset({"font", "font-face"})
_LEFT_OUT = _SCRIPTS | _FOREIGN | _ANIMATIONS | _FONTS | {"title", "desc", "metadata"}
_HREFS = ("href", "xlink:href")
_PLAIN = frozenset({"id", "class", "d", "points", "transform", "viewBox", "values", "systemLanguage"})  # never name a resource
_URL = re.compile(r"url|\\", re.IGNORECASE)


@dataclass
class Drawing:
    """A sanitized document: nothing in it names anything outside of it."""

    root: Node
    has_text: bool = False


@dataclass
class _Total:
    """What a document and those inside it have together."""

    elements: int = 0
    characters: int = 0

    def add(self, root: Node, text: str, limits: Limits) -> None:
        self.elements += sum(1 for _ in root.walk())
        self.characters += len(text)
        for what, actual, limit in (
            ("elements", self.elements, tree.MAX_ELEMENTS),
            ("characters", self.characters, limits.max_inflated_bytes),
        ):
            if actual > limit:
                raise UnsafeSvg(
                    f"the SVG and those inside it have {actual} {what}, allowed are {limit}", limit=limit, actual=actual
                )


@dataclass
class _Task:
    """One document on its way; nested documents share what counts for all of them."""

    note: NoteWriter
    rasters: Rasters
    limits: Limits
    total: _Total = field(default_factory=_Total)
    nesting: int = 0
    removed: css.Removed = field(default_factory=css.Removed)
    dropped: Counter[str] = field(default_factory=Counter)
    scripts: int = 0
    has_text: bool = False


def sanitize(data: bytes, limits: Limits, note: NoteWriter, deadline: Deadline) -> Drawing:
    """The document of those bytes (SVG or svgz, any Unicode encoding), safe to hand to an engine.

    `note(code, text)` is told what was left out; the deadline is looked at between pictures.
    Raises UnsafeSvg, SourceTooLarge, TooManyPixels beyond a bound (with limit and actual), CorruptInput for what is no SVG.
    """
    task = _Task(note, Rasters(limits, note, deadline), limits)
    root = _document(data, task)
    bounds.check(root, note)
    return Drawing(root, task.has_text)


def _document(data: bytes, task: _Task) -> Node:
    text = characters(data, task.limits)
    document = tree.parse(text)
    root = document.root
    task.total.add(root, text, task.limits)
    if root.name != "svg" or root.namespace != tree.SVG:
        raise CorruptInput(f"the first element is {root.name!r}, not an SVG's", actual=root.name)
    if document.namespace_missing:
        task.note("svg_repaired", "the SVG does not declare its namespace; it was read as SVG")
    task.removed.references.extend(f"&{name};" for name in document.undefined)
    task.removed.references.extend(["xml-stylesheet"] * document.stylesheets)
    _clean(root, task)
    _tell(task)
    return root


def _clean(root: Node, task: _Task) -> None:
    waiting = [root]
    while waiting:
        node = waiting.pop()
        _clean_attributes(node, task)
        if node.name == "style":
            sheet = "".join(child for child in node.children if isinstance(child, str))
            node.children = [css.clean(sheet, task.removed)]
            continue
        task.has_text |= node.name == "text"
        node.children = [child for child in node.children if isinstance(child, str) or _is_drawn(child, node, task)]
        waiting.extend(node.elements)


def _is_drawn(node: Node, parent: Node, task: _Task) -> bool:
    if node.namespace == tree.SVG and node.name in ELEMENTS:
        return True
    if node.namespace == tree.SVG and node.name not in _LEFT_OUT and parent.name != "switch":  # which takes the first it knows
        node.name = "defs"  # is not drawn, but what is in it may be referred to
        return True
    if node.name in _SCRIPTS:
        task.scripts += 1
    elif node.name in _FOREIGN:
        task.dropped["svg_foreign_removed"] += 1
    elif node.namespace == tree.SVG and node.name in _ANIMATIONS:
        task.dropped["svg_animation_ignored"] += 1
    elif node.namespace == tree.SVG and node.name in _FONTS:
        task.removed.fonts += 1
    return False  # titles, descriptions, editors' own data: never drawn


def _clean_attributes(node: Node, task: _Task) -> None:
    for name, value in list(node.attributes.items()):
        lower = name.lower()
        local = lower.rpartition(":")[2]
        if lower.startswith("on"):
            del node.attributes[name]
            task.scripts += 1
        elif local in ("href", "src"):
            _clean_href(node, name, value, task)
        elif name.startswith(("xlink:", "xml:")):
            if name not in ("xml:space", "xml:lang"):
                del node.attributes[name]
        elif name == "style":
            node.attributes[name] = css.clean(value, task.removed)
        elif name not in _PLAIN and _URL.search(value):
            node.attributes[name] = css.clean(value, task.removed, name)


def _clean_href(node: Node, name: str, value: str, task: _Task) -> None:
    target = value.strip()
    if name in _HREFS and target.startswith("#"):
        node.attributes[name] = target
        return
    del node.attributes[name]
    if name in _HREFS and target[:5].lower() == "data:" and node.name in ("image", "feImage"):
        picture = task.rasters.picture(target, lambda data: _nested(data, task))
        if picture is not None:
            node.attributes[name] = picture
    elif target and node.name != "a":  # where a link leads is never drawn
        task.removed.references.append(target)


def _nested(data: bytes, task: _Task) -> bytes:
    """A whole document inside a data: reference, sanitized as its host is."""
    if task.nesting >= MAX_NESTED_DOCUMENTS:
        raise UnsafeSvg(
            f"the SVG holds documents nested more than {MAX_NESTED_DOCUMENTS} deep",
            limit=MAX_NESTED_DOCUMENTS,
            actual=task.nesting + 1,
        )
    inner = _Task(task.note, task.rasters, task.limits, task.total, task.nesting + 1)
    root = _document(data, inner)
    bounds.check(root, task.note)
    task.has_text |= inner.has_text
    return tree.markup(root).encode("utf-8")


_SENTENCES = {
    "svg_foreign_removed": "{} of HTML or media inside the SVG cannot be drawn",
    "svg_animation_ignored": "{} of animation left out; the picture shows the state before them",
}


def _tell(task: _Task) -> None:
    references = task.removed.references
    if references:
        named = ", ".join(f"{target[:80]!r}" for target in list(dict.fromkeys(references))[:3])
        task.note("svg_reference_removed", f"{_count(len(references), 'reference')} out of the SVG removed: {named}")
    if task.scripts:
        task.note(
            "svg_script_removed", f"{_count(task.scripts, 'script or event handler', 'scripts and event handlers')} removed"
        )
    if task.removed.fonts:
        task.note("svg_font_replaced", "the SVG brings fonts of its own; its text is drawn in installed ones")
    for code, number in task.dropped.items():
        task.note(code, _SENTENCES[code].format(_count(number, "element")))


def _count(number: int, one: str, many: str = "") -> str:
    return f"{number} {one if number == 1 else many or one + 's'}"
