"""Clients that ask for a cookie wrongly, too often, or without leave (RFC 7413 2 and 4.2.1)."""

from __future__ import annotations

from scapy_tfo import option as opt
from scapy_tfo.mutants.registry import client_mutant
from scapy_tfo.reference.cache import Cache
from scapy_tfo.reference.client import ActiveConnection, Plan
from scapy_tfo.reference.settings import Settings
from scapy_tfo.segment import Address, Segment


class _Asking(ActiveConnection):
    """What stands in its request is another option than the empty one."""

    def request(self) -> opt.RawOption:
        raise NotImplementedError

    def plan(self, now: float) -> Plan:
        plan = super().plan(now)
        asks = plan.option is not None and not plan.data
        return Plan(self.request()) if asks else plan


@client_mutant("CLI-1")
class InventsACookie(ActiveConnection):
    """Without a cookie it opens fast with one of its own making."""

    def plan(self, now: float) -> Plan:
        plan = super().plan(now)
        if plan.option is None or plan.data:
            return plan
        return Plan(opt.fast_open(self.stack.random.randbytes(8)), data=True)


@client_mutant("CLI-1")
class RequestHoldsZeros(_Asking):
    """The request holds a cookie of eight zero bytes."""

    def request(self) -> opt.RawOption:
        return opt.fast_open(bytes(8))


@client_mutant("CLI-1")
class RequestHoldsTwoBytes(_Asking):
    """The request has two bytes behind its length, which is no length that the option may have."""

    def request(self) -> opt.RawOption:
        return opt.fast_open(bytes(2))


@client_mutant("CLI-1")
class RequestOfLengthZero(_Asking):
    """The request says length 0, as the RFC was printed."""

    def request(self) -> opt.RawOption:
        return opt.fast_open(length=0)


@client_mutant("CLI-18")
class AsksWithoutLeave(ActiveConnection):
    """Where it has no cookie it asks for one, also if the application did not ask for fast open."""

    def plan(self, now: float) -> Plan:
        if self.asked or self.cached.cookie:
            return super().plan(now)
        return Plan(opt.fast_open())


@client_mutant("CLI-18")
class FastOpenWithoutLeave(ActiveConnection):
    """A cookie that is at hand is used also where the application did not ask for fast open."""

    def plan(self, now: float) -> Plan:
        if self.asked or not self.cached.cookie:
            return super().plan(now)
        return Plan(opt.fast_open(self.cached.cookie), data=True)


@client_mutant("CLI-18")
class CookieWithoutLeave(ActiveConnection):
    """Where the application did not ask for fast open, a cookie goes out without data."""

    def plan(self, now: float) -> Plan:
        if self.asked or not self.cached.cookie:
            return super().plan(now)
        return Plan(opt.fast_open(self.cached.cookie))


@client_mutant("CLI-12a")
class AsksAgainEachTime(Cache):
    """A server that gave no cookie is asked again in every connection."""

    def may_request(self, client: Address, server: Address, port: int, now: float) -> bool:
        return True


@client_mutant("CLI-12a")
class ForgetsTheSecondTimeWithoutCookie(Cache):
    """That a server gave no cookie holds for one connection, and the next one asks again."""

    def may_request(self, client: Address, server: Address, port: int, now: float) -> bool:
        allowed = super().may_request(client, server, port, now)
        self._ask_after.drop((client, server, port))
        return allowed


@client_mutant("CLI-12a")
class InvalidCookieIsAnAnswer(ActiveConnection):
    """An invalid cookie counts as an answer to the request, which is made again each time."""

    def learn(self, segment: Segment, accepted: int, now: float) -> None:
        super().learn(segment, accepted, now)
        if segment.fast_open and self.read_cookie(segment) is None:
            self.stack.cache._ask_after.drop((self.local[0], *self.remote))


@client_mutant(
    "CLI-12",
    settings=Settings(forget_on_silence=True),
    equivalent="what it dropped shows only when the server is asked again, ten minutes later",
)
class ForgetsOnSilence(ActiveConnection):
    """A SYN-ACK without cookie makes it drop what it has cached of the server, which it may."""


@client_mutant("CLI-2")
class AnySynAckWithoutCookieForgets(ActiveConnection):
    """The cookie is dropped by a SYN-ACK without one also where none was asked for."""

    def learn(self, segment: Segment, accepted: int, now: float) -> None:
        super().learn(segment, accepted, now)
        if self.read_cookie(segment) is None:
            self.stack.cache.forget(self.local[0], self.remote[0])
