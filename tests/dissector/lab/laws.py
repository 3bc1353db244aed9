"""Laws of what the plugin says of a capture, checked on connections between kernels.

`python laws.py [ROUNDS]` checks each transform so many times on each connection, and prints how
many that were and which broke a law.
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import transforms
from transforms import LESS, SAME, Packet, Transform, by_port, skewed, without_some, write

sys.path.append(str(Path(__file__).parents[1]))
from tshark import connections

NUMBERS = ("sent", "acked", "resent")
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


def is_same(before: list[dict[str, Any]], after: list[dict[str, Any]]) -> bool:
    """Outcome, numbers and charges are."""
    return [_essence(each) for each in before] == [_essence(each) for each in after]


def _essence(connection: dict[str, Any]) -> tuple[object, ...]:
    numbers = tuple(connection.get(name) for name in NUMBERS)
    return connection["outcome"], numbers, charges(connection)


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
    "replayed": {"replayed", "accepted", "syn-lost-fallback"},
    "over-acknowledged": {"over-acknowledged", "accepted", "syn-ack-lost"},
}
"""Outcomes of what is left where none of the frames that tell was captured: of the one time that
the server took the data, and of the SYN-ACK that the client got in the end; or where a SYN-ACK has
an earlier time than its SYN, and is taken for one of an earlier connection."""
_MAY_REMAIN = (without_some, skewed)


def holds(transform: Transform, truth: str, before: list[Any], after: list[Any]) -> bool:
    """Whether a transform keeps the law. truth: what the client's whole capture shows."""
    if truth == "replayed" or (truth in REMAINS and transform in _MAY_REMAIN):
        return all(each["outcome"] in {*REMAINS[truth], "unknown"} for each in after)
    return is_same(before, after) if transform in SAME else is_less(before, after)


def _fits(connection: dict[str, Any], numbers: dict[str, set[int | None]]) -> bool:
    return all(connection.get(name) in numbers[name] for name in NUMBERS)


def broken_by(
    transform: Transform,
    talks: dict[int, list[Packet]],
    before: Told,
    truth: Mapping[int, str],
    seed: int,
    place: Path,
) -> list[Break]:
    """Each connection transformed by dice of its own, all of them in one capture. twice: those of
    which the server took the data twice."""
    changed = [
        packet
        for port, packets in talks.items()
        if packets
        for packet in transform(packets, Random(f"{seed} {port}"))
    ]
    after = told(write(place / "changed.pcap", changed))
    return [
        Break(transform.__name__, port, seed, _text(before.get(port, [])), _text(shown))
        for port in talks
        if not holds(transform, truth[port], before.get(port, []), shown := after.get(port, []))
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
    return [
        Break("merged", port, seed, _text(before.get(port, [])), _text(shown))
        for port in talks
        if not is_same(before.get(port, []), shown := after.get(port, []))
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
        truth = {word.port: word.step.outcome for word in evidence.words}
        plain = [word.port for word in evidence.words if word.step.path is None]
        views = {where: by_port(path, ports) for where, path in evidence.captures.items()}
        for talks in views.values():
            before = told(write(place / "whole.pcap", [p for each in talks.values() for p in each]))
            for transform in (*SAME, *LESS):
                for seed in range(rounds):
                    found = broken_by(transform, talks, before, truth, seed, place)
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
