"""Servers that are right as long as all that surrounds a connection is usual."""

from __future__ import annotations

from dataclasses import replace

from scapy_tfo import option as opt
from scapy_tfo.address import known_address
from scapy_tfo.cookie import KeyMatch
from scapy_tfo.mutants.registry import context_mutant
from scapy_tfo.option import FastOpen
from scapy_tfo.reference.server import Listener, PassiveConnection
from scapy_tfo.reference.stack import Stack
from scapy_tfo.reference.states import Closed, EndOfStream, Event
from scapy_tfo.segment import CWR, ECE, Address, Segment


class _SometimesBlind(Listener):
    """A listener that overlooks the Fast Open option of some SYNs."""

    def is_overlooked(self, syn: Segment) -> bool:
        raise NotImplementedError

    def read_fast_open(self, segment: Segment) -> FastOpen | None:
        return None if self.is_overlooked(segment) else super().read_fast_open(segment)


@context_mutant("ACC-2", "shift=0")
class ShiftOfZeroEndsTheOptions(_SometimesBlind):
    """A window scale of 0 is taken for the end of the options, and fast open is off."""

    def is_overlooked(self, syn: Segment) -> bool:
        scale = syn.option(opt.WINDOW_SCALE)
        return scale is not None and scale.data == b"\0"


@context_mutant("ACC-2", "shift=15")
class ShiftOverFourteenEndsTheOptions(_SometimesBlind):
    """A window scale of 15 is taken for a broken option, and fast open is off."""

    def is_overlooked(self, syn: Segment) -> bool:
        scale = syn.option(opt.WINDOW_SCALE)
        return scale is not None and scale.data > b"\x0e"


@context_mutant("ACC-2", "port=1023")
class LowPortsAreNoClients(_SometimesBlind):
    """Ports below 1024 are taken for those of servers, which get no fast open."""

    def is_overlooked(self, syn: Segment) -> bool:
        return syn.sport < 1024


@context_mutant("ACC-2", "port=same")
class EqualPortsAreNoClients(_SometimesBlind):
    """A SYN between equal ports, as land attacks had them, gets no fast open."""

    def is_overlooked(self, syn: Segment) -> bool:
        return syn.sport == syn.dport


@context_mutant("ACC-2", "ecn=setup")
class EcnSetupIsNoFastOpen(_SometimesBlind):
    """A SYN that offers ECN gets no fast open."""

    def is_overlooked(self, syn: Segment) -> bool:
        return syn.flags & (ECE | CWR) == ECE | CWR


def _neighbourless(client: Address) -> Address:
    """The address with zeros for all bytes but the lowest."""
    packed = client.packed
    return known_address(bytes(len(packed) - 1) + packed[-1:])


@context_mutant("SRV-2", "source=bit-8")
class CookiesOfTheLowestByte(Listener):
    """Cookies are bound to the lowest byte of the client's address alone."""

    def grant(self, segment: Segment, option: FastOpen) -> opt.RawOption | None:
        return super().grant(replace(segment, src=_neighbourless(segment.src)), option)

    def check_cookie(self, segment: Segment, option: FastOpen) -> KeyMatch:
        return super().check_cookie(replace(segment, src=_neighbourless(segment.src)), option)


@context_mutant("ACC-2", "application=think:20")
class LateAnswersAreLost(PassiveConnection):
    """What the application writes first is lost, where the handshake has ended by then."""

    _wrote = _is_late = False

    def establish(self, now: float) -> None:
        data = self.recv.nxt - self.recv.irs > 1
        self._is_late = self.fast_opened and data and not self._wrote
        super().establish(now)

    def write(self, data: bytes, now: float) -> None:
        late, self._is_late, self._wrote = self._is_late, False, True
        if not late:
            super().write(data, now)


@context_mutant("ACC-9", "application=late-accept:20")
class TextOfTheSynIsLostUntilAccept(PassiveConnection):
    """Text that came in the SYN is dropped if more has come before the application accepts."""

    _size = 0

    def take_syn_data(self, syn: Segment) -> None:
        self._size = len(syn.payload)
        super().take_syn_data(syn)

    def accepted(self, now: float) -> None:
        if self.fast_opened and self.recv.nxt - self.recv.irs > 1 + self._size:
            self._unread = bytearray()
        super().accepted(now)


@context_mutant("AFT-2", "application=late-accept:20")
class EndsBeforeAcceptAreLost(PassiveConnection):
    """An end of the stream that came before the application accepts is not told to it."""

    def accepted(self, now: float) -> None:
        self._end_waits = False
        withheld = self._withheld or []
        self._withheld = [each for each in withheld if not isinstance(each, EndOfStream)]
        super().accepted(now)


@context_mutant("ACC-2", "application=shared:3")
class OneOfTheListenersHasFastOpen(Listener):
    """Of the listeners that share a port, fast open is on at the first one only."""

    @property
    def fast_open_enabled(self) -> bool:
        is_first = not self.group or self.group[0] is self
        return is_first and super().fast_open_enabled


class _Misreads(PassiveConnection):
    """A connection that loses the text of some segments."""

    def is_lost(self, text: bytes) -> bool:
        raise NotImplementedError

    def deliver(self, data: bytes) -> None:
        if not self.is_lost(data):
            super().deliver(data)


@context_mutant("ACC-2", "text=zeros")
class ZerosAreNoText(_Misreads):
    """Text that begins with a zero byte is acknowledged, and does not reach the application."""

    def is_lost(self, text: bytes) -> bool:
        return text.startswith(b"\0")


@context_mutant("ACC-2", "urgent=1")
class UrgentPointersCountWithoutUrg(PassiveConnection):
    """The byte that an urgent pointer points to is taken out of the text, without URG, too."""

    _urgent = 0

    def arrive(self, segment: Segment, now: float) -> None:
        self._urgent = segment.urgent
        super().arrive(segment, now)
        self._urgent = 0

    def deliver(self, data: bytes) -> None:
        at = self._urgent
        super().deliver(data if not at else data[: at - 1] + data[at:])


@context_mutant("ACC-2", "urgent=sum0")
class NoChecksumIsBad(Stack):
    """A segment whose checksum is 0 is taken for one without any, and dropped."""

    def receive(self, packet: bytes, now: float) -> None:
        at = 40 if packet[0] >> 4 == 6 else (packet[0] & 15) * 4
        if packet[at + 16 : at + 18] != b"\0\0":
            super().receive(packet, now)


@context_mutant("ACC-2", "age=16")
class TheFourteenthEndIsTheLast(PassiveConnection):
    """After fourteen fast opens that both ends closed, text of others reaches no application."""

    def finish(self, event: Event) -> None:
        if self.fast_opened and isinstance(event, Closed) and self.recv.finished:
            self.stack.counters["Ended"] += 1
        super().finish(event)

    def deliver(self, data: bytes) -> None:
        if not self.fast_opened or self.stack.counters["Ended"] < 14:
            super().deliver(data)
