"""Servers that share an address, each connection sent to one of them by chance (RFC 7413 6.3.4)."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass

MOST = 4
"""Servers in a farm; there are two at least."""

Keys = Sequence[bytes]
"""Of one server, the primary first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Farm:
    """summary: for people. keys: draws each server's. later: what they are when cookies have been
    granted, None where they stay."""

    summary: str
    keys: Callable[[random.Random], list[Keys]]
    later: Callable[[random.Random, list[Keys]], list[Keys]] | None = None


def _several(dice: random.Random, *kinds: Keys) -> list[Keys]:
    """Servers of each kind, two at least, in any order."""
    left = [dice.choice(kinds) for _ in range(dice.randint(2, MOST) - len(kinds))]
    found = [*kinds, *left]
    dice.shuffle(found)
    return found


def _one_key(dice: random.Random) -> list[Keys]:
    key = dice.randbytes(16)
    return _several(dice, [key], [key])


def _different(dice: random.Random) -> list[Keys]:
    return [[dice.randbytes(16)] for _ in range(dice.randint(2, MOST))]


def _in_step(dice: random.Random) -> list[Keys]:
    old, new = dice.randbytes(16), dice.randbytes(16)
    return _several(dice, [old, new], [new, old])


def _out_of_step(dice: random.Random) -> list[Keys]:
    old, new = dice.randbytes(16), dice.randbytes(16)
    return _several(dice, [old], [new, old])


def _renewed(dice: random.Random, servers: list[Keys]) -> list[Keys]:
    key = dice.randbytes(16)
    return [[key, *keys] for keys in servers]


def _replaced(dice: random.Random, servers: list[Keys]) -> list[Keys]:
    key = dice.randbytes(16)
    return [[key] for _ in servers]


FARMS: dict[str, Farm] = {
    "farm-with-one-key": Farm(summary="several servers that share their key", keys=_one_key),
    "farm-with-different-keys": Farm(
        summary="several, each with a key of its own", keys=_different
    ),
    "farm-rotating-in-step": Farm(
        summary="some have begun to grant cookies of a new key, and all know both", keys=_in_step
    ),
    "farm-rotating-out-of-step": Farm(
        summary="some grant cookies of a new key, which others do not know yet", keys=_out_of_step
    ),
    "farm-that-rotates": Farm(
        summary="all change the key at once, and still know the old one",
        keys=_one_key,
        later=_renewed,
    ),
    "farm-that-forgets": Farm(
        summary="all change the key at once, and forget the old one", keys=_one_key, later=_replaced
    ),
}
