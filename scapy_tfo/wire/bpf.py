"""The few classic BPF programs that this package attaches to its sockets."""

from __future__ import annotations

import array
import socket
import struct
from collections.abc import Sequence
from ipaddress import IPv4Address

from scapy_tfo.errors import SetupError
from scapy_tfo.segment import Address

_SO_ATTACH_FILTER = 26
_PACKET_TYPE = 0xFFFFF000 + 4
"""Ancillary load of the packet's type (SKF_AD_OFF + SKF_AD_PKTTYPE)."""
_PACKET_HOST, _PACKET_OUTGOING = 0, 4
_ICMP, _TCP, _ICMPV6 = 1, 6, 58

_LOAD_WORD, _LOAD_HALF, _LOAD_BYTE, _JUMP_EQUAL, _RETURN = 0x20, 0x28, 0x30, 0x15, 0x06

_LOAD_HEADER_LENGTH, _LOAD_HALF_BEHIND = 0xB1, 0x48
"""Into the index register, bytes of the IPv4 header; and what stands so far behind it."""

Instruction = tuple[int, int | str, int | str, int]
"""Code, where to jump on true and on false (a count, or "take" or "drop"), and the operand."""


def _assembled(body: Sequence[Instruction]) -> bytes:
    """Machine code of `body`, with the two exits behind it. A jump reaches 255 instructions."""
    exits = {"take": len(body), "drop": len(body) + 1}
    code = bytearray()
    for at, (op, true, false, operand) in enumerate(body):
        jumps = [exits[to] - at - 1 if isinstance(to, str) else to for to in (true, false)]
        code += struct.pack("HBBI", op, *jumps, operand)
    return bytes(code) + struct.pack("HBBI", _RETURN, 0, 0, 0x7FFFFFFF) + _DROP_ALL


def _load(op: int, offset: int) -> Instruction:
    return op, 0, 0, offset


def _unless(operand: int, otherwise: int | str) -> Instruction:
    return _JUMP_EQUAL, 0, otherwise, operand


_DROP_ALL = struct.pack("HBBI", _RETURN, 0, 0, 0)


def drop_all() -> bytes:
    """Nothing passes."""
    return _DROP_ALL


def from_targets(targets: Sequence[Address]) -> bytes:
    """For a socket without link header: TCP from one of the targets, and any ICMP, meant for us.

    targets: all of one family; at most a dozen.
    """
    ipv4 = isinstance(targets[0], IPv4Address)
    protocol, source, icmp = (9, 12, _ICMP) if ipv4 else (6, 8, _ICMPV6)
    body = [
        _load(_LOAD_WORD, _PACKET_TYPE),
        _unless(_PACKET_HOST, "drop"),
        _load(_LOAD_BYTE, protocol),
        (_JUMP_EQUAL, "take", 0, icmp),
        _unless(_TCP, "drop"),
    ]
    for target in targets:
        words = struct.unpack(f"!{len(target.packed) // 4}I", target.packed)
        last = len(words) - 1
        for at, word in enumerate(words):
            body.append(_load(_LOAD_WORD, source + 4 * at))
            # On a mismatch, on to the next target: past what is left of this one.
            body.append((_JUMP_EQUAL, "take" if at == last else 0, 2 * (last - at), word))
    body.append((_JUMP_EQUAL, "drop", "drop", 0))
    return _assembled(body)


def to_ports(ports: Sequence[int], version: int) -> bytes:
    """For a socket without link header: TCP of that IP version for these ports, meant for us."""
    ipv4 = version == 4
    body = [
        _load(_LOAD_WORD, _PACKET_TYPE),
        _unless(_PACKET_HOST, "drop"),
        _load(_LOAD_BYTE, 9 if ipv4 else 6),
        _unless(_TCP, "drop"),
    ]
    if ipv4:
        body += [_load(_LOAD_HEADER_LENGTH, 0), _load(_LOAD_HALF_BEHIND, 2)]
    else:
        body.append(_load(_LOAD_HALF, 42))
    body += [(_JUMP_EQUAL, "take", 0, each) for each in ports]
    body.append((_JUMP_EQUAL, "drop", "drop", 0))
    return _assembled(body)


def arriving_frames(ethertypes: Sequence[int]) -> bytes:
    """For a socket with Ethernet header: what comes in (to whatever address) of these types."""
    body = [
        _load(_LOAD_WORD, _PACKET_TYPE),
        (_JUMP_EQUAL, "drop", 0, _PACKET_OUTGOING),
        _load(_LOAD_HALF, 12),
    ]
    body += [(_JUMP_EQUAL, "take", 0, each) for each in ethertypes]
    body.append((_JUMP_EQUAL, "drop", "drop", 0))
    return _assembled(body)


def arriving() -> bytes:
    """Whatever comes in, and nothing of what goes out."""
    return _assembled(
        [_load(_LOAD_WORD, _PACKET_TYPE), (_JUMP_EQUAL, "drop", "take", _PACKET_OUTGOING)]
    )


def attach(sock: socket.socket, program: bytes) -> None:
    """Hang a program on a socket; it goes with the socket.

    Raises SetupError where the kernel wants CAP_NET_ADMIN for that, other OSErrors as they come.
    """
    code = array.array("B", program)
    address, size = code.buffer_info()
    given = struct.pack("HP", size // 8, address)
    try:
        sock.setsockopt(socket.SOL_SOCKET, _SO_ATTACH_FILTER, given)
    except PermissionError as error:
        raise SetupError(
            "this kernel puts a filter on a socket only for who has CAP_NET_ADMIN: run as root, or "
            "add that capability (docker run --cap-add NET_ADMIN)"
        ) from error
