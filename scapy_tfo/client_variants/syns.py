"""What a client's SYNs carry, and when they are repeated (RFC 7413 4.2.2, RFC 6298, RFC 7323)."""

from __future__ import annotations

from scapy_tfo import option as opt
from scapy_tfo.client_variants.registry import add, client_variant
from scapy_tfo.reference import options
from scapy_tfo.reference.client import ActiveConnection
from scapy_tfo.reference.parts import ecn
from scapy_tfo.reference.stack import EPHEMERAL, Stack
from scapy_tfo.reference.states import State
from scapy_tfo.segment import SYN, Flags


@client_variant({"client-syn-again": "both"})
class RepeatsTheWholeSyn(ActiveConnection):
    """A SYN without an answer is repeated with its option, and with its data where it still fits
    the path."""

    def retransmit_handshake(self, now: float) -> None:
        plan = self.plan(now) if self.state is State.SYN_SENT and self.tried else None
        if plan is None or plan.option is None:
            super().retransmit_handshake(now)
            return
        fitting = options.with_fast_open(self.syn_options(now), plan.option)
        if fitting is None:
            super().retransmit_handshake(now)
            return
        payload = self.take_syn_data(fitting)[: self.syn_data]
        self.transmit(self.send.iss, SYN, now, payload, fitting)


@client_variant({"client-syn-data": "a part"})
class HalfOfTheDataInTheSyn(ActiveConnection):
    """Half of the data that would fit goes in the SYN, and the other half behind the handshake."""

    def take_syn_data(self, syn_options: list[opt.RawOption]) -> bytes:
        whole = super().take_syn_data(syn_options)
        return whole[: (len(whole) + 1) // 2]


@client_variant({"client-syn-data": "a part"})
class EighteenBytesInTheSyn(ActiveConnection):
    """No more goes in the SYN than the shortest request of HTTP/1.0 has."""

    def take_syn_data(self, syn_options: list[opt.RawOption]) -> bytes:
        return super().take_syn_data(syn_options)[:18]


@client_variant({"client-syn-data": "a part"})
class FiveHundredBytesInTheSyn(ActiveConnection):
    """No more goes in the SYN than passes everywhere."""

    def take_syn_data(self, syn_options: list[opt.RawOption]) -> bytes:
        return super().take_syn_data(syn_options)[:500]


@client_variant({"client-tsecr": "any"})
class EchoesSomethingInTheSyn(ActiveConnection):
    """The echo in a SYN's timestamps is a number of no meaning."""

    def syn_options(self, now: float) -> list[opt.RawOption]:
        return [
            opt.timestamps(self.timestamp(now), 0xDEADBEEF) if each.kind == opt.TIMESTAMPS else each
            for each in super().syn_options(now)
        ]


@client_variant({"client-port": "one after the other"})
class TakesPortsInOrder(Stack):
    """A new connection has the port behind that of the one before."""

    last_port = EPHEMERAL[-1]

    def first_port(self) -> int:
        self.last_port = self.last_port + 1 if self.last_port + 1 in EPHEMERAL else EPHEMERAL[0]
        return self.last_port


@client_variant({"client-port": "the first that is free"})
class TakesTheFirstFreePort(Stack):
    """A new connection has the lowest port that is free, often that of the one before."""

    def first_port(self) -> int:
        return EPHEMERAL[0]


@client_variant({"ecn-offered": "yes", "ecn-repeated-syn": "offered again"}, ecn=True)
class OffersEcnAgain(ActiveConnection):
    """The SYN offers ECN, and a repeated one does so, too."""

    def transmit(
        self,
        number: int,
        flags: Flags,
        now: float,
        payload: bytes = b"",
        raw_options: list[opt.RawOption] | None = None,
    ) -> None:
        offers = flags == SYN and self.state is State.SYN_SENT
        super().transmit(number, flags | ecn.SETUP * offers, now, payload, raw_options)


add(
    "offers-ecn",
    "The SYN offers ECN, and a repeated one does not.",
    {"ecn-offered": "yes", "ecn-repeated-syn": "cleared"},
    ecn=True,
)
add(
    "offers-no-timestamps",
    "A SYN offers no timestamps.",
    {"client-timestamps": "no"},
    timestamps=False,
)
add(
    "offers-no-window-scale",
    "A SYN offers no scaling.",
    {"client-window-scale": "no"},
    window_scaling=False,
)
add("offers-no-sack", "A SYN offers no SACK.", {"client-sack": "no"}, sack=False)
add(
    "repeats-the-syn-after-three-seconds",
    "The SYN's timer is 3 s at first.",
    {"client-syn-time": "3 s"},
    initial_rto=3.0,
)
add(
    "times-the-syn-by-the-round-trip",
    "The SYN's timer is 1.5 times the round trip that is known of the server.",
    {"client-syn-time": "1.5 times the cached round trip"},
    syn_timer_from_rtt=True,
)
add(
    "repeats-the-syn-ten-times",
    "A SYN without an answer is repeated ten times.",
    {"client-syn-retries": "10"},
    syn_retries=10,
)
add(
    "identifies-packets-at-random",
    "The Identification of IPv4 is random for each packet of a client, repeated or not.",
    {"ip-id": "random", "ip-id-repeated": "another"},
    combines=False,
    ip_ids="random",
)
