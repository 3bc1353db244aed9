"""Infers what a target's application wrote in one call, and if it had to wait."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from scapy_tfo import option as opt
from scapy_tfo.pkt.export.conversation import Conversation
from scapy_tfo.pkt.export.socket_setup import least_full
from scapy_tfo.segment import ACK, FIN, PSH, SYN, Segment

MUCH = 1 << 17
"""Bytes: as much as a larger buffer surely has room for."""

_UNSENT = 1 << 14
"""Bytes: more than any window holds that holds back a rest."""

_LARGEST = 60_000
"""Bytes of data in one packet of a script."""

_AT_ONCE = 10_000_000
"""ns: data that is closer together may be one packet."""


@dataclass(frozen=True, slots=True)
class Write:
    """end: of the data, counted from the stream's first byte. last: its last segment. is_cut: more
    was written than was ever sent."""

    end: int
    last: Segment
    is_cut: bool


def written_at_once(talk: Conversation, index: int, written: int) -> Write:
    """The write whose first byte, number `written`, is first sent behind packet `index`.

    It ends with the PSH that a kernel gives the end of a write, or where the peer has its say.
    """
    end, last, is_pushed = written, None, False
    forced = _largest_window(talk, index) // 2
    for packet in talk.connection.packets[index:]:
        segment = packet.what
        if not isinstance(segment, Segment):
            continue
        if packet.src == talk.peer:
            if segment.payload or segment.is_rst:
                break
            continue
        behind = talk.local_number(segment.seq) + len(segment.payload)
        if not segment.payload or behind <= end:
            continue
        last, end = segment, behind
        # A kernel pushes in the middle of a long write, too: after full segments, and after half
        # of the largest window.
        is_full = talk.has_fulls or talk.full >= least_full(talk)
        whole = is_full and not len(segment.payload) % talk.full
        is_pushed = bool(segment.flags & (PSH | FIN))
        ends = is_pushed and not whole and end - written <= forced
        if segment.flags & FIN or ends or end - written >= MUCH:
            break
    assert last is not None
    is_cut = not is_pushed and not any(_new_data(talk, index, end))
    return Write(end + (_UNSENT if is_cut else 0), last, is_cut)


def is_held_back(talk: Conversation, index: int, written: int) -> int | None:
    """The packet with the next new data, where the peer's window was closed when it had to come.

    index: of the packet that the application saw last; None: it did not have to wait.
    """
    packets = talk.connection.packets
    later = next(_new_data(talk, index + 1, written), None)
    if later is None or _usable_window(talk, index) > 0:
        return None
    between = (
        each.what
        for each in packets[index + 1 : later]
        if each.src == talk.peer and isinstance(each.what, Segment)
    )
    return None if any(each.length for each in between) else later


def is_never_sent(talk: Conversation, index: int, written: int) -> bool:
    """Nothing that is written behind packet `index` goes out any more."""
    return next(_new_data(talk, index + 1, written), None) is None


def sent_with(talk: Conversation, index: int, until: int) -> list[int]:
    """The packets behind packet `index` with more of the same write, in the same go: how it was
    divided is the kernel's choice. until: where the write ends."""
    found: list[int] = []
    last = talk.connection.packets[index].when
    first = before = talk.connection.packets[index].what
    assert isinstance(first, Segment)
    for at, packet in enumerate(talk.connection.packets[index + 1 :], index + 1):
        segment = packet.what
        if packet.src != talk.target or not isinstance(segment, Segment):
            break
        assert isinstance(before, Segment)
        goes_on = (
            packet.when - last < _AT_ONCE
            and before.flags & ~PSH == segment.flags & ~(PSH | FIN) == ACK
            and before.end == segment.seq
            and (before.ack, before.options) == (segment.ack, segment.options)
            and bool(segment.payload)
            and talk.local_number(segment.seq) + len(segment.payload) <= until
            and segment.end - first.seq <= _LARGEST
        )
        if not goes_on:
            break
        found.append(at)
        before, last = segment, packet.when
    return found


def meets_a_fin(talk: Conversation, index: int, last: Segment) -> bool:
    """Whether the peer's FIN came before the target's, and was not acknowledged on its own, as
    it is where the target has closed before (RFC 9293 section 3.10.7.4)."""
    end: int | None = None
    for packet in talk.connection.packets[index:]:
        segment = packet.what
        if segment is last:
            return end is not None
        if not isinstance(segment, Segment):
            continue
        if packet.src == talk.peer and segment.flags & FIN and end is None:
            end = talk.remote_number(segment.end)
        is_alone = packet.src == talk.target and not segment.payload
        if is_alone and end is not None and talk.remote_number(segment.ack) >= end:
            return False
    return False


def _new_data(talk: Conversation, index: int, written: int) -> Iterator[int]:
    for at, packet in enumerate(talk.connection.packets[index:], index):
        segment = packet.what
        if packet.src != talk.target or not isinstance(segment, Segment) or not segment.payload:
            continue
        if talk.local_number(segment.seq) + len(segment.payload) > written:
            yield at


def _largest_window(talk: Conversation, index: int) -> int:
    """Of those that the peer has offered until then, bytes."""
    return max((size for size, _ in _windows(talk, index)), default=0)


def _usable_window(talk: Conversation, index: int) -> int:
    """Bytes that the peer still has room for, when packet `index` has come."""
    edge = 0
    for size, acked in _windows(talk, index):
        edge = size + acked
    sent = 0
    for packet in talk.connection.packets[: index + 1]:
        segment = packet.what
        if packet.src == talk.target and isinstance(segment, Segment) and segment.payload:
            sent = max(sent, talk.local_number(segment.seq) + len(segment.payload))
    return edge - sent


def _windows(talk: Conversation, index: int) -> Iterator[tuple[int, int]]:
    """Bytes, and from where on, that each packet of the peer until then has offered."""
    shift = _scale(talk)
    for packet in talk.connection.packets[: index + 1]:
        segment = packet.what
        if packet.src != talk.peer or not isinstance(segment, Segment) or segment.is_rst:
            continue
        if segment.flags & SYN:
            acked = talk.local_number(segment.ack) if segment.flags & ACK else 0
            yield segment.window, acked
        elif segment.flags & ACK:
            yield segment.window << shift, talk.local_number(segment.ack)


def _scale(talk: Conversation) -> int:
    """Of the peer's windows, once the handshake is done (RFC 7323 section 2.2)."""
    offered: list[int | None] = []
    for end in (talk.peer, talk.target):
        syn = next((each.what for each in talk.segments(end) if each.what.flags & SYN), None)
        found = syn.option(opt.WINDOW_SCALE) if syn is not None else None
        offered.append(found.data[0] if found is not None and found.data else None)
    return (offered[0] or 0) if None not in offered else 0
