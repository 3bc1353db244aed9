"""Servers that go wrong where TCP MD5 (RFC 2385) meets fast open."""

from __future__ import annotations

from dataclasses import replace

from scapy_tfo import option as opt
from scapy_tfo.cookie import KeyMatch
from scapy_tfo.mutants.registry import mutant
from scapy_tfo.option import FastOpen, Form
from scapy_tfo.reference.server import Listener, PassiveConnection
from scapy_tfo.segment import ACK, PSH, RST, Segment

_CUT = 4
"""Bytes that are left of a cookie: as few as it may have."""


@mutant("SRV-8", also=("ACC-2",))
class CutsCookiesBesideSignatures(PassiveConnection):
    """A cookie is cut to four bytes where a signature and another option than MSS come with it."""

    def send_syn_ack(self, now: float, *, fast_open: opt.RawOption | None = None) -> None:
        is_crowded = self.signature is not None and (self.sack or self.scaling or self.timestamps)
        if fast_open is not None and is_crowded:
            fast_open = opt.fast_open(fast_open.data[:_CUT], form=Form.IANA)
        super().send_syn_ack(now, fast_open=fast_open)


@mutant("ACC-9")
class SignsBeforeThePush(PassiveConnection):
    """The signature of what is sent first is computed before PSH is set."""

    def sign(self, segment: Segment) -> Segment:
        if not segment.payload or self.signature is None:
            return super().sign(segment)
        early = super().sign(replace(segment, flags=segment.flags & ~PSH))
        return replace(early, flags=segment.flags)


@mutant("ACC-14")
class LooksAtTheCookieBeforeTheSignature(Listener):
    """A SYN with a good cookie is taken though its signature is wrong, or missing."""

    def arrive(self, segment: Segment, now: float) -> None:
        is_plain = segment.is_syn and not segment.flags & (ACK | RST)
        option = self.read_fast_open(segment) if is_plain and self.settings.signature else None
        if option is not None and self.is_good(segment, option):
            self.syn_arrives(segment, now)
        else:
            super().arrive(segment, now)

    def is_good(self, segment: Segment, option: FastOpen) -> bool:
        """Whether it has a cookie that this host made."""
        return bool(option.cookie) and self.check_cookie(segment, option) is not KeyMatch.NONE


@mutant("ACC-14")
class ChecksTheSignatureOfSynsAlone(PassiveConnection):
    """On an open connection segments are taken without their signature."""

    def is_authentic(self, segment: Segment) -> bool:
        return not segment.is_syn or super().is_authentic(segment)
