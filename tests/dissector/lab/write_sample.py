"""Makes dissector/sample.pcapng, the capture with known outcomes for `scapy-tfo dissector check`.

It holds some of the plan's connections between two kernels. Run it as root.

Its answers, dissector/sample.json, say what was done to each connection, and agree with what the
kernel reported.
"""

from __future__ import annotations

import asyncio
import json
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path

import mapping
import plan
import two_kernels

from scapy_tfo.capture.reader import read_frames
from scapy_tfo.capture.writer import write_pcapng
from scapy_tfo.segment import MalformedPacketError, Segment

HOME = Path(__file__).resolve().parents[3] / "dissector"

NAMES = (
    *("accepted", "accepted, kind 254", "rotated key", "fast open off", "lost SYN"),
    *("lost SYN-ACK", "cut data", "acknowledged too much", "replayed after a reset"),
    *("no cookie, accepted", "no cookie, refused", "no fast open"),
)
"""Of the plan's conversations: each outcome, and one connection without."""


@dataclass(frozen=True)
class Packet:
    """What write_pcapng takes."""

    when: float
    outbound: bool
    data: bytes
    comment: str


def main() -> None:
    by_name = {each.name: each for each in plan.CONVERSATIONS}
    with tempfile.TemporaryDirectory() as name:
        chosen = [by_name[each] for each in NAMES]
        evidence = asyncio.run(two_kernels.hold(chosen, Path(name)))
        frames = list(read_frames(evidence.captures["client"]))
    words = {word.port: word for word in evidence.words}
    packets: list[Packet] = []
    seen: set[int] = set()
    for frame in frames:
        try:
            segment = Segment.from_bytes(frame.data)
        except MalformedPacketError:
            continue
        port = segment.sport if segment.sport in words else segment.dport
        is_first = port not in seen
        seen.add(port)
        word = words[port]
        told = f"{word.conversation.name}: {word.step.outcome or 'no fast open'}"
        outbound = segment.sport == port
        packets.append(Packet(frame.when / 1e9, outbound, frame.data, told if is_first else ""))
    answers = {}
    for port in sorted(seen):
        word = words[port]
        assert (word.acked, word.failed) in mapping.CLIENT[word.step.outcome], word
        answers[port] = word.step.outcome
    begun = packets[0].when
    packets = [replace(each, when=1_767_225_600 + each.when - begun) for each in packets]
    about = "Fast opens between two Linux kernels, 20 ms of delay each way, and what became of them"
    write_pcapng(HOME / "sample.pcapng", packets, comment=about)
    text = json.dumps({"outcomes": answers}, indent=1)
    (HOME / "sample.json").write_text(text + "\n", encoding="utf-8")
    print(f"{len(packets)} packets, {len(answers)} connections")


if __name__ == "__main__":
    main()
