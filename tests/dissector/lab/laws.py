"""Laws of what the plugin says of a capture, checked on connections between kernels.

`python laws.py [ROUNDS]` checks each transform so many times on each connection, and prints how
many that were and which broke a law.
"""

from __future__ import annotations

import asyncio
import re
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import transforms
from transforms import LESS, SAME, Packet, Transform, by_port, skewed, write

from scapy_tfo.segment import Segment

sys.path.append(str(Path(__file__).parents[1]))
from tshark import connections

NUMBERS = ("sent", "acked", "resent")
TIMES = ("rtt", "seconds_lost")
ROUNDED = 5e-6
"""Seconds by which times differ where clocks count microseconds. What is lost is a sum of times."""

LATER = 0.02
"""Seconds by which a round trip may seem longer where captures of both ends were merged, or where
the packet that ends it was not captured, but the next one. `first_answer` is under no law: a
capture that lacks the SYN that was sent again, or has each packet twice, takes bytes for an answer
that the client could not use."""

DELAY = 20 * transforms.MILLISECOND
"""Of the path, in each direction."""

HEADERS = 14 + 40 + 20
"""Bytes of a frame up to the options of TCP, over IPv6."""

OFFSETS = (-150, -20, 0, 20, 150)
"""Milliseconds that the clock of the other end is off."""

Told = dict[int, list[dict[str, Any]]]
"""What the plugin says, by the client's port; a list, as the ports may be used again."""


@dataclass(frozen=True)
class Break:
    """A connection of which something else is said than before."""

    transform: str
    port: int
    seed: int
    before: str
    after: str

    def __str__(self) -> str:
        where = f"{self.transform}, port {self.port}, seed {self.seed}"
        return f"{where}: {self.before} became {self.after}"


def told(capture: Path) -> Told:
    found: Told = {}
    for each in connections(capture):
        found.setdefault(each["client_port"], []).append(each)
    return found


def charges(connection: dict[str, Any]) -> set[str]:
    """Rules that were broken, but for mere notes."""
    return {each["rule"] for each in connection["problems"] if each["severity"] != "note"}


def _text(shown: list[dict[str, Any]]) -> str:
    return "; ".join(
        f"{each['outcome']} ({each['why']}), {[each.get(name) for name in NUMBERS]}, "
        f"{sorted(charges(each))}"
        for each in shown
    )


def is_same(
    before: list[dict[str, Any]], after: list[dict[str, Any]], within: float = ROUNDED
) -> bool:
    """Outcome, reason but for the frames that it names, numbers, times and charges are.

    within: seconds by which times may differ.
    """
    if [_essence(each) for each in before] != [_essence(each) for each in after]:
        return False
    return all(
        abs(known.get(name, -1.0) - each.get(name, -1.0)) < within
        for known, each in zip(before, after, strict=True)
        for name in TIMES
    )


def _essence(connection: dict[str, Any]) -> tuple[object, ...]:
    numbers = tuple(connection.get(name) for name in NUMBERS)
    reason = re.sub(r"\d+", "", connection["why"])
    return connection["outcome"], reason, numbers, charges(connection)


def is_less(before: list[dict[str, Any]], after: list[dict[str, Any]]) -> bool:
    """No other outcome than before, no number, and no charge."""
    outcomes = {each["outcome"] for each in before} | {"unknown"}
    known = set().union(*map(charges, before))
    numbers = {name: {each.get(name) for each in before} | {None} for name in NUMBERS}
    return all(
        each["outcome"] in outcomes
        and charges(each) <= known
        and (each["outcome"] == "unknown" or _fits(each, numbers))
        for each in after
    )


REMAINS = {
    "replayed": {"accepted", "syn-ack-lost", "syn-lost-fallback"},
    "over-acknowledged": {"accepted", "syn-ack-lost"},
}
"""Outcomes of what is left of a connection where no packet that tells more was captured: of either
of the two times that the server took the data; of the SYN-ACK that the client got in the end."""


def holds(
    transform: Transform,
    before: list[Any],
    after: list[Any],
    packets: list[Packet],
    left: list[Packet],
) -> bool:
    """Whether a transform keeps the law. left: what it makes of the connection's packets."""
    if transform in SAME:
        return is_same(before, after)
    told = {each["outcome"] for each in before} & REMAINS.keys()
    remains = set().union(*(REMAINS[each] for each in told if not _shows(each, left)))
    if not remains:
        return is_less(before, after) and (
            transform is skewed or _is_in_time(before, after, _later(packets))
        )
    return all(each["outcome"] in {*remains, *told, "unknown"} for each in after) and not (
        any(charges(each) for each in after if each["outcome"] not in told)
    )


def _later(packets: list[Packet]) -> float:
    """Seconds by which a round trip may end later: an ACK of the client's that says what its first
    said may come for whatever the server sends again, and as late as a busy machine makes it."""
    said: dict[tuple[int, int], list[int]] = {}
    for each in packets:
        segment = Segment.from_bytes(each.frame[14:])
        if each.outbound and not segment.is_syn:
            said.setdefault((segment.seq, segment.ack), []).append(each.when)
    return max([LATER, *((whens[-1] - whens[0]) / 1e9 + ROUNDED for whens in said.values())])


def _is_in_time(before: list[dict[str, Any]], after: list[dict[str, Any]], later: float) -> bool:
    """Each time that is told is one of before, or a round trip that ends so much later."""
    return all(
        any(-ROUNDED < each[name] - known.get(name, -1.0) < later for known in before)
        for each in after
        for name in TIMES
        if name in each
    )


def _shows(outcome: str, packets: list[Packet]) -> bool:
    """Whether SYN-ACKs of two servers' ISNs are left that answer one SYN, or one that acknowledges
    more than was sent."""
    found = [Segment.from_bytes(each.frame[14:]) for each in packets if each.snap >= HEADERS]
    syns = {each.seq: len(each.payload) for each in found if each.is_syn}
    answers = [
        (each.seq, acked - len_)
        for each in found
        if each.is_syn_ack
        for isn, len_ in syns.items()
        if (acked := (each.ack - isn - 1) % (1 << 32)) < 1 << 16
    ]
    if outcome == "replayed":
        return len({seq for seq, _ in answers}) > 1
    return any(beyond > 0 for _, beyond in answers)


def _fits(connection: dict[str, Any], numbers: dict[str, set[int | None]]) -> bool:
    return all(connection.get(name) in numbers[name] for name in NUMBERS)


def broken_by(
    transform: Transform,
    talks: dict[int, list[Packet]],
    before: Told,
    seed: int,
    place: Path,
) -> list[Break]:
    """Each connection transformed by dice of its own, all of them in one capture."""
    changed = {
        port: transform(packets, Random(f"{seed} {port}")) if packets else []
        for port, packets in talks.items()
    }
    after = told(write(place / "changed.pcap", [p for each in changed.values() for p in each]))
    return [
        Break(transform.__name__, port, seed, _text(before.get(port, [])), _text(shown))
        for port in talks
        if not holds(
            transform,
            before.get(port, []),
            shown := after.get(port, []),
            talks[port],
            changed[port],
        )
    ]


def broken_by_merging(
    talks: dict[int, list[Packet]],
    there: dict[int, list[Packet]],
    before: Told,
    seed: int,
    place: Path,
) -> list[Break]:
    """Merged with the captures of the other ends, by a clock that is off."""
    offset = Random(seed).choice(OFFSETS) * transforms.MILLISECOND
    merged = [packet for packets in talks.values() for packet in packets]
    merged += [
        Packet(each.when + offset, each.outbound, each.frame)
        for packets in there.values()
        for each in packets
    ]
    after = told(write(place / "merged.pcap", merged))
    # Where the server's packets come first, times are those that its end has measured.
    within = LATER if offset < -DELAY else ROUNDED
    return [
        Break("merged", port, seed, _text(before.get(port, [])), _text(shown))
        for port in talks
        if not is_same(before.get(port, []), shown := after.get(port, []), within)
    ]


def main() -> None:
    import two_kernels
    from plan import CONVERSATIONS

    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 4
    count, broken = 0, 0
    with tempfile.TemporaryDirectory() as name:
        place = Path(name)
        evidence = asyncio.run(two_kernels.hold(CONVERSATIONS, place))
        ports = [word.port for word in evidence.words]
        plain = [word.port for word in evidence.words if word.step.path is None]
        views = {where: by_port(path, ports) for where, path in evidence.captures.items()}
        for talks in views.values():
            before = told(write(place / "whole.pcap", [p for each in talks.values() for p in each]))
            for transform in (*SAME, *LESS):
                for seed in range(rounds):
                    found = broken_by(transform, talks, before, seed, place)
                    count += sum(map(bool, talks.values()))
                    broken += len(found)
                    print(*found, sep="\n", end="\n" * bool(found), flush=True)
        talks = {port: views["client"][port] for port in plain}
        before = told(write(place / "whole.pcap", [p for each in talks.values() for p in each]))
        there = {
            port: [p for where in views.keys() - {"client"} for p in views[where][port]]
            for port in plain
        }
        for seed in range(rounds):
            found = broken_by_merging(talks, there, before, seed, place)
            count += len(talks)
            broken += len(found)
            print(*found, sep="\n", end="\n" * bool(found), flush=True)
    print(f"{count} transformed connections, {broken} broke a law")


if __name__ == "__main__":
    main()
