"""Rules on what is sent again: RFC 6298 section 5, RFC 9293 section 3.8."""

from __future__ import annotations

from scapy_tfo.oracle.conduct.history import Came, History
from scapy_tfo.oracle.conduct.parts.conditions import (
    BY_TIMER,
    CLOSES,
    COPY,
    ENDS,
    FIN_ACKED,
    FIN_LEFT,
    FRESH,
    LATE,
    OLD,
)
from scapy_tfo.oracle.conduct.rule import Breach, Due, Judged, Rule, strict
from scapy_tfo.segment import ACK, FIN, RST, SYN, Segment

REAL = 0.2
"""Seconds between two copies, from which on a timer sent the second."""
_LARGE = 16.0
"""Seconds from which on a timer may be at its limit, which is a minute at least."""
_GROWTH = 1.5
"""Of four, as two steps should have it: what is lost on the way makes gaps longer."""
_FAST_GROWTH, _ALIKE = 2.5, 1.1
"""By what a gap grows at least that grows by more than twice, and how alike two such steps are."""
_LATE, _OF_IT = 0.2, 0.9
"""Seconds that each timer may run out late, to wait for a delayed ACK, and the share of a gap that
such seconds may be: they do not double (RFC 6298 says how long a timeout is, not how punctual)."""
_FIRST = 0.5
"""Seconds to the first copy of a SYN-ACK: half of what is asked for, as the first one may come late
to a busy host."""

_AGAIN_WITHIN = 3.5
"""Seconds within which text is sent again, where no round trip was long (specs/)."""
_AT_ONCE = 0.1
_LONG_GAP, _LEAST_LIMIT = 10.0, 55.0
"""Seconds between copies, from which on a limit shows; and the least limit, less what clocks
lose."""
_AFTER_LOST_HANDSHAKE = 2.7
_LONG_TRIP, _LONGEST_TRIP = 0.1, 0.8
"""Seconds of a round trip that shows, and from which on a first timeout may be shorter."""
_ROUGHLY, _DOUBLED = 0.9, 0.01
"""What clocks lose; seconds within which a path may double a packet."""
_FIN_WITHIN, _STILL_WRITES = 5.0, 1.0
_FIN_BEHIND_TEXT = 1.0


def _gaps(history: History, came: Came, most: int = 3) -> list[float]:
    """Seconds between the last copies of a segment, this one's last, while its peer said nothing.

    most: gaps that are asked for. Empty where one of these was not measured well, or where a router
    may have caused a copy (RFC 1191 section 6.5, RFC 6069).
    """
    if came.flags & RST or not came.length or history.repeats is None or history.errors:
        return []
    if history.repeats[0] != came.seq:
        return []
    gaps = [*history.gaps, came.at - history.repeats[1]][-most:]
    return gaps if history.is_timed(came.at - sum(gaps)) else []


def backs_off(gaps: list[float]) -> Judged:
    """Whether times between copies, in seconds, grow as those of a timer that doubles."""
    last = gaps[-3:]
    if len(last) < 3 or min(last) < REAL or last[0] > _LARGE:
        return False
    # The first may be of a timer that was set before the round trip was measured.
    late = min(_LATE, _OF_IT * min(last))
    if last[2] - late >= _GROWTH * (min(last[:2]) - late):
        return True
    told = ", ".join(f"{each:.2f}" for each in last)
    return Breach("gaps that double", f"{told} s between its copies")


def textbacks_off(history: History, came: Came) -> Judged:
    """The time to the next copy of text doubles (RFC 6298 5.5); that to the next probe of a closed
    window SHOULD (RFC 9293 section 3.8.6.1), and need not."""
    peer = history.peer
    may_be_shut = peer.shut_at is not None or (peer.ever_shut and not peer.plain)
    if came.flags & SYN or may_be_shut:
        return False
    gaps = _gaps(history, came)
    if history.whole and history.ordered and not history.grace and _grows_too_fast(gaps):
        return Breach("gaps that double", ", ".join(f"{each:.2f}" for each in gaps))
    return backs_off(gaps)


def _grows_too_fast(gaps: list[float]) -> bool:
    """Whether each gap is the same multiple of the one before, and that is more than two: a copy
    that is lost makes one gap longer, and the next one longer by less."""
    if len(gaps) < 3 or min(gaps) < REAL:
        return False
    first, second = gaps[1] / gaps[0], gaps[2] / gaps[1]
    return min(first, second) > _FAST_GROWTH and max(first, second) < _ALIKE * min(first, second)


def _by_timer(history: History, came: Came) -> list[float]:
    """The gaps of a SYN-ACK that answers no second SYN."""
    return _gaps(history, came) if came.flags & SYN and history.syns == 1 else []


def syn_ackbacks_off(history: History, came: Came) -> Judged:
    """So does that to the next SYN-ACK."""
    return backs_off(_by_timer(history, came))


def syn_ack_waits(history: History, came: Came) -> Judged:
    """A SYN-ACK comes again after a second (RFC 6298 section 2.1)."""
    gaps = _by_timer(history, came)
    if not gaps or gaps[-1] < REAL:
        return False
    return gaps[-1] >= _FIRST or Breach("a second before it comes again", f"{gaps[-1]:.2f} s")


def first_comes_first(history: History, came: Came) -> Judged:
    """A timer sends the earliest text that is not acknowledged (RFC 6298 5.4)."""
    heard_at = history.heard_at
    if heard_at is None or came.at - heard_at <= REAL or not history.is_timed(heard_at):
        return False
    if history.spoke_since or came.seq is None or not came.segment.payload:
        return False
    if came.flags & (SYN | RST) or came.seq + came.length >= history.theirs.end:
        # It may be a probe for a loss at the tail (RFC 8985 section 7.3).
        return False
    if history.offered.sack and came.seq + came.length == history.theirs.end:
        # A tail loss probe sends the last segment (RFC 8985 section 7.3).
        return False
    una = max(history.their_una, 1)
    return came.seq <= una or Breach(f"text at {una} first", f"at {came.seq}")


def sends_again(history: History, came: Came) -> Due | None:
    """Text or a FIN that is not acknowledged is sent again (RFC 6298 section 5)."""
    if came.flags & (SYN | RST) or came.seq is None or not came.length or not history.peer.plain:
        return None
    una = max(history.their_una, 1)
    is_new = came.seq == una == history.their_una == history.theirs.end
    calm = not (history.slow or history.repeated or history.errors)
    if not is_new or not calm or len(history.handshakes) != 1 or not history.peer.window:
        return None

    def settles(later: Came) -> bool:
        return later.seq is not None and later.seq <= una < later.seq + later.length

    def waived() -> bool:
        left = history.resets or history.errors or not history.peer.window
        # An ACK of a part of it sets the timer anew (RFC 6298 5.3).
        return bool(left) or history.their_una > una

    expected = f"{una} again within {_AGAIN_WITHIN} s"
    return Due(came.at, came.at + _AGAIN_WITHIN, expected, settles, waived=waived)


def fin_comes_again(history: History, sent: Segment, at: float) -> Due | None:
    """A FIN is sent again until it is acknowledged, also where all before it was (RFC 9293 section
    3.6)."""
    fin, peer = history.their_fin, history.peer
    if fin is None or history.their_una != fin or sent.flags & (SYN | RST) or not sent.flags & ACK:
        return None
    calm = not (history.slow or history.repeated or history.errors or history.resets)
    if not calm or not peer.plain or not peer.window or len(history.handshakes) != 1:
        return None

    def waived() -> bool:
        left = history.resets or history.errors or not peer.window
        return bool(left) or history.their_una > fin

    return Due(
        at, at + _AGAIN_WITHIN, f"the FIN again within {_AGAIN_WITHIN} s", _ends, waived=waived
    )


def fin_again(history: History, came: Came) -> Judged:
    """A FIN that was acknowledged is not sent again."""
    since = history.fin_acked_at
    if since is None or came.at - since <= REAL + history.grace or came.flags & (SYN | RST):
        return False
    return not came.flags & FIN or Breach("no FIN: it is acknowledged", "the FIN again")


def one_at_a_time(history: History, came: Came) -> Judged:
    """A timer sends one segment (RFC 6298 5.4, RFC 5681 section 3.1: the loss window)."""
    if not came.segment.payload or came.flags & (SYN | RST) or not history.whole or history.grace:
        # On a host that may be late two timers run out at a time.
        return False
    if history.is_by_timer(came):
        return True
    burst = history.burst
    if burst is None or came.at - burst[0] > _AT_ONCE:
        return False
    if came.seq is None or came.seq < burst[2]:
        # A probe of the tail, and then a timeout that was due with it: two timers.
        return False
    size = burst[1] + len(came.segment.payload)
    return size <= history.largest or Breach(f"{history.largest} bytes at most", f"{size} at once")


def slow_after_lost_handshake(history: History, came: Came) -> Judged:
    """Once a timer repeated the SYN-ACK, the timeout of the first text is three seconds (RFC 6298
    5.7)."""
    copies = history.handshakes
    times = history.times_agreed or history.offered.sack or history.offered.fast_open
    if times or history.syns != 1 or len(copies) < 2 or copies[1] - copies[0] < REAL:
        return False
    if came.flags & SYN or came.seq != 1 or history.peer.inflation:
        # Duplicate ACKs bring it again, too.
        return False
    gaps = _gaps(history, came)
    if len(gaps) != 1 or gaps[0] < REAL:
        return False
    return gaps[0] >= _AFTER_LOST_HANDSHAKE or Breach("three seconds first", f"{gaps[0]:.2f} s")


def limit_of_the_timeout(history: History, came: Came) -> Judged:
    """A limit to the timeout is a minute at least (RFC 6298 2.5).

    A copy that is lost on the way makes a gap of two.
    """
    last = _gaps(history, came, most=2)
    if came.flags & SYN or len(last) < 2 or last[0] < _LONG_GAP:
        return False
    grows = last[1] >= _GROWTH * last[0] or last[1] >= _LEAST_LIMIT
    return grows or Breach(
        "gaps that double, up to a minute", f"{last[1]:.1f} s after {last[0]:.1f} s"
    )


def comes_again_too_soon(history: History, came: Came) -> Judged:
    """Nothing but a sign of loss makes an end send text again within a round trip (RFC 6298
    section 2, RFC 9293 section 3.8.1)."""
    trip = history.peer.round_trip
    if trip is None or trip < _LONG_TRIP or came.flags & (SYN | RST) or history.errors:
        return False
    gaps = _gaps(history, came)
    if len(gaps) != 1 or gaps[0] < _DOUBLED:
        return False
    # A round trip that was measured since makes the timeout shorter.
    least = min(trip, _LONGEST_TRIP, history.shortest_trip) * _ROUGHLY - history.grace
    return gaps[0] >= least or Breach(
        f"nothing again for {least:.2f} s", f"a copy after {gaps[0]:.2f}"
    )


def again_before_its_time(history: History, came: Came) -> Judged:
    """Each segment has its round trip, also where the timer began with an older one (RFC 6298
    section 5): judged by the first copy of a connection."""
    peer, trip = history.peer, history.peer.round_trip
    if trip is None or trip < _LONG_TRIP or not peer.plain or history.repeated or history.errors:
        return False
    if peer.inflation or history.offered.sack or came.flags & (SYN | RST) or came.seq is None:
        # Duplicate ACKs and blocks of SACK are signs of loss.
        return False
    since = history.sent_at.get(came.seq)
    if since is None or came.at - since < _DOUBLED or _gaps(history, came):
        # Where the peer has been silent, `comes_again_too_soon` judges.
        return False
    least = min(trip, _LONGEST_TRIP) * _ROUGHLY - history.grace
    gap = came.at - since
    return gap >= least or Breach(f"nothing again for {least:.2f} s", f"a copy after {gap:.2f}")


def fin_in_answer(history: History, segment: Segment, at: float) -> Due | None:
    """An application that closes after its peer ends its stream (RFC 9293 section 3.6)."""
    best = history.best
    is_fresh = history.peer.fresh and segment.flags & FIN
    if not (history.steady and is_fresh) or history.their_fin is not None:
        return None
    if best is None or best.flags & (SYN | RST) or history.theirs.end <= 1:
        return None

    def waived() -> bool:
        left = history.their_una < history.theirs.end or history.errors or history.resets
        # Much text takes its time through a small window, and some wait for room for a segment.
        tight = (history.limit or 0) - history.theirs.end < history.largest
        tight = tight or history.peer.closed or not history.peer.window
        return bool(left) or tight or history.text_at - at > _STILL_WRITES

    return Due(at, at + _FIN_WITHIN, "a FIN in answer", _ends, waived=waived)


def fin_beside_text(history: History, came: Came) -> Judged:
    """The FIN of an application that has closed comes with its text."""
    is_last = came.flags & FIN and bool(came.segment.payload)
    return bool(is_last) and history.closes and history.their_fin is None


def fin_behind_text(history: History, came: Came) -> Due | None:
    """Or soon behind it, whether that is acknowledged or not (RFC 2525 section 2.15)."""
    if came.flags & (SYN | RST | FIN) or came.seq is None or history.their_fin is not None:
        return None
    if (
        not history.closes
        or came.seq < history.theirs.end
        or not history.peer.plain
        or history.errors
    ):
        return None
    end = came.seq + came.length

    def waived() -> bool:
        tight = (history.limit or 0) <= end or not history.peer.window
        return bool(history.errors or history.resets or tight) or history.their_una >= end

    by = came.at + _FIN_BEHIND_TEXT
    return Due(came.at, by, f"a FIN within {_FIN_BEHIND_TEXT} s of the text", _ends, waived=waived)


def _ends(came: Came) -> bool:
    return bool(came.flags & (FIN | RST))


RULES: tuple[Rule, ...] = (
    strict("again-too-soon", comes_again_too_soon, "a", COPY, text=True),
    Rule(
        "again-before-its-time",
        again_before_its_time,
        complete=True,
        ordered=True,
        numbers=True,
        on="a",
        text=True,
        needs=OLD,
    ),
    Rule("fin-missing", owes=fin_in_answer, needs=FRESH | ENDS),
    Rule(
        "fin-late",
        fin_beside_text,
        listens=True,
        complete=True,
        ordered=True,
        numbers=True,
        on="a",
        text=True,
        needs=CLOSES,
        owes_after=fin_behind_text,
    ),
    Rule("no-backoff", textbacks_off, complete=True, numbers=True, on="a", text=True, needs=COPY),
    Rule(
        "no-syn-ack-backoff",
        syn_ackbacks_off,
        complete=True,
        numbers=True,
        on="s",
        listens=True,
        needs=COPY,
    ),
    Rule(
        "syn-ack-too-soon",
        syn_ack_waits,
        complete=True,
        ordered=True,
        numbers=True,
        on="s",
        listens=True,
        needs=COPY,
    ),
    Rule(
        "timer-skips-text",
        first_comes_first,
        complete=True,
        ordered=True,
        numbers=True,
        on="a",
        text=True,
        needs=LATE,
    ),
    Rule("fin-not-repeated", owes=fin_comes_again, needs=FIN_LEFT),
    Rule("not-repeated", owes_after=sends_again, on="a", text=True),
    strict("fin-again", fin_again, "a", FIN_ACKED),
    strict("timer-bursts", one_at_a_time, "a", BY_TIMER, text=True),
    strict("timeout-after-lost-handshake", slow_after_lost_handshake, "a", COPY, text=True),
    strict("timeout-limited", limit_of_the_timeout, "a", COPY, text=True),
)
