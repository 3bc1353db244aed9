"""Servers whose cookies are wrong (RFC 7413 section 4.1.2)."""

from __future__ import annotations

from scapy_tfo import option as opt
from scapy_tfo.cookie import KeyMatch
from scapy_tfo.mutants.registry import mutant
from scapy_tfo.option import FastOpen
from scapy_tfo.reference.server import Listener
from scapy_tfo.segment import Segment


@mutant("SRV-1")
class AcceptsAnyCookie(Listener):
    """Any cookie of a valid size is accepted."""

    def check_cookie(self, segment: Segment, option: FastOpen) -> KeyMatch:  # noqa: ARG002
        return KeyMatch.PRIMARY


@mutant("SRV-2")
class GrantsConstantCookie(Listener):
    """Every client gets, and may use, the same cookie."""

    constant = b"\x5a" * 8

    def grant(self, segment: Segment, option: FastOpen) -> opt.RawOption | None:  # noqa: ARG002
        return opt.fast_open(self.constant, form=option.form)

    def check_cookie(self, segment: Segment, option: FastOpen) -> KeyMatch:  # noqa: ARG002
        return KeyMatch.PRIMARY if option.cookie == self.constant else KeyMatch.NONE
