"""Finds the first difference between two runs of one program at two targets, and its kind."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from scapy_tfo.executor.digest import END, Rst, Seen, SynAck
from scapy_tfo.executor.verdict import Verdict
from scapy_tfo.oracle.parts.violation import Violation

DIFFERS = "differs"
"""In place of a requirement's id: that two targets differ is no violation by itself."""

_NOTHING = "nothing"


class Deed(NamedTuple):
    """What one target did: by its kind, with which others are grouped, and in numbers."""

    kind: str
    told: str


def difference(ours: Verdict, theirs: Verdict) -> Violation | None:
    """The first difference, as a violation whose reply class says what each did; None for none.

    Up to where a run was broken off by a violation of the model it is what the targets showed,
    behind that it is the violation.
    """
    shown = list(zip(ours.digest, theirs.digest, strict=False))
    for mine, other in shown:
        if mine.step == END and _broken(ours) != _broken(theirs):
            break
        for flow, pair in enumerate(zip(mine.flows, other.flows, strict=True)):
            deeds = _deeds(*pair, is_end=mine.step == END)
            if deeds is not None:
                return _violation(pair[0], flow, mine.step, *deeds)
    if _broken(ours) == _broken(theirs):
        return None
    first = (ours.violations or theirs.violations)[0]
    deeds = _against_the_model(ours), _against_the_model(theirs)
    return Violation(
        DIFFERS,
        f"{DIFFERS}-model",
        first.state,
        _versus(*deeds),
        first.flow,
        first.step,
        deeds[1].told,
        deeds[0].told,
    )


def _violation(seen: Seen, flow: int, step: int, mine: Deed, other: Deed) -> Violation:
    return Violation(
        requirement=DIFFERS,
        rule=f"{DIFFERS}-{seen.opening}",
        state=f"{seen.state}, {seen.opening}",
        reply=_versus(mine, other),
        flow=flow,
        step=step,
        expected=other.told,
        actual=mine.told,
    )


def _versus(mine: Deed, other: Deed) -> str:
    return f"{mine.kind} / {other.kind}"


def _broken(verdict: Verdict) -> set[tuple[str, str]]:
    return {(each.rule, each.reply) for each in verdict.violations}


def _against_the_model(verdict: Verdict) -> Deed:
    if not verdict.violations:
        return Deed("as modelled", "what the model allows")
    first = verdict.violations[0]
    return Deed(f"{first.rule} {first.reply}", f"{first.actual} ({first.requirement})")


def _deeds(mine: Seen, other: Seen, *, is_end: bool) -> tuple[Deed, Deed] | None:
    """What each did where that differs: of what follows from each other the first."""
    if mine.syn_acks != other.syn_acks:
        return _opened(mine, other), _opened(other, mine)
    # When both ends have closed, a RST tells no more than whether the last ACK came by then.
    if mine.rsts != other.rsts and not (is_end and mine.fin and other.fin):
        return _rejected(mine, other), _rejected(other, mine)
    if is_end and mine.vague != other.vague:
        # What is sent at the end depends on what the model knows by then.
        return None
    if mine.ack != other.ack:
        return _acknowledged(mine, other), _acknowledged(other, mine)
    if mine.narrow or other.narrow:
        return None
    # How much is under way at a time is decided by the congestion window, too.
    if mine.text != other.text and (is_end or not (mine.text and other.text)):
        return _sent(mine, other), _sent(other, mine)
    if mine.fin != other.fin and mine.text == other.text:
        return _ended(mine), _ended(other)
    return None


def _opened(mine: Seen, other: Seen) -> Deed:
    own = mine.syn_acks - other.syn_acks
    if not own:
        return Deed("no SYN-ACK" if not mine.syn_acks else "no other SYN-ACK", _NOTHING)
    kinds = (f"SYN-ACK of {_of(each, mine)}, {each.option}" for each in own)
    told = (f"a SYN-ACK acknowledging {each.ack} with {each.option}" for each in own)
    return Deed(_joined(kinds), _joined(told))


def _of(syn_ack: SynAck, seen: Seen) -> str:
    if syn_ack.ack == 1:
        return "SYN"
    return "all" if syn_ack.ack == seen.size else "part" if syn_ack.ack > 1 else "what never was"


def _rejected(mine: Seen, other: Seen) -> Deed:
    own = mine.rsts - other.rsts
    if not own:
        return Deed("no RST" if not mine.rsts else "no other RST", _NOTHING)
    return Deed(_joined("RST" if each.ack is None else "RST+ACK" for each in own), _told(own))


def _told(rsts: Iterable[Rst]) -> str:
    return _joined(
        f"RST {each.seq}" + ("" if each.ack is None else f" acknowledging {each.ack}")
        for each in rsts
    )


def _acknowledged(mine: Seen, other: Seen) -> Deed:
    kind = "less acknowledged" if mine.ack < other.ack else "more acknowledged"
    return Deed(kind, f"acknowledging {mine.ack} of {mine.size}")


def _sent(mine: Seen, other: Seen) -> Deed:
    kind = "no text" if not mine.text else "less text" if mine.text < other.text else "more text"
    return Deed(kind, f"{mine.text} bytes of text")


def _ended(seen: Seen) -> Deed:
    return Deed("FIN", "FIN") if seen.fin else Deed("no FIN", "no FIN")


def _joined(parts: Iterable[str]) -> str:
    return " and ".join(sorted(set(parts)))
