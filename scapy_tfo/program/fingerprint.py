"""Fingerprints that show whether two runs sent the same programs, in any order."""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import blake2b

from scapy_tfo.program.program import Program

MASK = (1 << 64) - 1
_EVERY = 16


def mix(number: int) -> int:
    """64 well-mixed bits of a number (the finaliser of SplitMix64, Steele et al. 2014)."""
    number = number + 0x9E3779B97F4A7C15 & MASK
    number = (number ^ number >> 30) * 0xBF58476D1CE4E5B9 & MASK
    number = (number ^ number >> 27) * 0x94D049BB133111EB & MASK
    return number ^ number >> 31


def text_hash(text: str) -> int:
    """64 bits of a text, the same in every process."""
    return int.from_bytes(blake2b(text.encode(), digest_size=8).digest(), "big")


def of_seeded(seed: int, program: Program) -> int:
    """Of a program that is a function of its seed: the seed, and of every 16th the program too.

    To write out each program costs more than to send it; what makes them could change unseen only
    by changing none of those that are looked at.
    """
    if seed % _EVERY:
        return mix(seed)
    return mix(seed ^ text_hash(repr(program)))


def of_mutated(seed: int, parent: int, program: Program) -> int:
    """Of a program that is a function of its seed and of a parent with this hash."""
    return of_seeded(seed, program) + mix(parent) & MASK


def total(fingerprints: Iterable[int]) -> int:
    """Of many together; the order does not matter."""
    return sum(fingerprints) & MASK
