"""The rules of TCP are never said to be broken by two kernels, whatever became of the capture."""

from __future__ import annotations

from pathlib import Path
from random import Random

from meddling import DelaySyn, DelaySynAck, DoubleSyn, LoseSyn, LoseSynAck, RotateKeys
from two_kernels import Evidence

from scapy_tfo.capture.reader import read_frames
from scapy_tfo.segment import Address, MalformedPacketError, Segment
from tests.capture.judging.laws import each_judged, told
from tests.capture.judging.world import Packet

HONEST = (None, DelaySyn, DelaySynAck, DoubleSyn, LoseSyn, LoseSynAck, RotateKeys)
"""Paths that change no packet, and make none up."""


def heard(path: Path, ports: set[int]) -> list[Packet]:
    """The packets of connections from some ports."""
    found = []
    for frame in read_frames(path):
        try:
            segment = Segment.from_bytes(frame.data)
        except MalformedPacketError:
            continue
        if {segment.sport, segment.dport} & ports:
            found.append(Packet(frame.when, frame.data, segment.sport in ports))
    return found


def source(packet: Packet) -> Address:
    return Segment.from_bytes(packet.data).src


def test_no_breach_of_a_kernel(evidence: Evidence, tmp_path: Path) -> None:
    ports = {
        word.port
        for word in evidence.words
        if word.conversation.server == "kernel" and word.step.path in HONEST
    }
    assert len(ports) >= 60
    at = {
        "client": heard(evidence.captures["client"], ports),
        "server": heard(evidence.captures["kernel"], ports),
    }
    ends = {
        "client": frozenset(source(each) for each in at["client"] if each.upward),
        "server": frozenset(source(each) for each in at["server"] if not each.upward),
    }
    judged = 0
    for what, judgement in each_judged(at, Random(0), tmp_path, ends):
        assert (what, told(judgement)) == (what, [])
        judged += judgement.count
    assert judged > 1000
