"""Arithmetic on sequence numbers, modulo 2**32 (RFC 9293 section 3.4)."""

from __future__ import annotations

MODULUS = 1 << 32
_HALF = 1 << 31


def add(number: int, count: int) -> int:
    """`number` moved on by `count` (which may be negative)."""
    return (number + count) % MODULUS


def distance(start: int, end: int) -> int:
    """How far `end` lies ahead of `start`: -2**31 to 2**31 - 1, negative where it is behind."""
    return (end - start + _HALF) % MODULUS - _HALF


def before(first: int, second: int) -> bool:
    """SEG < SEG in the sense of RFC 9293 section 3.4."""
    return 0 < (second - first) % MODULUS < _HALF


def at_most(first: int, second: int) -> bool:
    """SEG =< SEG in the sense of RFC 9293 section 3.4."""
    return (second - first) % MODULUS < _HALF
