"""Clients that repeat a SYN wrongly, or not at all (RFC 7413 4.2.1 and 4.2.2, RFC 6298)."""

from __future__ import annotations

from scapy_tfo import option as opt
from scapy_tfo import seq
from scapy_tfo.mutants.registry import client_mutant
from scapy_tfo.option import FastOpen
from scapy_tfo.reference import options
from scapy_tfo.reference.client import ActiveConnection
from scapy_tfo.reference.settings import Settings
from scapy_tfo.segment import SYN, Segment


class _Repeating(ActiveConnection):
    """Its repeated SYNs hold other things than they should."""

    def repeat(self, now: float, *, cookie: bytes | None = None, data: bytes = b"") -> None:
        plain = self.syn_options(now)
        fitting = None if cookie is None else options.with_fast_open(plain, opt.fast_open(cookie))
        self.transmit(self.send.iss, SYN, now, data, fitting or options.aligned(plain))

    @property
    def first_data(self) -> bytes:
        return bytes(self.send.data[: self.syn_data])


@client_mutant("CLI-5")
class RepeatedSynIsAsTheFirst(_Repeating):
    """A fast open is repeated with its cookie and its data."""

    def send_plain_syn(self, now: float) -> None:
        if self.syn_data:
            self.repeat(now, cookie=self.cached.cookie, data=self.first_data)
        else:
            super().send_plain_syn(now)


@client_mutant("CLI-5")
class RepeatedSynKeepsItsCookie(_Repeating):
    """A fast open is repeated with its cookie, and without data."""

    def send_plain_syn(self, now: float) -> None:
        self.repeat(now, cookie=self.cached.cookie if self.syn_data else None)


@client_mutant("CLI-5")
class RepeatedSynKeepsItsData(_Repeating):
    """A fast open is repeated with its data, and without cookie."""

    def send_plain_syn(self, now: float) -> None:
        self.repeat(now, data=self.first_data)


@client_mutant("CLI-5")
class RepeatedSynAsksForACookie(_Repeating):
    """A fast open is repeated with a request for a cookie."""

    def send_plain_syn(self, now: float) -> None:
        self.repeat(now, cookie=b"" if self.syn_data else None)


@client_mutant("CLI-5")
class RequestIsRepeated(_Repeating):
    """A request for a cookie is repeated as it was."""

    def send_plain_syn(self, now: float) -> None:
        self.repeat(now, cookie=b"" if self.requested else None)


@client_mutant("CLI-5")
class SecondRepeatedSynIsAsTheFirst(_Repeating):
    """The SYN is repeated plain once, and with cookie and data after that."""

    def send_plain_syn(self, now: float) -> None:
        if self.syn_data and self.handshake_retries > 1:
            self.repeat(now, cookie=self.cached.cookie, data=self.first_data)
        else:
            super().send_plain_syn(now)


@client_mutant("CLI-5")
class FastOpenIsNotRepeated(ActiveConnection):
    """The SYN of a fast open is sent once, and then given up."""

    def handshake_limit(self) -> int:
        return 0 if self.syn_data else super().handshake_limit()


@client_mutant("CLI-5")
class RequestIsNotRepeated(ActiveConnection):
    """The SYN that asks for a cookie is sent once, and then given up."""

    def handshake_limit(self) -> int:
        return 0 if self.requested else super().handshake_limit()


@client_mutant("CLI-5")
class FastOpenIsRepeatedOnce(ActiveConnection):
    """The SYN of a fast open is repeated once, and then given up."""

    def handshake_limit(self) -> int:
        return 1 if self.syn_data else super().handshake_limit()


@client_mutant("CLI-5", bug="BSD-10")
class RepeatedSynHasAnotherNumber(ActiveConnection):
    """Each repeated SYN has a sequence number beyond the last one's."""

    def send_plain_syn(self, now: float) -> None:
        number = seq.add(self.send.iss, self.handshake_retries)
        self.transmit(number, SYN, now, raw_options=options.aligned(self.syn_options(now)))


@client_mutant("CLI-6a")
class LostSynLosesItsData(ActiveConnection):
    """When the SYN is repeated, the data of the first one counts as sent."""

    def send_plain_syn(self, now: float) -> None:
        del self.send.data[: self.syn_data]
        self.syn_data = 0
        self.send.sent_syn()
        super().send_plain_syn(now)


@client_mutant("CLI-6a")
class LateSynAckIsRefused(ActiveConnection):
    """Once the SYN was repeated, a SYN-ACK for the data of the first one is refused."""

    def completes_handshake(self, ack: int) -> bool:
        late = self.handshake_retries > 0 and seq.distance(self.send.iss, ack) > 1
        return super().completes_handshake(ack) and not late


@client_mutant("CLI-6a")
class LateSynAckDoublesTheData(ActiveConnection):
    """Once the SYN was repeated, data that a late SYN-ACK acknowledges is sent once more."""

    def syn_ack_arrives(self, segment: Segment, now: float) -> None:
        taken = seq.distance(self.send.iss, segment.ack) - 1
        if self.handshake_retries and taken > 0:
            self.send.data += self.send.data[:taken]
        super().syn_ack_arrives(segment, now)


@client_mutant("CLI-13", settings=Settings(syn_timer_from_rtt=True))
class SynTimerFollowsTheRtt(ActiveConnection):
    """A SYN is repeated after 1.5 times the cached RTT, as the paper has it."""


@client_mutant("CLI-26")
class RepeatedSynTeachesNothing(ActiveConnection):
    """That only the repeated, plain SYN was answered does not count against the path."""

    def is_negative(self, accepted: int, fresh: FastOpen | None) -> bool:
        return not self.handshake_retries and super().is_negative(accepted, fresh)
