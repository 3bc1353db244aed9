"""Control messages of sendmsg() and recvmsg(): packs, unpacks and compares them."""

from __future__ import annotations

import struct
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from socket import CMSG_LEN, CMSG_SPACE, SOL_SOCKET

from scapy_tfo.pkt.language import tree
from scapy_tfo.pkt.packets.difference import Difference
from scapy_tfo.pkt.syscalls.names import constants
from scapy_tfo.pkt.syscalls.state import State
from scapy_tfo.pkt.syscalls.values import CallError, Values, unfit

_HEADER = struct.Struct("@Nii")
_INT = struct.Struct("=i")
_TIMESTAMPS = struct.Struct("@6l")
_EXTENDED_ERROR = struct.Struct("=IBBBxII")
_ERROR_FIELDS = ("ee_errno", "ee_origin", "ee_type", "ee_code", "ee_info", "ee_data")
_SOCKADDR_IN, _SOCKADDR_IN6 = 16, 28
_ATTRIBUTE = struct.Struct("=HH")
_ANY = -1

_STATISTICS_TYPES = {
    **dict.fromkeys(
        (
            *("BUSY", "RWND_LIMITED", "SNDBUF_LIMITED", "DATA_SEGS_OUT", "TOTAL_RETRANS"),
            *("PACING_RATE", "DELIVERY_RATE", "BYTES_SENT", "BYTES_RETRANS", "EDT"),
        ),
        "Q",
    ),
    **dict.fromkeys(("RECUR_RETRANS", "DELIVERY_RATE_APP_LMT", "CA_STATE", "TTL"), "B"),
}
"""Of SCM_TIMESTAMPING_OPT_STATS; 32 bits where nothing is said."""
_MICROSECONDS = ("BUSY", "RWND_LIMITED", "SNDBUF_LIMITED")


@dataclass(frozen=True)
class Message:
    """One control message. data: as on the socket, without the padding behind it."""

    level: int
    type: int
    data: bytes


def from_script(expression: tree.Expression, values: Values) -> list[Message]:
    """`[{cmsg_level=SOL_TCP, cmsg_type=TCP_CM_INQ, cmsg_data=5}, ...]`. Raises CallError."""
    match values.resolve(expression):
        case tree.Array(items):
            return [_message(item, values) for item in items]
        case other:
            raise unfit(other, "[{cmsg_level=, cmsg_type=, cmsg_data=}, ...]")


def pack(messages: list[Message]) -> bytes:
    """The whole control buffer."""
    packed = b""
    for each in messages:
        header = _HEADER.pack(CMSG_LEN(len(each.data)), each.level, each.type)
        padding = CMSG_LEN(0) - _HEADER.size
        whole = header + bytes(padding) + each.data
        packed += whole.ljust(CMSG_SPACE(len(each.data)), b"\0")
    return packed


def unpack(data: bytes) -> list[Message]:
    """What the kernel has filled in."""
    messages = []
    while len(data) >= CMSG_LEN(0):
        length, level, kind = _HEADER.unpack_from(data)
        if not CMSG_LEN(0) <= length <= len(data):
            break
        messages.append(Message(level, kind, data[CMSG_LEN(0) : length]))
        data = data[CMSG_SPACE(length - CMSG_LEN(0)) :]
    return messages


def compare(expected: list[Message], actual: list[Message], state: State) -> Iterator[Difference]:
    """Message by message; times by the script's clock and its tolerance."""
    for index, (wanted, got) in enumerate(zip(expected, actual, strict=False)):
        differences = list(_compare(wanted, got, state))
        for each in differences:
            yield Difference(f"{each.what} in control message {index}", each.expected, each.actual)
    if len(expected) != len(actual):
        yield Difference("control messages", str(len(expected)), str(len(actual)))


def _message(item: tree.Expression, values: Values) -> Message:
    fields = values.fields(item)
    if set(fields) != {"cmsg_level", "cmsg_type", "cmsg_data"}:
        raise unfit(item, "{cmsg_level=, cmsg_type=, cmsg_data=}")
    level, kind = (values.signed(fields[name].value) for name in ("cmsg_level", "cmsg_type"))
    data = values.resolve(fields["cmsg_data"].value)
    match data:
        case tree.Struct((tree.Field(name), *_)) if name == "scm_sec":
            seconds, nanoseconds = values.numbers(data, "scm_sec", "scm_nsec")
            return Message(level, kind, _TIMESTAMPS.pack(seconds, nanoseconds, 0, 0, 0, 0))
        case tree.Struct((tree.Field(name), *_)) if name.startswith("ee_"):
            error, origin, type_, code, info, more = values.numbers(data, *_ERROR_FIELDS)
            packed = _EXTENDED_ERROR.pack(
                error & 0xFFFFFFFF,
                *(number & 0xFF for number in (origin, type_, code)),
                *(number & 0xFFFFFFFF for number in (info, more)),
            )
            size = _SOCKADDR_IN if level == constants()["SOL_IP"] else _SOCKADDR_IN6
            return Message(level, kind, packed + bytes(size))
        case tree.Struct(items) | tree.Array(items):
            return Message(level, kind, b"".join(_attribute(each, values) for each in items))
        case _:
            return Message(level, kind, _INT.pack(values.signed(data)))


def _attribute(item: tree.Expression | tree.Field, values: Values) -> bytes:
    """`TCP_NLA_BUSY=10`, `TCP_NLA_BUSY=...`: a netlink attribute; all bits set for any value."""
    known = isinstance(item, tree.Field) and item.name.startswith("TCP_NLA_")
    if not known or not isinstance(item, tree.Field):
        raise unfit(item, "TCP_NLA_...=value")
    kind = _statistics_type(item.name.removeprefix("TCP_NLA_"))
    size = struct.calcsize(kind)
    number = _ANY if isinstance(item.value, tree.Anything) else values.integer(item.value, 64)
    if number >= 1 << 8 * size:
        raise CallError(f"{number} does not fit into the {8 * size} bits of {item.name}")
    number &= (1 << 8 * size) - 1
    whole = _ATTRIBUTE.pack(_ATTRIBUTE.size + size, values.integer(tree.Name(item.name)))
    whole += struct.pack(f"={kind}", number)
    return whole.ljust(-(-len(whole) // 4) * 4, b"\0")


def _statistics_type(name: str) -> str:
    return _STATISTICS_TYPES.get(name, "I")


def _compare(wanted: Message, got: Message, state: State) -> Iterator[Difference]:
    for what, expected, actual in (
        ("level", wanted.level, got.level),
        ("type", wanted.type, got.type),
        ("length", len(wanted.data), len(got.data)),
    ):
        if expected != actual:
            yield Difference(what, str(expected), str(actual))
            return
    known = constants()
    match wanted.level, wanted.type:
        case (level, kind) if (level, kind) in (
            (known["SOL_IP"], known["IP_RECVERR"]),
            (known["SOL_IPV6"], known["IPV6_RECVERR"]),
        ):
            yield from _compare_error(wanted.data, got.data)
        case (level, kind) if level == SOL_SOCKET and kind == known["SCM_TIMESTAMPING"]:
            yield from _compare_timestamps(wanted.data, got.data, state)
        case (level, kind) if level == SOL_SOCKET and kind == known["SCM_TIMESTAMPING_OPT_STATS"]:
            yield from _compare_statistics(wanted.data, got.data, state)
        case _ if wanted.data != got.data:
            yield Difference("data", _shown(wanted.data), _shown(got.data))


def _compare_error(wanted: bytes, got: bytes) -> Iterator[Difference]:
    sides = (_EXTENDED_ERROR.unpack_from(side) for side in (wanted, got))
    for name, expected, actual in zip(_ERROR_FIELDS, *sides, strict=True):
        if expected != actual:
            yield Difference(name, str(expected), str(actual))


def _compare_timestamps(wanted: bytes, got: bytes, state: State) -> Iterator[Difference]:
    expected, actual = _TIMESTAMPS.unpack(wanted), _TIMESTAMPS.unpack(got)
    for which in range(0, len(expected), 2):
        # Of a time that is all zeros the script says nothing.
        if not any(expected[which : which + 2]):
            continue
        script_time = expected[which] * 10**9 + expected[which + 1]
        late = actual[which] * 10**9 + actual[which + 1] - state.started - script_time
        if abs(late) > state.tolerance:
            yield Difference(
                "time, in seconds from the script's start,",
                _seconds(script_time),
                _seconds(script_time + late),
            )


def _compare_statistics(wanted: bytes, got: bytes, state: State) -> Iterator[Difference]:
    names = {number: name for name, number in constants().items() if name.startswith("TCP_NLA_")}
    at = 0
    while at + _ATTRIBUTE.size <= len(wanted):
        (size, kind), (other_size, other_kind) = (
            _ATTRIBUTE.unpack_from(side, at) for side in (wanted, got)
        )
        if (size, kind) != (other_size, other_kind):
            yield Difference("attribute", names[kind], names.get(other_kind, str(other_kind)))
            return
        begin, end = at + _ATTRIBUTE.size, at + size
        expected, actual = (
            int.from_bytes(side[begin:end], sys.byteorder) for side in (wanted, got)
        )
        name = names[kind].removeprefix("TCP_NLA_")
        tolerance = state.tolerance // 1000 if expected and name in _MICROSECONDS else 0
        is_any = expected == (1 << 8 * (end - begin)) - 1
        if not is_any and abs(actual - expected) > tolerance:
            yield Difference(names[kind], str(expected), str(actual))
        at += -(-size // 4) * 4


def _shown(data: bytes) -> str:
    if len(data) == _INT.size:
        return str(_INT.unpack(data)[0])
    return data.hex(" ")


def _seconds(nanoseconds: int) -> str:
    return f"{nanoseconds / 1e9:.6f}"
