"""Servers that repeat a SYN-ACK wrongly, or put too much into it (RFC 7413 section 4.2.2)."""

from __future__ import annotations

from scapy_tfo import option as opt
from scapy_tfo import seq
from scapy_tfo.mutants.registry import mutant
from scapy_tfo.reference import options
from scapy_tfo.reference.server import PassiveConnection
from scapy_tfo.segment import ACK, SYN, Segment


@mutant("ACC-8")
class RepeatsTheCookie(PassiveConnection):
    """A repeated SYN-ACK carries the granted cookie again."""

    def retransmit_handshake(self, now: float) -> None:
        self.send_syn_ack(now, fast_open=self.answer)


@mutant("ACC-8")
class RepeatsTheCookieOfARefusal(PassiveConnection):
    """A SYN-ACK that refused a cookie carries the fresh one when repeated."""

    refuses = False

    def open_slowly(self, syn: Segment, now: float) -> None:
        self.refuses = bool(syn.cookie)
        super().open_slowly(syn, now)

    def retransmit_handshake(self, now: float) -> None:
        self.send_syn_ack(now, fast_open=self.answer if self.refuses else None)


@mutant("ACC-8")
class RepeatsAnEmptyOption(PassiveConnection):
    """A repeated SYN-ACK to accepted data carries an option without a cookie."""

    def retransmit_handshake(self, now: float) -> None:
        self.send_syn_ack(now, fast_open=opt.fast_open() if self.fast_opened else None)


@mutant("ACC-8")
class RepeatsWithTheAnswer(PassiveConnection):
    """A repeated SYN-ACK carries the first data of the answer."""

    def retransmit_handshake(self, now: float) -> None:
        plain = options.aligned(self.syn_ack_options(now))
        data = bytes(self.send.data[: self.send.mss - opt.MAX_OPTIONS])
        self.transmit(self.send.iss, SYN | ACK, now, data, raw_options=plain)


@mutant("ACC-8")
class NewCookieWithEachRepetition(PassiveConnection):
    """A repeated SYN-ACK to accepted data brings a fresh cookie."""

    def retransmit_handshake(self, now: float) -> None:
        cookie = self.listener.cookies.cookie_for(self.remote[0], self.local[0])
        self.send_syn_ack(now, fast_open=opt.fast_open(cookie) if self.fast_opened else None)


class _RepeatsAcking(PassiveConnection):
    """A connection whose repeated SYN-ACK acknowledges another number."""

    def number(self) -> int:
        raise NotImplementedError

    def retransmit_handshake(self, now: float) -> None:
        right = self.recv.nxt
        self.recv.nxt = self.number()
        super().retransmit_handshake(now)
        self.recv.nxt = right


@mutant("ACC-8a", also=("ACC-10",))
class RepetitionAcksTheSynOnly(_RepeatsAcking):
    """A repeated SYN-ACK acknowledges the SYN only, though its data was accepted."""

    def number(self) -> int:
        return seq.add(self.recv.irs, 1)


@mutant("ACC-8a", also=("ACC-10",))
class RepetitionAcksOneByteLess(_RepeatsAcking):
    """A repeated SYN-ACK acknowledges one byte less than the first one."""

    def number(self) -> int:
        return seq.add(self.recv.nxt, -1 if self.fast_opened else 0)


@mutant("ACC-3", also=("ACC-4", "ACC-10"))
class RepetitionAcksRefusedData(_RepeatsAcking):
    """A repeated SYN-ACK acknowledges the data that the first one refused."""

    refused = 0

    def open_slowly(self, syn: Segment, now: float) -> None:
        self.refused = len(syn.payload)
        super().open_slowly(syn, now)

    def number(self) -> int:
        return seq.add(self.recv.nxt, self.refused)


@mutant("ACC-8a")
class RepetitionHasAnotherIsn(PassiveConnection):
    """A repeated SYN-ACK of a fast open has another initial sequence number."""

    def retransmit_handshake(self, now: float) -> None:
        plain = options.aligned(self.syn_ack_options(now))
        number = seq.add(self.send.iss, 64 if self.fast_opened else 0)
        self.transmit(number, SYN | ACK, now, raw_options=plain)


@mutant("OPT-9", also=("AFT-7",))
class RepetitionLeavesTheScaleOut(PassiveConnection):
    """A SYN-ACK sent again by its timer has no window scale, which is used all the same."""

    def retransmit_handshake(self, now: float) -> None:
        agreed = self.scaling
        self.scaling = False
        super().retransmit_handshake(now)
        self.scaling = agreed


@mutant("AFT-6")
class RepetitionHasAnOlderClock(PassiveConnection):
    """TSval of a SYN-ACK that its timer sends again lies ten minutes back."""

    def syn_ack_options(self, now: float) -> list[opt.RawOption]:
        return super().syn_ack_options(now - 600 if self.handshake_retries else now)
