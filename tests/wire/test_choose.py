"""The link is chosen by who owns the sources; what does not fit is refused in one line."""

from __future__ import annotations

import os
from collections.abc import Iterator
from ipaddress import ip_address

import pytest

from scapy_tfo.errors import SetupError
from scapy_tfo.wire import interfaces
from scapy_tfo.wire.links import choose
from scapy_tfo.wire.links.bare import BareLink
from scapy_tfo.wire.links.choose import open_link
from scapy_tfo.wire.links.ethernet import EthernetLink
from scapy_tfo.wire.links.host import HostLink
from scapy_tfo.wire.links.tun import open_tun

from .conftest import ip


@pytest.fixture
def wires(tap: int) -> Iterator[None]:
    """tap0 without address, tap1 with one and two routes, tun0 bare, down0 down."""
    others = {name: open_tun(name, layer2=name != "tun0")[0] for name in ("tap1", "tun0", "down0")}
    ip("address add 10.7.1.1/24 dev tap1")
    for name in ("tap1", "tun0"):
        ip(f"link set {name} up")
    ip("address add fd07:1::1/64 dev tap1 nodad")
    ip("route add 10.8.0.0/16 via 10.7.1.254 dev tap1")
    ip("route add fd08::/16 via fd07:1::fe dev tap1")
    yield
    for fd in others.values():
        os.close(fd)
    del tap


WAYS = [
    # target, --iface, --source, the link, its sources
    ("127.0.0.1", None, [], HostLink, ["127.0.0.1", "127.0.0.2"]),
    ("127.0.0.2", None, [], HostLink, ["127.0.0.1", "127.0.0.3"]),
    ("127.0.0.1", "lo", [], HostLink, ["127.0.0.1", "127.0.0.2"]),
    ("127.0.0.1", None, ["127.0.0.9"], HostLink, ["127.0.0.9"]),
    ("::1", None, [], HostLink, ["::1"]),
    ("10.7.1.1", None, [], HostLink, ["10.7.1.1"]),
    ("10.7.1.9", None, [], HostLink, ["10.7.1.1"]),
    ("10.8.0.9", None, ["10.7.1.1"], HostLink, ["10.7.1.1"]),
    ("10.7.1.9", "tap1", ["10.7.1.77"], EthernetLink, ["10.7.1.77"]),
    ("10.7.0.2", "tap0", ["10.7.0.77", "10.7.0.78"], EthernetLink, ["10.7.0.77", "10.7.0.78"]),
    ("fd07::2", "tap0", ["fd07::77"], EthernetLink, ["fd07::77"]),
    ("10.7.0.2", "tun0", ["10.7.0.77"], BareLink, ["10.7.0.77"]),
]


@pytest.mark.usefixtures("wires")
@pytest.mark.parametrize(("target", "iface", "sources", "kind", "expected"), WAYS)
def test_the_way(
    target: str, iface: str | None, sources: list[str], kind: type, expected: list[str]
) -> None:
    given = [ip_address(each) for each in sources]
    link = open_link(ip_address(target), iface=iface, sources=given)
    try:
        assert type(link) is kind
        assert [str(each) for each in link.sources] == expected
        assert link.is_local == (target in ("127.0.0.1", "127.0.0.2", "::1", "10.7.1.1"))
    finally:
        link.close()


@pytest.mark.usefixtures("wires")
def test_a_family_without_a_way_is_left_out() -> None:
    both = [ip_address("127.0.0.1"), ip_address("2001:db8::1")]
    link = open_link(both)
    assert [str(each) for each in link.sources] == ["127.0.0.1", "127.0.0.2"]
    link.close()
    link = open_link(both, iface="tap0", sources=[ip_address("2001:db8::77")])
    assert [str(each) for each in link.sources] == ["2001:db8::77"]
    link.close()


REFUSED = [
    ("10.7.0.2", "eth9", [], "no such interface: 'eth9' (there are: lo, tap0, "),
    ("10.7.0.2", "much-too-long-a-name", [], "no such interface: 'much-too-long-a-name'"),
    ("10.9.0.2", None, [], "no route to 10.9.0.2: Network is unreachable"),
    ("10.7.0.2", "tap0", [], "give addresses to send from with --source"),
    ("10.7.0.2", None, ["10.7.0.77"], "source 10.7.0.77 is not an address of this host: give"),
    ("10.7.0.2", "tap0", ["fd07::77"], "source fd07::77 is IPv6, but the target 10.7.0.2 is not"),
    ("::1", None, ["127.0.0.1"], "source 127.0.0.1 is IPv4, but the target ::1 is not"),
    ("10.7.1.9", "tap1", ["10.7.1.1", "10.7.1.77"], "10.7.1.1 is this host's own and 10.7.1.77"),
    ("10.7.0.2", "down0", ["10.7.0.77"], "down0 is down: bring it up first (ip link set down0 up)"),
    ("10.7.0.2", "lo", ["10.7.0.77"], "lo is not an Ethernet interface"),
    ("10.9.0.2", None, ["127.0.0.1"], "cannot send to 10.9.0.2: Network is unreachable"),
    ("224.0.0.1", None, [], "224.0.0.1 is not the address of one host"),
    ("255.255.255.255", None, [], "255.255.255.255 is not the address of one host"),
    ("10.7.1.255", None, [], "10.7.1.255 is a broadcast address"),
    ("fe80::7", None, [], "no route to fe80::7"),
    ("fe80::7%eth9", None, [], "no such interface: 'eth9'"),
    ("::", None, [], ":: is not the address of one host"),
]


@pytest.mark.usefixtures("wires")
@pytest.mark.parametrize(("target", "iface", "sources", "line"), REFUSED)
def test_what_does_not_fit_is_refused(
    target: str, iface: str | None, sources: list[str], line: str
) -> None:
    given = [ip_address(each) for each in sources]
    with pytest.raises(SetupError) as refusal:
        open_link(ip_address(target), iface=iface, sources=given)
    assert line in str(refusal.value)
    assert "\n" not in str(refusal.value)


def test_without_privilege_it_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    def forbidden(*_: object, **__: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(choose, "HostLink", forbidden)
    with pytest.raises(SetupError, match=r"CAP_NET_RAW: run as root, or try lab:linux"):
        open_link(ip_address("127.0.0.1"))


@pytest.mark.usefixtures("wires")
@pytest.mark.parametrize(
    ("target", "hop"),
    [
        ("10.8.3.4", "10.7.1.254"),
        ("10.7.1.9", None),
        ("192.0.2.1", None),
        ("fd08::9", "fd07:1::fe"),
        ("fd07:1::9", None),
    ],
)
def test_the_next_hop_is_read_from_the_routes(target: str, hop: str | None) -> None:
    found = interfaces.next_hop("tap1", ip_address(target))
    assert found == (hop and ip_address(hop))
