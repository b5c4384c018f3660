"""Which addresses of the network a stranger's URL may lead to: public ones, and what an operator names besides.

An IPv6 address that carries an IPv4 address counts as both: a gateway on the way may deliver to the inner one.
"""

from __future__ import annotations

import socket
import threading
from collections.abc import Sequence
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from queue import Empty, SimpleQueue
from typing import Any, Final

from pixlane.errors import FetchFailed, InvalidArgument, UrlNotAllowed

Address = IPv4Address | IPv6Address

_CLOSED: Final = tuple(
    ip_network(text)
    for text in (
        "192.0.0.0/24",  # protocol assignments, RFC 6890; a cloud's metadata among them
        "192.88.99.0/24",  # relays of 6to4, RFC 7526
        "3fff::/20",  # documentation, RFC 9637
        "168.63.129.16/32",  # Azure gives out a machine's own data here, in the middle of the public addresses
    )
)
"""What `ipaddress` takes for public in some version of Python, and is not."""

_GLOBAL_UNICAST: Final = ip_network("2000::/3")  # RFC 4291, section 2.4: nothing else is routed in public
_NAT64: Final = ip_network("64:ff9b::/96")  # RFC 6052, section 2.1
_ISATAP: Final = (0x00005EFE, 0x02005EFE)  # RFC 5214, section 6.1: the upper half of the interface identifier


def resolve(host: str, port: int, timeout_s: float, also: str = "") -> list[str]:
    """The addresses of a host, each of them one that may be asked. No later look-up can give another.

    `also`: networks that are allowed though they are not public, as `10.1.0.0/16,192.168.7.4`. Raises UrlNotAllowed when any of
    the addresses is not allowed, FetchFailed when the name is not found within `timeout_s`, InvalidArgument for `also`.
    """
    allowed = networks(also)
    addresses = [ip_address(text.partition("%")[0]) for text in _look_up(host, port, timeout_s)]
    for address in addresses:
        if not (is_public(address) or any(address in network for network in allowed)):
            raise UrlNotAllowed(f"{host} leads to {address}, which is no public address", actual=str(address))
    return [str(address) for address in addresses]


def networks(named: str) -> list[Any]:
    """Comma-separated addresses and networks. Raises InvalidArgument."""
    try:
        return [ip_network(word.strip()) for word in named.split(",") if word.strip()]
    except ValueError as error:
        raise InvalidArgument(f"PIXLANE_URL_ALLOWED_NETWORKS must hold addresses or networks: {error}", actual=named) from None


def is_public(address: Address) -> bool:
    """Whether it is a machine on the public network: nothing private, local, shared, reserved or of a group, in any wrapping."""
    return all(_is_public(each) for each in _unwrapped(address))


def _is_public(address: Address) -> bool:
    if address.is_multicast or address.is_reserved or not address.is_global:
        return False
    if address.version == 6 and address not in _GLOBAL_UNICAST:
        return False
    return not any(address in network for network in _CLOSED)


def _unwrapped(address: Address) -> list[Address]:
    """The addresses that a packet to this one may end at."""
    if isinstance(address, IPv4Address):
        return [address]
    last = IPv4Address(int(address) & 0xFFFFFFFF)
    if address.ipv4_mapped or address in _NAT64:  # only ways to write the inner one
        return [last]
    tunnels: list[Address] = [address.sixtofour] if address.sixtofour else list(address.teredo or ())
    if int(address) >> 32 & 0xFFFFFFFF in _ISATAP:
        tunnels.append(last)
    return [address, *tunnels]


def _look_up(host: str, port: int, timeout_s: float) -> Sequence[str]:
    """Asks the system's resolver, which knows no deadline, in a thread that may be left behind."""
    answer: SimpleQueue[list[Any] | OSError | UnicodeError] = SimpleQueue()

    def ask() -> None:
        try:
            answer.put(socket.getaddrinfo(host, port, type=socket.SOCK_STREAM))
        except (OSError, UnicodeError) as error:
            answer.put(error)

    threading.Thread(target=ask, name="pixlane-resolver", daemon=True).start()
    try:
        found = answer.get(timeout=max(timeout_s, 0.001))
    except Empty:
        raise FetchFailed(f"the name {host} was not resolved in time", transient=True) from None
    if isinstance(found, Exception):
        raise FetchFailed(f"there is no host {host}", transient=isinstance(found, socket.gaierror)) from found
    return list(dict.fromkeys(str(entry[4][0]) for entry in found))
