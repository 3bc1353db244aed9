"""Holds the rules of plain TCP against what came from the kernel, or target, while a script ran."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from scapy_tfo.capture.judging.judge import Word, judge_frames
from scapy_tfo.capture.judging.verdict import Judgement
from scapy_tfo.capture.reader import Frame
from scapy_tfo.pkt.play.outcome import Outcome
from scapy_tfo.segment import Address, MalformedPacketError, Segment
from scapy_tfo.suite.result import Breach

_RAW = 101


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """How a script was run. direct: what was tested sent its packets straight to the script, so
    that each came once, in order. whole: every packet is known."""

    direct: bool
    whole: bool = True


def watched(
    outcome: Outcome, setting: Setting, owner: str
) -> tuple[tuple[Breach, ...], dict[str, int]]:
    """The rules that were broken, and how many packets each rule was held against.

    The packets of a breach are counted from 1 as in the outcome. owner: the script, as the results
    name it.
    """
    tested = frozenset(_tested(outcome))
    frames = [
        Frame(number=number, when=each.when, link=_RAW, data=each.data)
        for number, each in enumerate(outcome.packets, 1)
    ]
    # They were read when the script had time to, and sent in between.
    frames.sort(key=lambda frame: frame.when)
    word = Word(complete=setting.whole, places=tested if setting.direct else frozenset())
    judgement = judge_frames(frames, word)
    addresses = {str(each) for each in tested}
    held: Counter[str] = Counter()
    for connection in judgement.connections:
        for end in connection.ends:
            # What the script itself sends may be wrong on purpose.
            held.update(end.held if end.address in addresses else {})
    return tuple(_breaches(judgement, addresses, owner)), dict(held)


def _tested(outcome: Outcome) -> Iterator[Address]:
    """The addresses that what is tested sent from."""
    for each in outcome.packets:
        if not each.inbound:
            try:
                yield Segment.from_bytes(each.data).src
            except MalformedPacketError:
                continue


def _breaches(judgement: Judgement, tested: set[str], owner: str) -> Iterator[Breach]:
    for connection in judgement.connections:
        for end in connection.ends:
            for finding in end.broken if end.address in tested else ():
                yield Breach(
                    rule=finding.rule,
                    owner=owner,
                    family=6 if ":" in end.address else 4,
                    flow=f"{connection.client.end}>{connection.server.end}",
                    packet=finding.packets[0],
                    expected=finding.expected,
                    actual=finding.actual,
                )
