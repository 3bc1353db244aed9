"""What the path did, told by the captures of both ends of connections between kernels."""

from __future__ import annotations

import pytest
from two_kernels import Evidence

from scapy_tfo.capture.comparing.comparison import compare
from scapy_tfo.capture.comparing.fates import Fate

DONE = {
    "LoseSyn": "SYN > dropped",
    "LoseSynAck": "SYN-ACK < dropped",
    "DelaySyn": "SYN > delayed",
    "DelaySynBeyond": "SYN > delayed",
    "DelaySynAck": "SYN-ACK < delayed",
    "DoubleSyn": "SYN > copied",
    "Replay": "SYN > copied",
    "CutData": "SYN > changed 18 bytes of data became 9",
    "StripSyn": "SYN > changed Fast Open option removed",
    "StripRequest": "SYN > changed Fast Open option removed",
    "StripAnswer": "SYN-ACK < changed Fast Open option removed",
    "AckTooMuch": "SYN-ACK < changed acknowledgement moved by +5",
    "RotateKeys": "",
    "": "",
}
"""The first thing that each fault of the path does."""


STALL = 500_000_000
"""ns for which a busy machine may hold a packet back. What the faults delay is held back longer."""


def told(fate: Fate) -> str:
    return " ".join([fate.what, "<>"[fate.to_server], fate.kind, *fate.changes])


@pytest.mark.parametrize("where", ["kernel", "cookieless", "duplicate-starts-over"])
def test_it_names_what_was_done_to_each_connection(evidence: Evidence, where: str) -> None:
    compared = compare(evidence.captures["client"], evidence.captures[where])
    shown = {int(each.client.rpartition(":")[2]): each.done for each in compared.connections}
    words = [word for word in evidence.words if word.conversation.server == where]
    wrong = []
    for word in words:
        if word.step.how == "plain":
            continue
        wanted = DONE[word.step.path.__name__ if word.step.path else ""]
        found = [
            told(fate) for fate in shown[word.port] if fate.kind != "delayed" or fate.delay > STALL
        ]
        if (found[0] if found else "") != wanted:
            wrong.append(f"{word}: {found} for {wanted!r}")
    assert wrong == []
    assert len(words) > 1
