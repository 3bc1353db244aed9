"""One run of one program: packets and time in, packets and a verdict out.

It has no socket and no clock: its driver hands in the packets that arrive, and calls it at its
deadline.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from scapy_tfo.executor.conduct import Log
from scapy_tfo.executor.coverage import Edges
from scapy_tfo.executor.packet_builder import Outgoing
from scapy_tfo.executor.verdict import NO_COOKIE, TracedPacket, Verdict
from scapy_tfo.oracle.obligations import Debt
from scapy_tfo.oracle.oracle import Oracle
from scapy_tfo.oracle.parts.attribution import ICMP
from scapy_tfo.oracle.parts.pending import Room
from scapy_tfo.oracle.parts.profile import Patience, Profile
from scapy_tfo.oracle.parts.state import OPEN, RCVD, Connection
from scapy_tfo.oracle.parts.violation import Violation
from scapy_tfo.oracle.parts.watch import Watch
from scapy_tfo.packet import Ends, read
from scapy_tfo.program.cookies import Jar
from scapy_tfo.program.program import SMALL, Expect, Icmp, Program, Send
from scapy_tfo.program.spoilt import message_before, spoilt_by

_PROBE = 16
"""Bytes of text that a flow sends at the end, to show that it still works."""
_ROUNDS = 40
"""Of acknowledging and waiting, at the end: bounds what a target can make us send."""

MOST_HEARD = 4096
"""Packets that a program takes in: with those of a target that floods, it would never end."""

_FLOODED = f"the target sent more than {MOST_HEARD:,} packets"


class Play:
    """program: to run. ends: of its flows, in their order. jar: cookies that the target granted.

    seed: of ISNs where the program names none. keep: whether packets are kept for a trace. watch:
    counts how often each rule is in force; one of its own by default. log: has the run judged by
    the rules of plain TCP, too. edges: whether what it covers is noted. executed: what the target
    did of its own code meanwhile, as far as the driver says so.
    Drive it so: `begin(now)`; send `take_packets()`; hand in what comes with `arrive`; call
    `on_timer` at `deadline`, after everything that came before; until `done`.
    """

    def __init__(
        self,
        program: Program,
        ends: Sequence[Ends],
        jar: Jar,
        profile: Profile,
        patience: Patience,
        *,
        seed: int = 0,
        keep: bool = False,
        watch: Watch | None = None,
        log: Log | None = None,
        edges: bool = False,
    ) -> None:
        self.program = program
        self.ends = ends
        self.done = False
        self.deadline: float | None = None
        self.trace: list[TracedPacket] = []
        self._patience = patience
        self._think = profile.think
        self._keep = keep
        for flow, each in zip(program.flows, ends, strict=True):
            jar.addresses[flow.family, flow.client] = each.client
        room = Room(
            SMALL, alone=profile.fresh, slack=profile.slack, resets_last=profile.resets_last
        )
        self._oracle = oracle = Oracle(profile, jar, pending=room, watch=watch)
        for index, flow in enumerate(program.flows):
            oracle.open(flow, isn=_stirred(seed, index) if flow.isn is None else flow.isn)
        self.links = oracle.connections
        own = _stirred(seed, -1) >> 1
        clock = own if program.clock is None else program.clock
        self._log = log
        self._edges = Edges(self.links) if edges else None
        self.executed: set[str] = set()
        self._out = Outgoing(oracle, ends, jar, clock, log)
        self._acking = False
        self._sent = self._heard = 0
        self._now = self._began = self._since = 0.0
        self._settling = self._answered = False
        self._parted = set[int]()
        self._expecting: tuple[int, str, int] | None = None
        self._reached: set[tuple[int, str]] = set()
        self._unjudged = ""
        self._script = self._run()

    @property
    def opening(self) -> int:
        """SYNs sent so far that may have a Fast Open option."""
        return self._out.opening

    # Driving.

    def begin(self, now: float) -> None:
        """Send the first packets."""
        self._now = self._began = self._out.began = self._out.now = now
        self._go_on()

    def take_packets(self) -> list[bytes]:
        """IP packets to send, in order; the outbox is empty then."""
        out, self._out.packets = self._out.packets, []
        self._sent += len(out)
        if self._keep:
            when = self._now - self._began
            self.trace += [TracedPacket(when, True, each) for each in out]
        return out

    def give_up(self, why: str) -> None:
        """End without a judgement, `why` in one line."""
        if not self.done:
            self._unjudged = why
            self._finish()

    def arrive(self, index: int, packet: bytes, now: float) -> None:
        """An IP packet of the target's for flow `index`, whole, with TCP in it."""
        self._now = self._out.now = now
        self._heard += 1
        if self._heard > MOST_HEARD:
            # Each packet puts off the end of a wait, and would do so for ever.
            if not self.done:
                self._unjudged = _FLOODED
                self._finish()
            return
        if self._keep:
            self.trace.append(TracedPacket(now - self._began, False, packet))
        link = self.links[index]
        before = link.states
        named = link.state if self._edges is not None else ""
        number = len(self.trace) - 1 if self._keep else -1
        # What parts the ends is not in the log, so what answers it does not belong there, either.
        if self._log is not None and index not in self._parted:
            number = self._log.came(link, packet, now, number)
        self._oracle.came(link, read(packet), now, number)
        kind = link.evidence.heard[-1]
        self._reached.add((before, kind))
        if self._edges is not None:
            self._edges.come(link, named, kind)
        if self._acking and kind in ("text", "fin", "syn-ack"):
            self._out.acknowledge(link)
        if self.done:
            return
        expecting = self._expecting
        if expecting is not None:
            flow, reply, seen = expecting
            if reply in self.links[flow].evidence.heard[seen:]:
                self._expecting = None
                self.deadline = now
        elif self._settling and not self._oracle.is_owing(link) and not self._is_owed():
            self.deadline = now + self._patience.linger
        if link.evidence.violations and not self._keep:
            self._finish()

    def on_timer(self, now: float) -> None:
        """The deadline is there."""
        self._now = self._out.now = now
        if self._settling:
            found = self._debt()
            if found is not None:
                link, debt = found
                patience = self._patience.answer
                if debt.late:
                    patience = self._patience.text + self._think
                if now - self._since < patience - 1e-6:
                    self.deadline = self._since + patience
                    return
                self._oracle.unpaid(link, debt)
            elif self._answered or not self._patience.linger:
                # Where nothing was owed, silence does not tell that a slow target has read it.
                self._oracle.settled()
            if self._edges is not None:
                self._edges.silent()
        self._expecting = None
        self._settling = False
        self._go_on()

    def verdict(self) -> Verdict:
        """What the run showed."""
        return Verdict(
            violations=self._violations(),
            reached=frozenset(f"{state}{kind}" for state, kind in self._reached),
            edges=self._covered(),
            sent=self._sent,
            heard=self._heard,
            unjudged=self._unjudged,
        )

    def _covered(self) -> frozenset[str]:
        edges = frozenset[str]() if self._edges is None else self._edges.names()
        return edges | self.executed

    def _violations(self) -> tuple[Violation, ...]:
        found = [each for link in self.links for each in link.evidence.violations]
        if self._log is None or self._unjudged:
            found.sort(key=lambda each: each.step)
        else:
            found = self._log.judged(self.links, self.ends, found)
            if not self._keep:
                found = [replace(each, packet=-1) for each in found]
        return tuple(replace(each, cookie=self._input_of(each)) for each in found)

    def _input_of(self, violation: Violation) -> str:
        """See `Violation.cookie`."""
        wrong = spoilt_by(self.program, violation.flow, violation.step)
        if wrong or violation.requirement != ICMP:
            return wrong
        return message_before(self.program, violation.step)

    # The script.

    def _go_on(self) -> None:
        if self.done:
            return
        try:
            self.deadline = next(self._script)
        except StopIteration:
            self._finish()

    def parting(self) -> list[bytes]:
        """The packets that end what a program has left at its target, when it is done."""
        for link in self.links:
            self._out.part(link)
        packets, self._out.packets = self._out.packets, []
        return packets

    def _finish(self) -> None:
        self.done = True
        self.deadline = None
        if self.program.end != "leave":
            for link in self.links:
                before = len(self._out.packets)
                self._out.part(link)
                if len(self._out.packets) > before:
                    self._parted.add(link.index)

    def _run(self) -> Iterator[float]:
        """The steps, then the end; yields the deadline of each wait."""
        for number, step in enumerate(self.program.steps):
            self._oracle.begin_step(number)
            if isinstance(step, Send):
                if self._edges is not None:
                    self._edges.send(step)
                self._out.send(step)
                if self._out.ungranted:
                    self._unjudged = NO_COOKIE
                    return
            elif isinstance(step, Icmp):
                self._out.send_icmp(step)
            elif isinstance(step, Expect):
                self._expecting = (step.flow, step.reply, len(self.links[step.flow].evidence.heard))
                if step.reply == "syn-ack" and self.links[step.flow].handshake.iss is not None:
                    self._expecting = None
                    continue
                yield self._now + self._patience.answer
            elif step.seconds is None:
                yield self._settle()
            else:
                yield self._now + step.seconds
                self._oracle.waited(step.seconds, self._now)
            if self._is_wrong():
                return
        if self.program.end == "finish":
            yield from self._finishing()

    def _is_wrong(self) -> bool:
        return any(link.evidence.violations for link in self.links)

    def _settle(self) -> float:
        """Until nothing is owed any more, and a little longer."""
        self._settling = True
        self._since = self._now
        self._answered = self._debt() is not None
        patience = self._patience
        return self._now + (patience.answer if self._answered else patience.linger)

    def _is_owed(self) -> bool:
        return len(self.links) > 1 and any(self._oracle.is_owing(link) for link in self.links)

    def _debt(self) -> tuple[Connection, Debt] | None:
        for link in self.links:
            debt = self._oracle.owed(link)
            if debt is not None:
                return link, debt
        return None

    def _finishing(self) -> Iterator[float]:
        """Each flow ends its handshake, is echoed a little more, and closes."""
        self._oracle.freeze()
        self._acking = True
        yield self._settle()
        if self._is_wrong():
            return
        waiting = [link for link in self._living() if link.states & RCVD]
        for link in waiting:
            self._out.acknowledge(link)
        if waiting:
            yield self._settle()
        for link in self._living():
            self._out.resend(link, _PROBE)
        yield self._settle()
        yield from self._conversing()
        for link in self._living():
            if not link.outbound.may.ended:
                self._out.end_stream(link)
        yield self._settle()
        for link in self._living():
            if link.inbound.our_ack < link.inbound.received:
                self._out.acknowledge(link)

    def _conversing(self) -> Iterator[float]:
        """Acknowledge what comes, and send again what was over the window, while it helps."""
        acked: dict[int, int] = {}
        for _ in range(_ROUNDS):
            busy = False
            for link in self._living():
                if acked.get(link.index, -1) < link.outbound.acked < link.outbound.sent_end:
                    self._out.resend(link, 0)
                elif link.inbound.our_ack < link.inbound.received:
                    self._out.acknowledge(link)
                else:
                    continue
                acked[link.index] = link.outbound.acked
                busy = True
            if not busy:
                return
            yield self._settle()

    def _living(self) -> list[Connection]:
        """Flows whose handshake got as far as a SYN-ACK, and that may be there."""
        return [
            link
            for link in self.links
            if link.handshake.iss is not None and link.states & (RCVD | OPEN) and not link.vague
        ]


def _stirred(seed: int, index: int) -> int:
    """A number of 32 bits, different for each flow of each run."""
    mixed = (seed * 0x9E3779B97F4A7C15 + (index + 2) * 0xBF58476D1CE4E5B9) & 0xFFFFFFFFFFFFFFFF
    mixed ^= mixed >> 29
    return (mixed * 0x94D049BB133111EB & 0xFFFFFFFFFFFFFFFF) >> 32
