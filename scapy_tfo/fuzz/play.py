"""One run of one program: packets and time in, packets and a verdict out.

No socket and no clock: whoever drives it hands in what arrives and calls it when its deadline is
there.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import replace

from scapy_tfo.fuzz.cookies import Jar
from scapy_tfo.fuzz.debts import Debt, debt_of, overdue
from scapy_tfo.fuzz.frames import Ends, build, flags_of, fragmented, read
from scapy_tfo.fuzz.model import LISTEN, OPEN, RCVD, Connection
from scapy_tfo.fuzz.options import Times, offer_of, render
from scapy_tfo.fuzz.profile import Patience, Profile
from scapy_tfo.fuzz.program import SMALL, Expect, Icmp, Option, Program, Send
from scapy_tfo.fuzz.replies import came
from scapy_tfo.fuzz.room import Room
from scapy_tfo.fuzz.text import text, wrong_text
from scapy_tfo.fuzz.verdict import TracedPacket, Verdict
from scapy_tfo.icmp import packet_too_big, unreachable

_MASK = 0xFFFFFFFF
_HALF = 1 << 31
_PLAIN_SYN = (Option("mss", 1460),)
_TIMES = (Option("nop"), Option("nop"), Option("ts"))
_PROBE = 16
"""Bytes of text that a flow sends at the end, to show that it still works."""
_ROUNDS = 40
"""Of acknowledging and waiting, at the end: bounds what a target can make us send."""


class Play:
    """program: to run. ends: of its flows, in their order. jar: cookies that the target granted.

    seed: of ISNs where the program names none. keep: whether packets are kept for a trace.
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
    ) -> None:
        self.program = program
        self.ends = ends
        self.done = False
        self.deadline: float | None = None
        self.trace: list[TracedPacket] = []
        self._patience = patience
        self._keep = keep
        dice = random.Random(seed)
        room = Room(SMALL, alone=profile.fresh)
        self.links = [
            Connection(
                flow if flow.isn is not None else replace(flow, isn=dice.getrandbits(32)),
                index,
                jar,
                profile,
                room if flow.port == "small" else None,
            )
            for index, flow in enumerate(program.flows)
        ]
        for flow, each in zip(program.flows, ends, strict=True):
            jar.addresses[flow.family, flow.client] = each.client
        for link in self.links:
            link.around = self.links
        self._jar = jar
        self._times_ahead = 0
        own = dice.getrandbits(31)
        self._times_base = own if program.clock is None else program.clock
        self._outbox: list[bytes] = []
        self._acking = False
        self._sent = self._heard = 0
        self._now = self._began = self._since = 0.0
        self._settling = False
        self._expecting: tuple[int, str, int] | None = None
        self._reached: set[str] = set()
        self._unjudged = ""
        self._script = self._run()

    # Driving.

    def begin(self, now: float) -> None:
        """Send the first packets."""
        self._now = self._began = now
        self._go_on()

    def take_packets(self) -> list[bytes]:
        """IP packets to send, in order; the outbox is empty then."""
        out, self._outbox = self._outbox, []
        return out

    def arrive(self, index: int, packet: bytes, now: float) -> None:
        """An IP packet of the target's for flow `index`, whole, with TCP in it."""
        self._now = now
        self._heard += 1
        if self._keep:
            self.trace.append(TracedPacket(now - self._began, False, packet))
        link = self.links[index]
        before = link.states
        number = len(self.trace) - 1 if self._keep else -1
        kind = came(link, read(packet), now, number)
        self._reached.add(f"{before}{kind}")
        if self._acking and kind in ("text", "fin", "syn-ack"):
            self._acknowledge(link)
        if self.done:
            return
        expecting = self._expecting
        if expecting is not None:
            flow, reply, seen = expecting
            if reply in self.links[flow].heard[seen:]:
                self._expecting = None
                self.deadline = now
        elif self._settling and self._debt() is None:
            self.deadline = now + self._patience.linger
        if any(each.violations for each in self.links) and not self._keep:
            self._finish()

    def on_timer(self, now: float) -> None:
        """The deadline is there."""
        self._now = now
        if self._settling:
            found = self._debt()
            if found is not None:
                link, debt = found
                patience = self._patience.text if debt.late else self._patience.answer
                if now - self._since < patience - 1e-6:
                    self.deadline = self._since + patience
                    return
                self._blame(link, debt)
            else:
                for link in self.links:
                    link.settled()
        self._expecting = None
        self._settling = False
        self._go_on()

    def verdict(self) -> Verdict:
        """What the run showed."""
        return Verdict(
            violations=tuple(
                sorted(
                    (each for link in self.links for each in link.violations),
                    key=lambda each: each.step,
                )
            ),
            reached=frozenset(self._reached),
            sent=self._sent,
            heard=self._heard,
            digest=tuple(" ".join(link.heard) for link in self.links),
            unjudged=self._unjudged,
        )

    # The script.

    def _go_on(self) -> None:
        if self.done:
            return
        try:
            self.deadline = next(self._script)
        except StopIteration:
            self._finish()

    def _finish(self) -> None:
        self.done = True
        self.deadline = None
        self._part()

    def _run(self) -> Iterator[float]:
        """The steps, then the end; yields the deadline of each wait."""
        for number, step in enumerate(self.program.steps):
            for link in self.links:
                link.step = number
            if isinstance(step, Send):
                if not self._send(step):
                    return
            elif isinstance(step, Icmp):
                self._send_icmp(step)
            elif isinstance(step, Expect):
                self._expecting = (step.flow, step.reply, len(self.links[step.flow].heard))
                if step.reply == "syn-ack" and self.links[step.flow].iss is not None:
                    self._expecting = None
                    continue
                yield self._now + self._patience.answer
            elif step.seconds is None:
                yield self._settle()
            else:
                yield self._now + step.seconds
                for link in self.links:
                    link.waited(step.seconds)
                    debt = overdue(link, self._now)
                    if debt is not None:
                        self._blame(link, debt)
            if any(link.violations for link in self.links):
                return
        if self.program.end == "finish":
            yield from self._finishing()

    def _settle(self) -> float:
        self._settling = True
        self._since = self._now
        return self._now + self._patience.linger

    def _debt(self) -> tuple[Connection, Debt] | None:
        for link in self.links:
            debt = debt_of(link)
            if debt is not None:
                return link, debt
        return None

    def _blame(self, link: Connection, debt: Debt) -> None:
        heard = ", ".join(link.heard[-4:]) or "nothing"
        link.blame(debt.rule, debt.requirement, debt.expected, heard, group=debt.group)

    def _finishing(self) -> Iterator[float]:
        """Each flow ends its handshake, is echoed a little more, and closes."""
        for link in self.links:
            link.frozen = True
        self._acking = True
        yield self._settle()
        if any(link.violations for link in self.links):
            return
        for link in self._living():
            self._acknowledge(link)
        yield self._settle()
        for link in self._living():
            self._resend(link)
        yield self._settle()
        for _ in range(_ROUNDS):
            busy = [link for link in self._living() if link.our_ack < link.received]
            if not busy:
                break
            for link in busy:
                self._acknowledge(link)
            yield self._settle()
        for link in self._living():
            if not link.may.ended:
                self._end_stream(link)
        yield self._settle()
        for link in self._living():
            if link.our_ack < link.received:
                self._acknowledge(link)

    def _living(self) -> list[Connection]:
        """Flows whose handshake got as far as a SYN-ACK, and that may be there."""
        return [
            link
            for link in self.links
            if link.iss is not None and link.states & (RCVD | OPEN) and not link.vague
        ]

    def _resend(self, link: Connection) -> None:
        """What is not acknowledged, again, and a probe behind it."""
        start = link.acked
        end = max(link.sent_end - self._own_fin(link), start)
        if not link.may.ended and not self._own_fin(link):
            end += _PROBE
        fin = "F" if self._own_fin(link) else ""
        self._pieces(link, start, end, fin)

    def _own_fin(self, link: Connection) -> bool:
        return link.may.fin is not None

    def _end_stream(self, link: Connection) -> None:
        self._segment(link, "F.", link.acked, 0)

    def _pieces(self, link: Connection, start: int, end: int, fin: str) -> None:
        largest = 1200
        while end - start > largest:
            self._segment(link, "P.", start, largest)
            start += largest
        self._segment(link, f"{fin}P.", start, end - start)

    def _acknowledge(self, link: Connection) -> None:
        if link.iss is not None and link.states & (RCVD | OPEN) and not link.vague:
            self._segment(link, ".", link.acked, 0)

    def _segment(self, link: Connection, flags: str, seq: int, size: int) -> None:
        self._send(Send(link.index, flags, seq, "all", size))

    def _part(self) -> None:
        """Leave nothing behind: whatever may still be there is acknowledged, then reset."""
        if self.program.end == "leave":
            return
        for link in self.links:
            if link.iss is None or link.states == LISTEN:
                continue
            ends = self.ends[link.index]
            ack = (link.iss + link.received) & _MASK
            seq = ((link.flow.isn or 0) + link.acked) & _MASK
            if link.taken and link.opened_at is None:
                self._put(build(ends, seq, ack, 0x10, options=self._usual(link)))
            self._put(build(ends, seq, ack, 0x14))

    # Packets.

    def _send(self, step: Send) -> bool:
        """Whether it could be sent: False where a cookie is wanted that was never granted."""
        link = self.links[step.flow]
        isn = link.flow.isn or 0
        ack: int | None = None
        absolute = 0
        if step.ack is not None:
            ack = link.received if step.ack == "all" else int(step.ack)
            if link.iss is None:
                if link.states != LISTEN:
                    # Nothing came that could be acknowledged.
                    return True
                absolute = ack & _MASK
            else:
                absolute = (link.iss + ack) & _MASK
        flags = flags_of(step.flags)
        options = step.options
        if options is None:
            options = _PLAIN_SYN if flags & 2 else _TIMES if link.timestamps else ()
        block = self._render(link, options)
        if block is None:
            self._unjudged = "the target granted no cookie"
            return False
        make = wrong_text if step.wrong else text
        start = step.seq + bool(flags & 2)
        packet = build(
            self.ends[step.flow],
            (isn + step.seq) & _MASK,
            absolute,
            flags,
            step.window,
            block,
            make(step.flow, start, step.size) if step.size else b"",
            urgent=step.urgent,
            reserved=step.reserved,
            checksum=step.checksum,
            data_offset=step.data_offset,
            traffic_class=step.traffic_class,
        )
        if step.reserved:
            link.note("odd-flags")
        if step.traffic_class:
            link.note("traffic-class")
        if step.checksum:
            link.note("bad-checksum")
        elif step.data_offset is not None:
            self._misread(link, step.data_offset, len(block) + step.size)
        else:
            link.sent(
                step.seq,
                flags,
                absolute if link.iss is None else ack,
                step.size,
                step.window,
                offer_of(block),
                options,
                self._now,
                wrong=step.wrong,
            )
        if step.fragments:
            for piece in fragmented(packet, step.fragments, isn + step.seq):
                self._put(piece)
        else:
            self._put(packet)
        return True

    def _misread(self, link: Connection, words: int, rest: int) -> None:
        """A wrong data offset: too small or too large is no segment; else it is another one."""
        link.note("bad-offset")
        if words >= 5 and words * 4 <= 20 + rest:
            link.vague = True

    def _render(self, link: Connection, options: Sequence[Option]) -> bytes | None:
        if not options:
            return b""
        ahead = max((each.value for each in options if each.name == "ts"), default=0)
        if ahead < _HALF:
            self._times_ahead = max(self._times_ahead, ahead)
        elapsed = int((self._now - self._began) * 1000) + self._times_ahead - max(ahead, 0)
        value = (self._times_base + elapsed) & _MASK
        times = Times(value, link.last_tsval or 0)
        seen = {each.index: each.cookie for each in self.links if each.cookie is not None}
        return render(options, times, self._jar, link.client, seen)

    def _usual(self, link: Connection) -> bytes:
        return (self._render(link, _TIMES) or b"") if link.timestamps else b""

    def _send_icmp(self, step: Icmp) -> None:
        link = self.links[step.flow]
        if link.iss is None:
            return
        link.note("icmp")
        client, target, sport, dport = self.ends[step.flow]
        quoted = build(Ends(target, client, dport, sport), (link.iss + step.seq) & _MASK, 0, 0x10)
        if step.what == "too-big":
            error = packet_too_big(quoted, mtu=step.mtu)
        else:
            error = unreachable(quoted, code=step.code)
            if link.states & RCVD and 0 <= step.seq < link.received:
                link.states |= LISTEN
                link.rst_pardoned = True
        self._put(error.to_bytes())

    def _put(self, packet: bytes) -> None:
        self._sent += 1
        self._outbox.append(packet)
        if self._keep:
            self.trace.append(TracedPacket(self._now - self._began, True, packet))
