"""Clients that send wrong data with their cookie (RFC 7413 4.1.3 and 4.2.2 step 1)."""

from __future__ import annotations

from scapy_tfo import option as opt
from scapy_tfo import seq
from scapy_tfo.mutants.registry import client_mutant
from scapy_tfo.reference import options
from scapy_tfo.reference.client import ActiveConnection, Plan
from scapy_tfo.reference.settings import Settings
from scapy_tfo.segment import PSH


@client_mutant("CLI-4")
class SynDataForgetsTheMss(ActiveConnection):
    """The SYN carries as much data as the link, whatever MSS the server advertised."""

    def syn_mss(self) -> int:
        return self.stack.mss_towards(self.remote[0])


@client_mutant("CLI-4")
class SynDataOfAnyLinkWithoutMss(ActiveConnection):
    """Without a cached MSS the SYN carries as much data as the link."""

    def syn_mss(self) -> int:
        return super().syn_mss() if self.cached.mss else self.stack.mss_towards(self.remote[0])


@client_mutant("CLI-4")
class DefaultMssOfTheOtherFamily(ActiveConnection):
    """Without a cached MSS, 1220 bytes are the limit over IPv4, too."""

    def syn_mss(self) -> int:
        return super().syn_mss() if self.cached.mss else options.DEFAULT_MSS[6]


@client_mutant("CLI-4")
class OneByteBeyondTheMss(ActiveConnection):
    """The SYN carries one byte more than the MSS allows."""

    def take_syn_data(self, syn_options: list[opt.RawOption]) -> bytes:
        return bytes(self.send.data[: self.syn_mss() + 1])


@client_mutant("CLI-4")
class SmallMssIsNotBelieved(ActiveConnection):
    """An MSS below 536 does not bound the data of the SYN."""

    def syn_mss(self) -> int:
        return max(super().syn_mss(), options.DEFAULT_MSS[4])


@client_mutant("CLI-4a", settings=Settings(mtu=9000, cap_mss=False))
class CachedMssHasNoCap(ActiveConnection):
    """An MSS beyond that of Ethernet bounds the SYN as it is, which it may."""


@client_mutant("CLI-6a")
class BytesBeyondTheSynAreLost(ActiveConnection):
    """What does not fit into the SYN is never sent."""

    def take_syn_data(self, syn_options: list[opt.RawOption]) -> bytes:
        taken = super().take_syn_data(syn_options)
        del self.send.data[len(taken) :]
        return taken


@client_mutant("CLI-10")
class DataWithoutRoomForTheCookie(ActiveConnection):
    """Where the options have no room for the cookie, the data goes out in the SYN without it."""

    def plan(self, now: float) -> Plan:
        plan = super().plan(now)
        if plan.option and not options.with_fast_open(self.syn_options(now), plan.option):
            return Plan(opt.nop(), data=plan.data)
        return plan


@client_mutant("CLI-10")
class CookieIsCutToItsRoom(ActiveConnection):
    """Where the options have no room for the cookie, its beginning goes out."""

    def plan(self, now: float) -> Plan:
        plan = super().plan(now)
        cookie = self.cached.cookie
        while plan.option and not options.with_fast_open(self.syn_options(now), plan.option):
            cookie = cookie[:-2]
            plan = Plan(opt.fast_open(cookie), data=True)
        return plan


@client_mutant("CLI-10")
class RequestWithoutRoomForTheCookie(ActiveConnection):
    """Where the options have no room for the cookie, an empty one goes out with the data."""

    def plan(self, now: float) -> Plan:
        plan = super().plan(now)
        if plan.option and not options.with_fast_open(self.syn_options(now), plan.option):
            return Plan(opt.fast_open(), data=plan.data)
        return plan


@client_mutant("CLI-10")
class DataIsLostWithTheRoom(ActiveConnection):
    """Where the options have no room for the cookie, the data for the SYN is never sent."""

    def open(self, data: bytes, now: float) -> None:
        plan = self.plan(now)
        if plan.data and plan.option:
            fitting = options.with_fast_open(self.syn_options(now), plan.option)
            data = data if fitting else data[self.syn_mss() :]
        super().open(data, now)


@client_mutant("CLI-10")
class LongestCookieIsLeftOut(ActiveConnection):
    """A cookie of 16 bytes is left out of the SYN, and the data goes out in it all the same."""

    def plan(self, now: float) -> Plan:
        plan = super().plan(now)
        left_out = plan.data and len(self.cached.cookie) == opt.MAX_COOKIE
        return Plan(opt.nop(), data=True) if left_out else plan


@client_mutant("CLI-11")
class SendsOnBehindTheSyn(ActiveConnection):
    """Behind a SYN with data goes the next segment, before the SYN-ACK."""

    def open(self, data: bytes, now: float) -> None:
        super().open(data, now)
        more = bytes(self.send.data[self.syn_data :][:500])
        if self.syn_data and more:
            self.transmit(seq.add(self.send.iss, 1 + self.syn_data), PSH, now, more)
