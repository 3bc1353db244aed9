"""Segments and ICMP errors in the middle of a conversation that must not end it."""

from __future__ import annotations

from random import Random

from scapy_tfo.fuzz.generation.option_lists import NOP
from scapy_tfo.program.program import TOO_BIG, UNFOUNDED, Icmp, Option, Send

_FAR = 1 << 29
_SOFT = {4: (0, 1, 5), 6: (0, 3)}
"""Codes of unreachable that are soft errors, by family (RFC 1122 section 4.2.3.9, RFC 4443)."""
_OLD = (NOP, NOP, Option("ts", -100_000))


def harmless_segment(dice: Random, syn: Send, after: int) -> Send:
    """A segment that an open connection drops, or answers with an ACK. syn: that of its flow.
    after: the number of what follows in order."""
    flow = syn.flow
    stamped = any(each.name == "ts" for each in syn.options or ())
    kinds = ["probe", "probe", "probe-byte", "syn", "rst", "rst-far", "beyond", "old-ack"]
    kinds += ["no-ack", "far", "spoilt", *(("old-time", "old-time-ack") if stamped else ())]
    match dice.choice(kinds):
        case "probe":
            return Send(flow, ".", after - 1, "all")
        case "probe-byte":
            return Send(flow, ".", after - 1, "all", 1)
        case "syn":
            return syn
        case "rst":
            return Send(flow, "R", after + dice.choice((1, 10, 100)))
        case "rst-far":
            return Send(flow, "R", after + dice.choice((-1000, -_FAR, _FAR)))
        case "beyond":
            return Send(flow, ".", after, 1_000_000, dice.choice((0, 10)), wrong=True)
        case "old-ack":
            return Send(flow, "P.", after, -_FAR, 10, wrong=True)
        case "no-ack":
            return Send(flow, "P", after, None, 10, wrong=True)
        case "far":
            return Send(flow, "P.", after + dice.choice((_FAR, -_FAR)), "all", 10, wrong=True)
        case "spoilt":
            return Send(flow, "P.", after, "all", 10, checksum=77)
        case "old-time-ack":
            return Send(flow, ".", after, "all", options=_OLD)
        case _:
            return Send(flow, "P.", after, "all", 10, wrong=True, options=_OLD)


def uncounted(dice: Random, syn: Send, after: int) -> Send:
    """A segment that acknowledges all that came, and must not count: its timestamp is old, or its
    checksum wrong. syn, after: as above."""
    if any(each.name == "ts" for each in syn.options or ()) and dice.random() < 0.7:
        return Send(syn.flow, ".", after, "all", options=_OLD)
    return Send(syn.flow, ".", after, "all", checksum=77)


def icmp_error(dice: Random, flow: int, after: int, family: int) -> Icmp:
    """A soft error, or a packet-too-big, about text that the target may have sent, or what is no
    error about a connection. after: the number of what the client sends next, so that the echo is
    no longer."""
    quoted = dice.choice((1, 1 + dice.randrange(max(after, 1)), max(after - 20, 1)))
    roll = dice.random()
    if roll < 0.15:
        return Icmp(flow, dice.choice(UNFOUNDED), 0, 0, quoted)
    if roll < 0.55:
        return Icmp(flow, "unreachable", dice.choice(_SOFT[family]), 0, quoted)
    return Icmp(flow, TOO_BIG, 4, dice.choice((0, 0, 1400, 1280, 1000, 576, 296)), quoted)
