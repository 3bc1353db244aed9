"""One TCP conversation as a case leads it: partial segments out, expectations in."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from scapy_tfo import option as opt
from scapy_tfo import seq
from scapy_tfo.icmp import IcmpError
from scapy_tfo.option import RawOption
from scapy_tfo.segment import ACK, FIN, RST, SYN, Address, Flags, Segment, endpoint
from scapy_tfo.suite.outcome import Failed, Missing, Refused, WasReset
from scapy_tfo.suite.stream import Stream

if TYPE_CHECKING:
    from scapy_tfo.suite.app import App
    from scapy_tfo.suite.switchboard import Switchboard

_SHOWN = 30
"""Most packets of a flow that a verdict cites."""


class Flow:
    """A client's end of one connection, which may say anything at all.

    isn: our initial sequence number. snd_nxt: where our next byte goes. irs: the target's
    initial sequence number, None until a SYN-ACK came. opening: our last SYN. sent: requests so
    far, which the answer is judged against. patience: seconds that an expectation waits at most.
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
        self.owner = owner
        self.source, self.target = source, target
        self.sport, self.dport = sport, dport
        self.app = app
        self.isn = self.snd_nxt = isn
        self.mss = mss
        self.patience = patience
        self.heard: list[Segment] = []
        self.icmp: list[IcmpError] = []
        self.numbers: list[int] = []
        self.sent: list[bytes] = []
        self.opening = Segment(src=source, dst=target, sport=sport, dport=dport)
        self.stream = Stream()
        self.window = 65535
        self.timestamp: int | None = None
        self._board = board
        self._taken: set[int] = set()
        self._is_over = False
        self._news = asyncio.Event()
        self._acked: int | None = None
        self._told = 0
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
        segment = Segment(**(values | fields))
        self._told = segment.ack if flags & ACK else self._told
        if segment.seq == self.snd_nxt and not flags & RST:
            self.snd_nxt = segment.end
        self.numbers.append(self._board.send(segment.to_bytes(), self.owner, comment))
        return segment

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
        self.send(flags | Flags.PSH, data)
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

    # What came

    @property
    def irs(self) -> int | None:
        return self.stream.irs

    @property
    def rcv_nxt(self) -> int:
        """The next sequence number we want; 0 before a SYN came."""
        return self.stream.rcv_nxt

    @property
    def their_rcv_nxt(self) -> int:
        """The highest acknowledgement that came: what the target expects next."""
        return self._acked if self._acked is not None else seq.add(self.isn, 1)

    @property
    def was_reset(self) -> bool:
        return any(each.is_rst for each in self.heard)

    def hear(self, segment: Segment, number: int, when: float) -> None:  # noqa: ARG002
        """Take in a segment of the target's."""
        self.heard.append(segment)
        self.numbers.append(number)
        if segment.flags & ACK and not segment.is_rst:
            new = self._acked is None or seq.before(self._acked, segment.ack)
            self._acked = segment.ack if new else self._acked
        if not segment.is_rst:
            self.stream.take(segment)
        self._news.set()

    def hear_icmp(self, error: IcmpError, number: int, when: float) -> None:  # noqa: ARG002
        """Take in an ICMP error about this flow."""
        self.icmp.append(error)
        self.numbers.append(number)
        self._news.set()

    # Waiting

    async def until(
        self,
        what: str,
        condition: Callable[[], bool],
        *,
        within: float | None = None,
        acking: bool = False,
        may_reset: bool = False,
    ) -> None:
        """Wait until the condition holds; `acking` acknowledges SYN and data on the way.

        Raises Missing when `within` seconds pass, WasReset when the target resets instead.
        """
        deadline = asyncio.get_running_loop().time() + (within or self.patience)
        while not condition():
            if self.was_reset and not may_reset:
                raise WasReset(
                    f"{what} did not come: the target reset",
                    expected=what,
                    actual="RST",
                    packets=self.cited,
                    flow=self.name,
                )
            if acking and self.rcv_nxt != self._told:
                self.ack()
            self._news.clear()
            try:
                async with asyncio.timeout_at(deadline):
                    await self._news.wait()
            except TimeoutError:
                raise self.missing(what) from None
        if acking and self.rcv_nxt != self._told:
            self.ack()

    async def expect(
        self,
        what: str,
        match: Callable[[Segment], bool],
        *,
        within: float | None = None,
        may_reset: bool = False,
    ) -> Segment:
        """The first segment not taken before that matches. Raises as `until` does."""
        found: list[int] = []

        def look() -> bool:
            for at, segment in enumerate(self.heard):
                if at not in self._taken and match(segment):
                    found.append(at)
                    return True
            return False

        await self.until(what, look, within=within, may_reset=may_reset)
        self._taken.add(found[0])
        return self.heard[found[0]]

    async def syn_ack(self, what: str = "a SYN-ACK", *, within: float | None = None) -> Segment:
        """The next SYN-ACK; one that acknowledges what was never sent fails the case."""
        segment = await self.expect(what, lambda each: each.is_syn_ack, within=within)
        if not 1 <= seq.distance(self.isn, segment.ack) <= self._span:
            raise self.failed(
                "the SYN-ACK acknowledges something that was never sent",
                f"an acknowledgement of 1 to {self._span} (relative to our ISN)",
                f"{seq.distance(self.isn, segment.ack)}",
            )
        return segment

    async def rst(self, what: str = "a RST", *, within: float | None = None) -> Segment:
        """The next RST."""
        return await self.expect(what, lambda each: each.is_rst, within=within, may_reset=True)

    async def pause(self, seconds: float) -> list[Segment]:
        """Let time pass; what came meanwhile."""
        already = len(self.heard)
        await asyncio.sleep(seconds)
        return self.heard[already:]

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

    # Judging

    @property
    def _span(self) -> int:
        """Sequence numbers we have used so far."""
        return max(seq.distance(self.isn, self.snd_nxt), 1)

    def acknowledged(self, segment: Segment) -> int:
        """Payload bytes of ours that a segment acknowledges, the SYN not counted."""
        return seq.distance(self.isn, segment.ack) - 1

    def must_accept(self, syn_ack: Segment, size: int) -> None:
        """Demand that a SYN-ACK acknowledges all `size` bytes of the SYN's data.

        None at all is a refusal, which a full queue explains: Refused. Anything else: Failed.
        """
        got = self.acknowledged(syn_ack)
        expected = f"SYN-ACK that acknowledges the SYN and its {size} bytes"
        actual = f"SYN-ACK that acknowledges the SYN and {got} bytes"
        if got == size:
            return
        if got == 0:
            raise Refused(
                "a valid cookie was refused",
                expected=expected,
                actual=actual,
                packets=self.cited,
                flow=self.name,
            )
        raise self.failed("the SYN data is acknowledged in part", expected, actual)

    def must_refuse(self, syn_ack: Segment, why: str) -> None:
        """Demand that a SYN-ACK acknowledges the SYN alone, `why` says on what ground."""
        got = self.acknowledged(syn_ack)
        self.require(
            got == 0,
            f"SYN data acknowledged {why}",
            "SYN-ACK that acknowledges the SYN only",
            f"SYN-ACK that acknowledges the SYN and {got} bytes",
        )

    def require(self, holds: bool, reason: str, expected: str, actual: str) -> None:
        """Fail the case unless the condition holds."""
        if not holds:
            raise self.failed(reason, expected, actual)

    def failed(self, reason: str, expected: str, actual: str) -> Failed:
        """A failure that cites this flow."""
        return Failed(reason, expected=expected, actual=actual, packets=self.cited, flow=self.name)

    def missing(self, what: str) -> Missing:
        """Something that did not come on this flow; says what came instead."""
        rest = [str(each) for at, each in enumerate(self.heard) if at not in self._taken]
        actual = (
            "nothing" if not rest else f"{len(rest)} other segment(s): " + " | ".join(rest[-3:])
        )
        return Missing(
            f"{what} did not come",
            expected=what,
            actual=actual,
            packets=self.cited,
            flow=self.name,
        )

    @property
    def cited(self) -> tuple[int, ...]:
        """Numbers of this flow's packets in the capture."""
        return tuple(self.numbers[:_SHOWN])

    @property
    def name(self) -> str:
        return f"{endpoint(self.source, self.sport)}>{endpoint(self.target, self.dport)}"

    # Ending

    def hang_up(self) -> None:
        """Leave nothing half open at the target; a second call does nothing.

        The ACK in front of the RST takes a pending fast open out of its queue, where a RST
        alone would hold its place for a minute (RFC 7413 section 5.1).
        """
        if self.irs is not None and not self.was_reset and not self._is_over:
            self.send(ACK, seq=self.their_rcv_nxt, comment="clearing up")
            self.reset(comment="clearing up")
        self._is_over = True
        self._board.close(self._key)


def shown(segments: Sequence[Segment]) -> str:
    """Segments in one line, for `actual`."""
    return " | ".join(str(each) for each in segments) or "nothing"
