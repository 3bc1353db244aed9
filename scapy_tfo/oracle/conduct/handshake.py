"""Rules on SYN-ACKs and their ISNs.

Sources: RFC 9293 sections 3.4 and 3.7, RFC 7323, 2018, 3168, 6528 and 7413.
"""

from __future__ import annotations

from scapy_tfo import option as opt
from scapy_tfo.oracle.conduct.history import Came, History
from scapy_tfo.oracle.conduct.parts.conditions import ACK_FROM_AFAR, ANSWERED, SYN_AGAIN, TIMES
from scapy_tfo.oracle.conduct.rule import Breach, Due, Judged, Rule, strict
from scapy_tfo.segment import ACK, CWR, ECE, RST, SYN, Segment
from scapy_tfo.seq import distance

_MOST_SHIFT = 14
_SYN_ACK_WITHIN = 3.5
_OFTEN = {opt.NOP, opt.EOL, opt.MSS, opt.WINDOW_SCALE, opt.SACK_PERMITTED}
_ALIKE = 4
"""Connections in a row before one with the same ISS: none by chance, however few an end chooses
from."""
_STEPS = 8
"""Equal distances between ISSs in a row: none by chance."""
_TICK = 0.02
"""Seconds in which the clock behind the ISNs moves on, several times at least: it should tick every
4 microseconds (RFC 9293 section 3.4.1)."""


def acknowledges_the_syn(history: History, came: Came) -> Judged:
    """It acknowledges the SYN, and no more than was sent with it or behind it."""
    if not came.segment.is_syn_ack or history.isn is None:
        return False
    number = distance(history.isn, came.segment.ack)
    return 1 <= number <= history.sent.next or Breach(
        f"acknowledging 1 to {history.sent.next} (relative to the ISN)", f"{number}"
    )


def scale_unasked(history: History, came: Came) -> Judged:
    """Window scale only where the SYN has it (RFC 7323 section 2.2)."""
    if not came.segment.is_syn_ack or history.offered.scaled:
        return False
    return opt.WINDOW_SCALE not in came.options or Breach(
        "no window scale", "one: none was offered"
    )


def scale_too_large(_: History, came: Came) -> Judged:
    """A shift of 14 at most (RFC 7323 section 2.3)."""
    scale = came.options.get(opt.WINDOW_SCALE) if came.flags & SYN else None
    if scale is None or len(scale.data) != 1:
        return False
    return scale.data[0] <= _MOST_SHIFT or Breach("a shift of 14 at most", f"{scale.data[0]}")


def times_unasked(history: History, came: Came) -> Judged:
    """Timestamps only where the SYN has them (RFC 7323 section 3.2)."""
    if not came.segment.is_syn_ack or history.offered.times:
        return False
    return came.times is None or Breach("no timestamps", "some: none were offered")


def echoes_the_syn(history: History, came: Came) -> Judged:
    """TSecr is the TSval of a SYN (RFC 7323 section 3.2)."""
    if not came.segment.is_syn_ack or came.times is None or not history.tsvals:
        return False
    return came.times[1] in history.tsvals or Breach("TSecr of a SYN's TSval", f"{came.times[1]}")


def sack_unasked(history: History, came: Came) -> Judged:
    """SACK permitted only where the SYN has it: it is the peer that would send blocks."""
    if not came.segment.is_syn_ack or history.offered.sack:
        return False
    there = opt.SACK_PERMITTED in came.options
    return not there or Breach("no SACK permitted", "one: none was offered")


def ecn_unasked(history: History, came: Came) -> Judged:
    """ECE in a SYN-ACK answers ECE and CWR in the SYN (RFC 3168 section 6.1.1)."""
    if not came.segment.is_syn_ack or history.offered.ecn:
        return False
    return not came.flags & (ECE | CWR) or Breach("neither ECE nor CWR", str(came.segment))


def ecn_reflected(history: History, came: Came) -> Judged:
    """A SYN-ACK with both is one of a host that reflects what came (RFC 3168 section 6.1.1)."""
    asked = [each for each in history.last_sent if each.flags & (SYN | ACK) == SYN]
    plain = all(not each.reserved for each in asked)
    if not came.segment.is_syn_ack or not history.offered.ecn or not plain:
        return False
    both = came.flags & (ECE | CWR) == ECE | CWR
    return not both or Breach("ECE alone, or none", "ECE and CWR, as in the SYN")


def same_iss(history: History, came: Came) -> Judged:
    """A repeated SYN-ACK has the ISS of the first, while its connection lives."""
    answer = history.answer
    again = came.segment.is_syn_ack and answer is not None
    over = history.resets or history.reset is not None
    if not again or over or history.errors or history.mixed:
        return False
    assert answer is not None
    lasts = came.at - answer.at <= 1.0 and history.is_timed(answer.at)
    if not lasts or len(_syns(history)) > 1:
        # It may have been given up, or never kept: SYN cookies change with time.
        return False
    iss = answer.segment.seq
    return came.segment.seq == iss or Breach(f"ISS {iss}", f"{came.segment.seq}")


def same_offer(history: History, came: Came) -> Judged:
    """A repeated SYN-ACK agrees on what the first did: shift, SACK and timestamps."""
    answer = history.answer
    if answer is None or not came.segment.is_syn_ack or len(_syns(history)) > 1:
        return False
    if came.segment.seq != answer.segment.seq:
        return False
    kinds = (opt.WINDOW_SCALE, opt.SACK_PERMITTED, opt.TIMESTAMPS)
    now, then = (tuple(k in each.options for k in kinds) for each in (came, answer))
    shifts = [each.options.get(opt.WINDOW_SCALE) for each in (came, answer)]
    return (now == then and shifts[0] == shifts[1]) or Breach(
        "the options of the first SYN-ACK", f"scale, SACK, timestamps {now} after {then}"
    )


def _syns(history: History) -> set[bytes]:
    """The different lists of options of the peer's SYNs."""
    return {each.options for each in history.last_sent if each.flags & (SYN | ACK) == SYN}


def cookie_unasked(history: History, came: Came) -> Judged:
    """A cookie comes only where the SYN has the option (RFC 7413 section 4.1.2)."""
    if not came.segment.is_syn_ack or history.offered.fast_open:
        return False
    return not came.segment.fast_open or Breach("no Fast Open option", "one: none was sent")


def cookie_sound(_: History, came: Came) -> Judged:
    """A granted cookie has 4 to 16 bytes, an even number (RFC 7413 section 4.1.1)."""
    found = came.segment.fast_open if came.flags & SYN else ()
    if not found:
        return False
    bad = [each for each in found if isinstance(each, opt.Broken) or each.is_request]
    return not bad or Breach("a cookie of 4 to 16 bytes", "a broken or empty option")


def iss_constant(history: History, came: Came) -> Judged:
    """The ISS changes from connection to connection (RFC 9293 section 3.4.1, MUST-8)."""
    begins = came.segment.is_syn if history.opens else came.segment.is_syn_ack
    if not begins or history.answer is not None or (history.isn is None and not history.opens):
        return False
    population = history.population
    alike = population.alike(history.key, came.segment.seq)
    stands = alike >= _ALIKE and came.at - population.since > _TICK
    return not stands or Breach("another ISS than before", f"{came.segment.seq} again")


def iss_of_the_peer(history: History, came: Came) -> Judged:
    """The ISS does not follow from the peer's number (RFC 9293 section 3.4.1, RFC 6528)."""
    if not came.segment.is_syn_ack or history.answer is not None or history.isn is None:
        return False
    shifted = history.population.shifted(history.key, history.isn, came.segment.seq)
    return shifted < _ALIKE or Breach(
        "an ISS that is not made of the ISN", "the same distance again"
    )


def iss_repeats(history: History, came: Came) -> Judged:
    """A new connection between the same ends has another ISS (RFC 9293 section 3.4.1)."""
    if not came.segment.is_syn_ack or history.answer is not None or history.isn is None:
        return False
    before = history.population.before(history.key)
    if before is None or before[0] == history.isn:
        return False
    if came.ack is None or not 1 <= came.ack <= history.sent.end:
        # It is the connection before this one that answers.
        return False
    return before[1] != came.segment.seq or Breach("another ISS than before", f"{before[1]} again")


def iss_used(history: History, came: Came) -> Judged:
    """Out of TIME-WAIT it lies beyond all that the connection before used, from where old segments
    may still come (RFC 9293 section 3.6.1, MAY-2)."""
    if not came.segment.is_syn_ack or history.answer is not None or history.isn is None:
        return False
    before = history.population.before(history.key)
    if before is None or before[0] == history.isn or before[1] == came.segment.seq:
        return False
    if came.ack is None or not 1 <= came.ack <= history.sent.end:
        return False
    used = history.population.is_used(history.key, came.segment.seq, came.at)
    return not used or Breach("an ISS beyond what was used before", f"{came.segment.seq}")


def iss_on_a_line(history: History, came: Came) -> Judged:
    """Who knows one ISS does not know the next: they stand at no constant distance (RFC 9293
    section 3.4.1, SHLD-1)."""
    if not came.segment.is_syn_ack or history.answer is not None or history.isn is None:
        return False
    steps = history.population.steps(history.key, came.segment.seq)
    if steps is None:
        return False
    return steps < _STEPS or Breach("an ISS that nobody can foretell", f"the {steps}th equal step")


def syn_ack_after_text(history: History, came: Came) -> Judged:
    """Once text behind the handshake is acknowledged, the handshake is over (RFC 9293 section
    3.10.7.4)."""
    best = history.best
    if best is None or best.flags & (SYN | RST) or best.ack is None or history.syns != 1:
        return False
    if best.ack <= history.peer.syn_end or not history.peer.sure or history.resets:
        return False
    return not came.segment.is_syn_ack or Breach("no SYN-ACK: the connection is open", "one")


def opens_from_afar(history: History, came: Came) -> Judged:
    """No text is sent before an ACK in the window ends the handshake, unless a fast open allows it
    (RFC 9293 section 3.10.7.4, first)."""
    if not history.peer.far_ack or history.syns != 1 or history.offered.fast_open:
        return False
    if history.peer.syn_end > 1:
        # Where no cookie is asked for, a SYN with text is a fast open without the option.
        return False
    text = came.segment.payload and not came.flags & SYN
    return not text or Breach("no text: the ACK was far outside of the window", "text")


def another_number(history: History, came: Came) -> Judged:
    """A SYN-ACK that a timer repeats acknowledges what the first did (RFC 7413 section 4.2.2)."""
    answer = history.answer
    if answer is None or not (answer.segment.is_syn_ack and came.segment.is_syn_ack):
        return False
    if came.segment.seq != answer.segment.seq:
        return False
    if history.spoke_since or len(history.last_sent) != 1:
        return False
    return came.ack == answer.ack or Breach(f"acknowledging {answer.ack} as before", f"{came.ack}")


def answers_second_syn(history: History, segment: Segment, at: float) -> Due | None:
    """The SYN of a connection that is half open is answered (RFC 9293 section 3.10.7.4, fourth),
    if no timer repeats the SYN-ACK."""
    best = history.best
    if history.syns < 2 or best is None or best.flags & (SYN | RST) != SYN or history.resets:
        return None
    sound = segment.checksum is None and segment.data_offset is None and segment.hop_limit > 1
    if not sound or any(each.flags != SYN for each in history.last_sent):
        return None
    if len(_syns(history)) > 1 or history.errors:
        return None
    known = _OFTEN.issuperset(each.kind for each in opt.pull_options(segment.options))

    def waived() -> bool:
        return any(each.flags != SYN for each in history.last_sent) or bool(history.errors)

    by = at + _SYN_ACK_WITHIN
    expected = "an answer to the SYN that came again"
    return Due(at, by, expected, lambda _: True, plain=False, waived=waived) if known else None


RULES: tuple[Rule, ...] = (
    strict("syn-ack-after-text", syn_ack_after_text, "sa", ANSWERED),
    strict("syn-ack-of-another-number", another_number, "s", ANSWERED),
    Rule(
        "opens-from-afar",
        opens_from_afar,
        listens=True,
        complete=True,
        numbers=True,
        on="sa",
        needs=ACK_FROM_AFAR,
    ),
    Rule("second-syn-unanswered", owes=answers_second_syn, needs=SYN_AGAIN),
    Rule(
        "number-of-syn-ack", acknowledges_the_syn, complete=True, numbers=True, on="s", listens=True
    ),
    Rule("scale-unasked", scale_unasked, complete=True, on="s", listens=True),
    Rule("scale-too-large", scale_too_large, on="s", options=True),
    Rule("times-unasked", times_unasked, complete=True, on="s", listens=True),
    Rule(
        "times-of-the-syn",
        echoes_the_syn,
        complete=True,
        on="s",
        options=True,
        listens=True,
        needs=TIMES,
    ),
    Rule("sack-unasked", sack_unasked, complete=True, on="s", listens=True),
    Rule("ecn-unasked", ecn_unasked, complete=True, on="s", listens=True),
    Rule("ecn-reflected", ecn_reflected, complete=True, on="s", listens=True),
    Rule(
        "another-iss",
        same_iss,
        complete=True,
        numbers=True,
        on="s",
        ordered=True,
        listens=True,
        needs=ANSWERED,
    ),
    Rule(
        "another-offer",
        same_offer,
        complete=True,
        numbers=True,
        on="s",
        ordered=True,
        listens=True,
        needs=ANSWERED,
    ),
    Rule("cookie-unasked", cookie_unasked, complete=True, on="s", listens=True),
    Rule("cookie-broken", cookie_sound, on="s", options=True, listens=True),
    Rule("iss-constant", iss_constant, complete=True, on="s"),
    Rule("iss-of-the-peer", iss_of_the_peer, complete=True, on="s", listens=True),
    Rule("iss-repeats", iss_repeats, complete=True, on="s", listens=True),
    Rule("iss-used-before", iss_used, complete=True, on="s", listens=True),
    Rule("iss-on-a-line", iss_on_a_line, complete=True, on="s", listens=True),
)
