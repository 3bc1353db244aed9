"""Socket options, fcntl(), ioctl(), capabilities."""

from __future__ import annotations

import ctypes
import struct
import sys
from collections.abc import Iterator

from scapy_tfo.pkt.language import tree
from scapy_tfo.pkt.language.printing import show_expression
from scapy_tfo.pkt.packets.difference import Difference
from scapy_tfo.pkt.syscalls import libc
from scapy_tfo.pkt.syscalls.arguments import Arguments, memory, sides
from scapy_tfo.pkt.syscalls.names import constants, name_error
from scapy_tfo.pkt.syscalls.plan import Plan
from scapy_tfo.pkt.syscalls.values import CallError, unfit

_INT = 4
_CAPABILITY_VERSION_3 = 0x20080522


def setsockopt(arguments: Arguments) -> Plan:
    """`setsockopt(fd, level, name, [value], length)`.

    The value is also a string, `{onoff=1, linger=0}` or `inet6_addr("::1")`. A length beyond it is
    filled with zeros.
    """
    arguments.count(5)
    length = arguments.integer(4)
    value = arguments.values.sized(arguments[3])
    if value is None:
        number = arguments.values.signed(arguments.bracketed(3))
        value = number.to_bytes(_INT, sys.byteorder, signed=True)
    live, level, name = arguments.descriptor(0).live, arguments.integer(1), arguments.integer(2)
    buffer = memory(max(length, len(value)))
    ctypes.memmove(buffer, value, len(value))
    return Plan("setsockopt", (live, level, name, buffer, length))


def getsockopt(arguments: Arguments) -> Plan:
    """`getsockopt(fd, level, name, [value], [length])`; the value as in setsockopt()."""
    arguments.count(5)
    length = arguments.values.signed(arguments.bracketed(4))
    value = arguments.values.sized(arguments[3])
    if value is None and length != _INT:
        raise CallError(f"the option's length is {length}, but [value] has {_INT} bytes")
    if value is not None and length != len(value):
        raise CallError(f"the option's length is {length}, but its value has {len(value)} bytes")
    expected = value
    if expected is None:
        number = arguments.values.signed(arguments.bracketed(3))
        expected = number.to_bytes(_INT, sys.byteorder, signed=True)
    live, level, name = arguments.descriptor(0).live, arguments.integer(1), arguments.integer(2)
    buffer, actual_length = memory(length), ctypes.c_uint(length)

    def compare(_result: int) -> Iterator[Difference]:
        if actual_length.value != length:
            what = "length of the socket option"
            yield Difference(what, str(length), str(actual_length.value))
            return
        actual = bytes(buffer)[:length]
        if actual != expected:
            yield _different_option(arguments[3], expected, actual)

    return Plan(
        "getsockopt",
        (live, level, name, buffer, ctypes.byref(actual_length)),
        compare=compare,
    )


def _different_option(expression: tree.Expression, expected: bytes, actual: bytes) -> Difference:
    what = "value of the socket option"
    match expression:
        case tree.Array((alone,)):
            numbers = (
                int.from_bytes(side, sys.byteorder, signed=True) for side in (expected, actual)
            )
            return Difference(what, *sides(alone, *numbers))
    return Difference(what, show_expression(expression), show_expression(tree.Text(actual)))


def fcntl(arguments: Arguments) -> Plan:
    """`fcntl(fd, command)`, `fcntl(fd, command, value)`."""
    arguments.count(2, 3)
    third = [ctypes.c_long(arguments.integer(2))] if len(arguments) == 3 else []
    return Plan("fcntl", (arguments.descriptor(0).live, arguments.integer(1), *third))


def ioctl(arguments: Arguments) -> Plan:
    """`ioctl(fd, request)`, `ioctl(fd, request, [value])`: given, and as it must be then."""
    arguments.count(2, 3)
    live, request = arguments.descriptor(0).live, arguments.integer(1)
    if len(arguments) == 2:
        return Plan("ioctl", (live, request))
    expression = arguments.bracketed(2)
    expected = arguments.values.signed(expression)
    actual = ctypes.c_int(expected)

    def compare(_result: int) -> Iterator[Difference]:
        if actual.value != expected:
            yield Difference("value of ioctl()", *sides(expression, expected, actual.value))

    return Plan("ioctl", (live, request, ctypes.byref(actual)), compare=compare)


def cap_set(arguments: Arguments) -> Plan:
    """`cap_set(CAP_EFFECTIVE, capability, CAP_SET)`: of the thread that runs the call.

    The set is changed; the others (CAP_PERMITTED, CAP_INHERITABLE) stay as they are.
    """
    arguments.count(3)
    which, capability, wanted = (arguments.integer(index) for index in range(3))
    if which not in range(3) or capability not in range(64):
        raise unfit(
            arguments[0] if which not in range(3) else arguments[1], "a capability of Linux"
        )
    header = capability_header()
    sets = read_capabilities()
    if arguments.state.capabilities is None:
        arguments.state.capabilities = bytes(sets)
    at = 12 * (capability // 32) + 4 * which
    (bits,) = struct.unpack_from("=I", sets, at)
    bit = 1 << capability % 32
    bits = bits | bit if wanted == constants()["CAP_SET"] else bits & ~bit
    struct.pack_into("=I", sets, at, bits)
    return Plan("capset", (header, sets))


def capability_header() -> ctypes.Array[ctypes.c_char]:
    """`struct __user_cap_header_struct`: of this thread."""
    return ctypes.create_string_buffer(struct.pack("=Ii", _CAPABILITY_VERSION_3, 0))


def read_capabilities() -> ctypes.Array[ctypes.c_char]:
    """Twice effective, permitted, inheritable; 32 bits each. Raises CallError."""
    sets = ctypes.create_string_buffer(24)
    outcome = libc.call("capget", (capability_header(), sets))
    if outcome.result < 0:
        raise CallError(f"cannot read this thread's capabilities: {name_error(outcome.errno)}")
    return sets
