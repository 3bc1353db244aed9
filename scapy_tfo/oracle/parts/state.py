"""The state of one flow, as far as the client's side can know it.

It is kept as sets: the states that the target may be in, and how much of the stream it may and must
have taken. `arrives` changes the state with what is sent; the rules of `replies` judge what comes
by it, and the rest of `replies` learns from that. Each part of the state is a small class of its
own, and only its own methods change it.
"""

from __future__ import annotations

from collections.abc import Sequence

from scapy_tfo.oracle.parts.application import ANYTHING, Application
from scapy_tfo.oracle.parts.attribution import clause_of
from scapy_tfo.oracle.parts.handshake import Handshake, History
from scapy_tfo.oracle.parts.pending import Room
from scapy_tfo.oracle.parts.profile import Profile
from scapy_tfo.oracle.parts.streams import Inbound, Outbound
from scapy_tfo.oracle.parts.timing import Timers, Timestamps
from scapy_tfo.oracle.parts.violation import Violation
from scapy_tfo.oracle.parts.watch import Watch
from scapy_tfo.program.cookies import Jar
from scapy_tfo.program.program import Flow

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

SOON = 3000
"""Bytes within which a stream crosses zero, or the middle, that began just before it."""
MUCH = 10_000
"""Bytes of text."""
ANY_RST = (-1, -1)
"""Several are owed, and it cannot be told which one comes."""
_A_WHILE = 0.5
"""Seconds after which a retransmission timer may have run out."""
_LONG = 20.0
"""Seconds of idling."""
_ANSWERS = 1
"""To unacceptable segments on one flow, after which no more is counted on: Linux waits half a
second between two."""
_SHARED = 5.0
"""Seconds in which a host may limit such answers on all of its connections (RFC 5961 section 7)."""


Debts = tuple[tuple[int, int] | None, bool]


class Owed:
    """What the target owes, or may send, beside what its streams ask for.

    rst: sequence number and acknowledgment of a RST that is owed. rst_pardoned: one may come.
    rst_overtaken: one may come that answers what was sent just before a RST of ours. answer: an ACK
    is owed. answers: how often one was, or might have been. asked_at: when last, in seconds.
    unsettled: segments sent since all that was owed had come.
    """

    __slots__ = (
        *("answer", "answers", "asked_at", "rst", "rst_overtaken", "rst_pardoned", "unsettled"),
    )

    def __init__(self) -> None:
        self.rst: tuple[int, int] | None = None
        self.rst_pardoned = False
        self.rst_overtaken = False
        self.answer = False
        self.answers = 0
        self.asked_at = -_SHARED
        self.unsettled = 0

    def begin_anew(self, *, pardoned: bool) -> None:
        """A new incarnation. pardoned: a RST may still be on its way to the one before."""
        self.rst = None
        self.rst_pardoned = pardoned
        self.answer = False

    def want_rst(self, seq: int, ack: int) -> None:
        """RST is owed: by its sequence number, or where that is 0 by what it acknowledges."""
        only = self.rst is None and not self.rst_overtaken
        self.rst = (seq, ack) if only else ANY_RST

    def want_answer(self, wanted: bool, now: float) -> None:
        """An ACK is owed, or may come; after a few of them a target may fall silent (RFC 5961
        section 7)."""
        self.answers += 1
        self.asked_at = now
        if wanted:
            self.answer = self.answers <= _ANSWERS

    def pardon(self) -> None:
        """A RST may come."""
        self.rst_pardoned = True

    def overtake(self) -> None:
        """A RST of ours went out: what was sent just before may be answered with a RST, too."""
        self.rst_overtaken = self.rst_pardoned and self.unsettled > 0

    def answered(self) -> None:
        """No ACK is owed any more."""
        self.answer = False

    def reset(self) -> tuple[int, int] | None:
        """A RST came; which one was owed."""
        wanted, self.rst = self.rst, None
        return wanted

    @property
    def debts(self) -> Debts:
        """What is owed now: a RST and an ACK."""
        return self.rst, self.answer

    def owe_no_more_than(self, debts: Debts) -> None:
        """What was owed before is owed, and nothing that came since."""
        self.rst, self.answer = debts

    def begin(self) -> None:
        """A segment went out."""
        self.unsettled += 1

    def settle(self) -> None:
        """All that was owed has come."""
        self.unsettled = 0
        self.rst_overtaken = False


class Evidence:
    """What was seen on a flow, and what was wrong with it.

    features: what is special about it, for the requirement of a violation; frozen: no more are
    noted. heard: classes of what came. step: of the program, -1 before the first.
    """

    __slots__ = ("features", "frozen", "heard", "step", "violations")

    def __init__(self) -> None:
        self.features: set[str] = set()
        self.frozen = False
        self.heard: list[str] = []
        self.violations: list[Violation] = []
        self.step = -1

    def note(self, feature: str) -> None:
        """Remember something special, for the requirement of a violation."""
        if not self.frozen:
            self.features.add(feature)

    def refused(self) -> None:
        """The target refused text that a cookie may have given a right to."""
        self.features.add("refused")

    def freeze(self) -> None:
        """From now on nothing special is done."""
        self.frozen = True

    def begin_step(self, number: int) -> None:
        """What is sent from now on belongs to this step."""
        self.step = number


class Connection:
    """What is known of one flow.

    index: its number in the program. room: the account of its listener, where that has one.
    watch: of the rules that it is judged by; all flows of a target share one. application: who
    listens there. isn: our initial sequence number. around: all flows of the program. states: that
    the target may be in. doubted: the number behind our text when it last became unsure whether
    there is a connection. vague: nothing can be said any more.
    """

    __slots__ = (
        *("flow", "watch", "application", "isn", "index", "client", "jar", "profile", "room"),
        *("around", "states", "doubted", "vague", "handshake", "history", "outbound", "inbound"),
        *("times", "timers", "owed", "evidence"),
    )

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
        self.around: Sequence[Connection] = [self]
        self.states = LISTEN
        self.doubted = 0
        self.vague = False
        self.history = History()
        self.evidence = Evidence()
        self.owed = Owed()
        self.begin_anew(0)
        if room is not None:
            room.join(self)

    def begin_anew(self, base: int) -> None:
        """A new incarnation, whose SYN has the number `base`."""
        self.handshake = Handshake()
        self.outbound = Outbound(base)
        self.inbound = Inbound(self.flow.family, base)
        self.times = Timestamps()
        self.timers = Timers()
        # A RST that is still on its way belongs to what came before.
        pardoned = self.owed.unsettled > 0 or self.flow.port == "closed"
        self.owed.begin_anew(pardoned=pardoned)

    @property
    def state(self) -> str:
        return "unsure" if self.vague else STATE_NAMES[self.states]

    @property
    def is_known(self) -> bool:
        """Whether a RST can be sent that ends what there may be at the target."""
        known = self.handshake.iss is not None or self.states == LISTEN
        return known and not self.vague and not self.evidence.violations

    @property
    def answer_size(self) -> int:
        """Bytes that the application may have said by now at most."""
        if not self.application.told:
            return ANYTHING if self.states != RCVD or self.handshake.early else 0
        may = self.outbound.may
        text = may.next - self.outbound.base - 1
        return self.application.most(max(text - 1 if may.ended else text, 0))

    def enter(self, states: int) -> None:
        """The states that the target may be in from now on."""
        self.states = states
        if states & LISTEN:
            self.doubted = self.outbound.sent_end

    def takes_text(self) -> None:
        """The target acknowledged more text: what came after a doubt says that there is a
        connection."""
        if self.states & OPEN and self.outbound.acked > self.doubted:
            self.states &= ~LISTEN

    def blur(self) -> None:
        """Nothing can be said any more."""
        self.vague = True

    def note(self, feature: str) -> None:
        """Remember something special about this flow, for the requirement of a violation."""
        self.evidence.note(feature)

    def want_answer(self, wanted: bool, now: float) -> None:
        """An ACK is owed, unless another flow may have used up what the host sends of them; or one
        may come."""
        self.owed.want_answer(wanted and not self._is_spent(now), now)

    def _is_spent(self, now: float) -> bool:
        return any(now - each.owed.asked_at < _SHARED for each in self.around if each is not self)

    def waited(self, seconds: float, now: float) -> None:
        """Nothing was sent for so long."""
        if seconds >= _A_WHILE and self.handshake.iss is not None:
            if self.states & RCVD:
                self.note("lost-handshake")
            elif self.inbound.received > self.inbound.our_ack:
                self.note("lost")
            elif seconds >= _LONG:
                self.note("idle")
        self.lose_patience(now)

    @property
    def text_due(self) -> int:
        """Bytes that the application has to say, from the first one on."""
        if not self.application.told:
            return 0
        must = self.outbound.must
        end = must.next - must.ended
        if self.profile.pushed_only and not must.ended:
            end = min(end, max(self.outbound.pushed, self.outbound.base + 1))
        return self.application.due(end - self.outbound.base - 1)

    @property
    def is_at_rest(self) -> bool:
        """Whether the target waits for nothing: all that it had to say is acknowledged."""
        received = self.inbound.received
        return self.states == OPEN and self.inbound.sure_ack == received == 1 + self.text_due

    def may_end(self) -> None:
        """The connection may be over from here on, with a RST or without one."""
        self.enter(self.states | LISTEN)
        self.owed.pardon()

    def lose_patience(self, now: float) -> None:
        """So much time may have passed without an answer of ours that the target has left."""
        if now - self.timers.progress_at < self.profile.gives_up_after:
            return
        unacknowledged = self.inbound.received > self.inbound.sure_ack
        waits = self.states & RCVD or unacknowledged or self._may_probe
        if self.handshake.iss is not None and waits:
            self.may_end()

    @property
    def _may_probe(self) -> bool:
        """The target may have more to say than our window has room for: it probes that (RFC 9293
        section 3.8.6.1), and none of its probes was answered."""
        unsaid = 1 + self.answer_size + self.outbound.may.ended - self.inbound.received
        return unsaid > 0 and self.inbound.edge - self.inbound.received < self.inbound.mss

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
        self.evidence.violations.append(
            Violation(
                requirement=self.clause(group, requirement),
                rule=rule,
                state=self.state,
                reply=reply,
                flow=self.index,
                step=self.evidence.step,
                expected=expected,
                actual=actual,
                packet=packet,
            )
        )

    def clause(self, group: str, requirement: str) -> str:
        """The requirement that a breach violates, by what is special about the flows. group: in
        attribution.py."""
        found = set(self.evidence.features)
        for each in self.around:
            if each is not self:
                found |= {f"other-{feature}" for feature in each.evidence.features}
        return clause_of(group, found, requirement)

    def settled(self) -> None:
        """All that was owed has come: what is known now, the target knows, too."""
        self.owed.settle()
        self.times.settle()
