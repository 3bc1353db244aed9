"""Rules on what is acknowledged, and on the window: RFC 9293 sections 3.4, 3.8.6 and 3.10.7."""

from __future__ import annotations

from scapy_tfo.oracle.conduct.history import Came, History
from scapy_tfo.oracle.conduct.parts.conditions import (
    ANSWERED,
    ECHOES,
    EMPTY,
    FRESH,
    GAP,
    OLD_ACK,
    SHUT,
    STOPPED,
    THEIR_FIN,
)
from scapy_tfo.oracle.conduct.rule import Breach, Due, Judged, Rule
from scapy_tfo.segment import ACK, RST, SYN, Segment
from scapy_tfo.seq import distance

_ACK_WITHIN = 0.5
"""Seconds (RFC 9293 section 3.8.6.3, MUST-40), and what sums of them lose."""
_ROUNDING = 0.01
_PROBE_WITHIN, _OPENS_WITHIN = 1.0, 5.0
_PROBES_APART = 1.0
"""Seconds after a probe in which another one may be one too many (RFC 5961 section 7)."""
"""Seconds that specs/ gives."""
_ANSWERED = 1.0
"""Seconds after which an ACK answers nothing that came: twice the longest delay."""
_IN_A_ROW = 3
_TIMES, _LEAST_BOUND = 4, 1 << 19
"""Of the window that was offered: what a buffer may grow to while nobody reads; and bytes."""


def _acks(came: Came) -> bool:
    return came.ack is not None and came.flags & (ACK | RST) == ACK


def ack_of_nothing(history: History, came: Came) -> Judged:
    """Only what was sent is acknowledged (RFC 9293 section 3.4)."""
    if not _acks(came):
        return False
    assert came.ack is not None
    most = history.sent.end
    return came.ack <= most or Breach(f"acknowledging {most} at most", f"{came.ack}")


def ack_of_a_gap(history: History, came: Came) -> Judged:
    """What comes behind a gap is not acknowledged: the number is cumulative."""
    if not _acks(came) or history.sent.next == history.sent.end:
        return False
    assert came.ack is not None
    most = history.sent.next
    beyond = most < came.ack <= history.sent.end
    return not beyond or Breach(f"acknowledging {most}: what follows was not sent", f"{came.ack}")


def ack_before_isn(_: History, came: Came) -> Judged:
    """The SYN at least is acknowledged by all that follows it."""
    if not _acks(came):
        return False
    assert came.ack is not None
    return came.ack >= 1 or Breach("acknowledging the SYN", f"{came.ack} (relative to the ISN)")


def ack_goes_back(history: History, came: Came) -> Judged:
    """RCV.NXT never goes back; judged where the order in which segments left is sure."""
    best = history.best
    if not _acks(came) or best is None or best.ack is None or not history.is_newer(came):
        return False
    assert came.ack is not None
    if came.ack < 1:
        # It acknowledges not even the SYN.
        return False
    return came.ack >= best.ack or Breach(f"acknowledging {best.ack} at least", f"{came.ack}")


def window_shrinks(history: History, came: Came) -> Judged:
    """The right edge of the window does not move back (RFC 9293 section 3.8.6, SHLD-14)."""
    best = history.best
    if best is None or best.ack is None or came.flags & (SYN | RST) or not came.flags & ACK:
        return False
    if best.flags & (SYN | RST) or not history.is_newer(came) or came.ack is None:
        return False
    if came.ack < best.ack or history.shift_unclear:
        # The acknowledgement is what is wrong, or nobody can tell what the windows mean.
        return False
    shift = history.their_shift
    edge = best.ack + (best.segment.window << shift)
    now = came.ack + (came.segment.window << shift)
    # What is below one unit of the scale is cut off, or filled up as by Linux.
    return now >= edge - (1 << shift if shift else 0) or Breach(
        f"a window up to {edge} at least", f"up to {now}"
    )


def _any(_: Came) -> bool:
    return True


def acks_in_time(history: History, _: Segment, at: float) -> Due | None:
    """Text and a FIN in their turn are acknowledged within half a second (RFC 9293 3.8.6.3)."""
    best = history.best
    if not history.peer.fresh or best is None or best.flags & SYN:
        return None
    number = history.binding.next
    return Due(
        at,
        at + _ACK_WITHIN + _ROUNDING,
        f"an ACK of {number} within {_ACK_WITHIN} s",
        lambda came: came.ack is not None and came.ack >= number,
    )


def answers_probe(history: History, segment: Segment, at: float) -> Due | None:
    """A probe of a closed window is answered (RFC 9293 section 3.8.6.1)."""
    best = history.best
    if best is None or best.flags & (SYN | RST) or best.ack is None or best.segment.window:
        return None
    assert history.isn is not None
    at_edge = distance(history.isn, segment.seq) == best.ack == history.edge
    if not (at_edge and len(segment.payload) == 1 and history.peer.plain):
        return None
    last, history.probed_at = history.probed_at, at
    if last is not None and at - last < _PROBES_APART:
        return None
    by = at + _PROBE_WITHIN + _ROUNDING
    return Due(at, by, "an answer to the probe within a second", _any, plain=False)


def opens(history: History, at: float) -> Due | None:
    """A window that was closed opens when the application reads again (RFC 9293 section 3.8.6)."""
    best = history.best
    if best is None or best.flags & (SYN | RST) or best.segment.window:
        return None
    by = at + _OPENS_WITHIN
    return Due(at, by, "an open window", lambda came: came.segment.window > 0, plain=False)


def moves_on(history: History, came: Came) -> Judged:
    """While the application does not read, the buffer fills, and the window closes."""
    stopped, best = history.stopped, history.best
    if stopped is None or not _acks(came) or best is None:
        return False
    assert came.ack is not None
    taken = came.ack - stopped
    most = max(_TIMES * history.stopped_window, _LEAST_BOUND)
    return taken <= most or Breach(f"{most} bytes at most that nobody reads", f"{taken}")


def repeated(history: History, came: Came) -> Judged:
    """One ACK answers a segment, and no timer sends one again (RFC 9293 section 3.8.6.3)."""
    peer = history.peer
    if peer.sent_at is None or not history.says_nothing_new(came) or history.reset is not None:
        return False
    if history.echoes_an_ack(came):
        return False
    answers = peer.credit > 0 and came.at - peer.sent_at <= _ANSWERED + history.grace
    return answers or Breach("nothing: there is no segment to answer", "the last ACK again")


def of_an_ack(history: History, came: Came) -> Judged:
    """An ACK that says nothing new is not answered (RFC 9293 section 3.10.7.4)."""
    if history.peer.sent_at is None or (history.peer.unanswered < _IN_A_ROW and not history.echoes):
        return False
    echoes = history.echoes_an_ack(came) and history.echoes + 1 >= _IN_A_ROW
    return not echoes or Breach("silence after an ACK", f"{_IN_A_ROW} ACKs of ACKs in a row")


def old_ack(history: History, came: Came) -> Judged:
    """Text beside an acknowledgement older than the largest window is not taken (RFC 5961 5.2)."""
    old = history.peer.old
    if old is None or not _acks(came):
        return False
    assert came.ack is not None
    return came.ack <= old or Breach(f"no more than {old}: its ACK is too old", f"{came.ack}")


def behind_their_fin(history: History, came: Came) -> Judged:
    """What comes behind a FIN that was taken is not taken (RFC 9293 section 3.10.7.4, seventh)."""
    end, best = history.peer.fin_end, history.best
    if end is None or history.sent.end <= end or not _acks(came) or best is None:
        return False
    if best.ack is None or best.ack < end:
        return False
    assert came.ack is not None
    return came.ack <= end or Breach(f"acknowledging the FIN at most, {end}", f"{came.ack}")


RULES = (
    Rule(
        "text-behind-their-fin",
        behind_their_fin,
        listens=True,
        complete=True,
        ordered=True,
        numbers=True,
        on="a",
        needs=THEIR_FIN,
    ),
    Rule("ack-of-nothing", ack_of_nothing, complete=True, numbers=True, on="sa"),
    Rule("ack-of-a-gap", ack_of_a_gap, complete=True, numbers=True, on="sa", needs=GAP),
    Rule("ack-before-isn", ack_before_isn, complete=True, numbers=True, on="a"),
    Rule("ack-goes-back", ack_goes_back, numbers=True, on="sa", needs=ANSWERED),
    Rule("window-shrinks", window_shrinks, numbers=True, on="a", needs=ANSWERED),
    Rule("ack-late", owes=acks_in_time, needs=FRESH),
    Rule("probe-unanswered", owes=answers_probe, needs=SHUT),
    Rule("window-stays-shut"),
    Rule(
        "window-moves-on",
        moves_on,
        listens=True,
        complete=True,
        ordered=True,
        numbers=True,
        on="a",
        needs=STOPPED,
    ),
    Rule(
        "ack-repeated",
        repeated,
        listens=True,
        complete=True,
        ordered=True,
        numbers=True,
        on="a",
        needs=EMPTY,
    ),
    Rule(
        "ack-of-an-ack",
        of_an_ack,
        listens=True,
        complete=True,
        ordered=True,
        numbers=True,
        on="a",
        needs=ECHOES,
    ),
    Rule(
        "old-ack-taken", old_ack, listens=True, complete=True, numbers=True, on="a", needs=OLD_ACK
    ),
)
