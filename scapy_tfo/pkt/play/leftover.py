"""Judges the packets of the kernel that no expected packet of the script has taken.

A script need not name all: published ones leave open acknowledgements, what calls write, the FIN of
a close(), and repetitions. So only that is wrong which nothing in the script can have caused in any
TCP, whatever was sent before or is sent later.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import Enum

from scapy_tfo import option as opt
from scapy_tfo.pkt.language import tree
from scapy_tfo.pkt.language.printing import show_action
from scapy_tfo.pkt.packets.live_numbers import Flow
from scapy_tfo.segment import ACK, SYN, URG, MalformedPacketError, Segment

_MODULUS = 1 << 32
_HALF = 1 << 31

_WRITES = frozenset(
    {"write", "writev", "send", "sendto", "sendmsg", "sendmmsg", "sendfile", "splice"}
)
_CLOSES = re.compile(r"\b(close|shutdown|dup2)\(|AF_UNSPEC")
_ABORTS = re.compile(
    r"TIMEOUT|KEEP|LINGER|abort|retries|orphan|\bss\b|_MD5|_AO|REPAIR", re.IGNORECASE
)
"""What makes a TCP end a connection by itself, or refuse segments that are in order."""

_OF_SYN = {
    opt.MSS: "an MSS option",
    opt.WINDOW_SCALE: "a window scale option",
    opt.SACK_PERMITTED: "a SACK-permitted option",
}
"""RFC 9293 section 3.2, RFC 7323 section 2.2, RFC 2018 section 2."""


@dataclass(slots=True)
class _Sent:
    """What the script has sent on a connection. starts, ends: of its segments, as on the wire.
    in_order: each began where the one before had ended, and was as the standard has it."""

    starts: set[int] = field(default_factory=set)
    ends: set[int] = field(default_factory=set)
    acks: set[int] = field(default_factory=set)
    next: int | None = None
    has_syn: bool = False
    has_fin: bool = False
    in_order: bool = True
    is_readable: bool = True

    def note(self, segment: Segment, *, is_faulty: bool) -> None:
        follows = self.next is None or segment.seq == self.next
        is_plain = not is_faulty and not segment.is_rst and not segment.flags & URG
        is_first = segment.is_syn or segment.is_syn_ack
        has_ack = bool(segment.flags & ACK) or segment.is_syn
        self.in_order &= follows and is_plain and has_ack and is_first == (self.next is None)
        self.next = segment.end
        self.starts.add(segment.seq)
        self.ends.add(segment.end)
        self.has_syn |= bool(segment.flags & SYN)
        self.has_fin |= segment.is_fin
        if segment.flags & ACK:
            self.acks.add(segment.ack)


class Application(Enum):
    """What closes connections and writes: the script's calls, an application that sends back what
    it gets and closes when its client has, or one of which nothing is known."""

    CALLS = "calls"
    ECHO = "echo"
    UNKNOWN = "unknown"


class Leftovers:
    """A script's part in what may come without being named."""

    def __init__(self, script: tree.Script, application: Application = Application.CALLS) -> None:
        actions = [event.action for event in script.events]
        calls = [each for each in actions if isinstance(each, tree.Syscall)]
        shown = [show_action(each) for each in calls]
        shown += [each.command for each in actions if isinstance(each, tree.Shell)]
        shown += [each.shell.command for each in script.commands]
        self._written = _written(calls)
        is_unknown = application is Application.UNKNOWN
        self._closes = is_unknown or any(map(_CLOSES.search, shown))
        self._aborts = self._closes or any(map(_ABORTS.search, shown))
        self._application = application
        self._sent: dict[Flow, _Sent] = {}

    def sent(self, flow: Flow, packet: tree.Packet | tree.Icmp, data: bytes) -> None:
        """The script sends this."""
        record = self._sent.setdefault(flow, _Sent())
        try:
            segment = Segment.from_bytes(data)
        except MalformedPacketError:
            record.in_order = False
            record.is_readable &= isinstance(packet, tree.Icmp)
            return
        is_faulty = isinstance(packet, tree.Icmp) or bool(packet.faults)
        record.note(segment, is_faulty=is_faulty)

    def problem(self, flow: Flow, segment: Segment) -> str:
        """Why no TCP may have sent this, in words; "" where one may."""
        record = self._sent.get(flow, _Sent())
        return next(self._problems(flow, segment, record), "")

    def _problems(self, flow: Flow, segment: Segment, sent: _Sent) -> Iterator[str]:
        if segment.checksum is not None:
            yield "its checksum is wrong"
        if not segment.flags & SYN:
            for kind, name in _OF_SYN.items():
                if segment.option(kind) is not None:
                    yield f"{name} belongs in a SYN"
            if segment.fast_open:  # RFC 7413 section 4.1.1
                yield "a Fast Open option belongs in a SYN"
        # Of a second connection on the same ports, the numbers of the first are not known any more.
        if flow.lives > 1 or not sent.is_readable:
            return
        if segment.flags & ACK and sent.ends and not _is_within(sent, segment.ack):
            yield "it acknowledges what was never sent"
        if segment.is_syn_ack and sent.ends and not sent.has_syn:
            yield "no SYN was sent that it could answer"
        if segment.is_rst:
            if self._is_clean(flow, sent):
                yield "nothing was sent, called or set that ends the connection"
            return
        if segment.is_fin and not self._may_close(sent):
            yield "the application has not closed the connection"
        most = self._most(flow, sent)
        if most is None or flow.first_isn is None:
            return
        before = (segment.seq - flow.first_isn) % _MODULUS - (0 if segment.flags & SYN else 1)
        if before < _HALF and before + len(segment.payload) > most + self._may_close(sent):
            yield f"the application has written {most} bytes"

    def _most(self, flow: Flow, sent: _Sent) -> int | None:
        """Bytes that the application can have written on a connection."""
        if self._application is not Application.ECHO:
            return self._written if self._application is Application.CALLS else None
        first = flow.remote_isn
        if first is None:
            return None
        return max((end - first - 1) % _MODULUS for end in sent.ends)

    def _may_close(self, sent: _Sent) -> bool:
        return self._closes or (self._application is Application.ECHO and sent.has_fin)

    def _is_clean(self, flow: Flow, sent: _Sent) -> bool:
        """The connection is open, and has been given no reason to end."""
        if self._aborts or not sent.in_order or flow.first_isn is None or flow.local_end is None:
            return False
        opened = (flow.first_isn + 1) % _MODULUS
        told = [(each - opened) % _MODULUS for each in sent.acks]
        most = (flow.local_end - opened) % _MODULUS
        return bool(told) and max(told) <= most


def _written(calls: list[tree.Syscall]) -> int | None:
    """Bytes that these calls write in all; None: not known."""
    total = 0
    for call in calls:
        if call.name in _WRITES:
            if not isinstance(call.result, tree.Number):
                return None
            total += max(call.result.value, 0)
    return total


def _is_within(sent: _Sent, ack: int) -> bool:
    """A number from the first to the last of what was sent."""
    begun = any((ack - start) % _MODULUS < _HALF for start in sent.starts)
    return begun and any((end - ack) % _MODULUS < _HALF for end in sent.ends)
