"""Rules on what is acknowledged, on the window, and on probes of both.

RFC 9293 sections 3.4, 3.8.4, 3.8.6 and 3.10.7.
"""

from __future__ import annotations

import itertools

from scapy_tfo.oracle.conduct.history import Came, History
from scapy_tfo.oracle.conduct.parts.conditions import (
    ACKED,
    ANSWERED,
    CLOSED,
    ECHOES,
    EMPTY,
    FRESH,
    GAP,
    HEARD_SHUT,
    LATE,
    OLD_ACK,
    SHUT,
    STOPPED,
    TAKES,
    THEIR_FIN,
    WAITS,
)
from scapy_tfo.oracle.conduct.rule import Breach, Due, Judged, Rule, strict
from scapy_tfo.oracle.conduct.timers import REAL, backs_off
from scapy_tfo.segment import ACK, FIN, RST, SYN, Segment
from scapy_tfo.seq import distance

_ACK_WITHIN = 0.5
"""Seconds (RFC 9293 section 3.8.6.3, MUST-40), and what sums of them lose."""
_ROUNDING = 0.01
_PROBE_WITHIN, _OPENS_WITHIN = 1.0, 2.0
_PROBED_WITHIN = 6.5
_KEEPALIVE, _QUIET = 7100.0, 1.0
"""Seconds: two hours, less what a timer that is set now and then loses; and a silence."""
_GROWN = 4
_PROBES_KNOWN, _LONGER = 3, 4.0
"""Probes whose times tell of the next one; by how much longer that may take."""
_PROBES_APART = 1.0
"""Seconds after an answer in which another one may be one too many (RFC 5961 section 7)."""
"""Seconds that specs/ gives."""
_ANSWERED = 1.0
"""Seconds after which an ACK answers nothing that came: twice the longest delay."""
_LEAST_TIMEOUT, _CROSSED = 0.2, 0.02
"""Seconds: the least retransmission timeout of known stacks (specs/); and what crosses at most."""
_IN_A_ROW = 3
_STILL_UNDER_WAY = 1.5
"""Seconds in which text crosses the ACK of it, on slow paths too."""
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


def acks_in_time(history: History, segment: Segment, at: float) -> Due | None:
    """Text in its turn is acknowledged within half a second (RFC 9293 section 3.8.6.3)."""
    return None if _adds_a_fin_alone(history, segment) else _ack_due(history, at)


def acks_fin_in_time(history: History, segment: Segment, at: float) -> Due | None:
    """So is a FIN, for which a segment of old text is acceptable (section 3.10.7.4, first)."""
    return _ack_due(history, at) if _adds_a_fin_alone(history, segment) else None


def _adds_a_fin_alone(history: History, segment: Segment) -> bool:
    acked = history.best.ack if history.best is not None else None
    return bool(segment.flags & FIN) and acked == history.binding.next - 1


def _ack_due(history: History, at: float) -> Due | None:
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
    # An ACK of anything that was not taken may have been one too many, too.
    if any(each is not None and at - each < _PROBES_APART for each in (last, history.heard_at)):
        return None
    by = at + _PROBE_WITHIN + _ROUNDING
    return Due(at, by, "an answer to the probe within a second", _any, plain=False)


def opens(history: History, segment: Segment, at: float) -> Due | None:
    """A window that was closed is open when the application reads again and the peer asks (RFC 9293
    section 3.8.6). That it opens need not be told unasked."""
    best, since = history.best, history.reads_since
    if since is None or at <= since or not segment.payload:
        return None
    history.reads_since = None
    if best is None or best.flags & (SYN | RST) or best.segment.window or not history.their_una:
        # Before the handshake is over there are SYN-ACKs only.
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
    if history.shrank:
        # What tells of a larger window may have the same one, as that becomes smaller again.
        return False
    # An application that reads late opens the window, maybe by less than a unit.
    may_open = bool(history.their_shift) and not history.steady
    answers = peer.credit > 0 and (may_open or came.at - peer.sent_at <= _ANSWERED + history.grace)
    return answers or Breach("nothing: there is no segment to answer", "the last ACK again")


def of_an_ack(history: History, came: Came) -> Judged:
    """An ACK that says nothing new is not answered (RFC 9293 section 3.10.7.4)."""
    peer, before = history.peer, history.echoes
    if peer.sent_at is None or peer.asked or (peer.unanswered < _IN_A_ROW and not before):
        return False
    echoes = history.echoes_an_ack(came) and before + 1 >= _IN_A_ROW
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


def keepalive_early(history: History, came: Came) -> Judged:
    """An idle connection is left alone for two hours (RFC 9293 section 3.8.4, MUST-28)."""
    peer, heard = history.peer, history.heard_at
    if peer.sent_at is None or heard is None or came.seq is None or came.flags & (SYN | RST):
        return False
    if came.at - heard <= _QUIET + history.grace:
        return False
    # Once the first one is not answered, others may follow soon.
    idle = came.at - peer.sent_at
    if idle <= _QUIET + history.grace or peer.shut_at is not None:
        return False
    end = history.theirs.end
    probes = peer.sure == end and came.seq == end - 1 and came.length <= 1
    early = probes and idle < _KEEPALIVE and not came.flags & FIN
    return not early or Breach("no keep-alive for two hours", f"one after {idle:.0f} s")


def probes_the_window(history: History, segment: Segment, at: float) -> Due | None:
    """A closed window is probed while text waits (RFC 9293 section 3.8.6.1, MUST-35, MUST-36)."""
    end = history.theirs.end
    if not history.writes or segment.window or history.their_una != end or end <= 1:
        return None
    if history.probes:
        # Each probe may wait longer than the one before.
        return None
    if not history.peer.plain or segment.flags & (SYN | RST | FIN):
        return None
    if history.slow or history.repeated or len(history.handshakes) != 1:
        # The first probe waits for a timeout, of a round trip of many seconds, or one that doubled.
        return None
    expected = f"a probe of the window within {_PROBED_WITHIN} s"
    return Due(at, at + _PROBED_WITHIN, expected, lambda _: True, plain=False)


def probes_go_on(history: History, segment: Segment, at: float) -> Due | None:
    """As long as probes are answered others follow (RFC 9293 section 3.8.6.1, MUST-37)."""
    peer, probes = history.peer, history.probes
    if len(probes) < _PROBES_KNOWN or segment.window or not history.writes or peer.shut_at is None:
        return None
    under_way = history.theirs.end - history.their_una
    if not peer.plain or segment.flags & (SYN | RST | FIN) or peer.fin or under_way > 1:
        return None
    if at - probes[-1] > REAL:
        # It answers no probe.
        return None
    wait = _LONGER * (probes[-1] - probes[-2]) + _PROBED_WITHIN
    return Due(at, at + wait, f"another probe within {wait:.1f} s", _any, plain=False)


def probes_in_time(history: History, came: Came) -> Judged:
    """A closed window is probed once a timeout is over (RFC 9293 section 3.8.6.1, SHLD-29)."""
    peer, end = history.peer, history.theirs.end
    since, trip = peer.shut_at, peer.round_trip
    if since is None or trip is None or came.seq is None or not peer.plain or peer.fin:
        return False
    # What was under way when the window closed is no probe.
    crossed = came.at - since <= trip + _CROSSED
    new = came.seq == history.their_una == end > 1
    if crossed or not new or not came.segment.payload or history.probes or peer.window != 0:
        return False
    wait = came.at - since + history.grace
    return wait >= _LEAST_TIMEOUT or Breach(
        f"no probe for {_LEAST_TIMEOUT} s", f"one after {came.at - since:.2f} s"
    )


def probes_back_off(history: History, came: Came) -> Judged:
    """The time to the next probe of a closed window grows (RFC 9293 3.8.6.1, SHLD-30)."""
    peer, probes = history.peer, history.probes
    if peer.window != 0 or came.seq is None or came.seq > history.their_una:
        return False
    if not peer.plain or peer.fin:
        # What is odd, or ends the stream, may be answered by what looks like a probe.
        return False
    if probes and (came.at - probes[-1] <= REAL or (peer.sure_at or 0.0) > probes[0]):
        # It answers an ACK; or a probe was taken, and the timeout begins anew.
        return False
    gaps = [later - earlier for earlier, later in itertools.pairwise([*probes, came.at])]
    if gaps and gaps[-1] >= _GROWN * gaps[0]:
        # It has grown, and no text says how long a gap may become.
        return True
    return backs_off(gaps)


def keepalive_beside_text(history: History, came: Came) -> Judged:
    """Nothing is asked of a peer that has text to acknowledge (RFC 9293 section 3.8.4, MUST-28)."""
    una = history.their_una
    if came.seq is None or came.flags & (SYN | RST | FIN) or not history.peer.plain:
        return False
    if una <= 1 or una >= history.theirs.end or came.segment.payload:
        return False
    if history.peer.shut_at is not None:
        return False
    return came.seq != una - 1 or Breach("no keep-alive: text is under way", "one")


def keeps_early_text(history: History, came: Came) -> Judged:
    """Text that comes before its turn is held (RFC 9293 section 3.10.7.4, SHLD-31): not each piece
    of it has to come again."""
    intake = history.intake
    if intake.kept or not _acks(came):
        return False
    if intake.dropped < _IN_A_ROW:
        early = intake.early
        return early is not None and intake.filled and (came.ack or 0) >= early[1]
    return Breach("text kept that comes early", f"{intake.dropped} pieces in a row thrown away")


def acks_every_second(history: History, came: Came) -> Judged:
    """At least every second full segment is acknowledged (RFC 9293 section 3.8.6.3, SHLD-19): those
    are judged that no interface can have put into one."""
    intake = history.intake
    if not _acks(came) or history.reads is False:
        return False
    covered = intake.covered(came.ack or 0)
    if not covered or not history.is_timed(covered[0]):
        return False
    late = intake.is_late(covered) and intake.stretched + 1 >= _IN_A_ROW
    return not late or Breach(
        "an ACK of two full segments at most", f"one of {len(covered)}, and so {_IN_A_ROW} times"
    )


def hears_behind_a_closed_window(history: History, came: Came) -> Judged:
    """An end whose window is closed takes the ACKs that come (RFC 9293 section 3.10.7.4, RFC 2525
    section 2.12): it does not send again what they acknowledge."""
    told = history.acked_while_shut
    if told is None or came.flags & (SYN | RST) or came.seq is None or history.errors:
        return False
    if came.at - told[1] <= _STILL_UNDER_WAY + history.grace or came.length <= 1:
        # One byte may be that of a keep-alive.
        return False
    end = came.seq + came.length - bool(came.flags & FIN)
    return end > told[0] or Breach(f"text behind {told[0]}: that is acknowledged", f"at {came.seq}")


RULES: tuple[Rule, ...] = (
    strict("text-behind-their-fin", behind_their_fin, "a", THEIR_FIN),
    Rule("ack-of-nothing", ack_of_nothing, complete=True, numbers=True, on="sa"),
    Rule("ack-of-a-gap", ack_of_a_gap, complete=True, numbers=True, on="sa", needs=GAP),
    Rule("ack-before-isn", ack_before_isn, complete=True, numbers=True, on="a"),
    Rule("ack-goes-back", ack_goes_back, numbers=True, on="sa", needs=ANSWERED),
    Rule("window-shrinks", window_shrinks, numbers=True, on="a", needs=ANSWERED),
    Rule("ack-late", owes=acks_in_time, needs=FRESH),
    Rule("fin-ack-late", owes=acks_fin_in_time, needs=FRESH),
    Rule("probes-end", owes=probes_go_on, needs=WAITS),
    Rule("probe-unanswered", owes=answers_probe, needs=SHUT),
    Rule("window-stays-shut", owes=opens, needs=SHUT),
    strict("window-moves-on", moves_on, "a", STOPPED),
    strict("early-text-dropped", keeps_early_text, "a", TAKES),
    strict("acks-stretch", acks_every_second, "a", TAKES),
    strict("deaf-while-closed", hears_behind_a_closed_window, "a", HEARD_SHUT, text=True),
    strict("ack-repeated", repeated, "a", EMPTY),
    strict("ack-of-an-ack", of_an_ack, "a", ECHOES),
    Rule(
        "old-ack-taken", old_ack, listens=True, complete=True, numbers=True, on="a", needs=OLD_ACK
    ),
    strict("keepalive-beside-text", keepalive_beside_text, "a", ACKED),
    strict("keepalive-early", keepalive_early, "a", LATE),
    Rule("probe-missing", owes=probes_the_window, needs=WAITS),
    strict("probes-too-soon", probes_in_time, "a", CLOSED, text=True),
    strict("probes-too-often", probes_back_off, "a", CLOSED),
)
