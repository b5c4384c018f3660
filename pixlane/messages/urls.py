"""URLs in a text: where each begins and ends, and whether its path is that of an image. Nothing is fetched or resolved."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from ipaddress import ip_address
from socket import inet_aton, inet_ntoa
from urllib.parse import urlsplit

MAX_SCHEME_CHARS = 20

_BEGIN = re.compile(rf"(?<![A-Za-z0-9+.\-])(?:[A-Za-z][A-Za-z0-9+.\-]{{0,{MAX_SCHEME_CHARS}}}://|data:image/)", re.IGNORECASE)
# White space, control characters, what brackets a URL in text, and the punctuation of scripts that write no spaces.
_BREAK = re.compile(r"[\s\x00-\x1f<>\"`“”‘’«»„\u3000-\u303f\uff01-\uff0f\uff1a-\uff20]")
_NEXT = re.compile(r"[,;|](?=https?://)", re.IGNORECASE)  # two URLs without a space between
_EXTENSION = re.compile(r"\.([A-Za-z0-9]{1,5})(?![A-Za-z0-9_])")
_SECRET = re.compile(r"key|token|sig|secret|pass|pwd|auth|cred|session|code", re.IGNORECASE)
_TRAILING = ".,;:!?'*"
_CLOSERS = {")": "(", "]": "[", "}": "{"}
_METADATA_HOSTS = frozenset(("metadata.google.internal", "metadata.goog", "100.100.100.200", "fd00:ec2::254"))


@dataclass(frozen=True)
class Url:
    """A URL as it stands in the text, from `start` to `end`, without the punctuation after it."""

    text: str
    start: int
    end: int

    @property
    def scheme(self) -> str:
        return self.text.partition(":")[0].lower()

    def verdict(self, taken: Collection[str], known: Collection[str]) -> str:
        """ "taken", "no_image", or the reason why it looks like an image and is not taken."""
        if self.scheme == "data":
            return "unsupported_scheme"
        path = re.split(r"[?#]", self.text.partition("://")[2], maxsplit=1)[0]
        _, slash, name = path.rpartition("/")
        extension = name.rpartition(".")[2].lower() if "." in name and slash else ""
        if self.scheme not in ("http", "https"):
            return "unsupported_scheme" if extension in known else "no_image"
        if extension in taken:
            return "metadata_address" if _is_metadata(self.text) else "taken"
        if extension in known:
            return "unsupported_extension"
        inside = any(found[1].lower() in taken for found in _EXTENSION.finditer(self.text, len(self.scheme) + 3))
        return "no_image_extension" if inside else "no_image"


def find_urls(text: str, limit: int) -> list[Url]:
    """The URLs of any scheme with `://`, and the data URLs of images, in order; at most `limit`."""
    found: list[Url] = []
    at = 0
    while len(found) < limit and (begin := _BEGIN.search(text, at)):
        start, at = begin.start(), begin.end()
        stop = _BREAK.search(text, at)
        end = stop.start() if stop else len(text)
        neighbour = _NEXT.search(text, at, end)
        end = _trimmed(text, start, neighbour.start() if neighbour else end)
        if end > at:
            found.append(Url(text[start:end], start, end))
            at = end
    return found


def masked(url: str) -> str:
    """The URL as it may be printed: without user and password, and with the values of a query that look like secrets hidden."""
    scheme, mark, rest = url.partition("://")
    if not mark:
        return url
    before, query, after = rest.partition("?")
    host, slash, path = before.partition("/")
    host = "***@" + host.rpartition("@")[2] if "@" in host else host
    pairs = after.partition("#")[0].split("&")
    hidden = [f"{pair.partition('=')[0]}=***" if _SECRET.search(pair.partition("=")[0]) else pair for pair in pairs]
    return f"{scheme}://{host}{slash}{path}{query}{'&'.join(hidden)}"


def _trimmed(text: str, start: int, end: int) -> int:
    """Where the URL ends without trailing punctuation and brackets that it did not open."""
    surplus = {closer: text.count(closer, start, end) - text.count(opener, start, end) for closer, opener in _CLOSERS.items()}
    while end > start:
        last = text[end - 1]
        if surplus.get(last, 0) > 0:
            surplus[last] -= 1
        elif last not in _TRAILING:
            break
        end -= 1
    return end


def _is_metadata(url: str) -> bool:
    try:
        host = (urlsplit(url).hostname or "").rstrip(".")
    except ValueError:
        return False
    if host in _METADATA_HOSTS:
        return True
    try:
        address = ip_address(_as_resolved(host))
    except ValueError:
        return False
    mapped = getattr(address, "ipv4_mapped", None) or address
    return mapped.is_link_local or str(mapped) in _METADATA_HOSTS


def _as_resolved(host: str) -> str:
    """An IPv4 address in the one spelling: resolvers also read 0xA9FEA9FE, 2852039166 and 169.254.43518."""
    try:
        return inet_ntoa(inet_aton(host))
    except (OSError, UnicodeError):
        return host
