"""sendmsg() and recvmsg()."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from scapy_tfo.pkt.language import tree
from scapy_tfo.pkt.packets.difference import Difference
from scapy_tfo.pkt.syscalls import control
from scapy_tfo.pkt.syscalls.arguments import Arguments
from scapy_tfo.pkt.syscalls.data import pin
from scapy_tfo.pkt.syscalls.libc import MessageHeader
from scapy_tfo.pkt.syscalls.names import name_flags
from scapy_tfo.pkt.syscalls.plan import Effect, Plan
from scapy_tfo.pkt.syscalls.sockets import remote
from scapy_tfo.pkt.syscalls.values import CallError, unfit

_SOCKADDR_STORAGE = 128
_FIELDS = {"msg_name", "msg_iov", "msg_flags", "msg_control"}
_SHAPE = "{msg_name(...)=..., msg_iov(1)=[{..., 10}], msg_flags=0, msg_control=[...]}"


@dataclass(frozen=True)
class _Message:
    header: Any
    memory: list[Any]
    flags: int
    control: list[control.Message]
    is_named: bool


def recvmsg(arguments: Arguments) -> Plan:
    """`recvmsg(fd, {msg_name(...)=..., msg_iov(1)=[{..., 10}], msg_flags=0}, flags)`.

    msg_flags and msg_control are what it must return. There is room for just these control
    messages: where more come, the kernel says MSG_CTRUNC.
    """
    arguments.count(3)
    message = _read(arguments)
    header = message.header
    header.flags = message.flags
    buffer = ctypes.create_string_buffer(max(1, header.control_length))
    header.control = ctypes.addressof(buffer)
    if message.is_named:
        name = ctypes.create_string_buffer(_SOCKADDR_STORAGE)
        header.name, header.name_length = ctypes.addressof(name), _SOCKADDR_STORAGE
        message.memory.append(name)

    def compare(result: int) -> Iterator[Difference]:
        # A call that fails leaves them as they were.
        if result < 0:
            return
        if header.flags != message.flags:
            sides = (name_flags("MSG_", flags) for flags in (message.flags, header.flags))
            yield Difference("msg_flags", *sides)
        actual = control.unpack(bytes(buffer)[: header.control_length])
        yield from control.compare(message.control, actual, arguments.state)

    return Plan(
        "recvmsg",
        (arguments.descriptor(0).live, ctypes.byref(header), arguments.integer(2)),
        compare=compare,
        memory=[*message.memory, buffer],
    )


def sendmsg(arguments: Arguments) -> Plan:
    """`sendmsg(fd, {msg_name(...)=..., msg_iov(1)=[{..., 10}], msg_flags=0}, flags)`."""
    arguments.count(3)
    message = _read(arguments)
    header = message.header
    if message.flags:
        raise CallError("sendmsg() ignores msg_flags: give its flags as its last argument")
    descriptor = arguments.descriptor(0)
    effect: Effect | None = None
    if message.is_named:
        address, effect = remote(arguments, descriptor)
        name = ctypes.create_string_buffer(address, len(address))
        header.name, header.name_length = ctypes.addressof(name), len(address)
        message.memory.append(name)
    packed = control.pack(message.control)
    if packed:
        buffer = ctypes.create_string_buffer(packed, len(packed))
        header.control = ctypes.addressof(buffer)
        message.memory.append(buffer)
    flags = arguments.integer(2)
    pin(arguments.state, flags, *message.memory)
    return Plan(
        "sendmsg",
        (descriptor.live, ctypes.byref(header), flags),
        effect,
        memory=message.memory,
    )


def _read(arguments: Arguments) -> _Message:
    values = arguments.values
    fields = values.fields(arguments[1])
    if not {"msg_iov", "msg_flags"} <= set(fields) <= _FIELDS:
        raise unfit(arguments[1], _SHAPE)
    pieces = fields["msg_iov"]
    if pieces.count is None:
        raise unfit(pieces, "msg_iov(count)=[...]")
    count = values.signed(pieces.count)
    vectors, buffers = arguments.iovecs(pieces.value, count)
    messages: list[control.Message] = []
    if "msg_control" in fields:
        messages = control.from_script(fields["msg_control"].value, values)
    if "msg_name" in fields and not isinstance(fields["msg_name"].value, tree.Anything):
        raise unfit(fields["msg_name"], "msg_name(...)=...")
    header = MessageHeader(iovecs=vectors, iovec_count=count)
    header.control_length = len(control.pack(messages))
    flags = values.signed(fields["msg_flags"].value)
    return _Message(header, [vectors, *buffers], flags, messages, "msg_name" in fields)
