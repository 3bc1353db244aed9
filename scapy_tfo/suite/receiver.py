"""The receiving half of a flow: collects, awaits and judges what the target sends."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

from scapy_tfo import seq
from scapy_tfo.icmp import IcmpError
from scapy_tfo.segment import ACK, Address, Segment, endpoint
from scapy_tfo.suite.delivery.proof import Proof
from scapy_tfo.suite.outcome import Failed, Missing, Refused, Symptom, WasReset, shows
from scapy_tfo.suite.stream import Stream

_SHOWN = 30
"""Most packets of a flow that a verdict cites."""

_MOST_PIECES = 20
"""Times the patience for one step, for a stream that comes piece by piece."""

_OVERTAKEN = 0.05
"""Seconds by which a packet may come late because others overtook it."""


class Receiver:
    """The receiving half of a flow.

    isn: our initial sequence number. snd_nxt: where our next byte goes. heard: segments of the
    target's in the order they came. numbers: of all the flow's packets in the capture. stream:
    the target's bytes. proof: what tells that packets of ours arrived. patience: seconds that an
    expectation waits at most. slack: seconds that the path may take, on top of what the target may.
    """

    opening: Segment
    """Our last SYN."""

    def __init__(
        self,
        *,
        source: Address,
        target: Address,
        sport: int,
        dport: int,
        isn: int,
        patience: float,
    ) -> None:
        self.source, self.target = source, target
        self.sport, self.dport = sport, dport
        self.isn = self.snd_nxt = isn
        self.patience = patience
        self.slack = 0.0
        self.is_signed: Callable[[Segment], bool] = lambda _: True
        self.heard: list[Segment] = []
        self.icmp: list[IcmpError] = []
        self.numbers: list[int] = []
        self.proof = Proof(isn)
        self.stream = Stream()
        self._taken: set[int] = set()
        self._waiting: list[asyncio.Future[None]] = []
        self._acked: int | None = None
        self._told: int | None = None

    def ack(self, **fields: Any) -> Segment:
        """Acknowledge all that came in order."""
        raise NotImplementedError

    def _repeats_at(self, now: float) -> float | None:
        """When something is to be sent again, by the loop's clock; None for nothing or no more."""
        raise NotImplementedError

    def _repeat(self, now: float) -> None:
        """That time has come."""
        raise NotImplementedError

    def taken_in_part(self, taken: int) -> bool:
        """See Flow."""
        raise NotImplementedError

    @property
    def lag(self) -> float:
        """Seconds until what was sent last really leaves: no answer can come before."""
        raise NotImplementedError

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

    @property
    def unproven(self) -> int:
        """Packets of ours of which nothing that came tells that they arrived."""
        return self.proof.lacking(self._acked)

    def hear(self, segment: Segment, number: int) -> None:
        """Take in a segment of the target's."""
        self.heard.append(segment)
        self.numbers.append(number)
        if segment.flags & ACK and not segment.is_rst:
            new = self._acked is None or seq.before(self._acked, segment.ack)
            self._acked = segment.ack if new else self._acked
        if not segment.is_rst:
            self.stream.take(segment)
        self._wake()

    def hear_icmp(self, error: IcmpError, number: int) -> None:
        """Take in an ICMP error about this flow."""
        self.icmp.append(error)
        self.numbers.append(number)
        self._wake()

    def _wake(self) -> None:
        for each in self._waiting:
            _end(each)

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

        within: seconds that the target may take, counted anew with each piece of a stream that is
        acknowledged, and with what is sent again because the target has not acknowledged it.
        Raises Missing when they pass, and those of the path; WasReset when the
        target resets instead.
        """
        loop = asyncio.get_running_loop()
        allowed = self.patience if within is None else within + self.slack
        deadline = loop.time() + self.lag + allowed
        last = loop.time() + _MOST_PIECES * allowed
        ends = False
        while not condition():
            if self.was_reset and not (may_reset or ends):
                # What it sent before may come behind its RST.
                ends, deadline = True, min(deadline, loop.time() + _OVERTAKEN + self.slack)
            if acking and self.rcv_nxt != self._told:
                self.ack()
                deadline = deadline if ends else min(loop.time() + self.lag + allowed, last)
            timer = None if ends else self._repeats_at(loop.time())
            if not await self._news_by(deadline if timer is None else timer):
                if timer is None:
                    raise self._was_reset(what) if ends else self.missing(what)
                self._repeat(loop.time())
            if timer is not None:
                # The target can answer only what has reached it.
                deadline = max(deadline, min(loop.time() + self.lag + allowed, last))
        if acking and self.rcv_nxt != self._told:
            self.ack()

    async def _news_by(self, deadline: float) -> bool:
        """Wait for anything to come; False where nothing does until then."""
        # Not asyncio's Event and timeout, which cost as much as a packet's way there and back.
        loop = asyncio.get_running_loop()
        known = self._received
        waiter: asyncio.Future[None] = loop.create_future()
        timer = loop.call_at(deadline, _end, waiter)
        self._waiting.append(waiter)
        try:
            await waiter
        finally:
            self._waiting.remove(waiter)
            timer.cancel()
        # In a loop that was held up, it may have come in the turn that ran out of time.
        return self._received > known

    @property
    def _received(self) -> int:
        return len(self.heard) + len(self.icmp)

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

    @shows(Symptom.ACKS_WRONGLY, missing=Symptom.DROPS_SYN)
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
        """Let time pass at the target, and on the path; what came meanwhile."""
        already = len(self.heard)
        await asyncio.sleep(seconds + self.slack)
        return self.heard[already:]

    async def settled(self) -> None:
        """Let what was sent arrive before what is sent next, should the path reorder them."""
        await asyncio.sleep(self.lag + _OVERTAKEN + self.slack)

    # Judging

    @property
    def _span(self) -> int:
        """Sequence numbers we have used so far."""
        return max(seq.distance(self.isn, self.snd_nxt), 1)

    def acknowledged(self, segment: Segment) -> int:
        """Payload bytes of ours that a segment acknowledges, the SYN not counted."""
        return seq.distance(self.isn, segment.ack) - 1

    @shows(Symptom.ACKS_WRONGLY, missing=Symptom.REFUSES_COOKIE)
    def must_accept(self, syn_ack: Segment, size: int) -> None:
        """Demand that a SYN-ACK acknowledges the `size` bytes of the SYN's data, or a part of them.

        None at all is a refusal, which a full queue explains: Refused. Anything else: Failed.
        """
        got = self.acknowledged(syn_ack)
        expected = f"SYN-ACK that acknowledges the SYN and its {size} bytes"
        actual = f"SYN-ACK that acknowledges the SYN and {got} bytes"
        if got == size or (0 < got < size and self.taken_in_part(got)):
            return
        if got == 0:
            reason = "a valid cookie was refused"
            raise Refused(reason, expected=expected, actual=actual, **self._here)
        raise self.failed("the SYN data is acknowledged in part", expected, actual)

    @shows(Symptom.TAKES_DATA)
    def must_refuse(self, syn_ack: Segment, why: str) -> None:
        """Demand that a SYN-ACK acknowledges the SYN alone, `why` says on what ground."""
        got = self.acknowledged(syn_ack)
        self.require(
            not got,
            f"SYN data acknowledged {why}",
            "SYN-ACK that acknowledges the SYN only",
            f"SYN-ACK that acknowledges the SYN and {got} bytes",
        )

    def must_be_signed(self, segment: Segment) -> None:
        """Demand the signature of a signed connection (RFC 2385 section 2.0)."""
        self.require(
            self.is_signed(segment),
            "a segment of a signed connection is not signed, or wrongly",
            "a TCP MD5 option with the right digest",
            str(segment),
        )

    def require(self, holds: bool, reason: str, expected: str, actual: str) -> None:
        """Fail the case unless the condition holds."""
        if not holds:
            raise self.failed(reason, expected, actual)

    def failed(self, reason: str, expected: str, actual: str) -> Failed:
        """A failure that cites this flow."""
        return Failed(reason, expected=expected, actual=actual, **self._here)

    def missing(self, what: str) -> Missing:
        """Something that did not come on this flow; says what came instead."""
        rest = [str(each) for at, each in enumerate(self.heard) if at not in self._taken]
        actual = (
            "nothing" if not rest else f"{len(rest)} other segment(s): " + " | ".join(rest[-3:])
        )
        return Missing(f"{what} did not come", expected=what, actual=actual, **self._here)

    def _was_reset(self, what: str) -> WasReset:
        reason = f"{what} did not come: the target reset"
        return WasReset(reason, expected=what, actual="RST", **self._here)

    @property
    def _here(self) -> dict[str, Any]:
        return {"packets": self.cited, "flow": self.name}

    @property
    def cited(self) -> tuple[int, ...]:
        """Numbers of this flow's packets in the capture."""
        return tuple(each for each in self.numbers[:_SHOWN] if each)

    @property
    def name(self) -> str:
        return f"{endpoint(self.source, self.sport)}>{endpoint(self.target, self.dport)}"


def _end(waiter: asyncio.Future[None]) -> None:
    if not waiter.done():
        waiter.set_result(None)


def shown(segments: Sequence[Segment]) -> str:
    """Segments in one line, for `actual`."""
    return " | ".join(str(each) for each in segments) or "nothing"


def spoils(end: Receiver) -> Symptom:
    """What a wrong answer shows: whether the first SYN-ACK took none of the SYN's data."""
    first = next((each for each in end.heard if each.is_syn_ack), None)
    refused = first is not None and end.opening.payload and not end.acknowledged(first)
    return Symptom.SPOILS_REFUSED if refused else Symptom.SPOILS_DATA
