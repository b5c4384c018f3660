"""A URL of a stranger leads to public machines alone, however the address is written."""

from __future__ import annotations

from ipaddress import ip_address

import pytest

from pixlane import addresses
from pixlane.errors import FetchFailed, InvalidArgument, UrlNotAllowed

CLOSED = {
    "loopback": ("127.0.0.1", "127.8.9.10", "::1"),
    "private": ("10.0.0.1", "172.16.5.4", "192.168.1.1", "fd12:3456::1"),
    "link-local": ("169.254.1.1", "fe80::1", "fec0::1"),
    "shared by carriers (CGNAT)": ("100.64.0.1", "100.127.255.254"),
    "metadata of clouds": ("169.254.169.254", "168.63.129.16", "100.100.100.200", "192.0.0.192", "fd00:ec2::254"),
    "unspecified": ("0.0.0.0", "0.1.2.3", "::"),
    "multicast and broadcast": ("224.0.0.1", "233.1.1.1", "255.255.255.255", "ff02::1", "ff0e::1"),
    "reserved or for documentation": ("240.0.0.1", "192.0.2.1", "198.18.0.1", "2001:db8::1", "3fff::1", "5f00::1", "192.88.99.1"),
    "IPv4 mapped": ("::ffff:127.0.0.1", "::ffff:10.0.0.1", "::ffff:169.254.169.254"),
    "IPv4 compatible": ("::127.0.0.1", "::8.8.8.8"),
    "6to4": ("2002:7f00:1::", "2002:a9fe:a9fe::1"),
    "Teredo": ("2001:0:4136:e378:8000:63bf:f5ff:fffe",),
    "NAT64": ("64:ff9b::7f00:1", "64:ff9b::a9fe:a9fe", "64:ff9b:1::808:808"),
    "ISATAP": ("2001:4860:4860::5efe:a00:1", "2001:4860:4860:0:200:5efe:c0a8:1"),
}
OPEN = ("8.8.8.8", "1.1.1.1", "2606:4700:4700::1111", "2001:4860:4860::8888", "::ffff:8.8.8.8", "64:ff9b::808:808")


@pytest.mark.parametrize("text", [text for texts in CLOSED.values() for text in texts])
def test_what_is_not_public_is_closed(text: str) -> None:
    assert not addresses.is_public(ip_address(text))


@pytest.mark.parametrize("text", OPEN)
def test_what_is_public_is_open(text: str) -> None:
    assert addresses.is_public(ip_address(text))


@pytest.mark.parametrize("host", ["127.0.0.1", "0x7f000001", "2130706433", "127.1", "0177.0.0.1", "localhost", "0", "::1"])
def test_the_same_address_in_another_spelling_is_the_same_address(host: str) -> None:
    with pytest.raises(UrlNotAllowed, match="no public address"):
        addresses.resolve(host, 80, 10)


def test_a_network_that_is_named_is_open_and_its_neighbour_is_not() -> None:
    assert addresses.resolve("127.0.0.1", 80, 10, "192.168.0.0/16, 127.0.0.1") == ["127.0.0.1"]
    with pytest.raises(UrlNotAllowed):
        addresses.resolve("127.0.0.2", 80, 10, "192.168.0.0/16, 127.0.0.1")


def test_a_network_that_is_none_is_an_error() -> None:
    with pytest.raises(InvalidArgument, match="PIXLANE_URL_ALLOWED_NETWORKS"):
        addresses.resolve("127.0.0.1", 80, 10, "10.0.0.1/8")


def test_a_name_that_nobody_has_is_an_error() -> None:
    with pytest.raises(FetchFailed, match="no host"):
        addresses.resolve("nobody.invalid", 80, 30)
    with pytest.raises(FetchFailed):
        addresses.resolve("a" * 300, 80, 30)
