"""The state that a script's calls share: its open files, its addresses, its clock."""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from ipaddress import IPv4Address, IPv6Address
from socket import AF_INET, AF_INET6, htons

from scapy_tfo.pkt.syscalls.values import CallError, Symbol, Values
from scapy_tfo.segment import Address

_MAPPED_BEGINNING = bytes(10) + b"\xff\xff"


@dataclass(frozen=True)
class Endpoints:
    """What `..., ...` stands for in bind() (local) and in connect(), sendto(), sendmsg() (remote).

    mapped: the script's sockets are of AF_INET6, with IPv4 addresses mapped into IPv6 (RFC 4291,
    2.5.5.2).
    """

    local: Address
    remote: Address
    bind_port: int
    connect_port: int
    mapped: bool = False

    @property
    def domain(self) -> int:
        """What `...` stands for in socket()."""
        return AF_INET6 if self.mapped or self.local.version == 6 else AF_INET

    def own(self, port: int | None = None) -> bytes:
        """`struct sockaddr_in` or `sockaddr_in6` for bind(); port: None for the script's."""
        return self._socket_address(self.local, self.bind_port if port is None else port)

    def other(self) -> bytes:
        """Likewise for connect()."""
        return self._socket_address(self.remote, self.connect_port)

    def _socket_address(self, address: Address, port: int) -> bytes:
        if self.domain == AF_INET:
            return struct.pack("=HH4s8x", AF_INET, htons(port), address.packed)
        packed = address.packed
        if isinstance(address, IPv4Address):
            packed = IPv6Address(_MAPPED_BEGINNING + packed).packed
        return struct.pack("=HHI16sI", AF_INET6, htons(port), 0, packed, 0)


@dataclass
class Descriptor:
    """An open file of the script. live: the kernel's number.

    is_new: a socket that neither listens nor has been told to connect. is_passive: one that listens
    or was accepted.
    """

    live: int
    is_socket: bool = False
    is_new: bool = False
    is_passive: bool = False


@dataclass
class State:
    """All that outlives a call.

    descriptors: by the script's number. strays: live ones that the script has no number for.
    current: the socket that code reads of; also when it is closed.
    started: CLOCK_REALTIME at the script's time 0, tolerance for the kernel's timestamps, both ns.
    pinned: memory that the kernel may still read for MSG_ZEROCOPY. running: calls that have not
    returned. capabilities: this thread's before the first cap_set().
    """

    endpoints: Endpoints
    symbols: Mapping[str, Symbol]
    descriptors: dict[int, Descriptor] = field(default_factory=dict)
    strays: list[int] = field(default_factory=list)
    current: Descriptor | None = None
    started: int = 0
    tolerance: int = 4_000_000
    pinned: list[object] = field(default_factory=list)
    running: list[object] = field(default_factory=list)
    capabilities: bytes | None = None

    @property
    def values(self) -> Values:
        """Evaluates the script's expressions."""
        return Values(self.symbols)

    def find(self, number: int) -> Descriptor:
        """By the script's number. Raises CallError."""
        if number not in self.descriptors:
            have = ", ".join(map(str, sorted(self.descriptors))) or "none"
            raise CallError(f"the script has no open file descriptor {number}; it has: {have}")
        return self.descriptors[number]

    def refuse_taken(self, number: int) -> None:
        """Raise CallError where the script has this number in use."""
        if number in self.descriptors:
            raise CallError(f"file descriptor {number} is open already")

    def add(self, number: int, descriptor: Descriptor) -> None:
        """The script's number stands for this from now on; what had it before is a stray."""
        if number in self.descriptors:
            self.strays.append(self.descriptors[number].live)
        self.descriptors[number] = descriptor

    def number_of(self, live: int) -> str:
        """How the script calls a live file descriptor, for messages."""
        for number, descriptor in self.descriptors.items():
            if descriptor.live == live:
                return str(number)
        return f"one that the script does not know ({live})"

    def all_live(self) -> Iterator[int]:
        """Everything to close in the end."""
        yield from (descriptor.live for descriptor in self.descriptors.values())
        yield from self.strays

    def forget(self) -> None:
        """Close everything at once."""
        for live in self.all_live():
            os.close(live)
        self.descriptors.clear()
        self.strays.clear()
        self.pinned.clear()
        self.current = None
