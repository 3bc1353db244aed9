"""A run that also keeps a digest of its replies, by which two targets are compared."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from scapy_tfo.executor.digest import END, Rst, Seen, SynAck, Window
from scapy_tfo.executor.play import Play
from scapy_tfo.executor.verdict import Verdict
from scapy_tfo.option import Broken, FastOpen, Form
from scapy_tfo.oracle.parts.profile import Patience
from scapy_tfo.oracle.parts.state import Connection
from scapy_tfo.packet import Reply, read
from scapy_tfo.program.options import offer_of
from scapy_tfo.program.program import Wait
from scapy_tfo.segment import ACK, FIN, RST, SYN
from scapy_tfo.seq import distance

PATIENCE = Patience(answer=0.6, text=1.5, linger=0.25)
"""Of both targets. Nobody is known to delay an ACK by more than 200 ms."""

LEAST = 0.2
"""Seconds from which on a wait cuts a run."""

_FAR = 1 << 20
"""Numbers behind an ISS that no run comes to."""


class WatchedPlay(Play):
    """See `Play`. What comes behind a violation, up to the next step, is seen as well."""

    def begin(self, now: float) -> None:
        # Packets are kept, or the first violation would end the run.
        self._keep = True
        self._watch = Watch(self.links)
        super().begin(now)

    def verdict(self) -> Verdict:
        """With what was seen; without its end where a violation broke the run off."""
        return replace(super().verdict(), digest=tuple(self._watch.digest))

    def arrive(self, index: int, packet: bytes, now: float) -> None:
        self._watch.take(index, read(packet))
        super().arrive(index, packet, now)

    def _go_on(self) -> None:
        if not self.done and not self._acking:
            number = self.links[0].evidence.step
            step = self.program.steps[number] if number >= 0 else None
            if isinstance(step, Wait) and (step.seconds is None or step.seconds >= LEAST):
                self._watch.cut(number)
        super()._go_on()

    def _finish(self) -> None:
        if not self.done and not any(link.evidence.violations for link in self.links):
            self._watch.cut(END)
        super()._finish()


class Watch:
    """Sees all that comes for the flows of a run. digest: up to the last cut."""

    def __init__(self, links: Sequence[Connection]) -> None:
        self.digest: list[Window] = []
        self._watches = [_Flow(each) for each in links]

    def take(self, index: int, reply: Reply) -> None:
        """One segment of the target's came for a flow."""
        self._watches[index].take(reply)

    def cut(self, step: int) -> None:
        """Nothing more comes for now."""
        self.digest.append(Window(step, tuple(each.cut() for each in self._watches)))


class _Flow:
    def __init__(self, link: Connection) -> None:
        self._link = link
        self._iss: int | None = None
        self._rsts: set[Rst] = set()
        self._new: set[SynAck | Rst] = set()
        self._ack = self._text = 0
        self._fin = False
        self._state = link.state

    def take(self, reply: Reply) -> None:
        link, flags = self._link, reply.flags
        ack = distance(link.isn, reply.ack)
        if flags & RST:
            rst = Rst(self._seq(reply), ack if flags & ACK else None)
            if rst not in self._rsts:
                self._rsts.add(rst)
                self._new.add(rst)
            return
        # One that is sent again may acknowledge more, and need not have the option.
        if flags & SYN and reply.seq != self._iss:
            self._iss, self._ack, self._text, self._fin = reply.seq, 0, 0, False
            self._new.add(SynAck(ack - link.outbound.base, _option(reply.options)))
        if flags & ACK:
            self._ack = max(self._ack, ack)
        if self._iss is not None and (reply.payload or flags & FIN):
            end = distance(self._iss, reply.seq) + bool(flags & SYN) + len(reply.payload)
            self._text = max(self._text, end - 1)
            self._fin = self._fin or bool(flags & FIN)

    def _seq(self, reply: Reply) -> int:
        """Of a RST: behind the ISS, from which what we acknowledge counts as well; as it stands
        where there is none, or where it answers what acknowledged nothing."""
        if reply.flags & ACK and not reply.seq:
            return 0
        if self._link.handshake.iss is not None:
            return distance(self._link.handshake.iss, reply.seq)
        # It may belong to a connection that was there before the last SYN.
        earlier = _FAR if self._iss is None else distance(self._iss, reply.seq)
        return earlier if abs(earlier) < _FAR else reply.seq

    def cut(self) -> Seen:
        link = self._link
        new, self._new = self._new, set()
        state, self._state = self._state, link.state
        return Seen(
            state=state,
            opening=_opening(link),
            syn_acks=frozenset(each for each in new if isinstance(each, SynAck)),
            rsts=frozenset(each for each in new if isinstance(each, Rst)),
            ack=self._ack,
            text=self._text,
            fin=self._fin,
            size=link.outbound.sent_end,
            vague=link.vague,
            narrow="window" in link.evidence.features,
        )


def _option(block: bytes) -> str:
    return " and ".join(map(_named, offer_of(block).fast_open)) or "no option"


def _named(found: FastOpen | Broken) -> str:
    form = "" if found.form is Form.IANA else f" under kind {found.form:d}"
    if isinstance(found, Broken):
        return f"a broken option{form}"
    return f"a cookie of {len(found.cookie)} bytes{form}" if found.cookie else f"no cookie{form}"


def _opening(link: Connection) -> str:
    """How a flow was opened, as far as it decides what may come."""
    for feature in ("open", "refused", "plain-data"):
        if feature in link.evidence.features:
            return feature
    return "asking" if link.handshake.offer.fast_open else "plain"
