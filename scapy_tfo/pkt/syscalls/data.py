"""Calls that move data. Scripts write zeros; of what they read, only the length is compared."""

from __future__ import annotations

import ctypes
from typing import Any

from scapy_tfo.pkt.language import tree
from scapy_tfo.pkt.syscalls.arguments import Arguments
from scapy_tfo.pkt.syscalls.names import constants
from scapy_tfo.pkt.syscalls.plan import Plan
from scapy_tfo.pkt.syscalls.sockets import keep, new_number, towards
from scapy_tfo.pkt.syscalls.state import Descriptor, State
from scapy_tfo.pkt.syscalls.values import unfit

_SOCKADDR_STORAGE = 128


def plain(arguments: Arguments) -> Plan:
    """`read(fd, ..., count)`, `write(fd, ..., count)`."""
    arguments.count(3)
    count = arguments.integer(2)
    buffer = arguments.buffer(1, count)
    return Plan(arguments.call.name, (arguments.descriptor(0).live, buffer, count))


def flagged(arguments: Arguments) -> Plan:
    """`recv(fd, ..., count, flags)`, `send(fd, ..., count, flags)`."""
    arguments.count(4)
    count, flags = arguments.integer(2), arguments.integer(3)
    buffer = arguments.buffer(1, count)
    pin(arguments.state, flags, buffer)
    return Plan(arguments.call.name, (arguments.descriptor(0).live, buffer, count, flags))


def recvfrom(arguments: Arguments) -> Plan:
    """`recvfrom(fd, ..., count, flags, ..., ...)`."""
    arguments.count(6)
    arguments.engine_chooses(4, 5)
    count = arguments.integer(2)
    buffer = arguments.buffer(1, count)
    address = ctypes.create_string_buffer(_SOCKADDR_STORAGE)
    length = ctypes.c_uint(_SOCKADDR_STORAGE)
    live, flags = arguments.descriptor(0).live, arguments.integer(3)
    return Plan("recvfrom", (live, buffer, count, flags, address, ctypes.byref(length)))


def sendto(arguments: Arguments) -> Plan:
    """`sendto(fd, ..., count, flags, ..., ...)`."""
    arguments.count(6)
    arguments.engine_chooses(5)
    descriptor = arguments.descriptor(0)
    count, flags = arguments.integer(2), arguments.integer(3)
    buffer = arguments.buffer(1, count)
    address, effect = towards(arguments, descriptor, 4)
    pin(arguments.state, flags, buffer)
    return Plan("sendto", (descriptor.live, buffer, count, flags, address, len(address)), effect)


def scattered(arguments: Arguments) -> Plan:
    """`readv(fd, [{..., count}, ...], pieces)`, `writev(...)`."""
    arguments.count(3)
    pieces = arguments.integer(2)
    vectors, buffers = arguments.iovecs(arguments[1], pieces)
    live = arguments.descriptor(0).live
    return Plan(arguments.call.name, (live, vectors, pieces), memory=buffers)


def splice(arguments: Arguments) -> Plan:
    """`splice(from, NULL, to, NULL, count, flags)`."""
    arguments.count(6)
    return Plan(
        "splice",
        (
            arguments.descriptor(0).live,
            arguments.wide(1),
            arguments.descriptor(2).live,
            arguments.wide(3),
            arguments.integer(4),
            arguments.integer(5),
        ),
    )


def sendfile(arguments: Arguments) -> Plan:
    """`sendfile(to, from, [offset], count)`."""
    arguments.count(4)
    offset = ctypes.c_long(arguments.values.integer(arguments.bracketed(2), 64))
    to, from_ = arguments.descriptor(0).live, arguments.descriptor(1).live
    return Plan("sendfile", (to, from_, ctypes.byref(offset), arguments.integer(3)))


def open_file(arguments: Arguments) -> Plan:
    """`open("path", flags)`."""
    arguments.count(2)
    match arguments[0]:
        case tree.Text(path):
            number = new_number(arguments)
        case other:
            raise unfit(other, 'a "path"')

    def settle(live: int) -> None:
        keep(arguments, number, Descriptor(live))

    return Plan("open", (path, arguments.integer(1)), returns_descriptor=True, settle=settle)


def pipe(arguments: Arguments) -> Plan:
    """`pipe([4, 5])`: the end to read from, the end to write to."""
    arguments.count(1)
    match arguments[0]:
        case tree.Array((reading, writing)):
            numbers = (arguments.values.signed(reading), arguments.values.signed(writing))
        case other:
            raise unfit(other, "[fd, fd]")
    for number in numbers:
        arguments.state.refuse_taken(number)
    ends = (ctypes.c_int * 2)()

    def settle(result: int) -> None:
        if result == 0:
            for number, live in zip(numbers, ends, strict=True):
                keep(arguments, number, Descriptor(live))

    return Plan("pipe", (ends,), settle=settle)


def pin(state: State, flags: int, *buffers: Any) -> None:
    """Keep memory that the kernel reads after the call has returned (MSG_ZEROCOPY)."""
    if flags & constants()["MSG_ZEROCOPY"]:
        state.pinned += buffers
