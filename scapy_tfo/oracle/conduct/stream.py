"""Rules on text and FIN: RFC 9293 sections 3.4, 3.6, 3.7 and 3.8."""

from __future__ import annotations

from scapy_tfo.oracle.conduct.history import Came, History
from scapy_tfo.oracle.conduct.parts.conditions import (
    AT_FIRST,
    BEHIND_SYNS,
    EMPTY,
    FINISHED,
    OLD,
    SIZED,
    SYNS_ALONE,
    UNSIZED,
)
from scapy_tfo.oracle.conduct.parts.facts import PROMPT
from scapy_tfo.oracle.conduct.rule import Breach, Due, Judged, Rule
from scapy_tfo.segment import FIN, PSH, RST, SYN

_FAR = 1 << 30
_SEGMENTS, _ETHERNET = 10, 1460
_UNDER_WAY = 0.05
"""Seconds in which segments cross."""
_FLOOR = 536
"""Bytes that stacks send, however small the MSS that they are told: FreeBSD 216, others more."""
_MORE_WITHIN, _KNOWN = 1.0, 0.5
_PROBE = 1
"""Bytes that may go beyond a closed window (RFC 9293 section 3.8.6.1)."""


def _is_text(came: Came) -> bool:
    return not came.flags & RST and came.seq is not None and bool(came.segment.payload)


def _start(came: Came) -> int:
    assert came.seq is not None
    return came.seq + bool(came.flags & SYN)


def same_text(history: History, came: Came) -> Judged:
    """What is sent again has the bytes that it had (RFC 9293 section 3.4)."""
    if not _is_text(came) or _start(came) >= history.theirs.end:
        return False
    end = history.theirs.end
    if history.their_una == end == _start(came) + 1 == _start(came) + len(came.segment.payload):
        # The octet of a keep-alive is garbage (RFC 9293 section 3.8.4).
        return False
    at = history.theirs.differs(_start(came), came.segment.payload)
    return True if at is None else Breach("the same bytes as before", f"another one at {at}")


def text_behind_fin(history: History, came: Came) -> Judged:
    """Nothing follows a FIN (RFC 9293 section 3.6)."""
    fin = history.their_fin
    if fin is None or came.flags & RST or came.seq is None or not came.segment.payload:
        return False
    end = came.seq + came.length - bool(came.flags & FIN)
    return end <= fin or Breach(f"nothing behind the FIN at {fin}", f"up to {end}")


def fin_moves(history: History, came: Came) -> Judged:
    """A FIN that is sent again stands where it stood."""
    fin = history.their_fin
    if fin is None or not came.flags & FIN or came.flags & RST or came.seq is None:
        return False
    at = came.seq + came.length - 1
    return at == fin or Breach(f"FIN at {fin}", f"at {at}")


def over_the_window(history: History, came: Came) -> Judged:
    """Text goes no further than the window that was offered (RFC 9293 section 3.8.6)."""
    if history.syns == len(history.last_sent) or not _scales(history):
        # See `over_the_syn_window` and `over_the_unscaled_window`.
        return False
    return _in_the_window(history, came)


def over_the_syn_window(history: History, came: Came) -> Judged:
    """So does that which a SYN lets out: its window is never scaled (RFC 7323 section 2.2)."""
    return history.syns == len(history.last_sent) and _in_the_window(history, came)


def over_the_unscaled_window(history: History, came: Came) -> Judged:
    """Nor is that of a peer which did not offer to (RFC 7323 section 2.3)."""
    if history.syns == len(history.last_sent) or _scales(history):
        return False
    return _in_the_window(history, came)


def _scales(history: History) -> bool:
    return history.offered.scaled


def _in_the_window(history: History, came: Came) -> Judged:
    if not _is_text(came) or history.limit is None:
        return False
    end = _start(came) + len(came.segment.payload)
    if end <= history.theirs.end:
        # Old text may be sent again beyond the window (RFC 9293 section 3.8.6, MAY-7), as what a
        # SYN-ACK with a window of zero refuses.
        return False
    most = history.limit + _PROBE
    shut = history.peer.window == 0 or history.peer.closed
    if shut and (history.is_quiet(came) or _persists(history, came)):
        # A probe has one octet at least, and may have as many as a segment takes (3.8.6.1).
        most = max(most, max(history.their_una, 1) + history.largest)
    return end <= most or Breach(f"up to {history.limit}", f"up to {end}")


def into_a_shrunk_window(history: History, came: Came) -> Judged:
    """New text keeps to the window that the latest ACK offers, also where the one before let it go
    further (RFC 9293 section 3.8.6, SHLD-15)."""
    back = history.taken_back
    if back is None or came.at - back[1] <= _UNDER_WAY + history.grace or not _is_text(came):
        return False
    end = _start(came) + len(came.segment.payload)
    if end <= history.theirs.end or history.is_quiet(came) or _persists(history, came):
        # Old text may go out again (MAY-7), and a timer probes.
        return False
    if end > (history.limit or 0) + _PROBE:
        # See `over_the_window`.
        return False
    return end <= back[0] + _PROBE or Breach(f"up to {back[0]}, as it is now", f"up to {end}")


def _persists(history: History, came: Came) -> bool:
    """A timer is the reason, though an ACK was sent a moment ago: it runs since the last text, or
    since the window was closed, whatever the peer sends meanwhile."""
    shut_at = history.peer.shut_at
    shut = shut_at is not None and came.at - shut_at > PROMPT
    late = came.at - history.text_at
    # What was not acknowledged comes again by a timer, whatever the peer has said meanwhile.
    comes_again = came.seq is not None and came.seq <= history.their_una and late > PROMPT / 2
    return shut or comes_again or (not history.spoke_since and late > PROMPT)


def over_the_mss(history: History, came: Came) -> Judged:
    """A segment has no more text than the MSS leaves beside its options (RFC 9293 3.7.1)."""
    return history.offered.sized and _fits(history, came)


def over_the_default_mss(history: History, came: Came) -> Judged:
    """Where no SYN has an MSS option, 536 bytes of IPv4 are all, or 1220 of IPv6 (RFC 9293 3.7.1,
    MUST-15)."""
    return not history.offered.sized and _fits(history, came)


def _fits(history: History, came: Came) -> Judged:
    if not _is_text(came) or history.isn is None:
        return False
    most = max(history.largest, _FLOOR)
    size = len(came.segment.payload) + len(came.segment.options)
    return size <= most or Breach(f"{most} bytes with options at most", f"{size}")


def starts_at_the_iss(history: History, came: Came) -> Judged:
    """Sequence numbers go on from the ISS, and from nowhere else."""
    if came.flags & (SYN | RST) or came.seq is None:
        return False
    # A keepalive is one before what was sent last.
    return -1 <= came.seq <= history.theirs.end + _FAR or Breach(
        "a sequence number behind the ISS", f"{came.seq} (relative to it)"
    )


def bare_ack_number(history: History, came: Came) -> Judged:
    """An ACK without text has SND.NXT, or what a probe of a window or of a peer has: no number
    that the text never reaches."""
    if came.length or came.flags & (SYN | RST) or came.seq is None or history.gaps:
        return False
    best = history.best
    if best is None or not history.is_newer(came):
        return False
    return came.seq <= history.theirs.end + _unseen(history) or Breach(
        f"a sequence number of {history.theirs.end} at most", f"{came.seq}"
    )


def _unseen(history: History) -> int:
    """Text that may have been sent and lost: as much as the window allowed."""
    return max((history.limit or 0) + _PROBE + 1 - history.theirs.end, 0)


def leaves_no_gap(history: History, came: Came) -> Judged:
    """Text follows the text that was sent before it."""
    if not _is_text(came) and not came.flags & FIN:
        return False
    if came.seq is None or came.flags & RST:
        return False
    end = history.theirs.end
    if came.seq - end > max(len(came.segment.payload), 1):
        # Its own host may have dropped a probe for a larger MTU (RFC 4821 section 7.3), which is
        # longer than the segments around it.
        return False
    return came.seq <= end or Breach(f"text at {end} or before", f"at {came.seq}")


def initial_window(history: History, came: Came) -> Judged:
    """Before the first of its text is acknowledged, an end sends ten segments, or 14,600 bytes
    where two are not more (RFC 6928 section 2)."""
    return history.offered.sized and _at_first(history, came)


def uninitialised_window(history: History, came: Came) -> Judged:
    """Also where no SYN has an MSS option (RFC 2525 section 2.3)."""
    return not history.offered.sized and _at_first(history, came)


def _at_first(history: History, came: Came) -> Judged:
    if not _is_text(came) or history.ahead > 1 or history.interrupted:
        # Each duplicate ACK may let out a segment more (RFC 3042).
        return False
    most = min(_SEGMENTS * history.largest, max(2 * history.largest, _SEGMENTS * _ETHERNET))
    # A segment for it, and one as there is one less under way.
    most += 2 * history.crossing_duplicates * history.largest
    if history.may_probe_the_tail(came):
        most += history.largest
    end = _start(came) + len(came.segment.payload)
    return end - 1 <= most or Breach(f"{most} bytes at first", f"{end - 1}")


def pushes_the_last(history: History, came: Came) -> Due | None:
    """More follows a segment without PSH, as the last one that is queued has it (RFC 9293 section
    3.9.1.2, MUST-61)."""
    if came.flags & (SYN | RST | FIN | PSH) or came.seq is None or not came.segment.payload:
        return None
    end, peer = came.seq + came.length, history.peer
    if end <= history.theirs.end or not (history.steady and peer.plain) or history.errors:
        return None
    by = came.at + _MORE_WITHIN

    def follows(later: Came) -> bool:
        return later.seq is not None and later.seq + later.length > end

    def waived() -> bool:
        # All must have been acknowledged for a while, so that nothing holds more text back.
        known = peer.sure >= end and peer.sure_at is not None and peer.sure_at <= by - _KNOWN
        tight = (history.limit or 0) - end < history.largest or not peer.window
        return bool(history.errors or history.resets or tight) or not known

    return Due(came.at, by, "more text, as the last segment has PSH", follows, waived=waived)


def delivered(history: History, text: bytes, written: bytes) -> Judged:
    """What is acknowledged has come to the application (RFC 9293 section 3.8); judged at the end,
    where the application tells what it got."""
    best = history.best
    if best is None or best.ack is None or history.isn is None:
        return False
    size = min(best.ack, history.sent.end - history.peer.fin) - 1
    pairs = zip(text[:size], written[:size], strict=False)
    at = next((at for at, (came, wrote) in enumerate(pairs) if came != wrote), None)
    if at is None and len(text) >= size:
        return True
    what = f"{len(text)} bytes" if at is None else f"another byte at {at}"
    return Breach(f"the {size} bytes that were acknowledged", f"{what} came to the application")


def tells_of_loss(history: History, text: bytes) -> Judged:
    """What is acknowledged, and never read as the application has closed, is told of by a RST (RFC
    9293 section 3.6.1, SHLD-3); judged at the end, where that application tells what it got."""
    best = history.best
    if best is None or best.ack is None or history.isn is None:
        return False
    size = min(best.ack, history.sent.end - history.peer.fin) - 1
    if history.reset is not None or len(text) >= size:
        return bool(size > 0 or history.reset is not None)
    return Breach(f"the {size} bytes read that were acknowledged, or a RST", f"{len(text)} read")


def number_below_una(history: History, came: Came) -> Judged:
    """An ACK has SND.NXT, or one less than SND.UNA as a probe (RFC 9293 section 3.10.7.4, RFC 5961
    section 3.2)."""
    peer = history.peer
    if came.length or came.flags & (SYN | RST) or came.seq is None or peer.sure_at is None:
        return False
    crossed = came.at - peer.sure_at <= _UNDER_WAY + history.grace
    una = peer.settled if crossed else peer.sure
    if not una or came.seq < -1:
        return False
    return came.seq >= una - 1 or Breach(f"a number of {una - 1} at least", f"{came.seq}")


RULES: tuple[Rule, ...] = (
    Rule(
        "over-the-syn-window",
        over_the_syn_window,
        complete=True,
        numbers=True,
        on="sa",
        text=True,
        needs=SYNS_ALONE,
    ),
    Rule(
        "over-the-unscaled-window",
        over_the_unscaled_window,
        complete=True,
        numbers=True,
        on="sa",
        text=True,
        needs=BEHIND_SYNS,
    ),
    Rule(
        "over-the-default-mss",
        over_the_default_mss,
        complete=True,
        on="sa",
        text=True,
        whole=True,
        needs=UNSIZED,
    ),
    Rule(
        "uninitialised-window",
        uninitialised_window,
        complete=True,
        numbers=True,
        on="a",
        text=True,
        needs=UNSIZED | AT_FIRST,
    ),
    Rule(
        "number-below-una",
        number_below_una,
        complete=True,
        ordered=True,
        numbers=True,
        on="a",
        needs=EMPTY,
    ),
    Rule(
        "into-a-shrunk-window",
        into_a_shrunk_window,
        complete=True,
        ordered=True,
        numbers=True,
        on="a",
        text=True,
        needs=BEHIND_SYNS,
    ),
    Rule("text-changes", same_text, numbers=True, on="sa", text=True, contents=True, needs=OLD),
    Rule("text-behind-fin", text_behind_fin, numbers=True, on="sa", text=True, needs=FINISHED),
    Rule("fin-moves", fin_moves, numbers=True, on="sa", text=True, needs=FINISHED),
    Rule(
        "over-the-window",
        over_the_window,
        complete=True,
        numbers=True,
        on="sa",
        text=True,
        needs=BEHIND_SYNS,
    ),
    Rule("over-the-mss", over_the_mss, complete=True, on="sa", text=True, whole=True, needs=SIZED),
    Rule("number-before-iss", starts_at_the_iss, complete=True, numbers=True, on="a"),
    Rule("number-beyond-text", bare_ack_number, complete=True, numbers=True, on="a", needs=EMPTY),
    Rule("text-leaves-a-gap", leaves_no_gap, ordered=True, numbers=True, on="sa", text=True),
    Rule(
        "initial-window",
        initial_window,
        complete=True,
        numbers=True,
        on="a",
        text=True,
        needs=SIZED | AT_FIRST,
    ),
    Rule("text-unpushed", owes_after=pushes_the_last, on="a", text=True, listens=True),
    Rule("text-not-delivered"),
    Rule("loss-untold"),
)
