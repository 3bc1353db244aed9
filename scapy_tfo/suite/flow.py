"""One TCP conversation of a case: sends segments, and waits for the answers it expects."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from scapy_tfo import option as opt
from scapy_tfo import seq
from scapy_tfo.icmp import IcmpError
from scapy_tfo.option import RawOption
from scapy_tfo.segment import ACK, FIN, PSH, RST, SYN, Address, Flags, Segment
from scapy_tfo.suite.context.dress import Dress, plain
from scapy_tfo.suite.context.offers import echoing
from scapy_tfo.suite.delivery.outbox import Outbox, Written
from scapy_tfo.suite.delivery.timer import RetransmissionTimer
from scapy_tfo.suite.delivery.window import SendWindow
from scapy_tfo.suite.outcome import Missing, Symptom, Unsupported, shows
from scapy_tfo.suite.receiver import Receiver, spoils

if TYPE_CHECKING:
    from scapy_tfo.suite.application import App
    from scapy_tfo.suite.switchboard import Switchboard

_LEAST_ROOM = 48
"""Bytes of data in a segment, however small the MSS that the target names."""

_NUMBERS = {"seq", "ack"}
"""Fields that a case gives where it says itself which of its bytes go out."""


class Flow(Receiver):
    """A client's end of one connection, which may say anything at all.

    opening: our last SYN. sent: requests so far, which the answer is judged against. mss: what
    our SYN offers, in bytes. window: of every segment, not scaled. dress: what the context makes
    of it. timestamp: TSval of everything sent, which then echoes what came last; None for none.

    Behind the handshake it is TCP: what it writes waits for the target's window, is cut to the
    segments that path and target take, and while the case awaits something, what belongs to `sent`
    and is not acknowledged is sent again, and so is a FIN; timer says when. resends: False where a
    case measures one copy. repeated: segments sent again, or as probes; a SYN never is. conduct:
    the rules for what comes.
    """

    is_tcp = True  # False for an end that sends everything at once, and once.

    def __init__(
        self,
        board: Switchboard,
        *,
        owner: str,
        source: Address,
        target: Address,
        sport: int,
        dport: int,
        app: App,
        isn: int,
        mss: int,
        patience: float,
        dress: Dress | None = None,
    ) -> None:
        super().__init__(
            source=source, target=target, sport=sport, dport=dport, isn=isn, patience=patience
        )
        self.owner, self.app = owner, app
        self._dress = dress or plain(source.version)
        self.is_signed = self._dress.is_signed
        self._stamps = False
        self.mss = self._dress.mss(mss)
        self.sent: list[bytes] = []
        self.opening = Segment(src=source, dst=target, sport=sport, dport=dport)
        self.window = 65535
        self.timestamp: int | None = None
        self.resends, self.repeated = True, 0
        self.timer = RetransmissionTimer()
        self._board = board
        self._largest = mss
        self._their_window = SendWindow()
        self._outbox = Outbox()
        self._recovers_to = isn
        self._is_over, self._rest = False, b""
        self._key = (source, sport, target, dport)
        self.conduct = board.watch.begin(self._key, steady=app.name == "echo")
        board.open(self._key, self)

    # Sending

    def send(
        self,
        flags: Flags = ACK,
        data: bytes = b"",
        *,
        options: Iterable[RawOption] = (),
        comment: str = "",
        once: bool = False,
        **fields: Any,
    ) -> Segment:
        """Send a segment; what is not given continues the conversation.

        Sequence number SND.NXT, acknowledgement of all that came, the flow's window, and PSH with
        text, behind which nothing is buffered (RFC 9293 section 3.9.1.2). Any field of Segment may
        be given. SND.NXT moves on where the segment began at it. once: it goes out
        now, whatever the window, and is never sent again: what the target must reject.
        """
        is_text = bool(data or flags & FIN) and flags & (SYN | RST | ACK) == ACK
        if is_text and data:
            flags |= PSH
        if self._rest and flags & (SYN | RST | ACK) == ACK and not (once or _NUMBERS & set(fields)):
            self._send_rest()
        held = None if is_text else self._outbox.first_held
        number = fields.pop("seq", self.snd_nxt if held is None else held)
        written = Written(number, flags, data, tuple(options), fields, comment)
        segment = self._segment(written)
        if segment.seq == self.snd_nxt and not flags & RST:
            self.snd_nxt = segment.end
        edge = self._their_window.edge
        if once or not is_text or edge is None or not self.is_tcp:
            self._transmit(segment, comment)
            return segment
        for piece in written.pieces(self._room(segment)):
            self._outbox.write(piece)
        self._send_what_fits(edge)
        waits = self._outbox.first_held
        if waits is not None and segment.ack != self._told:
            # The window may open only when the handshake is over.
            self._transmit(replace(segment, seq=waits, flags=ACK, payload=b""))
        return segment

    def _send_what_fits(self, edge: int, *, ack: int | None = None) -> None:
        """ack: to acknowledge with what the case wrote earlier, None for what it would by now."""
        while (piece := self._outbox.next(self.their_rcv_nxt, edge)) is not None:
            segment = self._segment(piece)
            self._transmit(segment if ack is None else replace(segment, ack=ack), piece.comment)

    def _segment(self, written: Written) -> Segment:
        stamp = self.timestamp
        if stamp is None and self._stamps and not written.flags & SYN:
            stamp = self._dress.agreed_tsval(self.heard)
        block = opt.push_options([*written.options, *echoing(stamp, self.heard)])
        if len(block) <= opt.MAX_OPTIONS:
            block = opt.padded(block)
        values: dict[str, Any] = {
            "src": self.source,
            "dst": self.target,
            "sport": self.sport,
            "dport": self.dport,
            "seq": written.seq,
            "ack": self.rcv_nxt if written.flags & ACK else 0,
            "flags": written.flags,
            "window": self.window,
            "options": block,
            "payload": written.data,
        }
        self._dress.mark(values)
        values.update(written.fields)
        return Segment(**values)

    def _transmit(self, segment: Segment, comment: str = "") -> None:
        segment, packet = self._dress.packet(segment)
        self._told = segment.ack if segment.flags & ACK else self._told
        self.conduct.sent(segment, self._board.leaves_at)
        self.proof.expose(segment, self.snd_nxt, self.rcv_nxt)
        self.numbers.append(self._board.send(packet, self.owner, comment))

    def _room(self, segment: Segment) -> int:
        """Bytes of data that path and target take in one segment with such options."""
        largest = min(self._largest, self._their_window.mss or self._largest)
        return max(largest - len(segment.options) - self._dress.overhead, _LEAST_ROOM)

    @property
    def lag(self) -> float:
        return self._board.link.lag

    def syn(
        self,
        cookie: bytes | None = None,
        data: bytes = b"",
        *,
        flags: Flags = SYN,
        options: Iterable[RawOption] = (),
        **fields: Any,
    ) -> Segment:
        """Send a SYN at our ISN: a cookie of b"" asks for one, None sends no Fast Open option.
        The MSS option goes in front, unless the context has another place; `options` follow."""
        tfo = [] if cookie is None else [opt.fast_open(cookie)]
        stamp = echoing(self.timestamp, ())
        every, self._stamps = self._dress.offer(self.mss, tfo, list(options), stamp, len(data))
        return self.syn_with(every, data, flags=flags, **fields)

    def syn_with(
        self, options: Iterable[RawOption], data: bytes = b"", *, flags: Flags = SYN, **fields: Any
    ) -> Segment:
        """Send a SYN at our ISN with exactly these options."""
        self.snd_nxt = self.isn
        self.sent += [data] if data else []
        self.opening = self.send(flags, data, options=options, **fields)
        return self.opening

    def taken_in_part(self, taken: int) -> bool:
        """Live with a SYN-ACK that acknowledges no more of the SYN's data; False where it is none.

        A server takes as much as it wants (RFC 7413 section 4.1.3). From now on `sent` holds
        what was taken, and the rest goes out in front of what the case sends next. Raises
        Unsupported where the application answers whole requests only.
        """
        if self.sent != [self.opening.payload]:
            return False
        data = self.sent[0]
        if self.app.answers and self.app.name != "echo":
            part = f"the server takes {taken} of the {len(data)} bytes in a SYN"
            raise Unsupported(f"{part}, and its application answers whole requests")
        self.sent[0], self._rest = data[:taken], data[taken:]
        self.snd_nxt = self.their_rcv_nxt
        return True

    def rest(self) -> bytes:
        """What the server did not take of the SYN's data, for a case that sends it by itself."""
        rest, self._rest = self._rest, b""
        return rest

    def _send_rest(self) -> None:
        """The same, unless the case goes on without it."""
        rest = self.rest()
        if self.snd_nxt == seq.add(self.isn, 1 + len(self.sent[0])):
            self.sent.insert(1, rest)
            self.send(ACK, rest, comment="what was not taken of the SYN")

    def request(self, size: int = 0, *, flags: Flags = ACK, last: bool = False) -> bytes:
        """Send the application a request of at least `size` bytes and remember it."""
        data = self.app.request(size, last=last)
        self.sent.append(data)
        self.send(flags | PSH, data)
        return data

    def again(self, **changes: Any) -> None:
        """Send our SYN once more, with changes; the conversation does not move on."""
        segment, packet = self._dress.packet(replace(self.opening, **changes))
        self.conduct.sent(segment, self._board.leaves_at)
        self.send_beside(packet, "again")

    def resend(self, *, piece: int = 0) -> None:
        """Send all that is not acknowledged yet, `piece` bytes at a time (0: a full segment)."""
        start = self.their_rcv_nxt
        rest = b"".join(self.sent)[seq.distance(self.isn, start) - 1 :]
        size = piece or min(self.mss, self._largest) - opt.MAX_OPTIONS
        for at in range(0, max(len(rest), 1), size):
            self.send(ACK, rest[at : at + size], seq=seq.add(start, at))

    def ack(self, **fields: Any) -> Segment:
        """Acknowledge all that came in order."""
        return self.send(ACK, **fields)

    def fin(self, **fields: Any) -> Segment:
        """Close our side."""
        return self.send(FIN | ACK, **fields)

    def reset(self, **fields: Any) -> Segment:
        """Reset at exactly the sequence number that the target expects."""
        return self.send(RST | ACK, **({"seq": self.their_rcv_nxt} | fields))

    def send_icmp(self, error: IcmpError) -> None:
        """Send an ICMP error to the target."""
        self.conduct.error(error, self._board.leaves_at)
        self.send_beside(error.to_bytes(), "ICMP error")

    def send_beside(self, packet: bytes, comment: str) -> None:
        """Send a packet that moves nothing on, and that the rules of TCP do not know of."""
        self.proof.expose_silent()
        self.numbers.append(self._board.send(packet, self.owner, comment))

    # What the target lets us send, and what it has not acknowledged

    def hear(self, segment: Segment, number: int) -> None:
        before = self.their_rcv_nxt
        self._watch(segment, number)
        self._their_window.hear(segment, self.opening)
        super().hear(segment, number)
        una, edge = self.their_rcv_nxt, self._their_window.edge
        if edge is None or not self.is_tcp:
            return
        self._outbox.acknowledged(una)
        if una != before and seq.before(una, self._recovers_to):
            self._send_lost(edge)
        self._send_what_fits(edge, ack=self._told)

    def _watch(self, segment: Segment, number: int) -> None:
        self._board.watch.came(self, self.conduct, segment, number, self._board.heard_at)

    def _lost(self) -> Written | None:
        """What the target waits for, of that which belongs to the stream and was sent."""
        offset = seq.distance(self.isn, self.their_rcv_nxt) - 1
        if self._outbox.is_empty or offset < 0:
            return None
        return self._outbox.lost(self.their_rcv_nxt, offset, b"".join(self.sent))

    def _send_lost(self, edge: int) -> bool:
        """Send again the first thing that is not acknowledged; whether there is any.

        It acknowledges no more than the case has, which may be waiting for what that brings.
        """
        if (lost := self._lost()) is not None:
            segment = self._segment(lost.within(self.their_rcv_nxt, edge))
            self._transmit(replace(segment, ack=self._told or 0), "sent again: not acknowledged")
            self.repeated += 1
        return lost is not None

    def _repeats_at(self, now: float) -> float | None:
        edge = self._their_window.edge
        active = self.is_tcp and self.resends and edge is not None
        if not active or (self._outbox.first_held is None and self._lost() is None):
            self.timer.stop()
            return None
        return self.timer.due(now + self.lag, (self.their_rcv_nxt, edge))

    def _repeat(self, now: float) -> None:
        edge, probe = self._their_window.edge, self._outbox.probe()
        self._recovers_to = self.snd_nxt
        if not self._send_lost(edge or 0) and probe is not None:
            self._transmit(replace(self._segment(probe), ack=self._told or 0), "probes the window")
            self.repeated += 1
        self.timer.sent_again(now + self.lag)

    def missing(self, what: str) -> Missing:
        ending = super().missing(what)
        if waiting := sum(len(each.data) for each in self._outbox.held):
            ending.actual += f"; {waiting} bytes of ours wait for its window to open"
        return ending

    # The application's answer

    async def until(self, what: str, condition: Callable[[], bool], **named: Any) -> None:
        """See Receiver. Raises Skipped for more requests than are answered on a connection."""

        def met() -> bool:
            self.app.must_go_on(self.sent, bytes(self.stream.data))
            return condition()

        await super().until(what, met, **named)

    @shows(spoils)
    async def answered(self, *, within: float | None = None, acking: bool = True) -> None:
        """Wait for the whole answer to all requests; a wrong or doubled one fails the case."""
        what = f"the answer to {self._asked}"
        await self.until(what, self._is_answered, within=within, acking=acking)

    def _is_answered(self) -> bool:
        wrong = self.app.judge(self.sent, bytes(self.stream.data))
        if wrong:
            raise self.failed(wrong, f"one whole answer to {self._asked}", wrong)
        return wrong is None

    @property
    def _asked(self) -> str:
        return f"{len(self.sent)} request(s), {sum(map(len, self.sent))} bytes"

    @shows(spoils, missing=Symptom.NEVER_CLOSES)
    async def finish(self, *, within: float | None = None) -> None:
        """Close, wait for the target's close, and demand that every byte came exactly once."""
        await self.answered(within=within)
        self.fin()
        await self.until("the target's FIN", lambda: self.stream.ended, within=within, acking=True)
        self._is_answered()

    async def goes_on(self, *, rst: int | None = None) -> bool:
        """See Peer.goes_on, which records the outcome."""
        self.request()
        before = self.repeated

        def ended() -> bool:
            return any(each.is_rst and each.seq != rst for each in self.heard)

        def done() -> bool:
            wrong = self.app.judge(self.sent, bytes(self.stream.data))
            self.require(not wrong, str(wrong), "one whole and right answer", str(wrong))
            return wrong is None or ended()

        await self.until("an answer or a RST", done, acking=True, may_reset=True)
        # Whoever resets the second copy left the first without an answer; a probe may be the first.
        if ended() and self.repeated > before + bool(self._outbox.held):
            raise self.missing("an answer or a RST to the first copy")
        return not ended()

    # Ending

    def hang_up(self) -> None:
        """Leave nothing half open at the target; a second call does nothing.

        The ACK in front of the RST takes a pending fast open out of its queue, where a RST
        alone would hold its place for a minute (RFC 7413 section 5.1). A RST that came may have
        rejected one segment only, and the last acknowledgement may still be under way.
        """
        self._board.watch.ended(self, self.conduct, self.source.version, self._board.link.now())
        if self.irs is not None and not self._is_over:
            self.send(ACK, seq=self.their_rcv_nxt, comment="clearing up")
            for end in dict.fromkeys((self.their_rcv_nxt, self.snd_nxt)):
                self.reset(seq=end, comment="clearing up")
        self._is_over = True
        self._board.close(self._key)
