"""One direction of a link as queueing disciplines of the kernel, and the messages that set them.

A direction has two devices in a row, so that a packet meets the parts of a link in the order of a
real one. The first device has loss, duplication, delay and jitter (netem), then the queue, which is
counted in bytes and let out at the rate (tbf). The second holds back packets that are to be
reordered (netem), then is the wire, on which each packet takes its length by the rate (netem): tbf
would let the first packet after a pause out at once. The kernel's structures: linux/pkt_sched.h,
linux/rtnetlink.h.
"""

from __future__ import annotations

import errno
import os
import socket
import struct
from collections.abc import Sequence
from dataclasses import dataclass

from scapy_tfo.errors import SetupError
from scapy_tfo.lab.links.link_model import Shape

_HEAD = 14
"""Bytes of an Ethernet header, which Linux counts and a link's shape does not."""

_LARGEST = 1500 + _HEAD
_PACKETS = 1_000_000
"""That a netem holds at most: what bounds a queue is its bytes."""

_TICK = 64
"""Nanoseconds in which tc counts (PSCHED_SHIFT)."""

_WHOLE = (1 << 32) - 1
_TABLE, _UNIT = 4096, 8192
"""Entries of a distribution that we give netem, and what one times the jitter is there."""

_LATE = 0.001
"""Seconds that a timer of the kernel may be late: for so long the wire has packets ahead, since tbf
does not make up for what it missed. The queue is that much longer, by half of it at most."""

_NEW, _DELETE, _ERROR = 36, 37, 2
_REQUEST, _ACK, _EXCLUSIVE, _CREATE = 0x1, 0x4, 0x200, 0x400
_ROOT = 0xFFFFFFFF
_KIND, _OPTIONS, _STAB = 1, 2, 8
_STAB_BASE = 1
_NETEM_DISTRIBUTION, _NETEM_RATE = 2, 6
_TBF_PARAMETERS, _TBF_BURST = 1, 6
_ETHERNET = 1

_ANSWER_WITHIN = 5.0


@dataclass(frozen=True, slots=True)
class Qdisc:
    """kind: as tc(8) names it. options: its TCA_OPTIONS. overhead: bytes that it and those below it
    take each packet to be longer."""

    kind: str
    options: bytes
    overhead: int = 0


def first(shape: Shape) -> list[Qdisc]:
    """Of the device that a direction begins with; each is the child of the one before."""
    netem = _netem(
        delay=shape.delay + shape.jitter / 2,
        jitter=shape.jitter / 2,
        loss=shape.loss,
        duplicate=shape.duplicate,
        # With a rate, however high, it keeps the order of packets that jitter would change.
        rate=_WHOLE,
    )
    if shape.rate is None or shape.queue is None:
        return [Qdisc("netem", netem)]
    return [Qdisc("netem", netem, -_HEAD), Qdisc("tbf", _tbf(shape.rate, shape.queue))]


def second(shape: Shape) -> list[Qdisc]:
    """Of the device behind it; none where it has nothing to do."""
    found = []
    if shape.reorder:
        held = round(shape.reorder * _TABLE)
        table = struct.pack(f"={_TABLE}h", *([_UNIT] * held + [0] * (_TABLE - held)))
        found.append(Qdisc("netem", _netem(jitter=shape.hold, table=table)))
    if shape.rate is not None:
        rate = min(round(shape.rate / 8), _WHOLE)
        found.append(Qdisc("netem", _netem(rate=max(rate, 1), overhead=-_HEAD)))
    return found


def _netem(
    *,
    delay: float = 0.0,
    jitter: float = 0.0,
    loss: float = 0.0,
    duplicate: float = 0.0,
    rate: int = 0,
    overhead: int = 0,
    table: bytes = b"",
) -> bytes:
    """delay: seconds; jitter: seconds to either side of it, or times the table's values. rate:
    bytes a second."""
    options = struct.pack(
        "=6I",
        _ticks(delay),
        _PACKETS,
        round(loss * _WHOLE),
        0,
        round(duplicate * _WHOLE),
        _ticks(jitter),
    )
    if rate:
        options += _attribute(_NETEM_RATE, struct.pack("=IiIi", rate, overhead, 0, 0))
    if table:
        options += _attribute(_NETEM_DISTRIBUTION, table)
    return options


def _tbf(rate: float, queue: int) -> bytes:
    """rate: bits a second. queue: bytes."""
    bytes_a_second = max(min(round(rate / 8), _WHOLE), 1)
    speed = struct.pack("=BBHhHI", 0, _ETHERNET, 0, 0, 0, bytes_a_second)
    ahead = min(round(bytes_a_second * _LATE), queue // 2)
    times = struct.pack("=III", min(queue, _WHOLE), 0, 0)
    parameters = _attribute(_TBF_PARAMETERS, speed + bytes(12) + times)
    return parameters + _attribute(_TBF_BURST, struct.pack("=I", _LARGEST + ahead))


def _ticks(seconds: float) -> int:
    return min(round(seconds * 1e9 / _TICK), _WHOLE)


def _attribute(kind: int, value: bytes) -> bytes:
    head = struct.pack("=HH", 4 + len(value), kind)
    return head + value + bytes(-len(value) % 4)


def messages(index: int, chain: Sequence[Qdisc]) -> list[bytes]:
    """Of rtnetlink, which give a device these qdiscs. index: of the interface."""
    found = []
    for level, each in enumerate(chain):
        parent = level << 16 | 1 if level else _ROOT
        body = _about(index, (level + 1) << 16, parent)
        body += _attribute(_KIND, each.kind.encode() + b"\0")
        if each.overhead:
            base = struct.pack("=BBhiIIII", 0, 0, 0, each.overhead, _ETHERNET, 0, 0, 0)
            body += _attribute(_STAB, _attribute(_STAB_BASE, base))
        body += _attribute(_OPTIONS, each.options)
        found.append(_message(_NEW, _CREATE | _EXCLUSIVE, body))
    return found


def removal(index: int) -> bytes:
    """The message that takes a device's qdiscs from it, and loses what they hold."""
    return _message(_DELETE, 0, _about(index, 0, _ROOT))


def _about(index: int, handle: int, parent: int) -> bytes:
    return struct.pack("=BxHiIII", socket.AF_UNSPEC, 0, index, handle, parent, 0)


def _message(kind: int, flags: int, body: bytes) -> bytes:
    return struct.pack("=IHHII", 16 + len(body), kind, _REQUEST | _ACK | flags, 1, 0) + body


class Device:
    """A device's qdiscs. name: in this network namespace, to which it stays bound. Raises OSError
    where there is none."""

    def __init__(self, name: str) -> None:
        self._index = socket.if_nametoindex(name)
        self._has = False
        self._socket = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, socket.NETLINK_ROUTE)
        self._socket.settimeout(_ANSWER_WITHIN)

    def set(self, chain: Sequence[Qdisc]) -> None:
        """Have these instead of those of before; what waits in them is lost. Raises SetupError
        where the kernel has no such, or refuses it."""
        if self._has:
            self._ask(removal(self._index))
            self._has = False
        for qdisc, message in zip(chain, messages(self._index, chain), strict=True):
            self._ask(message, qdisc.kind)
            self._has = True

    def close(self) -> None:
        """The device keeps what it has."""
        self._socket.close()

    def _ask(self, message: bytes, kind: str = "") -> None:
        """kind: of the qdisc that is wanted, "" where those of before are to go."""
        what = kind or "to remove a device's queues"
        try:
            self._socket.send(message)
            answer = self._socket.recv(1 << 16)
        except OSError as error:
            raise SetupError(f"the kernel does not answer a netlink request: {error}") from None
        answers, status = struct.unpack_from("=4xH10xi", answer)
        if kind and answers == _ERROR and status == -errno.ENOENT:
            raise SetupError(f"this kernel has no {what}: try modprobe sch_{what}")
        if answers == _ERROR and status:
            raise SetupError(f"the kernel refuses {what}: {os.strerror(-status)}")
