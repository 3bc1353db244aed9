"""Writes captures of fuzzed packets, for dissectors, codecs and other tools that read packets.

Programs of the grammar are run at the reference stack in memory, so that the captures hold answers
and granted cookies; some packets come a second time with damaged bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from itertools import count, islice
from pathlib import Path
from random import Random

from scapy_tfo.capture.writer import write_pcapng
from scapy_tfo.errors import SetupError
from scapy_tfo.executor.simulated import SimulatedBench
from scapy_tfo.fuzz.generation.grammar import program_for

BEGIN = 1_600_000_000.0
"""Seconds since the epoch of the first packet, so that a seed always gives the same file."""

_PORTS = range(20000, 60000)
_PAUSE = 0.01
_DAMAGED = 0.25
_SMALLEST = 20


@dataclass(frozen=True, slots=True)
class FuzzedPacket:
    """One IP packet. when: seconds since the epoch. comment: which program it is of, and what
    was done to it."""

    when: float
    outbound: bool
    data: bytes
    comment: str


def fuzzed(packets: int, seed: int = 0) -> Iterator[FuzzedPacket]:
    """So many packets, sound and broken, of both sides. The same seed gives the same ones."""
    return islice(_endless(seed), packets)


def write_capture(path: Path, packets: int, seed: int = 0) -> None:
    """Write them as pcapng. Raises SetupError where that fails."""
    try:
        write_pcapng(
            path,
            fuzzed(packets, seed),
            interface="fuzzed",
            comment=f"{packets} fuzzed packets of seed {seed}",
        )
    except OSError as error:
        raise SetupError(f"cannot write {path}: {error.strerror}") from error


def _endless(seed: int) -> Iterator[FuzzedPacket]:
    dice = Random(f"capture {seed}")
    start, port = BEGIN, _PORTS.start
    with closing(SimulatedBench("sim:reference")) as bench:
        for number in count(seed << 32):
            program = program_for(number)
            if port + len(program.flows) > _PORTS.stop:
                port = _PORTS.start
            bench.first_port = port
            port += len(program.flows)
            _, packets = bench.trace(program)
            when, about = start, f"program {number} ({program.origin})"
            for each in packets:
                when = start + each.when
                yield FuzzedPacket(when, each.outbound, each.data, about)
                if dice.random() < _DAMAGED:
                    how = dice.choice(_DAMAGES)
                    told = f"{about}, damaged: {how.__name__.lstrip('_')}"
                    yield FuzzedPacket(when, each.outbound, how(each.data, dice), told)
            start = when + _PAUSE


def _tcp_at(packet: bytes) -> int:
    return (packet[0] & 15) * 4 if packet[0] >> 4 == 4 else 40


def _flip(packet: bytes, dice: Random) -> bytes:
    """Some bits anywhere."""
    out = bytearray(packet)
    for _ in range(dice.randint(1, 4)):
        out[dice.randrange(len(out))] ^= 1 << dice.randrange(8)
    return bytes(out)


def _cut(packet: bytes, dice: Random) -> bytes:
    """Less than its lengths say."""
    return packet[: dice.randint(_SMALLEST, len(packet))]


def _garble(packet: bytes, dice: Random) -> bytes:
    """Bytes that mean something, where options may be."""
    at = _tcp_at(packet) + 20
    stop = min(len(packet), at + 40)
    out = bytearray(packet)
    for place in range(at, stop):
        if dice.random() < 0.4:
            out[place] = dice.choice((0, 1, 2, 3, 4, 6, 10, 18, 34, 253, 254, 255, 0xF9, 0x89))
    return bytes(out)


def _stretch(packet: bytes, dice: Random) -> bytes:
    """Another data offset."""
    at = _tcp_at(packet) + 12
    if at >= len(packet):
        return packet
    return packet[:at] + bytes((dice.randrange(16) << 4,)) + packet[at + 1 :]


_DAMAGES: tuple[Callable[[bytes, Random], bytes], ...] = (_flip, _cut, _garble, _stretch)
