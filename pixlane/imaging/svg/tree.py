"""Characters to elements and back: expat with bounds on depth, elements and entities, and one plain form to write out."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from xml.parsers import expat

from pixlane.errors import CorruptInput, UnsafeSvg

MAX_DEPTH = 200  # nested elements, counted through references too; every engine recurses
MAX_ELEMENTS = 50_000
MAX_ATTRIBUTES = 250  # of one element
MAX_ENTITIES = 200
MAX_EXPANDED_CHARACTERS = 1_048_576  # what all entity references together may add

SVG = "http://www.w3.org/2000/svg"
XLINK = "http://www.w3.org/1999/xlink"
XML = "http://www.w3.org/XML/1998/namespace"

# What a prefix means where nobody declared it: markup that was copied out of an HTML page.
_ASSUMED = {"": SVG, "svg": SVG, "xlink": XLINK, "xml": XML}
_PREFIX = {"": "", XLINK: "xlink:", XML: "xml:"}


@dataclass(slots=True)
class Node:
    """An element. `namespace` is its URI; of the attributes those without one, and those of XLink and XML under their prefix."""

    namespace: str
    name: str
    attributes: dict[str, str]
    children: list[Node | str] = field(default_factory=list)

    @property
    def elements(self) -> Iterator[Node]:
        return (child for child in self.children if isinstance(child, Node))

    def walk(self) -> Iterator[Node]:
        """This element and all below it, in document order."""
        waiting = [self]
        while waiting:
            node = waiting.pop()
            yield node
            waiting.extend(reversed(list(node.elements)))


@dataclass
class Document:
    """The root, and what was seen on the way that has no element of its own."""

    root: Node
    stylesheets: int = 0  # <?xml-stylesheet?> instructions
    undefined: tuple[str, ...] = ()  # entities that only an external DTD could define
    namespace_missing: bool = False


def parse(text: str) -> Document:
    """The document of that text.

    Internal entities are expanded once, external ones and the external DTD are never read.
    Raises UnsafeSvg beyond a bound, CorruptInput for what is not XML.
    """
    reader = _Reader(text)
    parser = expat.ParserCreate("utf-8")
    parser.ordered_attributes = True
    parser.buffer_text = True
    parser.SetParamEntityParsing(expat.XML_PARAM_ENTITY_PARSING_NEVER)
    for handler in (
        "StartElementHandler",
        "EndElementHandler",
        "CharacterDataHandler",
        "EntityDeclHandler",
        "EndDoctypeDeclHandler",
        "ProcessingInstructionHandler",
        "SkippedEntityHandler",
        "ExternalEntityRefHandler",
    ):
        setattr(parser, handler, getattr(reader, handler))
    try:
        parser.Parse(text.encode("utf-8"), True)
    except expat.ExpatError as error:
        if error.code == expat.errors.codes[expat.errors.XML_ERROR_AMPLIFICATION_LIMIT_BREACH]:
            raise UnsafeSvg("the SVG's entities grow beyond what the parser allows") from None
        raise CorruptInput(f"the SVG is not well-formed: {error}") from None
    except UnicodeEncodeError as error:
        raise CorruptInput(f"the SVG holds characters that are none: {error}") from None
    if reader.root is None:
        raise CorruptInput("the SVG has no element")
    return Document(reader.root, reader.stylesheets, tuple(dict.fromkeys(reader.undefined)), reader.namespace_missing)


class _Reader:
    """expat's handlers, named as expat names them; resolves prefixes itself, so that an undeclared `xlink:` is no error."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.root: Node | None = None
        self.open: list[Node] = []
        self.scopes: list[dict[str, str]] = [{}]
        self.count = 0
        self.entities: dict[str, str] = {}
        self.stylesheets = 0
        self.undefined: list[str] = []
        self.namespace_missing = False

    def StartElementHandler(self, tag: str, flat: list[str]) -> None:
        self.count += 1
        _bound("elements", self.count, MAX_ELEMENTS)
        _bound("nested elements", len(self.open) + 1, MAX_DEPTH)
        _bound("attributes of one element", len(flat) // 2, MAX_ATTRIBUTES)
        pairs = list(zip(flat[::2], flat[1::2], strict=True))
        scope = self.scopes[-1]
        declared = {name[6:]: value for name, value in pairs if name == "xmlns" or name.startswith("xmlns:")}
        if declared:
            scope = {**scope, **declared}
        self.scopes.append(scope)
        prefix, _, local = tag.rpartition(":")
        if not self.open and prefix not in scope:
            self.namespace_missing = True
        node = Node(_namespace(scope, prefix), local, _attributes(pairs, scope))
        if self.open:
            self.open[-1].children.append(node)
        else:
            self.root = node
        self.open.append(node)

    def EndElementHandler(self, tag: str) -> None:
        self.open.pop()
        self.scopes.pop()

    def CharacterDataHandler(self, text: str) -> None:
        self.open[-1].children.append(text)

    def EntityDeclHandler(
        self,
        name: str,
        parameter: bool,
        value: str | None,
        base: str | None,
        system: str | None,
        public: str | None,
        notation: str | None,
    ) -> None:
        if parameter or value is None:
            kind = "a parameter entity" if parameter else "an external entity"
            raise UnsafeSvg(f"the SVG declares {kind} ({name}); only internal text entities are read", limit=0, actual=name)
        if "&" in value:
            raise UnsafeSvg(f"the SVG's entity {name} refers to another one; entities are expanded once", limit=1, actual=name)
        self.entities.setdefault(name, value)
        _bound("entities", len(self.entities), MAX_ENTITIES)

    def EndDoctypeDeclHandler(self) -> None:
        grown = sum(len(value) * self.text.count(f"&{name};") for name, value in self.entities.items())
        _bound("characters from entities", grown, MAX_EXPANDED_CHARACTERS)

    def ProcessingInstructionHandler(self, target: str, content: str) -> None:
        self.stylesheets += target.lower() == "xml-stylesheet"

    def SkippedEntityHandler(self, name: str, parameter: bool) -> None:
        self.undefined.append(name)

    def ExternalEntityRefHandler(self, context: str, base: str | None, system: str | None, public: str | None) -> int:
        return 1  # the declaration was refused already; nothing is ever opened


def _bound(what: str, actual: int, limit: int) -> None:
    if actual > limit:
        raise UnsafeSvg(f"the SVG has {actual} {what}, allowed are {limit}", limit=limit, actual=actual)


def _namespace(scope: dict[str, str], prefix: str) -> str:
    return scope.get(prefix, _ASSUMED.get(prefix, f"undeclared:{prefix}"))


def _attributes(pairs: list[tuple[str, str]], scope: dict[str, str]) -> dict[str, str]:
    kept = {}
    for name, value in pairs:
        prefix, _, local = name.rpartition(":")
        namespace = _namespace(scope, prefix) if prefix else ""
        if prefix != "xmlns" and name != "xmlns" and namespace in _PREFIX:
            kept[_PREFIX[namespace] + local] = value
    return kept


_TEXT = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", "\r": "&#13;"})
_VALUE = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "\n": "&#10;", "\r": "&#13;", "\t": "&#9;"})
_NAME = re.compile(r"[^\s<>\"'&=/:]+")


def markup(root: Node) -> str:
    """The tree as text in one form: SVG as the default namespace, `xlink:` declared once, no DOCTYPE, no instructions."""
    parts: list[str] = []
    _write(root, parts, f' xmlns="{SVG}" xmlns:xlink="{XLINK}"')
    return "".join(parts)


def _write(node: Node, parts: list[str], declarations: str = "") -> None:
    parts.append(f"<{node.name}{declarations}")
    parts.extend(f' {name}="{value.translate(_VALUE)}"' for name, value in node.attributes.items())
    parts.append(">")
    for child in node.children:
        if isinstance(child, Node):
            _write(child, parts)
        else:
            parts.append(child.translate(_TEXT))
    parts.append(f"</{node.name}>")
