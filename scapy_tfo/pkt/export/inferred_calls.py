"""Infers the system calls of a target's application from its packets.

Data that the target acknowledges next is read as soon as it comes. New data is written in one call,
up to the next PSH, or to the next data or RST of the peer. A FIN is a close; a RST without a cause
is a close that does not linger.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from scapy_tfo.capture.annotations import Change
from scapy_tfo.lab.hooks import ListenerOptions
from scapy_tfo.pkt.export.calls import (
    ANY,
    call,
    close,
    in_progress,
    named,
    new_socket,
    open_socket,
    send_fast_open,
    set_keys,
)
from scapy_tfo.pkt.export.causality import is_refused
from scapy_tfo.pkt.export.conversation import Conversation
from scapy_tfo.pkt.export.socket_setup import is_fast, nobody_listens, pending_limit, sends_at_once
from scapy_tfo.pkt.export.socket_state import SocketState
from scapy_tfo.pkt.export.writes import (
    MUCH,
    is_held_back,
    is_never_sent,
    meets_a_fin,
    sent_with,
    written_at_once,
)
from scapy_tfo.pkt.language import tree
from scapy_tfo.segment import ACK, FIN, PSH, SYN, Segment

_QUEUE = 1024
_ROOM = 1 << 14
"""Bytes: a longer write might wait for room in a socket's buffer."""

_FIRST_DESCRIPTOR = 3


class Application:
    """A server or a client with any number of connections, each called by its conversation.

    has_divided: something that was written at once went out in several packets. queues: see
    `Wishes`. others: ports on which a server listens besides. echoes: see `Wishes`.
    """

    def __init__(
        self,
        conversations: list[Conversation],
        *,
        is_server: bool,
        queues: Mapping[int, int],
        others: Sequence[int] = (),
        echoes: bool = False,
    ) -> None:
        self._echoes = echoes
        self._is_server = is_server
        self._queues = queues
        self._others = others
        self._sockets = {id(each): SocketState() for each in conversations}
        self._conversations = conversations
        self._taken: set[int] = set()
        self._listening: dict[int, int] = {}
        self.has_divided = False

    def begin(self) -> Iterator[tree.Syscall]:
        """Before the first packet: listeners whose opening nobody has told."""
        if not self._is_server:
            return
        opened = {
            change.port
            for talk in self._conversations
            for packet in talk.connection.packets
            for change in packet.changes
            if change.options is not None
        }
        own = [talk.target.port for talk in self._conversations]
        known = list(self._queues)
        ports = sorted(
            dict.fromkeys([*own, *self._others]),
            key=lambda port: known.index(port) if port in self._queues else len(known),
        )
        for port in ports:
            talks = [each for each in self._conversations if each.target.port == port]
            if port not in opened and not nobody_listens(talks):
                shown = (pending_limit(talks) or _QUEUE) if any(map(is_fast, talks)) else 0
                shown = shown or _QUEUE * (port in self._others)
                limit = self._queues.get(port, shown)
                yield from self._listen(port, ListenerOptions(queue=limit, backlog=_QUEUE))

    def change(self, change: Change) -> Iterator[tree.Syscall]:
        """What a case did to a listener."""
        if change.options is not None:
            yield from self._listen(change.port, change.options)
            return
        listening = self._listening.get(change.port)
        if listening is not None and change.keys:
            yield set_keys(listening, change.keys)
        elif listening is not None:
            del self._listening[change.port]
            self._taken.discard(listening)
            yield close(listening)

    def _listen(self, port: int, options: ListenerOptions) -> Iterator[tree.Syscall]:
        self._listening[port] = listening = self._new_descriptor()
        where: object = ANY
        if port != self._conversations[0].target.port:
            number = tree.Call("htons", (tree.Number(port),))
            where = tree.Struct((tree.Field("sin_port", number),))
        yield call("socket", ANY, "SOCK_STREAM", "IPPROTO_TCP", result=listening)
        yield call("setsockopt", listening, "SOL_SOCKET", "SO_REUSEADDR", [1], 4)
        yield call("bind", listening, where, ANY)
        yield call("listen", listening, options.backlog)
        if options.queue:
            yield call("setsockopt", listening, "SOL_TCP", "TCP_FASTOPEN", [options.queue], 4)
        if options.keys:
            yield set_keys(listening, options.keys)

    def before(self, talk: Conversation, index: int, segment: Segment) -> Iterator[tree.Syscall]:
        """What made the target send this segment, the packet of that index."""
        socket = self._sockets[id(talk)]
        if segment.flags & SYN:
            if not self._is_server and not socket.is_begun:
                yield from self._connect(talk, socket, index, segment)
            return
        if socket.is_over or talk.local_isn is None:
            return
        start = talk.local_number(segment.seq)
        end = start + len(segment.payload)
        acked = self._acked(talk, socket, segment)
        writes = bool(segment.payload) and end > socket.written and start >= 0
        ends = bool(segment.flags & FIN) and not socket.has_fin
        breaks = self._breaks_off(talk, socket, segment)
        if writes or ends or breaks:
            yield from self._accept(talk, socket)
            socket.acked = max(socket.acked, acked)
            yield from self._read(socket)
        if socket.is_open and writes:
            yield from self._write(talk, socket, index)
        if socket.is_open and ends and not socket.has_fin:
            yield from self._end(talk, socket, index)
        if socket.is_open and breaks:
            linger = tree.Struct((named("onoff", 1), named("linger", 0)))
            yield call("setsockopt", socket.descriptor, "SOL_SOCKET", "SO_LINGER", linger, 8)
            yield from self._close(socket)

    def after(self, talk: Conversation, index: int, segment: Segment) -> Iterator[tree.Syscall]:
        """What the application does once this segment has come or gone."""
        socket = self._sockets[id(talk)]
        before = socket.descriptor, socket.read
        yield from self._take_in(talk, socket, index, segment)
        if not socket.is_open or socket.has_fin:
            return
        if before != (socket.descriptor, socket.read):
            later = is_held_back(talk, index, socket.written)
            if later is not None:
                yield from self._write(talk, socket, later)
            elif self._echoes and is_never_sent(talk, index, socket.written):
                yield from self._write_the_rest(socket)
        elif self._fin_follows_the_peer(talk, socket, index):
            yield from self._end(talk, socket, index)

    def _take_in(
        self, talk: Conversation, socket: SocketState, index: int, segment: Segment
    ) -> Iterator[tree.Syscall]:
        if talk.connection.packets[index].src == talk.target:
            before = socket.acked
            socket.acked = max(before, self._acked(talk, socket, segment))
            socket.sent = max(
                socket.sent, talk.local_number(segment.end) - bool(segment.flags & FIN)
            )
            ends = segment.is_rst and segment.flags & ACK and segment.seq
            socket.is_over = socket.is_over or bool(ends)
            if segment.is_syn_ack:
                socket.is_begun = True
                socket.written = max(socket.written, socket.sent)
                if socket.acked and self._is_server:
                    yield from self._accept(talk, socket)
            if socket.acked > before:
                yield from self._read(socket)
            return
        if segment.flags & FIN and _is_sound(segment) and not is_refused(talk, index):
            socket.peer_end = talk.remote_number(segment.seq) + len(segment.payload)
        if segment.is_rst and _is_sound(segment):
            socket.is_over = socket.is_over or talk.remote_number(segment.seq) == socket.acked
        elif self._is_server and self._completes(talk, socket, segment):
            yield from self._accept(talk, socket)
        if segment.length and segment.flags & (SYN | ACK) == ACK and _is_sound(segment):
            end = talk.remote_number(segment.seq) + len(segment.payload)
            taken = self._taken_next(talk, socket, index)
            if taken <= end:
                socket.acked = max(socket.acked, taken)
                yield from self._read(socket)

    def _write(self, talk: Conversation, socket: SocketState, index: int) -> Iterator[tree.Syscall]:
        """What is sent from packet `index` on, and the close that joins it."""
        write = written_at_once(talk, index, socket.written)
        size, socket.written = write.end - socket.written, write.end
        self.has_divided = self.has_divided or write.last is not _segment(talk, index)
        if size > _ROOM and not socket.has_room:
            socket.has_room = True
            yield call("setsockopt", socket.descriptor, "SOL_SOCKET", "SO_SNDBUF", [MUCH], 4)
        ends = bool(write.last.flags & FIN)
        at_once = write.last is _segment(talk, index)
        # A FIN joins data that still waits to be sent; pushed data waits for the peer only.
        if ends and (at_once or not write.last.flags & PSH):
            yield call("send", socket.descriptor, ANY, size, "MSG_MORE", result=size)
        else:
            yield call("write", socket.descriptor, ANY, size, result=size)
        if ends and not at_once and not meets_a_fin(talk, index, write.last):
            yield from self._end(talk, socket, index)

    def sent_with(self, talk: Conversation, index: int) -> list[int]:
        """The packets behind that one which are of the same write and were sent in the same go."""
        socket = self._sockets[id(talk)]
        segment = _segment(talk, index)
        if not segment.payload or talk.local_number(segment.seq) < socket.sent:
            return []
        parts = sent_with(talk, index, socket.written)
        if parts and _segment(talk, parts[-1]).flags & FIN and not socket.has_fin:
            parts.pop()
        return parts

    def _end(self, talk: Conversation, socket: SocketState, index: int) -> Iterator[tree.Syscall]:
        """The target's FIN is due from packet `index` on."""
        socket.has_fin = True
        if self._is_half_closed(talk, socket, index):
            yield call("shutdown", socket.descriptor, "SHUT_WR")
        else:
            yield from self._close(socket)

    def _waits_to_write(self, talk: Conversation, index: int) -> int | None:
        """The packet with the first data, where a cookie was asked for by a call that blocks: only
        then Linux has no ACK of its own for the SYN-ACK, but one that comes with the data."""
        mine = (
            at
            for at, packet in enumerate(talk.connection.packets)
            if at > index and packet.src == talk.target and isinstance(packet.what, Segment)
        )
        first, later = _segment(talk, index), next(mine, None)
        if first.cookie != b"" or first.payload or later is None:
            return None
        answer = _segment(talk, later)
        return later if answer.payload and not answer.flags & SYN else None

    def _connect(
        self, talk: Conversation, socket: SocketState, index: int, segment: Segment
    ) -> Iterator[tree.Syscall]:
        socket.is_begun = socket.is_open = True
        socket.descriptor = number = self._new_descriptor()
        waits = self._waits_to_write(talk, index)
        if waits is not None:
            size = socket.written = written_at_once(talk, waits, 0).end
            until = talk.connection.packets[waits].when - talk.connection.packets[index].when
            yield new_socket(number)
            yield replace(send_fast_open(number, size), until=until)
            return
        yield from open_socket(number)
        if sends_at_once(talk):
            yield call("setsockopt", number, "SOL_TCP", "TCP_NODELAY", [1], 4)
        size = socket.written = len(segment.payload)
        if size or segment.cookie is not None:
            yield send_fast_open(number, size)
        else:
            yield in_progress("connect", number, ANY, ANY)

    def _accept(self, talk: Conversation, socket: SocketState) -> Iterator[tree.Syscall]:
        wanted = self._is_server and socket.is_begun and not socket.is_over
        wanted = wanted and talk.target.port in self._listening
        if wanted and socket.descriptor is None:
            socket.descriptor = self._new_descriptor()
            socket.is_open = True
            listening = self._listening[talk.target.port]
            yield call("accept", listening, ANY, ANY, result=socket.descriptor)
            if sends_at_once(talk):
                yield call("setsockopt", socket.descriptor, "SOL_TCP", "TCP_NODELAY", [1], 4)

    def _read(self, socket: SocketState) -> Iterator[tree.Syscall]:
        size = socket.acked - socket.read
        if socket.is_open and size > 0:
            socket.read = socket.acked
            yield call("read", socket.descriptor, ANY, size, result=size)

    def _write_the_rest(self, socket: SocketState) -> Iterator[tree.Syscall]:
        size = socket.read - socket.written
        if socket.descriptor is not None and size > 0:
            socket.written = socket.read
            yield call("write", socket.descriptor, ANY, size, result=size)

    def _close(self, socket: SocketState) -> Iterator[tree.Syscall]:
        assert socket.descriptor is not None
        self._taken.discard(socket.descriptor)
        socket.is_open = False
        yield close(socket.descriptor)

    def _new_descriptor(self) -> int:
        number = _FIRST_DESCRIPTOR
        while number in self._taken:
            number += 1
        self._taken.add(number)
        return number

    def _acked(self, talk: Conversation, socket: SocketState, segment: Segment) -> int:
        """Bytes of the peer's data, without its FIN."""
        if not segment.flags & ACK or segment.is_rst:
            return 0
        acked = talk.remote_number(segment.ack)
        return acked if socket.peer_end is None else min(acked, socket.peer_end)

    def _taken_next(self, talk: Conversation, socket: SocketState, index: int) -> int:
        """What the target will next acknowledge: it is read before, for that may be its cause.

        0 where the same comes once more before: who knows whether the first was taken."""
        mine = _segment(talk, index)
        for packet in talk.connection.packets[index + 1 :]:
            segment = packet.what
            if not isinstance(segment, Segment):
                continue
            if packet.src == talk.target:
                return self._acked(talk, socket, segment)
            if (segment.seq, segment.length) == (mine.seq, mine.length) and _is_sound(segment):
                return 0
        return 0

    def _completes(self, talk: Conversation, socket: SocketState, segment: Segment) -> bool:
        """Whether it ends the handshake: an acceptable ACK (RFC 9293 section 3.10.7.4)."""
        return (
            socket.is_begun
            and _is_sound(segment)
            and segment.flags & (SYN | ACK) == ACK
            and 0 <= talk.local_number(segment.ack) <= socket.sent + socket.has_fin
            and talk.remote_number(segment.seq) + len(segment.payload) >= 0
            and talk.remote_number(segment.seq) <= socket.acked + (1 << 16)
        )

    def _is_half_closed(self, talk: Conversation, socket: SocketState, index: int) -> bool:
        """Whether the target takes data behind its FIN."""
        before = self._acked(talk, socket, _segment(talk, index))
        for packet in talk.connection.packets[index:]:
            segment = packet.what
            if isinstance(segment, Segment):
                if packet.src == talk.target and segment.is_rst:
                    return False
                if packet.src == talk.peer and segment.flags & FIN:
                    # It came with data that was not acknowledged before.
                    end = talk.remote_number(segment.seq) + len(segment.payload)
                    return bool(segment.payload) and end > before
                if packet.src == talk.target and self._acked(talk, socket, segment) > before:
                    return True
        return False

    def _fin_follows_the_peer(self, talk: Conversation, socket: SocketState, index: int) -> bool:
        """Whether the FIN goes with data that was written, once the peer makes room for it."""
        later = talk.connection.packets[index + 1 :]
        if not later or later[0].src != talk.peer:
            return False
        mine = (each.what for each in later if each.src == talk.target)
        segment = next(mine, None)
        return (
            isinstance(segment, Segment)
            and bool(segment.flags & FIN)
            and bool(segment.payload)
            and talk.local_number(segment.seq) + len(segment.payload) <= socket.written
        )

    def _breaks_off(self, talk: Conversation, socket: SocketState, segment: Segment) -> bool:
        """Whether the application ends it with a RST: one that answers a segment either has no ACK
        or the sequence number 0 (RFC 9293 section 3.5.2)."""
        if not (segment.is_rst and segment.flags & ACK and socket.is_open):
            return False
        return bool(segment.seq) and (
            talk.local_number(segment.seq) == socket.sent + socket.has_fin
        )


def _is_sound(segment: Segment) -> bool:
    return segment.checksum is None and segment.data_offset is None


def _segment(talk: Conversation, index: int) -> Segment:
    what = talk.connection.packets[index].what
    assert isinstance(what, Segment)
    return what
