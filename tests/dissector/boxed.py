"""Captures of both ends of a path through a middlebox, on virtual time.

`python boxed.py [RUNS]` compares so many runs through each box over IPv4 and IPv6, and prints which
boxes were not named right.
"""

from __future__ import annotations

import random
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from scapy_tfo.capture.comparing.comparison import compare
from scapy_tfo.capture.writer import write_pcapng
from scapy_tfo.lab.links.boxed import BoxedPath
from scapy_tfo.lab.links.impairment import Impairment
from scapy_tfo.lab.memory.target import SOURCES, TARGET_V4, TARGET_V6, MemoryLink
from scapy_tfo.middleboxes.box import Box
from scapy_tfo.middleboxes.registry import BOXES
from scapy_tfo.path.far import MIRROR, Far
from scapy_tfo.path.near import observe
from scapy_tfo.path.prober import Patience, Prober
from scapy_tfo.path.simulated import PORT
from scapy_tfo.runner.clock import run_virtually
from scapy_tfo.wire.link import Receiver

AHEAD = 1234.5
"""Seconds that the server's clock is ahead."""


@dataclass
class Taken:
    when: float
    outbound: bool
    data: bytes
    comment: str = ""


class Tapped(MemoryLink):
    """A link whose packets are captured at the client."""

    def send(self, packet: bytes) -> None:
        self.taken.append(Taken(self.now(), True, packet))
        super().send(packet)

    def start(self, receive: Receiver) -> None:
        def heard(packet: bytes, when: float) -> None:
            self.taken.append(Taken(when, False, packet))
            receive(packet, when)

        super().start(heard)

    def __post_init__(self) -> None:
        self.taken: list[Taken] = []
        super().__post_init__()


async def _hold(box: type[Box], family: int, seed: int) -> tuple[list[Taken], list[Taken]]:
    dice = random.Random(seed)
    delay = Impairment(delay=dice.uniform(0.0, 0.1))
    server = TARGET_V4 if family == 4 else TARGET_V6
    link = Tapped(impairment=delay, sources=SOURCES, seed=seed, epoch=1e9)
    there: list[Taken] = []

    def arrived(packet: bytes) -> None:
        there.append(Taken(link.now() + AHEAD, False, packet))
        far.receive(packet)

    def answered(packet: bytes) -> None:
        there.append(Taken(link.now() + AHEAD, True, packet))
        path.from_server(packet)

    path = BoxedPath([box(dice)], link.answer, arrived)
    link.attach(path.from_client)
    far = Far(answered, lambda: link.now() + AHEAD, keys=[dice.randbytes(16)], seed=seed)
    await far.listen(PORT, mirror=PORT + MIRROR)
    prober = Prober(link, server, echoes=True, seed=seed, patience=Patience())
    try:
        await observe(prober, server, PORT, mirror=PORT + MIRROR)
    finally:
        prober.close()
        path.close()
        far.close()
        link.close()
    return link.taken, there


def through(box: type[Box], family: int, seed: int, place: Path) -> tuple[Path, Path]:
    """The files: of the client's end and of the server's."""
    files = place / "client.pcapng", place / "server.pcapng"
    for path, taken in zip(files, run_virtually(_hold(box, family, seed)), strict=True):
        write_pcapng(path, taken)
    return files


def named(name: str, family: int, seed: int, place: Path) -> list[str]:
    """What comparing says that a box did."""
    comparison = compare(*through(BOXES[name], family, seed, place))
    return sorted({deed.name for pair in comparison.pairs for deed in pair.deeds})


def main() -> int:
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 2
    right = every = 0
    with tempfile.TemporaryDirectory() as directory:
        for name in BOXES:
            for family in (4, 6):
                for seed in range(runs):
                    found = named(name, family, seed, Path(directory))
                    every += 1
                    if found == ([] if name == "none" else [name]):
                        right += 1
                    else:
                        print(f"{name}, IPv{family}, seed {seed}: {found}")
    print(f"{right} of {every} runs through {len(BOXES)} boxes were named right")
    return int(right != every)


if __name__ == "__main__":
    sys.exit(main())
