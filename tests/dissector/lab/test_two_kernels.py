"""The conversations went as planned, as the kernels report: only then is the plan the truth."""

from __future__ import annotations

from mapping import CLIENT
from plan import CONVERSATIONS
from two_kernels import DELAY, Evidence

from scapy_tfo.capture.reader import read_frames
from scapy_tfo.option import Form
from scapy_tfo.segment import Segment


def test_every_outcome_is_planned() -> None:
    assert {step.outcome for each in CONVERSATIONS for step in each.steps} == CLIENT.keys()


def test_the_client_says_what_was_done_to_each_connection(evidence: Evidence) -> None:
    assert [
        f"{word}: {word.acked}, {word.failed}"
        for word in evidence.words
        if (word.acked, word.failed) not in CLIENT[word.step.outcome]
    ] == []


def test_applications_were_handed_what_was_sent(evidence: Evidence) -> None:
    """Twice, where it was replayed."""
    for word in evidence.words:
        if word.answered:
            times = 2 if word.step.outcome == "replayed" else 1
            assert (str(word), word.delivered) == (str(word), (word.step.data,) * times)


def test_the_client_used_both_kinds(evidence: Evidence) -> None:
    segments = [
        Segment.from_bytes(frame.data) for frame in read_frames(evidence.captures["client"])
    ]
    used = {
        (segment.src.version, option.form)
        for segment in segments
        for option in segment.fast_open
        if segment.is_syn and segment.payload
    }
    kinds = {Form.IANA, Form.EXPERIMENT_2}
    assert used == {(word.family, kind) for word in evidence.words for kind in kinds}


def test_the_path_delays(evidence: Evidence) -> None:
    """The kernel's own time stamps, of a SYN and its SYN-ACK."""
    asked: dict[int, int] = {}
    for frame in read_frames(evidence.captures["client"]):
        segment = Segment.from_bytes(frame.data)
        if segment.is_syn:
            asked.setdefault(segment.sport, frame.when)
        elif segment.is_syn_ack:
            assert frame.when - asked[segment.dport] >= 2 * DELAY * 1e9
