"""The reference's rules as sets: where the target may be in a connection, and what it owes.

One `Connection` follows one flow from the client's side. Of everything that is sent it works out
in which states the target may be by now, how much of the stream it may and must have taken, and
what it owes in answer; `replies.py` holds what comes against it. Numbers are relative: the
client's to its ISN, the target's to its ISS. Sources: RFC 9293 section 3.10.7 where no other
is named.
"""

from __future__ import annotations

from scapy_tfo import option as opt
from scapy_tfo.fuzz.assembly import Assembly
from scapy_tfo.fuzz.clauses import clause_of
from scapy_tfo.fuzz.cookies import Jar
from scapy_tfo.fuzz.frames import ACK, FIN, PSH, RST, SYN
from scapy_tfo.fuzz.options import Offer, offer_of
from scapy_tfo.fuzz.profile import Profile
from scapy_tfo.fuzz.program import Flow, Option
from scapy_tfo.fuzz.room import Room
from scapy_tfo.fuzz.syn_rules import SynRule, over_the_limit, syn_rule
from scapy_tfo.fuzz.verdict import Violation

LISTEN, RCVD, OPEN = 1, 2, 4
"""States as bits: no connection, SYN-RCVD, and everything behind the handshake."""

STATE_NAMES = {
    0: "none",
    LISTEN: "LISTEN",
    RCVD: "SYN-RCVD",
    OPEN: "OPEN",
    LISTEN | RCVD: "LISTEN or SYN-RCVD",
    LISTEN | OPEN: "LISTEN or OPEN",
    RCVD | OPEN: "SYN-RCVD or OPEN",
    LISTEN | RCVD | OPEN: "any",
}

AFTER = 0.3
"""Seconds after which a segment is no answer to what came before."""

_LEAST_WINDOW = 2048
"""Bytes that any target has room for, until it says more."""
_SOON = 3000
"""Bytes within which a stream crosses zero, or the middle, that began just before it."""
_MUCH = 10_000
"""Bytes of text."""
_ANY_WINDOW = 1 << 22
_A_WHILE = 0.5
"""Seconds after which a retransmission timer may have run out."""
GIVING_UP = 20.0
"""Seconds of silence after which a target may have given a connection up."""
_ANSWERS = 3
"""To unacceptable segments on one flow, after which no more is counted on."""
_DEFAULT_MSS = {4: 536, 6: 1220}
_NO_OFFER = offer_of(b"")


class Connection:
    """What is known of one flow.

    index: its number in the program. room: the account of its listener, where that has one.
    """

    def __init__(
        self, flow: Flow, index: int, jar: Jar, profile: Profile, room: Room | None = None
    ) -> None:
        self.flow = flow
        self.index = index
        self.client = (flow.family, flow.client)
        self.jar = jar
        self.profile = profile
        self.room = room
        self.states = LISTEN
        self.vague = False
        self.releases = 0
        if room is not None:
            room.join(self)
        self.features: set[str] = set()
        self.around: list[Connection] = [self]
        self.frozen = False
        self.violations: list[Violation] = []
        self.step = -1
        self.cookie: bytes | None = None
        self.reset_at: float | None = None
        self.wants_rst: tuple[int, int] | None = None
        self.answers_wanted = 0
        self.unsettled = 0
        self.heard: list[str] = []
        self.answer: Offer = _NO_OFFER
        self._begin(0)

    def _begin(self, base: int) -> None:
        """A new incarnation, whose SYN has the number `base`."""
        self.base = base
        self.rule: SynRule | None = None
        self.offer: Offer = _NO_OFFER
        self.iss: int | None = None
        self.taken: int | None = None
        self.accepted = False
        self.syn_fin = False
        self.syn_size = 0
        self.cookie_from = ""
        self.may = Assembly(base + 1)
        self.must = Assembly(base + 1)
        self.odd_text: list[tuple[int, int]] = []
        self.sent_text: list[tuple[int, int]] = []
        self.sent_end = base
        self.acked = base
        self.received = 1
        self.theirs: dict[int, int] = {}
        self.their_fin: int | None = None
        self.window = _LEAST_WINDOW
        self.limit = self.edge = 0
        self.newest = base
        self.timestamps = False
        self.scale: int | None = None
        self.sack = False
        self.mss = _DEFAULT_MSS[self.flow.family]
        self.times_sent: set[int] = set()
        self.times_must = self.times_may = self.times_settled = None
        self.last_tsval: int | None = None
        self.syn_acks = 0
        self.syn_ack_at = 0.0
        self.opened_at: float | None = None
        self.our_ack = 0
        self.wants_answer = False
        # A RST that is still on its way belongs to what came before.
        self.rst_pardoned = self.wants_rst is not None
        self.wants_rst = None
        self.their_last = self.progress_at = self.slowest = 0.0
        self.their_repeats = 0

    times_must: int | None
    times_may: int | None
    times_settled: int | None

    # What the target can be.

    @property
    def state(self) -> str:
        return "unsure" if self.vague else STATE_NAMES[self.states]

    @property
    def early(self) -> bool:
        """The application may have the SYN's text before the handshake ends."""
        return self.rule is not None and self.rule.early and self.taken != 0

    @property
    def answer_size(self) -> int:
        """Bytes that the echo may have sent by now at most."""
        text = self.may.next - self.base - 1
        return max(text - 1 if self.may.ended else text, 0)

    def note(self, feature: str) -> None:
        """Remember something special about this flow, for the clause of a violation."""
        if not self.frozen:
            self.features.add(feature)

    # What we send.

    def sent(
        self,
        seq: int,
        flags: int,
        ack: int | None,
        size: int,
        window: int,
        offer: Offer,
        options: tuple[Option, ...] | None,
        now: float,
        *,
        wrong: bool = False,
    ) -> None:
        """A sound segment went out. seq, ack: relative. window: the field."""
        if flags & FIN:
            self.note("fin")
        if offer.fast_open and not (flags & SYN and not flags & ACK):
            self.note("option-elsewhere")
        if offer.unsound:
            self.note("unsound-options")
        if flags & (SYN | RST) == SYN | RST or flags & (SYN | ACK) == SYN | ACK:
            self.note("odd-syn")
        if flags & RST:
            self._sent_rst(seq, now)
        elif flags & SYN:
            if flags & ACK:
                self._sent_syn_ack(ack)
            else:
                self._sent_syn(seq, flags, size, window, offer, options or (), now, wrong=wrong)
        elif flags & ACK:
            self._sent_ack(seq, flags, ack or 0, size, window, offer, now, wrong=wrong)
        else:
            self.note("no-ack-flag")
        self.unsettled += 1

    def _sent_rst(self, seq: int, now: float) -> None:
        if self.states == LISTEN:
            return
        self.note("rst")
        self.releases += self.iss is not None
        low, high = self.must.next, self.may.next
        if low == seq == high:
            self.states = LISTEN
            self.reset_at = now
            self.wants_answer = False
        elif low <= seq < high + _ANY_WINDOW:
            self.states |= LISTEN
        self.rst_pardoned = self.rst_pardoned or self.states != LISTEN

    def _sent_syn_ack(self, ack: int | None) -> None:
        self.note("bad-ack")
        self.rst_pardoned = True
        if self.states == LISTEN:
            self.wants_rst = (ack or 0, 0)
        else:
            self.states |= LISTEN

    def _sent_syn(
        self,
        seq: int,
        flags: int,
        size: int,
        window: int,
        offer: Offer,
        options: tuple[Option, ...],
        now: float,
        *,
        wrong: bool,
    ) -> None:
        if self.states == LISTEN:
            self._sent_first_syn(seq, flags, size, window, offer, options, now)
            if wrong and size:
                self.odd_text.append((seq + 1, seq + 1 + size))
            return
        if self.states & LISTEN:
            self.vague = True
            return
        again = seq == self.base
        if self.states & OPEN:
            self.note("syn-when-open")
        else:
            self.note("duplicate-syn" if again else "other-syn")
            if again and ((wrong and size) or size > self.syn_size > 0):
                self.note("other-data-in-syn")
        in_window = self.must.next <= seq < self.may.next + _ANY_WINDOW
        if in_window:
            # RFC 9293 lets it reset the connection, RFC 5961 section 4.2 has it challenged.
            self.states |= LISTEN
            self.rst_pardoned = True
        elif self.states == OPEN:
            self._want_answer(True)
        if offer.times is not None:
            self.times_sent.add(offer.times[0])

    def _sent_first_syn(
        self,
        seq: int,
        flags: int,
        size: int,
        window: int,
        offer: Offer,
        options: tuple[Option, ...],
        now: float,
    ) -> None:
        if self.room is not None and self.accepted and self.reset_at is not None:
            self.room.leave_behind(self.reset_at)
        hasty = self.rule is not None and self.unsettled > 0
        self._begin(seq)
        self.vague = hasty
        length = 1 + size + bool(flags & FIN)
        self.sent_end = seq + length
        if self.flow.port == "closed":
            self.rst_pardoned = True
            self.wants_rst = (0, seq + length)
            return
        near = (self.flow.isn or 0) + seq & 0xFFFFFFFF
        wraps = near + _SOON > 0xFFFFFFFF or near < 1 << 31 <= near + _SOON
        if wraps:
            self.note("wraps")
        if flags & FIN:
            self.note("syn-fin")
            self.syn_fin = True
        rule = syn_rule(
            flags,
            offer,
            size,
            self.flow.port,
            self.client,
            self.jar,
            self.profile,
            options,
            wraps=wraps,
        )
        if self.room is not None:
            rule = over_the_limit(rule, self.room, size, now)
        self.rule = rule
        self.offer = offer
        self.syn_size = size
        made = [each.cookie.of for each in options if each.cookie is not None]
        self.cookie_from = made[-1] if made else ""
        self.states = RCVD if rule.owed else RCVD | LISTEN
        self.limit = self.edge = 1 + window
        if offer.mss is not None:
            self.mss = offer.mss
            if offer.mss < 1200:
                self.note("small-mss")
        if offer.times is not None:
            self.note("timestamps")
        self._note_opening(flags, offer, size, rule)
        if offer.times is not None:
            self.times_sent.add(offer.times[0])
            self.times_must = self.times_may = offer.times[0]
        if size:
            self.sent_text.append((seq + 1, seq + 1 + size))
        self.may.add(seq + 1, seq + 1 + rule.most, bool(flags & FIN) and rule.most == size)
        self.must.add(seq + 1, seq + 1 + rule.least)
        self.reset_at = None
        self.their_last = self.progress_at = now
        if window < 4096:
            self.note("window")

    def _note_opening(self, flags: int, offer: Offer, size: int, rule: SynRule) -> None:
        if flags & ~(SYN | FIN | PSH):
            self.note("odd-flags")
        if rule.early:
            self.note("open")
            if not size:
                self.note("cookie-alone")
        elif any(_has_cookie(each) for each in offer.fast_open):
            self.note("refused")
        elif size:
            self.note("plain-data")

    def _sent_ack(
        self,
        seq: int,
        flags: int,
        ack: int,
        size: int,
        window: int,
        offer: Offer,
        now: float,
        *,
        wrong: bool,
    ) -> None:
        fin = bool(flags & FIN)
        old = self.states
        self.releases += self.iss is not None and not (size or fin)
        if old == LISTEN:
            self.wants_rst = (ack, 0)
        if old & LISTEN:
            self.rst_pardoned = True
        if old == LISTEN or self.iss is None:
            return
        in_order = seq <= self.may.next
        may_seq, must_seq = self._acceptable(seq, size + fin)
        may_time, must_time = self._timely(offer)
        may_ack = -_ANY_WINDOW < ack <= 1 + self.answer_size + self.may.ended
        must_ack = 1 <= ack <= self.received
        may = may_seq and may_time
        must = must_seq and must_time and must_ack and not self.vague
        if size and self.may.ended:
            # Behind its FIN nothing is text (RFC 9293 section 3.10.7.4, seventh step).
            must = False
        if not may_time:
            self.note("old-timestamp")
        if old & RCVD and not must_ack:
            self.note("bad-ack")
            self.rst_pardoned = True
            if not may_ack or ack < 1:
                # RST, or an ACK under RFC 5961 section 5.2; whether the connection goes on is
                # left open.
                self.states |= LISTEN
                self._want_answer(old == RCVD)
                if old == RCVD:
                    return
        elif not may_ack:
            self.note("bad-ack")
            self._want_answer(old == OPEN)
            return
        if not may:
            discarded = self.timestamps and offer.times is None
            self._want_answer(old == OPEN and not (offer.unsound or discarded))
            return
        if old == RCVD:
            self.states = OPEN if must else RCVD | OPEN
            if must:
                self.opened_at = now
            if size:
                self.note("text-with-ack")
        elif old & RCVD:
            self.states = old & ~RCVD | OPEN if must else old | OPEN
        if size and must and old != RCVD and old != OPEN:
            # A RST, or an ACK: only a stack that hangs says nothing.
            self._want_answer(True)
        if fin and (not must or seq + size < max((b for _, b in self.sent_text), default=0)):
            # Nobody can tell where the stream ends: a FIN that may not count, or inside text.
            self.vague = True
            return
        self.sent_end = max(self.sent_end, seq + size + fin)
        if self.sent_end - self.base > _MUCH:
            self.note("bulk")
        if size or fin:
            self.sent_text.append((seq, seq + size + fin))
            if wrong and seq + size > self.must.next:
                self.odd_text.append((max(seq, self.must.next), seq + size))
            if seq > self.must.next:
                self.note("gap")
            elif seq < self.must.next < seq + size:
                self.note("overlap")
        if size or fin:
            if must and self.states == OPEN and self.must.next < seq + size + fin:
                self.must.add(seq, seq + size, fin)
            elif self.states == OPEN and must and not self.must.gaps:
                self._want_answer(True)
            self.may.add(seq, seq + size, fin)
        if offer.times is not None:
            self.times_sent.add(offer.times[0])
            if must and in_order and seq <= self.must.next:
                self.times_must = offer.times[0]
            if in_order:
                self.times_may = self._later(self.times_may, offer.times[0])
        if ack > self.our_ack and must_ack:
            self.our_ack = ack
            self.slowest = max(self.slowest, now - self.progress_at)
            self.progress_at = now
            self.their_last, self.their_repeats = now, 0
        scaled = window << (self.scale or 0)
        if scaled < 4096:
            self.note("window")
        if must_ack:
            self.limit = max(self.limit, ack + scaled)
            # RFC 9293 section 3.10.7.4: an older segment does not change the window.
            self.edge = ack + scaled if seq >= self.newest else min(self.edge, ack + scaled)
            self.newest = max(self.newest, seq)
            if self.their_fin is not None and ack > self.their_fin and self.may.ended:
                # LAST-ACK is over, or is held for a while (paper 3.5).
                self.states |= LISTEN
                self.rst_pardoned = True

    def _want_answer(self, wanted: bool) -> None:
        """An ACK is owed; after a few of them a target may fall silent (RFC 5961 section 7)."""
        if wanted:
            self.answers_wanted += 1
            self.wants_answer = self.answers_wanted <= _ANSWERS

    def waited(self, seconds: float) -> None:
        """Nothing was sent for so long."""
        if seconds >= _A_WHILE and self.iss is not None:
            if self.states & RCVD:
                self.note("lost-handshake")
            elif self.received > self.our_ack:
                self.note("lost")
            elif seconds >= GIVING_UP:
                self.note("idle")
        if seconds >= GIVING_UP:
            self._given_up()

    def _given_up(self) -> None:
        """So much time has passed without an answer of ours that the target may have left."""
        if self.iss is not None and (self.states & RCVD or self.received > self.our_ack):
            self.states |= LISTEN
            self.rst_pardoned = True

    def _acceptable(self, seq: int, length: int) -> tuple[bool, bool]:
        """Whether a segment may, and whether it must, pass the test of its sequence number."""
        low, high = self.must.next, self.may.next
        if length:
            may = seq + length > low and seq < high + _ANY_WINDOW
            must = seq + length > high and seq + length <= low + self.window
        else:
            may = low <= seq < high + _ANY_WINDOW
            must = seq == low == high
        return may, must

    def _timely(self, offer: Offer) -> tuple[bool, bool]:
        """Whether a segment may, and whether it must, pass PAWS (RFC 7323 section 5.3)."""
        if not self.timestamps:
            return True, True
        if offer.times is None:
            return True, False
        value = offer.times[0]
        may = self.times_must is None or not older(value, self.times_must)
        must = self.times_may is None or not older(value, self.times_may)
        return may, must

    @staticmethod
    def _later(first: int | None, second: int) -> int:
        return second if first is None or older(first, second) else first

    # Blame.

    def blame(
        self,
        rule: str,
        requirement: str,
        expected: str,
        actual: str,
        *,
        group: str = "",
        reply: str = "none",
        packet: int = -1,
    ) -> None:
        """Note a violation. group: of clauses.py, whose features may name another requirement."""
        self.violations.append(
            Violation(
                requirement=clause_of(group, self._surroundings(), requirement),
                rule=rule,
                state=self.state,
                reply=reply,
                flow=self.index,
                step=self.step,
                expected=expected,
                actual=actual,
                packet=packet,
            )
        )

    def _surroundings(self) -> set[str]:
        found = set(self.features)
        for each in self.around:
            if each is not self:
                found |= {f"other-{feature}" for feature in each.features}
        return found

    def settled(self) -> None:
        """All that was owed has come: what is known now, the target knows, too."""
        self.unsettled = 0
        self.times_settled = self.times_must


def _has_cookie(found: opt.FastOpen | opt.Broken) -> bool:
    return isinstance(found, opt.FastOpen) and bool(found.cookie)


def older(first: int, second: int) -> bool:
    """Whether a TSval is older than another (RFC 7323 section 5.2)."""
    return (second - first) & 0xFFFFFFFF < 1 << 31 and first != second


def relative(number: int, start: int) -> int:
    """How far a sequence number lies behind another, from -2**31 to 2**31 - 1."""
    return (number - start + (1 << 31)) % (1 << 32) - (1 << 31)
