"""Rules on how one segment is met that is odd in one thing, on a connection that was not."""

from __future__ import annotations

from collections.abc import Callable

from scapy_tfo.oracle.conduct.history import Came, History
from scapy_tfo.oracle.conduct.parts.conditions import AGAIN, DOUBTFUL, ONE_ODDITY
from scapy_tfo.oracle.conduct.parts.oddity import Oddity
from scapy_tfo.oracle.conduct.rule import Breach, Due, Judged, Rule, strict
from scapy_tfo.segment import ACK, FIN, RST, SYN, Segment

_ACK_WITHIN = 0.51
"""Seconds (RFC 9293 section 3.8.6.3, MUST-40), and what sums of them lose."""
_ANSWER_WITHIN = 1.01
_Owes = Callable[[History, Segment, float], Due | None]


def _is_open(history: History) -> bool:
    return history.best is not None and not history.best.flags & (SYN | RST)


def _any(_: Came) -> bool:
    return True


def _takes(kind: Oddity, what: str) -> _Owes:
    """The rule that such text is acknowledged as any other."""

    def owes(history: History, _: Segment, at: float) -> Due | None:
        # A firewall may drop what is odd: of strangers nobody knows.
        if history.peer.odd is not kind or not (_is_open(history) and history.steady):
            return None
        number = history.binding.next
        return Due(
            at,
            at + _ACK_WITHIN,
            f"an ACK of {number}: {what} is no reason to drop text",
            lambda came: came.flags & RST == 0 and came.ack is not None and came.ack >= number,
        )

    return owes


def answers_keepalive(history: History, _: Segment, at: float) -> Due | None:
    """A keep-alive is answered (RFC 9293 section 3.8.4, MUST-26)."""
    if history.peer.odd is not Oddity.KEEPALIVE or not _is_open(history):
        return None
    by = at + _ANSWER_WITHIN
    return Due(at, by, "an ACK of the keep-alive within a second", _any)


def answers_too_much(history: History, _: Segment, at: float) -> Due | None:
    """An acknowledgement of what was not sent is answered with an ACK (RFC 9293 section 3.10.7.4,
    fifth): the first one, as others may be one too many."""
    if history.peer.odd is not Oddity.AHEAD or not (_is_open(history) and history.steady):
        return None
    return Due(at, at + _ANSWER_WITHIN, "an ACK within a second", _any)


def challenges_a_reset(history: History, _: Segment, at: float) -> Due | None:
    """A RST in the window is answered with an ACK (RFC 5961 section 3.2): likewise."""
    if history.peer.odd is not Oddity.RESET or not (_is_open(history) and history.steady):
        return None
    by = at + _ANSWER_WITHIN
    return Due(at, by, "a challenge ACK within a second", lambda came: not came.flags & RST)


def answers_wrong_ack(history: History, _: Segment, at: float) -> Due | None:
    """Text that acknowledges what was not sent is answered before the handshake's end, with RST
    (RFC 9293 section 3.10.7.4, fifth) or with an ACK."""
    best = history.best
    if history.peer.odd is not Oddity.AHEAD or best is None or not best.flags & SYN:
        return None
    if not history.steady:
        return None
    return Due(at, at + _ANSWER_WITHIN, "a RST or an ACK within a second", _any)


def answers_old_text(history: History, segment: Segment, at: float) -> Due | None:
    """A segment outside of the window is answered with an ACK (RFC 9293 section 3.10.7.4, first);
    judged by text that came before."""
    peer, best = history.peer, history.best
    if not peer.plain or peer.fresh or not segment.payload or not _is_open(history):
        return None
    assert best is not None
    place = history.place(segment)
    done = place.start + segment.length <= (best.ack or 0) and not segment.flags & FIN
    if not done or history.their_fin is not None or peer.fin:
        return None
    before = peer.old_at[1], peer.odd_at
    if any(each is not None and at - each < _ANSWER_WITHIN for each in before):
        # What is not acceptable may be answered once a second (RFC 5961 section 7).
        return None
    return Due(at, at + _ANSWER_WITHIN, "an ACK of old text within a second", _any)


def _doubts(kind: Oddity, *, is_open: bool, why: str) -> Callable[[History, Came], Judged]:
    """The rule that such text is not taken."""

    def judge(history: History, came: Came) -> Judged:
        doubtful = history.peer.doubtful
        if doubtful is None or doubtful[0] is not kind or doubtful[2] is not is_open:
            return False
        taken = came.ack is not None and came.flags & (ACK | RST) == ACK and came.ack > doubtful[1]
        return not taken or Breach(f"no more than {doubtful[1]}: {why}", f"{came.ack}")

    return judge


def _taking(name: str, kind: Oddity, what: str) -> Rule:
    return Rule(name, owes=_takes(kind, what), needs=ONE_ODDITY)


def _doubting(name: str, kind: Oddity, *, is_open: bool, why: str) -> Rule:
    judge = _doubts(kind, is_open=is_open, why=why)
    return strict(name, judge, "ra", DOUBTFUL)


RULES: tuple[Rule, ...] = (
    _taking("urgent-text-dropped", Oddity.URGENT, "URG"),
    _taking("reserved-bits-minded", Oddity.RESERVED, "a reserved bit"),
    _taking("strange-option-minded", Oddity.OPTION, "an option that nobody knows"),
    _taking("unasked-times-minded", Oddity.TIMES, "a timestamp that was not agreed on"),
    Rule("keepalive-unanswered", owes=answers_keepalive, needs=ONE_ODDITY),
    Rule("ack-ahead-unanswered", owes=answers_too_much, needs=ONE_ODDITY),
    Rule("reset-unchallenged", owes=challenges_a_reset, needs=ONE_ODDITY),
    Rule("wrong-ack-unanswered", owes=answers_wrong_ack, needs=ONE_ODDITY),
    Rule("old-text-unanswered", owes=answers_old_text, needs=AGAIN),
    _doubting("text-without-ack-taken", Oddity.NO_ACK, is_open=True, why="it came without ACK"),
    _doubting("bad-checksum-taken", Oddity.CHECKSUM, is_open=True, why="its checksum is wrong"),
    _doubting(
        "text-beside-a-wrong-ack",
        Oddity.AHEAD,
        is_open=True,
        why="it came with an ACK of what was not sent",
    ),
    _doubting(
        "opens-for-a-wrong-ack",
        Oddity.AHEAD,
        is_open=False,
        why="the ACK beside it is not of the SYN-ACK",
    ),
)
