"""Calls that make, connect and close sockets: from socket() to close()."""

from __future__ import annotations

import ctypes
import struct
from socket import htons

from scapy_tfo.pkt.language import tree
from scapy_tfo.pkt.syscalls.arguments import Arguments
from scapy_tfo.pkt.syscalls.plan import Connects, Effect, Listens, Plan
from scapy_tfo.pkt.syscalls.state import Descriptor

_AF_UNSPEC = 0
_SOCKADDR_STORAGE = 128


def socket(arguments: Arguments) -> Plan:
    """`socket(..., type, protocol)`; `...`: the script's kind of address."""
    arguments.count(3)
    state = arguments.state
    is_open = isinstance(arguments[0], tree.Anything)
    domain = state.endpoints.domain if is_open else arguments.integer(0)
    number = new_number(arguments)

    def settle(live: int) -> None:
        keep(arguments, number, Descriptor(live, is_socket=True, is_new=True))

    return Plan(
        "socket",
        (domain, arguments.integer(1), arguments.integer(2)),
        returns_descriptor=True,
        settle=settle,
    )


def bind(arguments: Arguments) -> Plan:
    """`bind(fd, ..., ...)`: to the script's own address and port; `bind(fd, {sin_port=htons(81)},
    ...)`: to another port."""
    arguments.count(3)
    arguments.engine_chooses(2)
    port: int | None = None
    if not isinstance(arguments[1], tree.Struct):
        arguments.engine_chooses(1)
    else:
        (number,) = arguments.values.numbers(arguments[1], "sin_port")
        port = htons(number)
    address = arguments.state.endpoints.own(port)
    return Plan("bind", (arguments.descriptor(0).live, address, len(address)))


def listen(arguments: Arguments) -> Plan:
    """`listen(fd, backlog)`."""
    arguments.count(2)
    descriptor = arguments.descriptor(0)
    descriptor.is_new, descriptor.is_passive = False, True
    return Plan("listen", (descriptor.live, arguments.integer(1)), Listens())


def accept(arguments: Arguments) -> Plan:
    """`accept(fd, ..., ...)`."""
    arguments.count(3)
    return _accept(arguments)


def accept4(arguments: Arguments) -> Plan:
    """`accept4(fd, ..., ..., flags)`."""
    arguments.count(4)
    return _accept(arguments, arguments.integer(3))


def _accept(arguments: Arguments, *flags: int) -> Plan:
    arguments.engine_chooses(1, 2)
    listening = arguments.descriptor(0).live
    address = ctypes.create_string_buffer(_SOCKADDR_STORAGE)
    length = ctypes.c_uint(_SOCKADDR_STORAGE)
    number = None if isinstance(arguments.call.result, tree.Anything) else arguments.result()

    def settle(live: int) -> None:
        keep(arguments, number, Descriptor(live, is_socket=True, is_passive=True))

    return Plan(
        arguments.call.name,
        (listening, address, ctypes.byref(length), *flags),
        returns_descriptor=True,
        settle=settle,
    )


def connect(arguments: Arguments) -> Plan:
    """`connect(fd, ..., ...)`; or `connect(fd, AF_UNSPEC, ...)`, which ends a connection."""
    arguments.count(3)
    descriptor = arguments.descriptor(0)
    arguments.engine_chooses(2)
    address, effect = towards(arguments, descriptor, 1)
    return Plan("connect", (descriptor.live, address, len(address)), effect)


def towards(
    arguments: Arguments, descriptor: Descriptor, index: int
) -> tuple[bytes, Effect | None]:
    """The address that an argument stands for, `...` or a family alone; and what it leads to."""
    if not isinstance(arguments[index], tree.Anything):
        family = arguments.integer(index)
        descriptor.is_new = descriptor.is_new or family == _AF_UNSPEC
        return struct.pack("=H126x", family & 0xFFFF), None
    return remote(arguments, descriptor)


def remote(arguments: Arguments, descriptor: Descriptor) -> tuple[bytes, Effect | None]:
    """The script's remote address; and that it connects, if the socket was new."""
    endpoints = arguments.state.endpoints
    effect = Connects(endpoints.remote, endpoints.connect_port) if descriptor.is_new else None
    descriptor.is_new = False
    return endpoints.other(), effect


def shutdown(arguments: Arguments) -> Plan:
    """`shutdown(fd, how)`."""
    arguments.count(2)
    return Plan("shutdown", (arguments.descriptor(0).live, arguments.integer(1)))


def close(arguments: Arguments) -> Plan:
    """`close(fd)`; after it the number is free."""
    arguments.count(1)
    number = arguments.integer(0)
    state = arguments.state

    def settle(result: int) -> None:
        if result == 0:
            del state.descriptors[number]

    return Plan("close", (state.find(number).live,), settle=settle)


def new_number(arguments: Arguments) -> int | None:
    """The script's number for what the call opens: None if it gives none, negative for failure."""
    if isinstance(arguments.call.result, tree.Anything):
        return None
    number = arguments.result()
    arguments.state.refuse_taken(number)
    return number


def keep(arguments: Arguments, number: int | None, descriptor: Descriptor) -> None:
    """What the call has opened.

    A new socket is the one that code reads of. An accepted one takes the place of its listener or
    of another that was accepted, not of one that was made after them.
    """
    if descriptor.live < 0:
        return
    state = arguments.state
    if number is None or number < 0:
        state.strays.append(descriptor.live)
        return
    state.add(number, descriptor)
    replaceable = state.current is None or state.current.is_passive
    if descriptor.is_socket and (replaceable or not descriptor.is_passive):
        state.current = descriptor
