"""Cheap facts of a packet and of its connection, as bits, by which rules are chosen.

A rule says which of them it needs (`Rule.needs`), and is not asked about a packet where one of
them does not hold: it would say nothing. So a packet meets few of the rules. Nothing is judged
here.
"""

from __future__ import annotations

from scapy_tfo import option as opt
from scapy_tfo.oracle.conduct.parts.came import Came
from scapy_tfo.oracle.conduct.parts.facts import PROMPT, Facts
from scapy_tfo.segment import ECE, FIN, RST, URG, Segment

# A list, as compiled code makes generator expressions at once.
_BITS = iter([1 << number for number in range(63)])

COMPLETE, ORDERED, WHOLE, CONTENTS = next(_BITS), next(_BITS), next(_BITS), next(_BITS)
"""As in `Facts`; ordered also by what the packets say."""
COMPARABLE, LISTENS = next(_BITS), next(_BITS)
"""Not mixed; not the end that opens the connection."""

# A segment of the judged end, and what that end did before

OPTIONS, SACK, TIMES = next(_BITS), next(_BITS), next(_BITS)
"""It has options, SACK, timestamps."""
TEXT, EMPTY = next(_BITS), next(_BITS)
"""It has text or a FIN; it takes no sequence number."""
OLD, COPY = next(_BITS), next(_BITS)
"""It begins before the end of what came; with what came last, and the peer is silent since."""
URGENT = next(_BITS)
LATE, BY_TIMER = next(_BITS), next(_BITS)
"""It follows a silence; or the text that a timer sent."""
ANSWERED, REPEATED = next(_BITS), next(_BITS)
"""The first SYN-ACK came; and another one."""
FINISHED, FIN_ACKED, TIME_WAIT = next(_BITS), next(_BITS), next(_BITS)
"""A FIN came; it was acknowledged; and the peer's, too."""
RESET, REPORTED = next(_BITS), next(_BITS)
"""A RST came, or comes; blocks of SACK came."""
ECHOES = next(_BITS)
"""ACKs have met ACKs."""
SHUT, STOPPED, WAITS, STEADY = next(_BITS), next(_BITS), next(_BITS), next(_BITS)
"""Its window is zero; its application does not read; has text that waits; is steady."""

# What its peer did

ACKED, AT_FIRST = next(_BITS), next(_BITS)
"""It has acknowledged text; it has sent nothing since the first text."""
SYNS_ALONE, BEHIND_SYNS = next(_BITS), next(_BITS)
"""It has sent nothing but SYNs; or more."""
SYN_AGAIN = next(_BITS)
SIZED, UNSIZED, ECN = next(_BITS), next(_BITS), next(_BITS)
"""It has told an MSS, or none; ECN is agreed on."""
AGREED_TIMES, EARLY, FILLED = next(_BITS), next(_BITS), next(_BITS)
"""Timestamps are agreed on; as `Stamps` has it."""
GAP, CLOSED, IDLE, DUPLICATES = next(_BITS), next(_BITS), next(_BITS), next(_BITS)
"""Its text has a gap; its window is zero; it sent an ACK that says nothing new; several."""
FRESH, AGAIN, ENDS, LAST_HOP = next(_BITS), next(_BITS), next(_BITS), next(_BITS)
"""Its last segment has new text; text that is not new; a FIN; a hop limit of 1."""
THEIR_FIN = next(_BITS)
ERRORS = next(_BITS)
"""ICMP errors were sent."""

ODD, ONE_ODDITY, DOUBTFUL, OLD_ACK = next(_BITS), next(_BITS), next(_BITS), next(_BITS)
"""It has sent what a stack may mind; its last segment is odd in one thing; as in `PeerRecord`."""
GROUPS, WAS_RESET, REFUSED = next(_BITS), next(_BITS), next(_BITS)
ACK_FROM_AFAR = next(_BITS)
"""As in `PeerRecord`."""
RESETS = next(_BITS)
"""It has sent a RST far outside of the window, or one that was challenged."""
FIN_LEFT = next(_BITS)
"""It has acknowledged all but the FIN."""

TAKES, HEARD_SHUT = next(_BITS), next(_BITS)
"""Its text tells how that is taken; it acknowledged some while the judged end was closed to it."""

# What was told of the judged end

CLOSES, AVOIDS = next(_BITS), next(_BITS)
"""Its application closes once it has written; it avoids congestion as in RFC 5681."""


def of_came(facts: Facts, came: Came) -> int:
    """What holds when a segment of the judged end comes, of which `facts` have not learned."""
    return _of_connection(facts) | _of_segment(facts, came) | _of_past(facts, came)


def of_sent(facts: Facts, segment: Segment) -> int:
    """What holds when the peer has sent a segment, as far as duties need it."""
    peer, best = facts.peer, facts.best
    found = 0
    if peer.fresh:
        found |= FRESH
    elif segment.payload:
        found |= AGAIN
    if segment.flags & FIN:
        found |= ENDS
    if segment.hop_limit == 1:
        found |= LAST_HOP
    if peer.duplicates:
        found |= DUPLICATES
    if peer.odd is not None:
        found |= ONE_ODDITY
    if facts.syns > 1:
        found |= SYN_AGAIN
    if facts.their_una == facts.their_fin:
        found |= FIN_LEFT
    if facts.time_wait is not None:
        found |= TIME_WAIT
    if facts.writes:
        found |= WAITS
    if best is not None and not best.segment.window:
        found |= SHUT
    return found


def _of_connection(facts: Facts) -> int:
    found = 0
    if facts.complete:
        found |= COMPLETE
    if facts.ordered and not facts.relabelled:
        found |= ORDERED
    if facts.whole:
        found |= WHOLE
    if facts.contents:
        found |= CONTENTS
    if not facts.mixed:
        found |= COMPARABLE
    if not facts.opens:
        found |= LISTENS
    if facts.steady:
        found |= STEADY
    if facts.writes:
        found |= WAITS
    if facts.stopped is not None:
        found |= STOPPED
    return found


def _of_segment(facts: Facts, came: Came) -> int:
    found = 0
    if came.every:
        found |= OPTIONS
        if opt.SACK in came.options:
            found |= SACK
        if came.times is not None:
            found |= TIMES
            found |= EARLY if facts.peer.stamps.early else 0
            found |= FILLED if facts.peer.stamps.filled is not None else 0
    if not came.length:
        found |= EMPTY
    elif came.segment.payload or came.flags & FIN:
        found |= TEXT | (SIZED if facts.offered.sized else UNSIZED)
        found |= SYNS_ALONE if facts.syns == len(facts.last_sent) else BEHIND_SYNS
        if came.seq is not None and came.seq < facts.theirs.end:
            found |= OLD
    if came.flags & URG:
        found |= URGENT
    if facts.repeats is not None and facts.repeats[0] == came.seq:
        found |= COPY
    if facts.heard_at is not None and came.at - facts.heard_at > PROMPT:
        found |= LATE | BY_TIMER
    elif facts.burst is not None:
        found |= BY_TIMER
    return found


def _of_past(facts: Facts, came: Came) -> int:
    peer, answer = facts.peer, facts.answer
    found = 0
    if answer is not None:
        found |= ANSWERED
        found |= ECN if facts.offered.ecn and answer.flags & ECE else 0
        found |= AGREED_TIMES if facts.times_agreed else 0
    if len(facts.handshakes) > 1:
        found |= REPEATED
    if facts.their_fin is not None:
        found |= FINISHED
        found |= FIN_ACKED if facts.fin_acked_at is not None else 0
        found |= TIME_WAIT if facts.time_wait is not None else 0
    if came.flags & RST or facts.reset is not None:
        found |= RESET
    if facts.reported_beside is not None:
        found |= REPORTED
    if facts.their_una > 1:
        found |= ACKED
    elif not facts.interrupted:
        found |= AT_FIRST
    if facts.sent.next != facts.sent.end:
        found |= GAP
    if facts.errors:
        found |= ERRORS
    if facts.echoes or peer.unanswered:
        found |= ECHOES
    if peer.idle or peer.widened:
        found |= IDLE
    if peer.window == 0:
        found |= CLOSED
    if peer.fin_end is not None:
        found |= THEIR_FIN
    if facts.intake.early or facts.intake.waiting or facts.intake.dropped:
        found |= TAKES
    if facts.acked_while_shut is not None:
        found |= HEARD_SHUT
    if facts.closes:
        found |= CLOSES
    if facts.rounds is not None:
        found |= AVOIDS
    return found if peer.plain else found | _of_what_is_odd(facts)


def _of_what_is_odd(facts: Facts) -> int:
    peer = facts.peer
    found = ODD
    if peer.doubtful is not None:
        found |= DOUBTFUL
    if peer.old is not None:
        found |= OLD_ACK
    if peer.groups:
        found |= GROUPS
    if peer.reset_at is not None:
        found |= WAS_RESET
    if peer.refused_at is not None:
        found |= REFUSED
    if peer.far_resets or peer.challenge.came:
        found |= RESETS
    if peer.far_ack:
        found |= ACK_FROM_AFAR
    return found
