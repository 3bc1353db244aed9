"""Rules on selective acknowledgments: RFC 2018 sections 3 and 4, RFC 2883."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from scapy_tfo import option as opt
from scapy_tfo.oracle.conduct.history import BLOCK, Came, History
from scapy_tfo.oracle.conduct.parts.conditions import GAP, REPORTED, SACK
from scapy_tfo.oracle.conduct.parts.peer_record import UNDER_WAY
from scapy_tfo.oracle.conduct.rule import Breach, Judged, Rule
from scapy_tfo.segment import ACK, FIN, PSH, RST, SYN
from scapy_tfo.seq import distance

_MOST = 4
"""Blocks that fit into 40 bytes; one less beside timestamps (RFC 2018 section 3)."""


def sack_not_agreed(history: History, came: Came) -> Judged:
    """SACK only where the peer permitted it (RFC 2018 section 2)."""
    if opt.SACK not in came.options:
        return False
    return history.offered.sack or Breach("no SACK: not permitted", "a SACK option")


def sack_size(_: History, came: Came) -> Judged:
    """Whole blocks, one to four (RFC 2018 section 3)."""
    option = came.options.get(opt.SACK)
    if option is None:
        return False
    count, rest = divmod(len(option.data), BLOCK.size)
    return (not rest and 1 <= count <= _MOST) or Breach(
        "1 to 4 whole blocks", f"{len(option.data)} bytes"
    )


def block_of_nothing(history: History, came: Came) -> Judged:
    """A block reports what was sent, all of it."""
    blocks = history.blocks(came)
    if not blocks:
        return False
    for start, end in blocks:
        is_sent = (
            history.sent.covers(start, end) if start >= 0 else _came_below(history, start, end)
        )
        if not (start < end and is_sent):
            return Breach("blocks of what was sent", f"{start}:{end}")
    return True


def _came_below(history: History, start: int, end: int) -> bool:
    """Whether a segment began with these numbers before the first one: who looks at its end alone
    takes it, or what is old of it, for a duplicate, and reports that (RFC 2883 section 4)."""
    assert history.isn is not None
    return any(
        distance(history.isn, each.seq) == start < end <= distance(history.isn, each.end)
        for each in history.last_sent
    )


def blocks_apart(history: History, came: Came) -> Judged:
    """Blocks beyond the acknowledgement neither touch it nor each other (RFC 2018 section 3); the
    first one may be of a duplicate (RFC 2883)."""
    blocks = history.blocks(came)
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
    """The first block holds the segment that caused the ACK (RFC 2018 section 4).

    Judged where one block reports what none did before: its segment is what came last; and where
    text that waits came once more. Only a block of a duplicate may stand before it (RFC 2883
    section 4).
    """
    blocks = history.blocks(came)
    if not blocks or came.ack is None:
        return False
    new = [each for each in blocks if not history.reported.covers(*each)]
    if not new:
        new = _known(history, blocks)
    elif history.peer.overlaps or _came_early_twice(history):
        return False
    if len(new) != 1:
        return False
    first, *rest = blocks
    is_duplicate = first[1] <= came.ack or any(a <= first[0] and first[1] <= b for a, b in rest)
    newest = rest[0] if is_duplicate and rest else first
    return newest == new[0] or Breach(f"{new[0][0]}:{new[0][1]} in the first block", f"{blocks}")


def _known(history: History, blocks: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """The block of the text before its turn that came once more, where nothing else was on its way
    to cause an ACK."""
    if history.peer.rest <= UNDER_WAY + history.grace or history.isn is None:
        return []
    last = history.last_sent[-1]
    start = distance(history.isn, last.seq)
    if not last.payload or last.flags & ~PSH != ACK or start <= history.sent.next:
        return []
    if distance(history.iss or 0, last.ack) != history.their_una:
        return []
    if history.times_agreed and last.timestamps is None:
        return []
    return [each for each in blocks if each[0] <= start and start + last.length <= each[1]]


def _came_early_twice(history: History) -> bool:
    """Whether some of what the peer sent last overlaps more of it, before its turn or not."""
    assert history.isn is not None
    pieces = sorted(
        (distance(history.isn, each.seq), each.length) for each in history.last_sent if each.payload
    )
    return any(a + size > b for (a, size), (b, _) in itertools.pairwise(pieces))


def _duplicate(history: History, came: Came) -> tuple[int, int] | None:
    """The block that reports a duplicate below the acknowledgement (RFC 2883 section 4)."""
    blocks = history.blocks(came)
    if not blocks or came.ack is None or blocks[0][1] > came.ack:
        return None
    return blocks[0]


def leaves_out_the_report(history: History, came: Came) -> Judged:
    """What was reported is reported by each ACK, while the gap is there (RFC 2018 section 4)."""
    if (
        history.reported_beside is None
        or came.segment.payload
        or came.ack != history.reported_beside
    ):
        return False
    if history.sent.next == history.sent.end or came.flags & RST or not history.is_newer(came):
        return False
    return opt.SACK in came.options or Breach("the blocks beyond the gap", "no SACK option")


def duplicate_of_nothing(history: History, came: Came) -> Judged:
    """What came once is no duplicate (RFC 2883 section 4)."""
    block = _duplicate(history, came)
    if block is None:
        return False
    shown = f"{block[0]}:{block[1]}"
    if not (history.peer.overlaps or history.repeated):
        return Breach("no report: nothing was sent twice", shown)
    once = _came_once(history, *block)
    return once is None or Breach(f"no report of {once}, which came once", shown)


def _came_once(history: History, start: int, end: int) -> int | None:
    """The first of these numbers that is in one segment of the peer's alone, where all that it sent
    is known."""
    assert history.isn is not None
    if not history.last_sent[0].flags & SYN:
        return None
    edges, spans = {start}, []
    for each in history.last_sent:
        at = distance(history.isn, each.seq) + bool(each.flags & SYN)
        spans.append((at, at + len(each.payload) + bool(each.flags & FIN)))
        edges |= {edge for edge in spans[-1] if start < edge < end}
    counts = {edge: sum(a <= edge < b for a, b in spans) for edge in sorted(edges)}
    if start < 1 or 0 in counts.values():
        return None
    return next((edge for edge, count in counts.items() if count == 1), None)


def _copies(history: History, start: int, end: int) -> int:
    """Segments of the peer with any of these numbers."""
    assert history.isn is not None
    found = 0
    for each in history.last_sent:
        at = distance(history.isn, each.seq) + bool(each.flags & SYN)
        found += at < end and start < at + len(each.payload) + bool(each.flags & FIN)
    return found


def duplicate_again(history: History, came: Came) -> Judged:
    """A duplicate is reported once (RFC 2883 section 4)."""
    block = _duplicate(history, came)
    if block is None:
        return False
    again = block == history.duplicate and not history.spoke_since
    # What has the number of the SYN has no other original.
    originals = int(block[0] > 0)
    if again and _copies(history, *block) > 1 + originals:
        # Each of several duplicates has a report, and these may have crossed.
        return False
    return not again or Breach("a report of each duplicate", f"{block[0]}:{block[1]} again")


RULES: tuple[Rule, ...] = (
    Rule("sack-not-agreed", sack_not_agreed, complete=True, options=True, needs=SACK),
    Rule("sack-size", sack_size, options=True, needs=SACK),
    Rule(
        "block-of-nothing",
        block_of_nothing,
        complete=True,
        numbers=True,
        on="sa",
        options=True,
        needs=SACK,
    ),
    Rule("blocks-touch", blocks_apart, numbers=True, on="sa", options=True, needs=SACK),
    Rule(
        "first-block-is-old",
        first_block_is_newest,
        complete=True,
        numbers=True,
        on="sa",
        options=True,
        ordered=True,
        needs=SACK,
    ),
    Rule(
        "report-left-out",
        leaves_out_the_report,
        complete=True,
        ordered=True,
        numbers=True,
        on="a",
        needs=REPORTED | GAP,
    ),
    Rule(
        "duplicate-of-nothing",
        duplicate_of_nothing,
        complete=True,
        ordered=True,
        numbers=True,
        on="a",
        options=True,
        needs=SACK,
    ),
    Rule(
        "duplicate-again",
        duplicate_again,
        complete=True,
        ordered=True,
        numbers=True,
        on="a",
        options=True,
        needs=SACK,
    ),
)
