"""Stacks that are right and choose otherwise than the reference does, a few lines each."""

from __future__ import annotations

from dataclasses import replace

from scapy_tfo import option as opt
from scapy_tfo import seq
from scapy_tfo.cookie import KeyMatch, KeyRing
from scapy_tfo.option import FastOpen, RawOption
from scapy_tfo.reference.server import Listener, PassiveConnection
from scapy_tfo.reference.stack import Stack
from scapy_tfo.segment import Segment


class KeepsDataOfSyns(PassiveConnection):
    """The data of a SYN without cookie is acknowledged, kept, and delivered after the handshake
    (RFC 9293 section 3.10.7.2), whether fast open is on or off."""

    kept = b""

    def open_slowly(self, syn: Segment, now: float) -> None:
        enabled = self.listener.fast_open_enabled
        if not (enabled and any(getattr(each, "cookie", b"") for each in syn.fast_open)):
            self.kept = syn.payload
            self.recv.nxt = seq.add(self.recv.nxt, len(syn.payload))
        super().open_slowly(syn, now)

    def establish(self, now: float) -> None:
        super().establish(now)
        self.deliver(self.kept)


class KeepsDataOfSynsStack(Stack):
    connection_class = KeepsDataOfSyns


class KeepsDataOverTheLimit(KeepsDataOfSyns):
    """Over the limit the option counts as absent, and the data is kept as that of any SYN."""

    def open_slowly(self, syn: Segment, now: float) -> None:
        if self.listener.fast_open_enabled and not self.listener.below_limit(syn, now):
            syn = replace(syn, options=b"")
        super().open_slowly(syn, now)


class KeepsDataOverTheLimitStack(Stack):
    connection_class = KeepsDataOverTheLimit


class LeavesTimestampsOut(PassiveConnection):
    """No timestamps beside a cookie, as in a Linux listener for Multipath TCP: they are a MAY in a
    SYN-ACK (RFC 7323 section 3.2)."""

    def __init__(self, stack: Stack, listener: Listener, syn: Segment, now: float) -> None:
        super().__init__(stack, listener, syn, now)
        self.timestamps = self.timestamps and not syn.fast_open
        self.resize()


class LeavesTimestampsOutStack(Stack):
    connection_class = LeavesTimestampsOut


class AnswersPlainSynsWithSynCookies(PassiveConnection):
    """A plain SYN is answered from a SYN cookie, which holds neither scale nor SACK."""

    def __init__(self, stack: Stack, listener: Listener, syn: Segment, now: float) -> None:
        super().__init__(stack, listener, syn, now)
        if not syn.fast_open:
            self.timestamps = self.sack = self.scaling = False
            self.send.shift = self.recv.shift = 0
            self.recv.wnd = min(self.recv.wnd, 0xFFFF)
            self.resize()


class SynCookieStack(Stack):
    connection_class = AnswersPlainSynsWithSynCookies


class ShortLivedListener(Listener):
    """Cookies expire after 30 to 60 seconds, as RFC 7413 section 4.1.2 lets them."""

    now = 0.0

    def syn_arrives(self, segment: Segment, now: float) -> None:
        self.now = now
        super().syn_arrives(segment, now)

    @property
    def ring(self) -> KeyRing:
        period = int(self.now // 30) + 1
        return KeyRing([each.to_bytes(16, "big") for each in (period, period - 1)])

    def grant(self, segment: Segment, option: FastOpen) -> RawOption | None:
        return opt.fast_open(self.ring.cookie_for(segment.src, segment.dst), form=option.form)

    def check_cookie(self, segment: Segment, option: FastOpen) -> KeyMatch:
        return self.ring.check(option.cookie, segment.src, segment.dst)


class ShortLivedStack(Stack):
    listener_class = ShortLivedListener


class DelaysSynAcks(PassiveConnection):
    """The SYN-ACK of a fast open waits a little, so that an application's abort is sent first."""

    def send_first_syn_ack(self, now: float) -> None:
        if not self.fast_opened:
            super().send_first_syn_ack(now)
            return
        self.start_handshake(now)
        self.handshake_timer = now + 0.02


class DelayedSynAckStack(Stack):
    connection_class = DelaysSynAcks
