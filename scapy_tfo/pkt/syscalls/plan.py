"""A system call that is ready to be made: its effect, and what to compare when it has returned."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from scapy_tfo.pkt.packets.difference import Difference
from scapy_tfo.segment import Address


@dataclass(frozen=True)
class Listens:
    """The socket takes connections from now on."""


@dataclass(frozen=True)
class Connects:
    """The socket, new until now, will send a SYN there, at once or with its first data."""

    remote: Address
    port: int


Effect = Listens | Connects


def _nothing_to_compare(_result: int) -> Iterable[Difference]:
    return ()


def _nothing_to_keep(_result: int) -> None:
    return None


@dataclass(frozen=True)
class Plan:
    """A call of the C library with its arguments.

    returns_descriptor: the script's number for it need not be the kernel's. compare: what else than
    the result the script speaks of, asked if the result was as expected. settle: what the script's
    file descriptors are from now on, told in any case. Both get the result. memory: what the
    arguments point to without Python's knowing.
    """

    function: str
    arguments: tuple[Any, ...]
    effect: Effect | None = None
    returns_descriptor: bool = False
    compare: Callable[[int], Iterable[Difference]] = _nothing_to_compare
    settle: Callable[[int], None] = _nothing_to_keep
    memory: Sequence[Any] = ()
