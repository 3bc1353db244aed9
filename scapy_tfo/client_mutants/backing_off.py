"""Clients that do not back off when fast open fails, or do when it works (RFC 7413 4.1.3.1)."""

from __future__ import annotations

from scapy_tfo.mutants.registry import client_mutant
from scapy_tfo.option import FastOpen
from scapy_tfo.reference.cache import Cache
from scapy_tfo.reference.client import ActiveConnection
from scapy_tfo.reference.states import State
from scapy_tfo.segment import Address, Segment


@client_mutant("CLI-8a")
class NothingIsNegative(Cache):
    """No negative answer is remembered at all."""

    def refuse(self, client: Address, server: Address, port: int, now: float) -> None:
        """It is not kept."""


@client_mutant("CLI-8a")
class RefusalIsNotRemembered(ActiveConnection):
    """That SYN data was not acknowledged is not remembered."""

    def is_negative(self, accepted: int, fresh: FastOpen | None) -> bool:
        return super().is_negative(accepted, fresh) and self.handshake_retries > 0


@client_mutant("CLI-8a", bug="LXC-12")
class LostSynDataIsNotRemembered(ActiveConnection):
    """That only the repeated, plain SYN of a fast open was answered is not remembered."""

    def is_negative(self, accepted: int, fresh: FastOpen | None) -> bool:
        lost = self.handshake_retries > 0 and self.syn_data > 0
        return super().is_negative(accepted, fresh) and not lost


@client_mutant("CLI-22")
class UnreachableStopsTheTimer(ActiveConnection):
    """After an ICMP unreachable it neither gives up nor sends its SYN again."""

    def unreachable(self, error: str, *, hard: bool, now: float) -> None:
        if self.state is State.SYN_SENT:
            self.handshake_timer = None
        else:
            super().unreachable(error, hard=hard, now=now)


@client_mutant("CLI-8a", bug="LXC-14")
class SilenceIsNotRemembered(ActiveConnection):
    """That a fast open met silence until it was given up is not remembered."""

    def fails_path(self, error: str) -> bool:
        return super().fails_path(error) and error != "ETIMEDOUT"


@client_mutant(
    "CLI-8a",
    bug="XNU-04",
    equivalent="a RST may count against fast open and need not, so that it is recorded only",
)
class RstIsNotRemembered(ActiveConnection):
    """That a RST answered a fast open is not remembered."""

    def refused(self, now: float) -> None:
        self.tried = False
        super().refused(now)


@client_mutant("CLI-8a")
class IcmpIsNotRemembered(ActiveConnection):
    """That an ICMP error answered a fast open is not remembered."""

    def unreachable(self, error: str, *, hard: bool, now: float) -> None:
        tried, self.tried = self.tried, False
        super().unreachable(error, hard=hard, now=now)
        self.tried = tried and self.state is not State.CLOSED


@client_mutant("CLI-8a")
class BacksOffForOneConnection(Cache):
    """A negative answer holds for one connection, and the next opens fast again."""

    def is_refused(self, client: Address, server: Address, port: int, now: float) -> bool:
        found = super().is_refused(client, server, port, now)
        self._off_until.drop((client, server, port))
        return found


@client_mutant("CLI-8a")
class PlainSuccessEndsTheBackOff(ActiveConnection):
    """A plain connection that succeeds makes it open fast again."""

    def learn(self, segment: Segment, accepted: int, now: float) -> None:
        super().learn(segment, accepted, now)
        if not self.tried:
            self.stack.cache._off_until.drop((self.local[0], *self.remote))


@client_mutant("CLI-8a")
class FirstRefusalIsNotCached(Cache):
    """The first negative answer of a path changes nothing, and the second does."""

    def refuse(self, client: Address, server: Address, port: int, now: float) -> None:
        before = self._ask_after.get((client, client, port))
        self._ask_after.put((client, client, port), now)
        if before is not None:
            super().refuse(client, server, port, now)


@client_mutant("CLI-9")
class BacksOffFromTheWholeHost(Cache):
    """A negative answer on one port holds for all ports of the host."""

    def refuse(self, client: Address, server: Address, port: int, now: float) -> None:
        super().refuse(client, server, 0, now)

    def is_refused(self, client: Address, server: Address, port: int, now: float) -> bool:
        return super().is_refused(client, server, 0, now)


@client_mutant("CLI-24", bug="WIN-01")
class OneFailureEndsFastOpen(Cache):
    """One negative answer ends fast open towards every host."""

    def refuse(self, client: Address, server: Address, port: int, now: float) -> None:
        super().refuse(client, client, 0, now)

    def is_refused(self, client: Address, server: Address, port: int, now: float) -> bool:
        return super().is_refused(client, client, 0, now)


@client_mutant("CLI-24")
class BacksOffFromTheLastHostOnly(Cache):
    """It backs off from one host at a time: the one that failed last."""

    def refuse(self, client: Address, server: Address, port: int, now: float) -> None:
        self._off_until.size = 1
        super().refuse(client, server, port, now)


@client_mutant("CLI-24")
class SuccessElsewhereEndsTheBackOff(ActiveConnection):
    """A fast open that one host accepts makes it open fast again towards all."""

    def learn(self, segment: Segment, accepted: int, now: float) -> None:
        super().learn(segment, accepted, now)
        if accepted > 0:
            self.stack.cache._off_until._entries.clear()


@client_mutant("CLI-24")
class SuccessIsNegative(ActiveConnection):
    """A fast open that was accepted makes it back off as if it had been refused."""

    def is_negative(self, accepted: int, fresh: FastOpen | None) -> bool:
        return accepted > 0 or super().is_negative(accepted, fresh)


@client_mutant("CLI-24", bug="XNU-01")
class ThirdPauseWrapsAround(Cache):
    """Failures are counted over all hosts, and from the third on the pause wraps around to none."""

    failures = 0

    def refuse(self, client: Address, server: Address, port: int, now: float) -> None:
        self.failures += 1
        if self.failures < 3:
            super().refuse(client, server, port, now)


@client_mutant("CLI-8a", bug="APP-19")
class DataIsLostWhenItBacksOff(ActiveConnection):
    """When it backs off, the data that was meant for the SYN is never sent."""

    def open(self, data: bytes, now: float) -> None:
        off = self.asked and self.stack.cache.is_refused(self.local[0], *self.remote, now)
        super().open(b"" if off else data, now)
