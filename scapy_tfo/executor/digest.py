"""The digest of a run: the behaviour of a target in a form that two correct stacks can share.

A run is cut wherever its program waits until nothing more comes. Up to each cut, the digest keeps
only what a stack is not free to time or to divide: the ISS, the number and the size of segments,
delayed ACKs and retransmissions make no difference.
"""

from __future__ import annotations

from typing import NamedTuple

END = 1 << 16
"""Number of the window that ends with the run."""


class SynAck(NamedTuple):
    """ack: relative to the SYN, so that 1 is the SYN alone. option: its Fast Open options."""

    ack: int
    option: str


class Rst(NamedTuple):
    """seq: relative to the ISS, or as it stands where there is none. ack: None without the flag."""

    seq: int
    ack: int | None


class Seen(NamedTuple):
    """What a flow showed up to a cut.

    state, opening: of the connection as the model has it, and how it was opened. syn_acks, rsts:
    that came first in this window. ack: highest number acknowledged, from the ISN; text: bytes
    that came; fin: whether the stream has ended; all three since its last ISS. size: numbers of
    ours that were sent. vague: the model could not follow. narrow: our window was small, and how
    a stack fills such a one is its own affair.
    """

    state: str
    opening: str
    syn_acks: frozenset[SynAck]
    rsts: frozenset[Rst]
    ack: int
    text: int
    fin: bool
    size: int
    vague: bool
    narrow: bool


class Window(NamedTuple):
    """step: the number of the wait that ended it, or END."""

    step: int
    flows: tuple[Seen, ...]


Digest = tuple[Window, ...]
