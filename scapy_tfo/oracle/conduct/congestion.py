"""Rules on how much is under way: RFC 5681 section 3, RFC 6298 section 5, RFC 6928."""

from __future__ import annotations

import itertools

from scapy_tfo import option as opt
from scapy_tfo.oracle.conduct.history import Came, History
from scapy_tfo.oracle.conduct.parts.conditions import (
    ACKED,
    AVOIDS,
    DUPLICATES,
    IDLE,
    REPEATED,
)
from scapy_tfo.oracle.conduct.parts.rounds import Rounds
from scapy_tfo.oracle.conduct.rule import Breach, Due, Judged, Rule, strict
from scapy_tfo.segment import ACK, RST, SYN, Segment
from scapy_tfo.seq import distance

_SEGMENTS = 10
_DUPLICATES = 3
_FAST = 0.2
"""Seconds within which the third duplicate ACK is answered (specs/)."""
_AT_ONCE = 0.1
"""Seconds after an ACK in which text answers it, and no timer sent it."""
_REAL = 0.2
_OVERRIDE = 0.09
"""Seconds: the least override timeout (RFC 9293 section 3.8.6.2.1), less what clocks lose."""
_ROUNDS, _MORE = 4, 2
"""Round trips over which growth is judged, and the segments that measuring may add."""


def _is_text(came: Came) -> bool:
    return not came.flags & (SYN | RST) and came.seq is not None and bool(came.segment.payload)


def _sack(history: History) -> bool:
    answer = history.answer
    return history.offered.sack and answer is not None and opt.SACK_PERMITTED in answer.options


def grows_slowly(history: History, came: Came) -> Judged:
    """What is under way grows by no more than what is acknowledged (RFC 5681 section 3.1)."""
    if not _is_text(came) or not history.whole or history.their_una <= 1:
        return False
    # To BBR a duplicate ACK is a delivery, which opens the window, and a segment under way less.
    return _within(history, came, _SEGMENTS + history.grown + 2 * history.peer.inflation)


def _within(history: History, came: Came, segments: int) -> Judged:
    """Whether no more segments are under way, and a probe of the tail."""
    assert came.seq is not None
    most = (segments + history.may_probe_the_tail(came)) * history.largest
    una = max(history.their_una, min(history.ahead, came.seq))
    size = came.seq + len(came.segment.payload) - una
    return size <= most or Breach(f"{most} bytes under way at most", f"{size}")


def deflates(history: History, came: Came) -> Judged:
    """What duplicate ACKs let out counts no more once a recovery is over, and all of its text is
    acknowledged (RFC 5681 section 3.2, step 6)."""
    if not history.deflated or not _is_text(came) or not history.whole:
        return False
    inflation = history.peer.inflation - history.deflated
    return _within(history, came, _SEGMENTS + history.grown + inflation)


def resends_fast(history: History, segment: Segment, at: float) -> Due | None:
    """Three duplicate ACKs bring the segment that they ask for (RFC 5681 section 3.2)."""
    peer = history.peer
    if not (peer.idle and peer.duplicates == _DUPLICATES) or history.repeated or _sack(history):
        return None
    una = history.their_una
    if not segment.window:
        return None

    def settles(came: Came) -> bool:
        return came.seq is not None and came.seq <= una < came.seq + came.length

    return Due(at, at + _FAST, f"{una} again within {_FAST} s of three duplicate ACKs", settles)


def _comes_again(history: History, came: Came) -> bool:
    """Whether text comes again in answer to a duplicate ACK, by what RFC 5681 knows of, or to a
    window that changes."""
    peer, sent_at = history.peer, history.peer.sent_at
    asks = peer.idle or (peer.widened and not history.narrowed)
    if not _is_text(came) or sent_at is None or not asks or _sack(history):
        return False
    assert came.seq is not None
    old = came.seq + came.length <= history.theirs.end
    return old and history.spoke_since and came.at - sent_at < _AT_ONCE


def waits_for_three(history: History, came: Came) -> Judged:
    """One duplicate ACK or two are no sign of loss (RFC 5681 section 3.2)."""
    sent_at = history.text_at
    if history.peer.widened:
        # What a window lets out does not put the timer of the first off (RFC 6298 section 5.1).
        sent_at = history.sent_at.get(came.seq or 0, -_REAL)
    quick = came.at - sent_at < _REAL
    if not _comes_again(history, came) or history.repeated or not quick:
        return False
    return history.peer.alike >= _DUPLICATES or Breach(
        "nothing again before the third duplicate ACK", f"text again after {history.peer.alike}"
    )


def resends_what_is_asked_for(history: History, came: Came) -> Judged:
    """What comes again is the segment that is missing (RFC 5681 section 3.2)."""
    if not _comes_again(history, came) or history.peer.duplicates < _DUPLICATES:
        return False
    if history.repeated:
        # It may have been a timeout, behind which slow start sends the next ones again, too.
        return False
    una = history.their_una
    assert came.seq is not None
    return came.seq <= una or Breach(f"text at {una} again", f"at {came.seq}")


def _rounds(history: History, came: Came, *, lossless: bool) -> Rounds | None:
    """The round trips that text may be judged by."""
    rounds = history.rounds
    if rounds is None or rounds.lossless != lossless or not _is_text(came):
        return None
    # A host that may be late makes one round trip of two.
    return None if history.grace else rounds


def heeds_a_quench(history: History, came: Came) -> Judged:
    """A source quench lets no less out (RFC 9293 section 3.9.2.2, MUST-55)."""
    rounds = _rounds(history, came, lossless=True)
    if rounds is None or len(rounds.sizes) != 1 or history.repeated:
        return False
    least, size = rounds.flight // 2, rounds.sizes[0]
    return size >= least or Breach(f"{least} bytes under way at least", f"{size}")


def slows_down(history: History, came: Came) -> Judged:
    """In the round trip behind a recovery half as much is under way as when the loss was noticed
    (RFC 5681 section 4.3)."""
    rounds = _rounds(history, came, lossless=False)
    if rounds is None or len(rounds.sizes) != 1:
        return False
    most = max(rounds.flight // 2 + _MORE * history.largest, 2 * _MORE * history.largest)
    size = rounds.sizes[0]
    return size <= most or Breach(f"{most} bytes under way after the loss at most", f"{size}")


def avoids_congestion(history: History, came: Came) -> Judged:
    """In congestion avoidance the window grows by a segment a round trip (RFC 5681 section 3.1)."""
    rounds = _rounds(history, came, lossless=False)
    growth = None if rounds is None else rounds.growth(_ROUNDS)
    if growth is None:
        return False
    most = (_ROUNDS + _MORE) * history.largest
    return growth <= most or Breach(
        f"{most} bytes more under way after {_ROUNDS} round trips at most", f"{growth} more"
    )


def waits_for_room(history: History, came: Came) -> Judged:
    """A small window is not filled at once while more text waits (RFC 9293 section 3.8.6.2.1,
    MUST-38): judged by one of less than a quarter of a segment."""
    since, limit, end = history.peer.sent_at, history.limit, history.theirs.end
    if not history.has_more or since is None or limit is None or not _is_text(came):
        return False
    room = limit - end
    small = 0 < room < history.largest // 4 and history.their_una == end and history.peer.plain
    if not small or came.seq != end or not history.spoke_since:
        return False
    at_once = came.at - since < _OVERRIDE and came.length == room
    return not at_once or Breach("nothing until there is room for a segment", f"{room} bytes")


def window_after_lost_handshake(history: History, came: Came) -> Judged:
    """After a SYN-ACK that was lost twice, one segment goes out first (RFC 5681 section 3.1)."""
    if not _is_text(came) or history.syns != 1 or history.offered.fast_open:
        return False
    copies = history.handshakes
    gaps = [b - a for a, b in itertools.pairwise(copies)]
    if len(gaps) < 2 or min(gaps) < _REAL or history.their_una > 1 or history.times_agreed:
        return False
    assert came.seq is not None
    assert history.iss is not None
    if any(each.flags & ACK and distance(history.iss, each.ack) > 1 for each in history.last_sent):
        # It acknowledges what was on its way, and opens the window all the same.
        return False
    others = history.crossing_duplicates + history.may_probe_the_tail(came)
    most = history.largest * (1 + others)
    size = came.seq + len(came.segment.payload) - 1
    return size <= most or Breach(f"{most} bytes at first", f"{size}")


RULES: tuple[Rule, ...] = (
    strict("flight-too-large", grows_slowly, "a", ACKED, text=True),
    strict("fills-small-windows", waits_for_room, "a", ACKED, text=True),
    strict("slows-for-a-quench", heeds_a_quench, "a", AVOIDS, text=True),
    strict("rate-kept", slows_down, "a", AVOIDS, text=True),
    strict("avoidance-too-fast", avoids_congestion, "a", AVOIDS, text=True),
    strict("stays-inflated", deflates, "a", ACKED, text=True),
    Rule("no-fast-retransmit", owes=resends_fast, needs=DUPLICATES),
    strict("resends-too-soon", waits_for_three, "a", IDLE, text=True),
    strict("resends-another", resends_what_is_asked_for, "a", IDLE, text=True),
    strict("window-after-lost-handshake", window_after_lost_handshake, "a", REPEATED, text=True),
)
