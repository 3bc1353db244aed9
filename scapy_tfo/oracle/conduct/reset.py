"""Rules on RST: RFC 9293 section 3.5.2, RFC 5961."""

from __future__ import annotations

import itertools

from scapy_tfo.oracle.conduct.history import Came, History
from scapy_tfo.oracle.conduct.parts.conditions import (
    EMPTY,
    ENDS,
    ERRORS,
    ODD,
    REFUSED,
    RESET,
    RESETS,
    STEADY,
    TIME_WAIT,
    WAS_RESET,
)
from scapy_tfo.oracle.conduct.parts.oddity import Reset
from scapy_tfo.oracle.conduct.rule import Breach, Due, Judged, Rule, strict
from scapy_tfo.segment import ACK, FIN, RST, SYN, Segment
from scapy_tfo.seq import distance

_PATIENCE = 20.0
"""Seconds of silence, after which an end may have given up."""
_UNDER_WAY = 0.2
"""Seconds in which segments cross."""
_FEW, _MANY = 500, 2000
"""Challenge ACKs: enough to judge, and twice what specs/ gives, for the seconds may be counted from
anywhere."""
_TIME_WAIT = 2.0
"""Seconds that TIME-WAIT takes at least, by specs/."""
_ANSWER_WITHIN = 1.0
_BEFORE_A_TIMER = 0.7
"""Seconds in which no timer repeats a SYN-ACK, on busy hosts too."""
_COOKIE_VALUES = 8
"""Values that a SYN cookie has room for, such as an MSS by its number in a list."""


def rst_to_nothing(history: History, came: Came) -> Judged:
    """A RST answers something; on ends that were used before, one that is late may answer what was
    sent then."""
    if not came.flags & RST or (history.mixed and not history.ordered):
        return False
    return bool(history.last_sent) or Breach("silence: nothing was sent", str(came.segment))


def rst_to_rst(history: History, came: Came) -> Judged:
    """A RST is never answered with a RST (RFC 9293 section 3.5.2)."""
    if not came.flags & RST:
        return False
    only = bool(history.last_sent) and all(each.flags & RST for each in history.last_sent)
    return not only or Breach("silence after a RST", str(came.segment))


def rst_number(history: History, came: Came) -> Judged:
    """Its number is what the peer acknowledged, or one of its own; without either it is 0, and it
    acknowledges what it rejects (RFC 9293 section 3.5.2)."""
    if not came.flags & RST or not history.last_sent:
        return False
    number = came.segment.seq
    if history.iss is None and history.isn is not None:
        # An application may abort before its SYN-ACK is out, or while that is lost.
        return False
    if not history.ordered and came.ack is not None and came.ack <= history.peer.syn_end:
        # A copy of the SYN that the path made opens another connection behind an abort.
        return False
    if number in history.acks:
        return True
    if came.seq is not None:
        inside = -1 <= came.seq <= max(history.theirs.end, history.limit or 0) + 1
        if inside:
            return True
    return number == 0 or Breach("a number that the peer knows", f"{number}")


def rst_acknowledges(history: History, came: Came) -> Judged:
    """RST of a closed port acknowledges all of the segment that it rejects."""
    if came.flags & (RST | ACK) != RST | ACK or came.segment.seq or history.iss is not None:
        return False
    return came.segment.ack in history.ends or Breach(
        "acknowledging the end of a segment", f"{came.segment.ack}"
    )


def _is_steady(history: History, came: Came) -> bool:
    """Whether nothing that the peer or the application does explains a RST."""
    return history.peer.plain and _goes_on(history, came)


def _goes_on(history: History, came: Came) -> bool:
    """Whether the connection is open, and its application content."""
    peer, best = history.peer, history.best
    if not history.steady or peer.fin or peer.sent_at is None:
        return False
    if best is None or best.flags & (SYN | RST) or history.their_fin is not None:
        return False
    # Its application has answered, so the connection is accepted.
    return history.theirs.end > 1 and came.at - peer.sent_at <= _PATIENCE


def unprovoked(history: History, came: Came) -> Judged:
    """A RST has a cause: it answers what is wrong, or an application that aborts."""
    if not _is_steady(history, came) or history.errors:
        return False
    return not came.flags & RST or Breach("the connection to go on", "a RST")


def soft_error(history: History, came: Came) -> Judged:
    """Errors that may pass end no connection (RFC 9293 section 3.9.2.2, MUST-55, MUST-56)."""
    peer = history.peer
    if not peer.soft or peer.hard or not _is_steady(history, came):
        return False
    return not came.flags & RST or Breach("the connection to go on after an ICMP error", "a RST")


def _lives_on(history: History, came: Came, by: Reset) -> Judged:
    peer = history.peer
    if peer.reset_at is None or peer.reset_by is not by or peer.syns != 1:
        return False
    if history.theirs.end <= 1 and by is not Reset.CLOSED:
        return False
    if came.at - peer.reset_at <= _UNDER_WAY + history.grace:
        return False
    since = itertools.takewhile(lambda each: not each.flags & RST, reversed(history.last_sent))
    if any(_may_be_a_cookie(history, each) for each in since) or not _took_all(history, came):
        return False
    return bool(came.flags & RST) or Breach(
        "a RST or silence: the connection was reset", str(came.segment)
    )


def _took_all(history: History, came: Came) -> bool:
    """Whether an end has acknowledged all text in front of the last RST, so that this was exact."""
    sent = next((each for each in reversed(history.last_sent) if each.flags & RST), None)
    if sent is None or history.isn is None or came.ack is None:
        return True
    return came.ack >= distance(history.isn, sent.seq)


def _may_be_a_cookie(history: History, sent: Segment) -> bool:
    """Whether a listener that keeps nothing may take a segment for the third of a handshake: an ISS
    that is made of the ISN, as a SYN cookie is (RFC 4987 section 3.6), fits as long as both numbers
    have gone on by as much."""
    if history.iss is None or history.isn is None or sent.flags & (SYN | RST | ACK) != ACK:
        return False
    moved = distance(history.isn, sent.seq) - distance(history.iss, sent.ack)
    return abs(moved) < _COOKIE_VALUES


def lives_on(history: History, came: Came) -> Judged:
    """A RST with exactly the next number ends the connection (RFC 9293 section 3.10.7.4)."""
    return _lives_on(history, came, Reset.ALONE)


def lives_on_after_text(history: History, came: Came) -> Judged:
    """So does one with text (RFC 9293 section 3.10.7.4, SHLD-2)."""
    return _lives_on(history, came, Reset.TEXT)


def lives_on_after_fin(history: History, came: Came) -> Judged:
    """So does one with FIN, for RST is looked at first (RFC 9293 section 3.10.7.4, second)."""
    # A firewall may drop such a RST: of strangers nobody knows.
    return history.steady and _lives_on(history, came, Reset.FIN)


def lives_on_behind_its_window(history: History, came: Came) -> Judged:
    """So does one that comes to a closed window (RFC 9293 section 3.8.6, MUST-66)."""
    return _lives_on(history, came, Reset.CLOSED)


def lives_on_after_old_times(history: History, came: Came) -> Judged:
    """So does one whose timestamp is old (RFC 7323 section 5.2)."""
    return history.steady and _lives_on(history, came, Reset.TIMES)


def repeats_after_rst(history: History, came: Came) -> Judged:
    """A RST with the next number ends a connection that is half open, and its SYN-ACKs (RFC 9293
    section 3.10.7.4, second)."""
    peer = history.peer
    if peer.refused_at is None or peer.syns != 1 or history.syns != 1:
        return False
    if came.at - peer.refused_at <= _BEFORE_A_TIMER + history.grace:
        return False
    crossed = any(not each.flags & (SYN | RST) for each in history.last_sent)
    if not history.is_timed(peer.refused_at) or (crossed and came.segment.is_syn_ack):
        # An ACK that crosses the SYN-ACK makes it another connection that is reset.
        return False
    if came.ack != peer.refused_number:
        # Of text that the SYN-ACK takes, the RST did not know.
        return False
    return not came.segment.is_syn_ack or Breach("no SYN-ACK: its connection was reset", "one more")


def outside_ends(history: History, came: Came) -> Judged:
    """A RST outside of the window ends nothing (RFC 9293 section 3.5.3)."""
    peer = history.peer
    if not peer.far_resets or not peer.calm or history.errors or not _goes_on(history, came):
        return False
    return not came.flags & RST or Breach("the connection to go on", "a RST")


def ends_challenged(history: History, came: Came) -> Judged:
    """A RST that was answered with a challenge ACK ends nothing (RFC 5961 section 3.2)."""
    if not history.peer.challenge.came or history.errors or not _goes_on(history, came):
        return False
    return not came.flags & RST or Breach("the connection to go on: it challenged a RST", "a RST")


def ignores_the_ack(history: History, came: Came) -> Judged:
    """The RST of a port without a connection takes its number from the ACK that it answers (RFC
    9293 section 3.10.7.1)."""
    sent = history.last_sent
    if not came.flags & RST or history.iss is not None or history.isn is not None or not sent:
        return False
    if not all(each.flags & (ACK | RST | SYN) == ACK for each in sent):
        return False
    number = came.segment.seq
    return number in {each.ack for each in sent} or Breach(
        "the number that was acknowledged", f"{number}"
    )


def goes_on(history: History, came: Came) -> Judged:
    """Nothing follows the RST that ends a connection but answers (RFC 9293 section 3.10.5)."""
    end = history.theirs.end
    if came.flags & RST:
        return bool(came.flags & ACK) and came.seq == end > 1
    reset = history.reset
    if (
        reset is None
        or history.spoke_since
        or not reset.flags & ACK
        or reset.seq != end
        or end <= 1
    ):
        return False
    return bool(came.flags & RST) or Breach("nothing after its RST", str(came.segment))


def many_challenges(history: History, came: Came) -> Judged:
    """Challenge ACKs are throttled (RFC 5961 section 7)."""
    if came.length or history.peer.plain or not history.says_nothing_new(came):
        return False
    count = sum(1 for each in reversed(history.acks_at) if came.at - each <= 1.0) + 1
    if count < _FEW:
        return False
    return count <= _MANY or Breach(f"{_MANY} challenge ACKs in a second at most", f"{count}")


def short_time_wait(history: History, came: Came) -> Judged:
    """TIME-WAIT lasts for seconds (RFC 9293 section 3.6.1, MUST-13)."""
    since = history.time_wait
    if since is None or not history.spoke_since or not history.peer.plain:
        return False
    if came.at - since >= _TIME_WAIT:
        return False
    return not came.flags & RST or Breach("an ACK in TIME-WAIT", "a RST")


def answers_fin_again(history: History, segment: Segment, at: float) -> Due | None:
    """In TIME-WAIT the FIN that comes again is acknowledged again (RFC 9293 section 3.10.7.4)."""
    since = history.time_wait
    if since is None or not segment.flags & FIN or not history.peer.plain:
        return None
    if at + _ANSWER_WITHIN - since >= _TIME_WAIT:
        return None
    return Due(at, at + _ANSWER_WITHIN, "an ACK of the FIN within a second", lambda _: True)


RULES: tuple[Rule, ...] = (
    strict("rst-with-fin-ignored", lives_on_after_fin, "ra", WAS_RESET),
    strict("rst-at-closed-window-ignored", lives_on_behind_its_window, "ra", WAS_RESET),
    strict("rst-with-old-times-ignored", lives_on_after_old_times, "ra", WAS_RESET),
    strict("syn-ack-after-rst", repeats_after_rst, "sra", REFUSED),
    strict("rst-outside-ends", outside_ends, "ra", RESETS),
    strict("challenged-rst-ends", ends_challenged, "ra", RESETS),
    Rule("rst-ignores-the-ack", ignores_the_ack, listens=True, complete=True, on="r"),
    Rule("rst-to-nothing", rst_to_nothing, complete=True, on="r"),
    Rule("rst-to-rst", rst_to_rst, complete=True, on="r"),
    Rule("rst-number", rst_number, complete=True, numbers=True, on="r"),
    Rule("rst-acknowledges", rst_acknowledges, complete=True, numbers=True, on="r"),
    strict("rst-unprovoked", unprovoked, "ra", STEADY),
    strict("soft-error-aborts", soft_error, "ra", ERRORS | STEADY),
    strict("lives-on-after-rst", lives_on, "ra", WAS_RESET),
    strict("rst-with-text-ignored", lives_on_after_text, "ra", WAS_RESET),
    strict("goes-on-after-its-rst", goes_on, "ra", RESET),
    strict("challenges-unlimited", many_challenges, "a", EMPTY | ODD),
    strict("time-wait-short", short_time_wait, "ra", TIME_WAIT),
    Rule("time-wait-silent", owes=answers_fin_again, needs=TIME_WAIT | ENDS),
)
