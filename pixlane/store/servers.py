"""Which server plays which role, and how its address is written for redis-py, for Kombu and for people.

redis-py wants `unix:///path?db=N`, Kombu wants `redis+socket:///path?virtual_host=N`; both forms are understood everywhere.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import SplitResult, parse_qsl, quote, unquote, urlencode, urlsplit

from pixlane.errors import InvalidArgument
from pixlane.settings import Settings

MAX_SOCKET_PATH_BYTES = 107
"""What the kernel takes as the path of a Unix socket (sockaddr_un)."""

_SOCKET_SCHEMES = ("unix", "redis+socket")
_CLUSTER = "+cluster"
"""A scheme that ends so names a member of a Redis cluster."""
_REDIS_SCHEMES = ("redis", "rediss", *_SOCKET_SCHEMES)


@dataclass(frozen=True, repr=False)
class Servers:
    """The addresses in redis-py's form, but for `broker`, which may name another kind of broker (`amqp://`)."""

    ledger: str
    broker: str
    cache: str

    @property
    def one_for_results(self) -> bool:
        """Results and ledger are on one server: they change in one step."""
        return self.cache == self.ledger

    @property
    def one_for_messages(self) -> bool:
        """Ledger and broker are one server: a record and its message go in one step."""
        return is_redis(self.broker) and redis_url(self.broker) == self.ledger

    @property
    def one_for_all(self) -> bool:
        return self.one_for_results and self.one_for_messages

    @classmethod
    def of(cls, settings: Settings, url: str | None = None) -> Servers:
        """The three roles of the settings; `url` takes the place of `redis_url`. Raises InvalidArgument."""
        ledger = url or settings.redis_url
        if not ledger:
            raise InvalidArgument("no Redis is named: set PIXLANE_REDIS_URL or give an address")
        broker = settings.broker_url or ledger
        if not _parts(broker).scheme:
            raise InvalidArgument(f"a broker's address starts with its kind, as redis:// or amqp://; got {shown(broker)}")
        cache = _cache(settings.cache_url or ledger, settings)
        return cls(_completed(redis_url(ledger), settings), _completed(broker, settings), cache)

    def __repr__(self) -> str:
        """Without passwords: an object is printed sooner than one thinks."""
        return f"Servers({', '.join(shown(each) for each in (self.ledger, self.broker, self.cache))})"


def is_cluster(url: str) -> bool:
    """Whether the address of a cache names members of a Redis cluster."""
    return url.partition("://")[0].endswith(_CLUSTER)


def addresses(url: str) -> list[str]:
    """Each server that the address of a cache names, in redis-py's form."""
    return [each.replace(f"{_CLUSTER}://", "://", 1) for each in _split(url)]


def is_redis(url: str) -> bool:
    """Whether the address names a Redis at all; a broker may be something else."""
    return _parts(url).scheme in _REDIS_SCHEMES


def redis_url(url: str) -> str:
    """The address as redis-py takes it. Raises InvalidArgument for one that no Redis can have."""
    parts = _parts(url)
    if parts.scheme not in _REDIS_SCHEMES:
        raise InvalidArgument(
            f"a Redis address starts with {', '.join(f'{name}://' for name in _REDIS_SCHEMES)}; got {shown(url)}"
        )
    if parts.scheme not in _SOCKET_SCHEMES:
        return url
    _check_socket_path(parts.path)
    query = dict(parse_qsl(parts.query))
    if "virtual_host" in query:
        query["db"] = query.pop("virtual_host")
    return _socket_form("unix", parts, query)


def kombu_url(url: str) -> str:
    """The address as Kombu takes it."""
    parts = _parts(url)
    if parts.scheme not in _SOCKET_SCHEMES:
        return url
    _check_socket_path(parts.path)
    query = dict(parse_qsl(parts.query))
    if "db" in query:
        query["virtual_host"] = query.pop("db")
    return _socket_form("redis+socket", parts, query)


def shown(url: str) -> str:
    """The address for people: without user, password and options."""
    if len(each := _split(url)) > 1:
        return ",".join(map(shown, each))
    parts = _parts(url)
    if parts.scheme in _SOCKET_SCHEMES:
        return unquote(parts.path)
    kind = f"{parts.scheme}://" if parts.scheme else ""
    return kind + f"{parts.netloc}{parts.path}".rpartition("@")[2]


def socket_url(path: str, db: int = 0) -> str:
    """The address of a server on a Unix socket."""
    _check_socket_path(path)
    return f"unix://{quote(path)}" + (f"?db={db}" if db else "")


def _split(url: str) -> list[str]:
    """The addresses in one of several servers; a comma may also stand in the path of a socket."""
    return re.split(r",\s*(?=[a-z][a-z+]*://)", url)


def _cache(url: str, settings: Settings) -> str:
    """One server, several after commas, or members of a cluster; a further member may be named by host and port alone."""
    if not is_cluster(url):
        return ",".join(_completed(redis_url(each), settings) for each in _split(url))
    scheme, _, rest = url.partition("://")
    members = []
    user, at, _ = rest.partition(",")[0].rpartition("@")
    for member in rest.split(","):
        host = member.strip().removeprefix(f"{scheme}://")
        address = f"{scheme.removesuffix(_CLUSTER)}://{host if '@' in host else f'{user}{at}{host}'}"
        if _parts(address).path.strip("/") not in ("", "0"):
            raise InvalidArgument(f"a cluster has database 0 alone, got {shown(address)}")
        members.append(_completed(redis_url(address), settings).replace("://", f"{_CLUSTER}://", 1))
    return ",".join(members)


def _completed(url: str, settings: Settings) -> str:
    """The address with the password and the authority that files hold, where it is a Redis and names none itself."""
    parts = _parts(url)
    if parts.scheme not in _REDIS_SCHEMES:
        return url
    query = dict(parse_qsl(parts.query))
    if settings.redis_ca_file and parts.scheme == "rediss":
        query.setdefault("ssl_ca_certs", settings.redis_ca_file)
        query.setdefault("ssl_cert_reqs", "required")  # Kombu would not ask
    netloc = parts.netloc
    if settings.redis_password_file and parts.password is None and "password" not in query:
        user, _, host = netloc.rpartition("@")
        netloc = f"{user}:{quote(_secret(settings.redis_password_file), safe='')}@{host}"
    return f"{parts.scheme}://{netloc}{parts.path}" + (f"?{urlencode(query)}" if query else "")


def _secret(path: str) -> str:
    """What a file holds, without the line end."""
    try:
        secret = Path(path).read_text(encoding="utf-8").rstrip("\r\n")
    except (OSError, UnicodeError) as error:
        said = getattr(error, "strerror", None) or "it is no text"
        raise InvalidArgument(f"PIXLANE_REDIS_PASSWORD_FILE names {path}, which cannot be read: {said}") from None
    if not secret:
        raise InvalidArgument(f"PIXLANE_REDIS_PASSWORD_FILE names {path}, which is empty")
    return secret


def _parts(url: str) -> SplitResult:
    """Raises InvalidArgument where host or port make no sense; it quotes nothing, as a part of a password may stand there."""
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError:
        raise InvalidArgument("the address of a server cannot be read: its host or its port is none") from None
    return parts


def _socket_form(scheme: str, parts: SplitResult, query: dict[str, str]) -> str:
    # Not urlunsplit: it drops the slashes of an empty host, and redis-py and Kombu want them.
    return f"{scheme}://{parts.netloc}{parts.path}" + (f"?{urlencode(query)}" if query else "")


def _check_socket_path(path: str) -> None:
    length = len(unquote(path).encode())
    if length > MAX_SOCKET_PATH_BYTES:
        raise InvalidArgument(
            f"the path of a Unix socket may have {MAX_SOCKET_PATH_BYTES} bytes, this one has {length}: {unquote(path)}",
            limit=MAX_SOCKET_PATH_BYTES,
            actual=length,
        )
