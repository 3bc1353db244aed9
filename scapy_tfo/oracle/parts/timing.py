"""The timestamps of one connection (RFC 7323), and what its timers go by."""

from __future__ import annotations

from scapy_tfo.program.options import Offer
from scapy_tfo.seq import before

_MASK = 0xFFFFFFFF


class Timestamps:
    """agreed: both SYNs had them; open: or perhaps not. sent: TSvals of ours. must, may: the
    newest of ours that the target must, and may, go by; settled: the same when all that was owed
    had come last. last: TSval that came last; echo: the one that we send back.
    """

    __slots__ = ("agreed", "echo", "last", "may", "must", "open", "sent", "settled")

    must: int | None
    may: int | None
    settled: int | None

    def __init__(self) -> None:
        self.agreed = False
        self.open = False
        self.sent: set[int] = set()
        self.must = self.may = self.settled = None
        self.last: int | None = None
        self.echo: int | None = None

    def begin(self, value: int) -> None:
        """The first SYN has them."""
        self.sent.add(value)
        self.must = self.may = value

    def send(self, value: int, *, counts: bool) -> None:
        """We sent one. counts: for some targets, even if it is old."""
        self.sent.add(value)
        if self._may_be_zero():
            self._go_back_to(value)
        if counts and (self.may is None or before(self.may, value)):
            self.may = value

    def begin_again(self, value: int) -> None:
        """A second SYN that is like the first has them. Which of the two a target goes by is open:
        the rules of RFC 7323 section 4.3 are for synchronized connections."""
        self.send(value, counts=True)
        self._go_back_to(value)

    def advance(self, value: int) -> None:
        """One that every target goes by from now on."""
        self.must = value

    def settle(self) -> None:
        """All that was owed has come."""
        self.settled = self.must

    def agree(self, *, agreed: bool) -> None:
        """The first SYN-ACK came."""
        self.agreed = agreed

    def doubt(self) -> None:
        """Which of two SYNs decides is open."""
        self.open = True

    def learn(self, value: int, *, echoed: bool) -> None:
        """One of the target's came. echoed: a careful target wants it back."""
        self.last = value
        if echoed or self.echo is None:
            self.echo = value

    def timely(self, offer: Offer, *, paws: bool = True) -> tuple[bool, bool]:
        """Whether a segment may, and whether it must, pass PAWS (RFC 7323 section 5.3: "if the PAWS
        algorithm is used"). paws: the target is known to use it."""
        if not self.agreed and not self.open:
            return True, True
        if offer.times is None:
            return True, False
        value = offer.times[0]
        # One tick too old is let pass by some, as clocks are not read at one place.
        newest = None if self.open or self._may_be_zero() else self.must
        may = not paws or newest is None or not before(value + 1 & _MASK, newest)
        must = self.may is None or not before(value, self.may)
        return may, must

    def _go_back_to(self, value: int) -> None:
        if self.must is not None and before(value, self.must):
            self.must = value
        if self.settled is not None and before(value, self.settled):
            self.settled = value

    def _may_be_zero(self) -> bool:
        """Whether TS.Recent may be 0, which stands for none at Linux:
        docs/found/linux-old-times-after-zero.md"""
        if self.must is None or self.may is None:
            return False
        return not (before(0, self.must) or before(self.may, 0))


class Timers:
    """What the target's timers go by, in seconds.

    heard_at: when it sent something last that a timer may send again, or we acknowledged more;
    repeats: how often it was sent again since. progress_at: when the target must have seen
    progress last. slowest: the longest that it waited for an acknowledgement. asked_at: when we
    sent text last, which may have brought it something to send.
    """

    __slots__ = ("asked_at", "heard_at", "progress_at", "repeats", "slowest")

    def __init__(self) -> None:
        self.heard_at = self.progress_at = self.slowest = self.asked_at = 0.0
        self.repeats = 0

    def begin(self, now: float) -> None:
        """The first SYN went out."""
        self.heard_at = self.progress_at = now

    def ask(self, now: float, *, at_rest: bool) -> None:
        """We sent text. at_rest: the target waited for nothing before."""
        self.asked_at = now
        if at_rest:
            self.progress_at = now

    def hear(self, now: float, *, repeated: bool) -> None:
        """Something came, again or for the first time. New text does not end the backoff: only an
        acknowledgement does (RFC 6298 section 5)."""
        self.heard_at = now
        self.repeats += repeated

    def acknowledge(self, now: float) -> None:
        """We acknowledged more."""
        self.slowest = max(self.slowest, now - self.progress_at)
        self.heard_at, self.repeats = now, 0

    def progress(self, now: float) -> None:
        """We acknowledged more, in a segment that the target must have taken; earlier ones that
        said so may not have been."""
        self.slowest = max(self.slowest, now - self.progress_at)
        self.progress_at = now
