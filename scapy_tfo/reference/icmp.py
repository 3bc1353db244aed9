"""ICMP errors that quote a segment of ours (RFC 1122 section 4.2.3.9, RFC 5927)."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from ipaddress import IPv4Address, IPv6Address
from typing import Protocol

from scapy_tfo import seq
from scapy_tfo.icmp import IcmpError
from scapy_tfo.reference.connection import Connection
from scapy_tfo.reference.core import Ends, Host
from scapy_tfo.reference.settings import Icmp
from scapy_tfo.segment import PROTOCOL_TCP, Address

_LEAST_MTU = {4: 68, 6: 1280}
"""RFC 791 section 3.2, RFC 8200 section 5: a smaller one is not believed."""

_HARD = {4: {(3, 2), (3, 3)}, 6: {(1, 4)}}
"""Type and code for protocol and port unreachable (RFC 1122 4.2.3.9, RFC 4443 3.1)."""

_UNREACHABLE = {4: 3, 6: 1}
_TOO_BIG = {4: (3, 4), 6: (2, 0)}


class IcmpHost(Host, Protocol):
    """What is used here of the host, besides."""

    @property
    def connections(self) -> Mapping[Ends, Connection]: ...

    def untold_mtu(self, size: int) -> int: ...


def quoted_segment(quoted: bytes) -> tuple[Address, int, Address, int, int] | None:
    """Source, source port, destination, destination port and sequence number; None if not TCP."""
    if len(quoted) >= 28 and quoted[0] >> 4 == 4 and quoted[9] == PROTOCOL_TCP:
        head = (quoted[0] & 15) * 4
        src: Address = IPv4Address(quoted[12:16])
        dst: Address = IPv4Address(quoted[16:20])
    elif len(quoted) >= 48 and quoted[0] >> 4 == 6 and quoted[6] == PROTOCOL_TCP:
        head = 40
        src, dst = IPv6Address(quoted[8:24]), IPv6Address(quoted[24:40])
    else:
        return None
    if len(quoted) < head + 8:
        return None
    sport, dport, number = struct.unpack_from("!HHI", quoted, head)
    return src, sport, dst, dport, number


def arrive(stack: IcmpHost, error: IcmpError, now: float) -> None:
    """Tell the connection; ignored unless it quotes what is on its way (RFC 5927 4.1)."""
    found = quoted_segment(error.quoted)
    if found is None or error.dst not in stack.addresses or stack.settings.icmp is Icmp.IGNORED:
        return
    src, sport, dst, dport, number = found
    connection = stack.connections.get((src, sport, dst, dport))
    if connection is None:
        return
    send = connection.send
    if not (seq.at_most(send.una, number) and seq.before(number, send.nxt)):
        return
    version = error.dst.version
    if (error.type, error.code) == _TOO_BIG[version]:
        mtu = error.mtu
        if version == 4 and not mtu:
            mtu = stack.untold_mtu(int.from_bytes(error.quoted[2:4], "big"))
        if mtu >= _LEAST_MTU[version]:
            if mtu < stack.mtu_towards(dst):
                stack.note_mtu(dst, mtu)
            # Another connection may have told of the path before (RFC 8201 section 5.2).
            connection.packet_too_big(now)
    elif error.type == _UNREACHABLE[version]:
        hard = (error.type, error.code) in _HARD[version]
        connection.unreachable("ECONNREFUSED" if hard else "EHOSTUNREACH", hard=hard, now=now)
    stack.arm(connection)
