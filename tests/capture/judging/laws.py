"""The law of judging captures: of right stacks there is no breach, whatever became of the capture.

`python -m tests.capture.judging.laws [ROUNDS]` holds it against connections of all variants over
paths that lose, double and reorder, and prints what broke it.
"""

from __future__ import annotations

import struct
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from random import Random

from scapy_tfo.capture.judging.judge import Word, judge_file
from scapy_tfo.capture.judging.verdict import Judgement
from scapy_tfo.client_variants.registry import all_client_variants
from scapy_tfo.lab.links.impairment import Impairment
from scapy_tfo.segment import Address, MalformedPacketError, Segment
from scapy_tfo.variants.registry import all_variants
from tests.capture.judging.world import CLIENTS, SERVERS, Packet, hold

MILLISECOND = 1_000_000
RAW, ETHERNET, COOKED = 101, 1, 113

Transform = Callable[[list[Packet], Random], list[Packet]]


def write(
    path: Path,
    packets: Sequence[Packet],
    *,
    link: int = RAW,
    place: str = "client",
    snap: int = 1 << 16,
) -> Path:
    """A pcap file in the order given. snap: bytes of IP that are kept."""
    records = [struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, 1 << 16, link)]
    for each in packets:
        kind = b"\x08\x00" if each.data[0] >> 4 == 4 else b"\x86\xdd"
        head = b""
        if link == ETHERNET:
            head = b"\x02" * 6 + b"\x04" * 6 + kind
        elif link == COOKED:
            sent = each.upward == (place == "client")
            head = struct.pack("!HHH8s", 4 if sent else 0, 1, 6, b"\x02" * 8) + kind
        seconds, nanoseconds = divmod(each.when, 1_000_000_000)
        held = each.data[:snap]
        sizes = len(head) + len(held), len(head) + len(each.data)
        records += struct.pack("<IIII", seconds, nanoseconds, *sizes), head, held
    path.write_bytes(b"".join(records))
    return path


def unchanged(packets: list[Packet], _dice: Random) -> list[Packet]:
    return packets


def cut_end(packets: list[Packet], dice: Random) -> list[Packet]:
    return packets[: dice.randrange(len(packets) + 1)]


def in_microseconds(packets: list[Packet], _dice: Random) -> list[Packet]:
    return [replace(each, when=each.when // 1000 * 1000) for each in packets]


def twice(packets: list[Packet], dice: Random) -> list[Packet]:
    """By two taps, the second of which is a little later."""
    later = dice.choice((0, 1_000, 100_000, 20 * MILLISECOND))
    return in_order([*packets, *(replace(each, when=each.when + later) for each in packets)])


def cut_start(packets: list[Packet], dice: Random) -> list[Packet]:
    return packets[dice.randrange(len(packets)) :]


def without_a_part(packets: list[Packet], dice: Random) -> list[Packet]:
    """A hole in the middle."""
    first, last = sorted(dice.randrange(len(packets) + 1) for _ in range(2))
    return packets[:first] + packets[last:]


def without_one(packets: list[Packet], dice: Random) -> list[Packet]:
    at = dice.randrange(len(packets))
    return packets[:at] + packets[at + 1 :]


def sampled(packets: list[Packet], dice: Random) -> list[Packet]:
    share = dice.choice((0.95, 0.95, 0.8, 0.5))
    return [each for each in packets if dice.random() < share]


def one_way(packets: list[Packet], dice: Random) -> list[Packet]:
    upward = dice.random() < 0.5
    return [each for each in packets if each.upward == upward]


def skewed(packets: list[Packet], dice: Random) -> list[Packet]:
    """The clock of one direction is off, and the frames are in the order of their times."""
    off = dice.randint(-60, 60) * MILLISECOND
    return in_order(
        [each if each.upward else replace(each, when=each.when + off) for each in packets]
    )


def shuffled(packets: list[Packet], dice: Random) -> list[Packet]:
    """Neighbours change places, as where several processors capture."""
    found = list(packets)
    for at in range(len(found) - 1):
        if dice.random() < 0.1:
            found[at], found[at + 1] = found[at + 1], found[at]
    return found


def corrupted(packets: list[Packet], dice: Random) -> list[Packet]:
    """A bit of some is wrong, behind the addresses and ports."""
    found = []
    for each in packets:
        start = 24 if each.data[0] >> 4 == 4 else 44
        # Two faults in one packet may leave its checksum as it was.
        is_right = _is_right(each.data)
        if dice.random() < 0.05 and is_right:
            data = bytearray(each.data)
            data[dice.randrange(start, len(data))] ^= 1 << dice.randrange(8)
            each = replace(each, data=bytes(data))
        found.append(each)
    return found


def _is_right(data: bytes) -> bool:
    try:
        return Segment.from_bytes(data).checksum is None
    except MalformedPacketError:
        return False


def in_order(packets: Sequence[Packet]) -> list[Packet]:
    return sorted(packets, key=lambda each: each.when)


COMPLETE: tuple[Transform, ...] = (unchanged, cut_end, in_microseconds, twice)
"""What is left is complete, so that all rules are judged."""
LESS: tuple[Transform, ...] = (
    *(cut_start, without_a_part, without_one, sampled, one_way, skewed, shuffled, corrupted),
)

PATHS = (
    Impairment(),
    Impairment(delay=0.02),
    Impairment(delay=0.03, loss=0.05),
    Impairment(delay=0.02, duplicate=0.1, reorder=0.1),
    Impairment(delay=0.05, jitter=0.03, loss=0.02, duplicate=0.02, reorder=0.03),
    Impairment(delay=0.02, loss=0.02, corrupt=0.03),
)
SHRINKS = "window-shrinks"
"""A variant that does what TCP-WIN-3 (SHOULD) advises against."""
TALKS = ((10,), (3000, 200), (20_000,), (5, 5, 5), ())


def merged(at: Mapping[str, list[Packet]], dice: Random) -> list[Packet]:
    """The captures of two places in one, by clocks that differ."""
    one, other = dice.sample(list(at), 2)
    off = dice.choice((-150, -20, 0, 20, 150)) * MILLISECOND
    there = [replace(each, when=each.when + off) for each in at[other]]
    return in_order([*at[one], *there])


def told(judgement: Judgement) -> list[str]:
    """Each breach in a line."""
    return [
        f"{each.first} {end.role} {finding}"
        for each in judgement.connections
        for end in each.ends
        for finding in end.broken
    ]


ENDS: Mapping[str, frozenset[Address]] = {
    "client": frozenset(CLIENTS),
    "server": frozenset(SERVERS),
}


def each_judged(
    at: Mapping[str, list[Packet]],
    dice: Random,
    folder: Path,
    ends: Mapping[str, frozenset[Address]] = ENDS,
) -> Iterator[tuple[str, Judgement]]:
    """The captures of one world, transformed and judged, with what was done to them.

    at: by the place of the capture. ends: addresses of the host, where that is an end.
    """
    path = folder / "capture.pcap"
    for place in at:
        there = ends.get(place, frozenset())
        for transform in COMPLETE:
            link = dice.choice((RAW, ETHERNET, COOKED) if there else (RAW, ETHERNET))
            write(path, transform(at[place], dice), link=link, place=place)
            is_sure = transform is not twice
            places = there if is_sure else frozenset[Address]()
            for word in (Word(), Word(complete=True, unjoined=is_sure, places=places)):
                yield f"{place}, {transform.__name__}, {word}", judge_file(path, word)
        for transform in LESS:
            link = dice.choice((RAW, ETHERNET))
            write(path, transform(at[place], dice), link=link, place=place)
            yield f"{place}, {transform.__name__}", judge_file(path, Word())
        write(path, at[place], snap=dice.randint(20, 120))
        yield f"{place}, truncated", judge_file(path, Word())
    write(path, merged(at, dice))
    yield "merged", judge_file(path, Word())
    yield "merged, complete", judge_file(path, Word(complete=True))


def main() -> None:
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 1
    clients = ["reference", *(each.name for each in all_client_variants())]
    servers = ["reference", *(e.name for e in all_variants() if e.name != SHRINKS)]
    captures = connections = broken = 0
    with tempfile.TemporaryDirectory() as name:
        for seed in range(rounds * max(len(clients), len(servers))):
            dice = Random(seed)
            client, server = clients[seed % len(clients)], servers[seed % len(servers)]
            if seed >= len(servers):
                client, server = dice.choice(clients), dice.choice(servers)
            near, far = dice.choice(PATHS), dice.choice(PATHS)
            world = hold(client, server, TALKS, seed=seed, near=near, far=far)
            for what, judgement in each_judged(world.at, dice, Path(name)):
                captures += 1
                connections += judgement.count
                for line in told(judgement):
                    broken += 1
                    if broken < 40:
                        print(f"seed {seed}, {client} > {server}, {near}; {far}: {what}: {line}")
    print(f"{captures} captures with {connections} connections, {broken} breaches")


if __name__ == "__main__":
    main()
