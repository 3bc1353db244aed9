"""Rules on RST: RFC 9293 section 3.5.2, RFC 5961."""

from __future__ import annotations

import itertools

from scapy_tfo.oracle.conduct.history import Came, History
from scapy_tfo.oracle.conduct.rule import Due, Judged, Rule, held
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
_COOKIE_VALUES = 8
"""Values that a SYN cookie has room for, such as an MSS by its number in a list."""


def rst_to_nothing(history: History, came: Came) -> Judged:
    """A RST answers something."""
    if not came.flags & RST:
        return False
    return held(bool(history.last_sent), "silence: nothing was sent", came.segment)


def rst_to_rst(history: History, came: Came) -> Judged:
    """A RST is never answered with a RST (RFC 9293 section 3.5.2)."""
    if not came.flags & RST:
        return False
    only = bool(history.last_sent) and all(each.flags & RST for each in history.last_sent)
    return held(not only, "silence after a RST", came.segment)


def rst_number(history: History, came: Came) -> Judged:
    """Its number is what the peer acknowledged, or one of its own; without either it is 0, and it
    acknowledges what it rejects (RFC 9293 section 3.5.2)."""
    if not came.flags & RST or not history.last_sent:
        return False
    number = came.segment.seq
    if history.iss is None and history.isn is not None:
        # An application may abort before its SYN-ACK is out, or while that is lost.
        return False
    if number in history.acks:
        return True
    if came.seq is not None:
        inside = -1 <= came.seq <= max(history.theirs.end, history.limit or 0) + 1
        if inside:
            return True
    return held(number == 0, "a number that the peer knows", f"{number}")


def rst_acknowledges(history: History, came: Came) -> Judged:
    """RST of a closed port acknowledges all of the segment that it rejects."""
    if came.flags & (RST | ACK) != RST | ACK or came.segment.seq or history.iss is not None:
        return False
    return held(
        came.segment.ack in history.ends,
        "acknowledging the end of a segment",
        f"{came.segment.ack}",
    )


def _is_steady(history: History, came: Came) -> bool:
    """Whether nothing that the peer or the application does explains a RST."""
    peer, best = history.peer, history.best
    if not history.steady or not peer.plain or peer.fin or peer.sent_at is None:
        return False
    if best is None or best.flags & (SYN | RST) or history.their_fin is not None:
        return False
    # Its application has answered, so the connection is accepted.
    return history.theirs.end > 1 and came.at - peer.sent_at <= _PATIENCE


def unprovoked(history: History, came: Came) -> Judged:
    """A RST has a cause: it answers what is wrong, or an application that aborts."""
    if not _is_steady(history, came) or history.errors:
        return False
    return held(not came.flags & RST, "the connection to go on", "a RST")


def soft_error(history: History, came: Came) -> Judged:
    """Errors that may pass end no connection (RFC 9293 section 3.9.2.2, MUST-55, MUST-56)."""
    peer = history.peer
    if not peer.soft or peer.hard or not _is_steady(history, came):
        return False
    return held(not came.flags & RST, "the connection to go on after an ICMP error", "a RST")


def _lives_on(history: History, came: Came, *, text: bool) -> Judged:
    peer = history.peer
    if peer.reset_at is None or peer.by_text is not text or peer.syns != 1:
        return False
    if history.theirs.end <= 1 or came.at - peer.reset_at <= _UNDER_WAY + history.grace:
        return False
    since = itertools.takewhile(lambda each: not each.flags & RST, reversed(history.last_sent))
    if any(_may_be_a_cookie(history, each) for each in since):
        return False
    return held(bool(came.flags & RST), "a RST or silence: the connection was reset", came.segment)


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
    return _lives_on(history, came, text=False)


def lives_on_after_text(history: History, came: Came) -> Judged:
    """So does one with text (RFC 9293 section 3.10.7.4, SHLD-2)."""
    return _lives_on(history, came, text=True)


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
    return held(bool(came.flags & RST), "nothing after its RST", came.segment)


def many_challenges(history: History, came: Came) -> Judged:
    """Challenge ACKs are throttled (RFC 5961 section 7)."""
    if came.length or history.peer.plain or not history.says_nothing_new(came):
        return False
    count = sum(1 for each in reversed(history.acks_at) if came.at - each <= 1.0) + 1
    if count < _FEW:
        return False
    return held(count <= _MANY, f"{_MANY} challenge ACKs in a second at most", f"{count}")


def short_time_wait(history: History, came: Came) -> Judged:
    """TIME-WAIT lasts for seconds (RFC 9293 section 3.6.1, MUST-13)."""
    since = history.time_wait
    if since is None or not history.spoke_since or not history.peer.plain:
        return False
    if came.at - since >= _TIME_WAIT:
        return False
    return held(not came.flags & RST, "an ACK in TIME-WAIT", "a RST")


def answers_fin_again(history: History, segment: Segment, at: float) -> Due | None:
    """In TIME-WAIT the FIN that comes again is acknowledged again (RFC 9293 section 3.10.7.4)."""
    since = history.time_wait
    if since is None or not segment.flags & FIN or not history.peer.plain:
        return None
    if at + _ANSWER_WITHIN - since >= _TIME_WAIT:
        return None
    return Due(at, at + _ANSWER_WITHIN, "an ACK of the FIN within a second", lambda _: True)


RULES = (
    Rule("rst-to-nothing", rst_to_nothing, complete=True, on="r"),
    Rule("rst-to-rst", rst_to_rst, complete=True, on="r"),
    Rule("rst-number", rst_number, complete=True, numbers=True, on="r"),
    Rule("rst-acknowledges", rst_acknowledges, complete=True, numbers=True, on="r"),
    Rule(
        "rst-unprovoked",
        unprovoked,
        listens=True,
        complete=True,
        ordered=True,
        numbers=True,
        on="ra",
    ),
    Rule(
        "soft-error-aborts",
        soft_error,
        listens=True,
        complete=True,
        ordered=True,
        numbers=True,
        on="ra",
    ),
    Rule(
        "lives-on-after-rst",
        lives_on,
        listens=True,
        complete=True,
        ordered=True,
        numbers=True,
        on="ra",
    ),
    Rule(
        "rst-with-text-ignored",
        lives_on_after_text,
        listens=True,
        complete=True,
        ordered=True,
        numbers=True,
        on="ra",
    ),
    Rule(
        "goes-on-after-its-rst",
        goes_on,
        listens=True,
        complete=True,
        ordered=True,
        numbers=True,
        on="ra",
    ),
    Rule(
        "challenges-unlimited",
        many_challenges,
        listens=True,
        complete=True,
        ordered=True,
        numbers=True,
        on="a",
    ),
    Rule(
        "time-wait-short",
        short_time_wait,
        listens=True,
        complete=True,
        ordered=True,
        numbers=True,
        on="ra",
    ),
    Rule("time-wait-silent", owes=answers_fin_again),
)
