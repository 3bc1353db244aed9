"""Rules on selective acknowledgments: RFC 2018 sections 3 and 4, RFC 2883."""

from __future__ import annotations

import struct

from scapy_tfo import option as opt
from scapy_tfo.oracle.conduct.history import Came, History
from scapy_tfo.oracle.conduct.rule import Breach, Judged, Rule, held
from scapy_tfo.segment import RST
from scapy_tfo.seq import distance

_BLOCK = struct.Struct("!II")
_MOST = 4
"""Blocks that fit into 40 bytes; one less beside timestamps (RFC 2018 section 3)."""


def _blocks(history: History, came: Came) -> list[tuple[int, int]]:
    """Relative edges, in the order of the option."""
    option = came.options.get(opt.SACK)
    if option is None or history.isn is None or came.flags & RST:
        return []
    whole = len(option.data) // _BLOCK.size * _BLOCK.size
    return [
        (distance(history.isn, a), distance(history.isn, b))
        for a, b in _BLOCK.iter_unpack(option.data[:whole])
    ]


def sack_not_agreed(history: History, came: Came) -> Judged:
    """SACK only where the peer permitted it (RFC 2018 section 2)."""
    if opt.SACK not in came.options:
        return False
    return held(history.offered.sack, "no SACK: not permitted", "a SACK option")


def sack_size(_: History, came: Came) -> Judged:
    """Whole blocks, one to four (RFC 2018 section 3)."""
    option = came.options.get(opt.SACK)
    if option is None:
        return False
    count, rest = divmod(len(option.data), _BLOCK.size)
    return held(
        not rest and 1 <= count <= _MOST, "1 to 4 whole blocks", f"{len(option.data)} bytes"
    )


def block_of_nothing(history: History, came: Came) -> Judged:
    """A block reports what was sent, all of it."""
    blocks = _blocks(history, came)
    if not blocks:
        return False
    for start, end in blocks:
        if not (start < end and start >= 0 and history.sent.covers(start, end)):
            return Breach("blocks of what was sent", f"{start}:{end}")
    return True


def blocks_apart(history: History, came: Came) -> Judged:
    """Blocks beyond the acknowledgement neither touch it nor each other (RFC 2018 section 3); the
    first one may be of a duplicate (RFC 2883)."""
    blocks = _blocks(history, came)
    if not blocks or came.ack is None:
        return False
    first, *rest = blocks
    is_duplicate = first[1] <= came.ack or any(a <= first[0] and first[1] <= b for a, b in rest)
    above = sorted(rest if is_duplicate else blocks)
    for at, (start, _) in enumerate(above):
        if start <= came.ack or (at and start <= above[at - 1][1]):
            return Breach("blocks with gaps before them", f"{blocks} beside {came.ack}")
    return True


def first_block_is_newest(history: History, came: Came) -> Judged:
    """The first block holds the segment that caused the ACK (RFC 2018 section 4); judged where only
    one can have caused it."""
    blocks = _blocks(history, came)
    if not blocks or came.segment.payload or history.unanswered != 1:
        return False
    newest = history.last_sent[-1]
    if not newest.payload:
        # A window or an acknowledgement may be answered, too: with what was reported before.
        return False
    assert history.isn is not None
    seq = distance(history.isn, newest.seq)
    start, end = blocks[0]
    return held(
        start < seq + len(newest.payload) and seq < end,
        "the newest segment in the first block",
        f"{start}:{end}",
    )


RULES = (
    Rule("sack-not-agreed", sack_not_agreed, complete=True, options=True),
    Rule("sack-size", sack_size, options=True),
    Rule("block-of-nothing", block_of_nothing, complete=True, numbers=True, on="sa", options=True),
    Rule("blocks-touch", blocks_apart, numbers=True, on="sa", options=True),
    Rule(
        "first-block-is-old",
        first_block_is_newest,
        complete=True,
        numbers=True,
        on="sa",
        options=True,
        ordered=True,
    ),
)
