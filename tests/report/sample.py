"""A run made by hand, as data: one case for each thing that a report has to show."""

from __future__ import annotations

from ipaddress import IPv4Address

from scapy_tfo import option as opt
from scapy_tfo.icmp import unreachable
from scapy_tfo.segment import ACK, PSH, RST, SYN, Flags, Segment
from scapy_tfo.suite.result import CapturedPacket, Level, Result, Verdict

SUITE, TARGET = IPv4Address("192.0.2.1"), IPv4Address("192.0.2.7")
COOKIE = bytes.fromhex("0011223344556677")
STARTED = 1_767_323_045.0
"""2026-01-02 03:04:05 UTC."""

HOSTILE = 'a\x00b\x1b[31mc\u202ed<script>alert("1")</script>]]>&\ud800\x85'
"""Control bytes, a terminal escape, reordering, markup, a lone surrogate."""


def outbound(flags: Flags, *, sport: int = 40000, seq: int = 1000, **fields: object) -> Segment:
    return Segment(src=SUITE, dst=TARGET, sport=sport, dport=80, seq=seq, flags=flags, **fields)


def inbound(flags: Flags, *, dport: int = 40000, seq: int = 9000, **fields: object) -> Segment:
    return Segment(src=TARGET, dst=SUITE, sport=80, dport=dport, seq=seq, flags=flags, **fields)


def captured(*packets: Segment | bytes, comment: str = "") -> tuple[CapturedPacket, ...]:
    """Packets numbered from 1, a quarter of a millisecond apart."""
    return tuple(
        CapturedPacket(
            number=number,
            when=STARTED + (number - 1) / 4000,
            outbound=data[12:16] == SUITE.packed,
            data=data,
            comment=comment,
        )
        for number, data in enumerate(
            (each if isinstance(each, bytes) else each.to_bytes() for each in packets), 1
        )
    )


def with_cookie(cookie: bytes = COOKIE) -> bytes:
    return opt.push_options([opt.fast_open(cookie)])


REFUSED = (
    outbound(SYN, payload=b"x" * 20, options=with_cookie(), window=8192),
    inbound(SYN | ACK, ack=1001, window=64240),
    outbound(ACK | PSH, seq=1001, ack=9001, payload=b"x" * 20, window=8192),
    inbound(ACK, seq=9001, ack=1021, window=64240),
    unreachable(inbound(ACK, seq=9001, ack=1021).to_bytes(), code=3).to_bytes(),
    outbound(SYN, sport=40001, seq=5, payload=b"y"),
    inbound(RST | ACK, dport=40001, seq=0, ack=7),
)
"""A fast open that the target should have accepted, an ICMP error about it, another connection."""

REFUSED_DRAWN = """\
    suite 192.0.2.1:40000, target 192.0.2.7:80
       no.         ms  suite                                           target
  *      1      0.000  |-- S seq 0 len 20 win 8192 TFO=0011223344556677 -->|
  *      2      0.250  |<---------------- S. seq 0 ack 1 len 0 win 64240 --|
         3      0.500  |-- P. seq 1 ack 1 len 20 win 8192 ---------------->|
         4      0.750  |<---------------- . seq 1 ack 21 len 0 win 64240 --|
         5      1.000  |-- ICMP port unreachable ------------------------->|"""
"""The first five, the first two judged."""


def result(case: str, verdict: Verdict, **fields: object) -> Result:
    base: dict[str, object] = {
        "title": f"Title of {case}",
        "family": 4,
        "requirements": ("ACC-2",),
        "level": Level.MUST,
        "seconds": 0.25,
    }
    return Result(case=case, verdict=verdict, **{**base, **fields})


RESULTS = (
    result("OPT-1-request", Verdict.PASS, requirements=("OPT-1",)),
    result(
        "ACC-2-accept",
        Verdict.FAIL,
        requirements=("ACC-2", "ACC-99"),
        level=Level.STEP,
        reason="the SYN-ACK acknowledges the SYN only",
        expected="SYN-ACK with ack 21: SYN and 20 bytes",
        actual="SYN-ACK with ack 1",
        flow="192.0.2.1:40000>192.0.2.7:80",
        packets=(1, 2),
        attempts=2,
    ),
    result(
        "SRV-2-bits",
        Verdict.FAIL,
        requirements=("SRV-2",),
        level=Level.SHOULD,
        reason="a changed cookie was accepted",
        expected="ack 1",
        actual="ack 21",
        packets=(6,),
    ),
    result("ACC-5-empty", Verdict.FAIL, reason="reset", known="vendor ticket 12"),
    result("ACC-9-once", Verdict.PASS, known="delivered twice in 1.0"),
    result("LIM-1-full", Verdict.INCONCLUSIVE, requirements=("LIM-1",), reason="no answer"),
    result("SRV-1-bound", Verdict.SKIPPED, requirements=("SRV-1",), reason="give --source twice"),
    result(
        "SRV-1-bound",
        Verdict.SKIPPED,
        requirements=("SRV-1",),
        reason="give --source twice",
        family=6,
    ),
    result(
        "SRV-5-fresh",
        Verdict.UNSUPPORTED,
        requirements=("SRV-5",),
        level=Level.MAY,
        reason="no fresh cookie",
    ),
    result(
        "DUP-3-replay",
        Verdict.PASS,
        requirements=("DUP-3",),
        level=Level.DESIGN,
        observed={"replay": "delivered again"},
    ),
    result(
        "DUP-3-replay",
        Verdict.PASS,
        requirements=("DUP-3",),
        level=Level.DESIGN,
        observed={"replay": "delivered again"},
        family=6,
    ),
)
