"""Captures full of broken packets: the plugin reads them without an error of its own."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random

import pytest
from tshark import needs_tshark, tshark

from scapy_tfo.dissector.files import own_plugin
from scapy_tfo.dissector.trial import dissect
from scapy_tfo.fuzz.captures import fuzzed

pytestmark = needs_tshark

PACKETS = 3000
TABLES = ("outcome", "servers", "clients", "problems", "json")
INTERESTING = (0, 1, 2, 3, 4, 8, 11, 12, 13, 18, 20, 34, 40, 253, 254, 255, 0x10, 0x12, 0xF9, 0x89)

Record = tuple[float, bytes, int]
"""When, the bytes that were captured, and how many more there were."""


def whole(seed: int) -> Iterator[Record]:
    for each in fuzzed(PACKETS, seed):
        yield each.when, each.data, 0


def cut_short(seed: int) -> Iterator[Record]:
    """As with a small snap length."""
    dice = Random(seed)
    for when, data, _ in whole(seed):
        kept = data[: dice.randint(0, 100)]
        yield when, kept, len(data) - len(kept)


def mutated(seed: int) -> Iterator[Record]:
    """Bytes of headers changed, and bytes put in and taken out."""
    dice = Random(seed)
    for when, data, _ in whole(seed):
        changed = bytearray(data)
        for _ in range(dice.randint(1, 6)):
            at = dice.randrange(min(len(changed), 90))
            match dice.randrange(4):
                case 0:
                    changed.insert(at, dice.choice(INTERESTING))
                case 1 if len(changed) > 1:
                    del changed[at]
                case _:
                    changed[at] = dice.choice(INTERESTING)
        yield when, bytes(changed), 0


def shuffled(seed: int) -> Iterator[Record]:
    """In any order, some twice, and with times that go back."""
    dice = Random(seed)
    records = list(whole(seed))
    return (dice.choice(records) for _ in range(PACKETS))


def without_answers(seed: int) -> Iterator[Record]:
    """One direction only."""
    for each in fuzzed(PACKETS, seed):
        if each.outbound:
            yield each.when, each.data, 0


MEANS: tuple[Callable[[int], Iterator[Record]], ...] = (
    whole,
    cut_short,
    mutated,
    shuffled,
    without_answers,
)


def write(path: Path, records: Iterator[Record]) -> Path:
    """A pcap file of IP packets."""
    with path.open("wb") as file:
        file.write(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 1 << 16, 101))
        for when, data, missing in records:
            seconds, rest = divmod(round(when * 1e6), 1_000_000)
            file.write(struct.pack("<IIII", seconds, rest, len(data), len(data) + missing) + data)
    return path


@pytest.mark.parametrize("means", MEANS)
def test_no_lua_error_and_no_crash(
    means: Callable[[int], Iterator[Record]], tmp_path: Path
) -> None:
    capture = write(tmp_path / "fuzzed.pcap", means(7))
    assert dissect(capture, own_plugin()).problems == ()


@pytest.mark.parametrize("means", MEANS)
def test_the_tables_come_to_their_end(
    means: Callable[[int], Iterator[Record]], tmp_path: Path
) -> None:
    capture = write(tmp_path / "fuzzed.pcap", means(8))
    tables = [word for each in TABLES for word in ("-z", f"tfo,{each}")]
    assert "tfo-json-end" in tshark(capture, "-q", *tables)
