"""What a text is: SVG, HTML, XML, JSON, told by its first element or sign."""

from __future__ import annotations

import re

_ROOT = re.compile(r"<(?:[A-Za-z_][\w.-]*:)?([A-Za-z!][\w.-]*)")
_SPACE = re.compile(r"\s*")
_MARK = re.compile(r"<!--|[\"'\[\]<>]")
_HTML_DOCTYPE = re.compile(r"\s*<!DOCTYPE\s+html", re.IGNORECASE)


def kind(head: bytes) -> str | None:
    """ "svg", "html", "xml", "json", "text", or None where it is no text."""
    text = _as_text(head)
    if text is None:
        return None
    root = _root(text)
    if root == "svg":
        return "svg"
    if _HTML_DOCTYPE.match(text) or root in _HTML_ELEMENTS:
        return "html"
    if text.lstrip().startswith("<?xml"):
        return "xml"
    return "json" if text.lstrip()[:1] in ("{", "[") else "text"


def _root(text: str) -> str:
    """The local name of the first element, lower case; "" where there is none. Takes time in proportion to the text."""
    at = 0
    while True:
        at = _SPACE.match(text, at).end()  # type: ignore[union-attr]
        if text.startswith("<?", at):
            at = text.find("?>", at) + 2
        elif text.startswith("<!--", at):
            at = text.find("-->", at) + 3
        elif text[at : at + 9].upper() == "<!DOCTYPE":
            at = _after_doctype(text, at)
        else:
            found = _ROOT.match(text, at)
            return found[1].lower() if found else ""
        if at < 4:  # nothing closes it
            return ""


def _after_doctype(text: str, at: int) -> int:
    """Offset after a DOCTYPE with its internal subset, in which quotes and comments may hold any bracket; 0: it never ends."""
    open_angles = open_brackets = 0
    while mark := _MARK.search(text, at):
        kind, at = mark[0], mark.end()
        if kind in ('"', "'", "<!--"):
            closing = "-->" if kind == "<!--" else kind
            at = text.find(closing, at) + len(closing)
            if at < len(closing) + 1:
                return 0
        elif kind in "[]":
            open_brackets += 1 if kind == "[" else -1
        else:
            open_angles += 1 if kind == "<" else -1
            if open_angles == 0 and open_brackets <= 0:
                return at
    return 0


_HTML_ELEMENTS = {"html", "head", "body", "div", "p", "script", "title", "meta", "table", "span", "a", "h1"}


def _as_text(head: bytes) -> str | None:
    if head.startswith((b"\xff\xfe", b"\xfe\xff")):
        return head[: len(head) & ~1].decode("utf-16", "replace").lstrip("\ufeff")
    if head[:2] == b"<\x00":
        return head[: len(head) & ~1].decode("utf-16-le", "replace")
    if head[:2] == b"\x00<":
        return head[: len(head) & ~1].decode("utf-16-be", "replace")
    sample = head.removeprefix(b"\xef\xbb\xbf")
    if any(byte in _BINARY for byte in sample[:512]):
        return None
    high = sum(byte > 127 for byte in sample[:512])
    text = sample.decode("utf-8", "replace")
    return text if text[:512].count("\ufffd") * 3 < max(high, 3) or high * 4 < len(sample[:512]) else None


_BINARY = frozenset(range(32)) - frozenset(b"\t\n\r\f\x1b")
