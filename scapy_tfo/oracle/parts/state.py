"""The state of one flow, as far as the client's side can know it.

It is kept as sets: the states that the target may be in, and how much of the stream it may and must
have taken. Numbers are relative: the client's to its ISN, the target's to its ISS. `arrives`
changes the state with what is sent; the rules of `replies` judge what comes by it, and the rest of
`replies` learns from that.
"""

from __future__ import annotations

from collections.abc import Sequence

from scapy_tfo.oracle.parts.application import ANYTHING, Application
from scapy_tfo.oracle.parts.attribution import clause_of
from scapy_tfo.oracle.parts.pending import Room
from scapy_tfo.oracle.parts.profile import Profile
from scapy_tfo.oracle.parts.reassembly import Assembly
from scapy_tfo.oracle.parts.syn import SynRule
from scapy_tfo.oracle.parts.violation import Violation
from scapy_tfo.oracle.parts.watch import Watch
from scapy_tfo.program.cookies import Jar
from scapy_tfo.program.options import Offer, offer_of
from scapy_tfo.program.program import Flow
from scapy_tfo.seq import before

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
SOON = 3000
"""Bytes within which a stream crosses zero, or the middle, that began just before it."""
MUCH = 10_000
"""Bytes of text."""
ANY_WINDOW = 1 << 22
ANY_RST = (-1, -1)
"""Several are owed, and it cannot be told which one comes."""
_A_WHILE = 0.5
"""Seconds after which a retransmission timer may have run out."""
_LONG = 20.0
"""Seconds of idling."""
_ANSWERS = 1
"""To unacceptable segments on one flow, after which no more is counted on: Linux waits half a
second between two."""
_DEFAULT_MSS = {4: 536, 6: 1220}
_NO_OFFER = offer_of(b"")


class Connection:
    """What is known of one flow.

    index: its number in the program. room: the account of its listener, where that has one.
    watch: of the rules that it is judged by; all flows of a target share one. application: who
    listens there. isn: our initial
    sequence number. asks_for_ecn: a SYN had one of the bits for ECN, which a server may take for a
    request of accurate ECN in any combination (RFC 9768 section 3.1.3).
    """

    times_must: int | None
    times_may: int | None
    times_settled: int | None

    def __init__(
        self,
        flow: Flow,
        index: int,
        jar: Jar,
        profile: Profile,
        room: Room | None = None,
        *,
        watch: Watch,
        application: Application,
        isn: int = 0,
    ) -> None:
        self.flow = flow
        self.watch = watch
        self.application = application
        self.isn = isn
        self.index = index
        self.client = (flow.family, flow.client)
        self.jar = jar
        self.profile = profile
        self.room = room
        self.states = LISTEN
        self.vague = False
        self.asks_for_ecn = False
        self.releases = 0
        if room is not None:
            room.join(self)
        self.features: set[str] = set()
        self.around: Sequence[Connection] = [self]
        self.frozen = False
        self.violations: list[Violation] = []
        self.step = -1
        self.cookie: bytes | None = None
        self.reset_at: float | None = None
        self.wants_rst: tuple[int, int] | None = None
        self.answers_wanted = 0
        self.told: list[tuple[int, int]] = []
        self.unsettled = 0
        self.rst_overtaken = False
        self.heard: list[str] = []
        self.answer: Offer = _NO_OFFER
        self.pristine = True
        self.begin_anew(0)

    def begin_anew(self, base: int) -> None:
        """A new incarnation, whose SYN has the number `base`."""
        self.base = base
        self.rule: SynRule | None = None
        self.offer: Offer = _NO_OFFER
        self.other_offers = False
        self.iss: int | None = None
        self.taken: int | None = None
        self.accepted = False
        self.syn_fin = False
        self.syn_size = 0
        self.may = Assembly(base + 1)
        self.must = Assembly(base + 1)
        self.odd_text: list[tuple[int, int]] = []
        self.sent_text: list[tuple[int, int]] = []
        self.sent_end = base
        self.acked = base
        self.received = 1
        self.theirs = Assembly(1)
        self.their_fin: int | None = None
        self.room_end = base + 1 + _LEAST_WINDOW
        self.limit = self.edge = self.pushed = 0
        self.edge_at = 0.0
        self.newest = base
        self.timestamps = False
        self.times_open = False
        self.scale: int | None = None
        self.sack = False
        self.mss = _DEFAULT_MSS[self.flow.family]
        self.times_sent: set[int] = set()
        self.times_must = self.times_may = self.times_settled = None
        self.last_tsval: int | None = None
        self.echo: int | None = None
        self.syn_acks = 0
        self.syn_ack_at = self.syn_at = 0.0
        self.opened_at: float | None = None
        # What we acknowledged: at most, and in segments that the target must have taken.
        self.our_ack = self.sure_ack = 0
        self.wants_answer = False
        # A RST that is still on its way belongs to what came before.
        self.rst_pardoned = self.unsettled > 0 or self.flow.port == "closed"
        self.wants_rst = None
        self.their_last = self.progress_at = self.slowest = 0.0
        self.their_repeats = 0

    @property
    def state(self) -> str:
        return "unsure" if self.vague else STATE_NAMES[self.states]

    @property
    def early(self) -> bool:
        """The application may have the SYN's text before the handshake ends."""
        return self.rule is not None and self.rule.early and self.taken != 0

    @property
    def is_known(self) -> bool:
        """Whether a RST can be sent that ends what there may be at the target."""
        known = self.iss is not None or self.states == LISTEN
        return known and not self.vague and not self.violations

    @property
    def answer_size(self) -> int:
        """Bytes that the application may have said by now at most."""
        if not self.application.told:
            return ANYTHING if self.states != RCVD or self.early else 0
        text = self.may.next - self.base - 1
        return self.application.most(max(text - 1 if self.may.ended else text, 0))

    def note(self, feature: str) -> None:
        """Remember something special about this flow, for the clause of a violation."""
        if not self.frozen:
            self.features.add(feature)

    def want_rst(self, seq: int, ack: int) -> None:
        """RST is owed: by its sequence number, or where that is 0 by what it acknowledges."""
        only = self.wants_rst is None and not self.rst_overtaken
        self.wants_rst = (seq, ack) if only else ANY_RST

    def want_answer(self, wanted: bool) -> None:
        """An ACK is owed, or may come; after a few of them a target may fall silent (RFC 5961
        section 7)."""
        self.answers_wanted += 1
        if wanted:
            self.wants_answer = self.answers_wanted <= _ANSWERS

    def add_text(self, seq: int, size: int, fin: bool, *, wrong: bool, taken: bool) -> None:
        """Text or FIN that may count. taken: it is in the window, with all that it needs."""
        end = seq + size + fin
        self.sent_end = max(self.sent_end, end)
        if self.sent_end - self.base > MUCH:
            self.note("bulk")
        self.sent_text.append((seq, end))
        if wrong and seq + size > self.must.next:
            self.odd_text.append((max(seq, self.must.next), seq + size))
        if seq > self.must.next:
            self.note("gap")
        elif seq < self.must.next < seq + size:
            self.note("overlap")
        # Text before its turn is kept or not (SHLD-31): what is acknowledged tells.
        if taken and self.states == OPEN and seq <= self.must.next:
            self.must.add(seq, seq + size, fin)
        self.may.add(seq, seq + size, fin)

    def add_window(self, seq: int, edge: int, now: float, *, sure: bool) -> None:
        """A window up to `edge` was offered. sure: in a segment that must have been taken.

        An older segment does not change the window (RFC 9293 section 3.10.7.4).
        """
        self.edge = edge if sure and seq >= self.newest else min(self.edge, edge)
        self.edge_at = now
        self.newest = max(self.newest, seq)

    def learn_taken(self, number: int) -> None:
        """All before `number` is acknowledged, so it was taken: also what came before its turn."""
        if number > self.must.next and number <= self.may.next:
            fin = self.may.ended and number == self.may.next
            self.must.add(self.must.next, number - fin, fin)

    def waited(self, seconds: float, now: float) -> None:
        """Nothing was sent for so long."""
        if seconds >= _A_WHILE and self.iss is not None:
            if self.states & RCVD:
                self.note("lost-handshake")
            elif self.received > self.our_ack:
                self.note("lost")
            elif seconds >= _LONG:
                self.note("idle")
        self.lose_patience(now)

    def may_end(self) -> None:
        """The connection may be over from here on, with a RST or without one."""
        self.states |= LISTEN
        self.rst_pardoned = True

    def lose_patience(self, now: float) -> None:
        """So much time may have passed without an answer of ours that the target has left."""
        if now - self.progress_at < self.profile.gives_up_after:
            return
        if self.iss is not None and (self.states & RCVD or self.received > self.sure_ack):
            self.may_end()

    def acceptable(self, seq: int, length: int) -> tuple[bool, bool]:
        """Whether a segment may, and whether it must, pass the test of its sequence number."""
        low, high = self.must.next, self.may.next
        if length:
            may = seq + length > low and seq < high + ANY_WINDOW
            must = seq + length > high and seq + length <= self.room_end
        else:
            may = low <= seq < high + ANY_WINDOW
            must = seq == low == high
        return may, must

    def reaches(self, seq: int, length: int) -> bool:
        """Whether a segment begins within what must be taken, and ends beyond it."""
        return seq <= self.must.next < seq + length <= self.room_end

    def timely(self, offer: Offer) -> tuple[bool, bool]:
        """Whether a segment may, and whether it must, pass PAWS (RFC 7323 section 5.3)."""
        if not self.timestamps and not self.times_open:
            return True, True
        if offer.times is None:
            return True, False
        value = offer.times[0]
        # One tick too old is let pass by some, as clocks are not read at one place.
        newest = None if self.times_open else self.times_must
        may = newest is None or not before(value + 1 & 0xFFFFFFFF, newest)
        must = self.times_may is None or not before(value, self.times_may)
        return may, must

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
        """Note a violation. group: in attribution.py, whose features may name another one."""
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
        self.rst_overtaken = False
        self.times_settled = self.times_must


def later(first: int | None, second: int) -> int:
    """The newer of two TSvals."""
    return second if first is None or before(first, second) else first
