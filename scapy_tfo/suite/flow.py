"""One TCP conversation as a case leads it: partial segments out, expectations in."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from scapy_tfo import option as opt
from scapy_tfo import seq
from scapy_tfo.icmp import IcmpError
from scapy_tfo.option import RawOption
from scapy_tfo.segment import ACK, FIN, PSH, RST, SYN, Address, Flags, Segment
from scapy_tfo.suite.ear import Ear

if TYPE_CHECKING:
    from scapy_tfo.suite.app import App
    from scapy_tfo.suite.switchboard import Switchboard


class Flow(Ear):
    """A client's end of one connection, which may say anything at all.

    opening: our last SYN. sent: requests so far, which the answer is judged against. mss: what
    our SYN offers, in bytes. window: of every segment, not scaled.
    timestamp: TSval of everything sent, which then echoes what came last; None for no option.
    """

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
    ) -> None:
        super().__init__(
            source=source, target=target, sport=sport, dport=dport, isn=isn, patience=patience
        )
        self.owner = owner
        self.app = app
        self.mss = mss
        self.sent: list[bytes] = []
        self.opening = Segment(src=source, dst=target, sport=sport, dport=dport)
        self.window = 65535
        self.timestamp: int | None = None
        self._board = board
        self._is_over = False
        self._key = (source, sport, target, dport)
        board.open(self._key, self)

    # Sending

    def send(
        self,
        flags: Flags = ACK,
        data: bytes = b"",
        *,
        options: Iterable[RawOption] = (),
        comment: str = "",
        **fields: Any,
    ) -> Segment:
        """Send a segment; what is not given continues the conversation.

        Sequence number SND.NXT, acknowledgement of all that came, the flow's window. Any field
        of Segment may be given. SND.NXT moves on where the segment began at it.
        """
        if self.timestamp is not None:
            echo = next((each.timestamps[0] for each in self.heard[::-1] if each.timestamps), 0)
            options = [*options, opt.timestamps(self.timestamp, echo)]
        block = opt.push_options(options)
        if len(block) <= opt.MAX_OPTIONS:
            block = opt.padded(block)
        values: dict[str, Any] = {
            "src": self.source,
            "dst": self.target,
            "sport": self.sport,
            "dport": self.dport,
            "seq": self.snd_nxt,
            "ack": self.rcv_nxt if flags & ACK else 0,
            "flags": flags,
            "window": self.window,
            "options": block,
            "payload": data,
        }
        values.update(fields)
        segment = Segment(**values)
        self._told = segment.ack if flags & ACK else self._told
        if segment.seq == self.snd_nxt and not flags & RST:
            self.snd_nxt = segment.end
        self.numbers.append(self._board.send(segment.to_bytes(), self.owner, comment))
        return segment

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

        The MSS option always goes in front; `options` follow the cookie.
        """
        tfo = [] if cookie is None else [opt.fast_open(cookie)]
        every = [opt.mss(self.mss), *tfo, *options]
        return self.syn_with(every, data, flags=flags, **fields)

    def syn_with(
        self, options: Iterable[RawOption], data: bytes = b"", *, flags: Flags = SYN, **fields: Any
    ) -> Segment:
        """Send a SYN at our ISN with exactly these options."""
        self.snd_nxt = self.isn
        self.sent += [data] if data else []
        self.opening = self.send(flags, data, options=options, **fields)
        return self.opening

    def request(self, size: int = 0, *, flags: Flags = ACK, last: bool = False) -> bytes:
        """Send the application a request of at least `size` bytes and remember it."""
        data = self.app.request(size, last=last)
        self.sent.append(data)
        self.send(flags | PSH, data)
        return data

    def again(self, **changes: Any) -> None:
        """Send our SYN once more, with changes; the conversation does not move on."""
        packet = replace(self.opening, **changes).to_bytes()
        self.numbers.append(self._board.send(packet, self.owner, "again"))

    def resend(self, *, piece: int = 0) -> None:
        """Send all that is not acknowledged yet, `piece` bytes at a time (0: a full segment)."""
        start = self.their_rcv_nxt
        rest = b"".join(self.sent)[seq.distance(self.isn, start) - 1 :]
        size = piece or self.mss - opt.MAX_OPTIONS
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
        self.numbers.append(self._board.send(error.to_bytes(), self.owner, "ICMP error"))

    # The application's answer

    async def answered(self, *, within: float | None = None, acking: bool = True) -> None:
        """Wait for the whole answer to all requests; a wrong or doubled one fails the case."""

        def whole() -> bool:
            wrong = self.app.judge(self.sent, bytes(self.stream.data))
            if wrong:
                raise self.failed(wrong, f"one whole answer to {self._asked}", wrong)
            return wrong is None

        await self.until(f"the answer to {self._asked}", whole, within=within, acking=acking)

    @property
    def _asked(self) -> str:
        return f"{len(self.sent)} request(s), {sum(map(len, self.sent))} bytes"

    async def finish(self, *, within: float | None = None) -> None:
        """Close, wait for the target's close, and demand that every byte came exactly once."""
        await self.answered(within=within)
        self.fin()
        await self.until("the target's FIN", lambda: self.stream.ended, within=within, acking=True)
        wrong = self.app.judge(self.sent, bytes(self.stream.data))
        if wrong:
            raise self.failed(wrong, f"one whole answer to {self._asked}", wrong)

    # Ending

    def hang_up(self) -> None:
        """Leave nothing half open at the target; a second call does nothing.

        The ACK in front of the RST takes a pending fast open out of its queue, where a RST
        alone would hold its place for a minute (RFC 7413 section 5.1). A RST that came may have
        rejected one segment only, and the last acknowledgement may still be under way.
        """
        if self.irs is not None and not self._is_over:
            self.send(ACK, seq=self.their_rcv_nxt, comment="clearing up")
            for end in dict.fromkeys((self.their_rcv_nxt, self.snd_nxt)):
                self.reset(seq=end, comment="clearing up")
        self._is_over = True
        self._board.close(self._key)
