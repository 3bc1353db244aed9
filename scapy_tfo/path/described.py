"""Describes what a path does to packets where no known middlebox does such a thing."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from scapy_tfo import option as opt
from scapy_tfo.icmp import IcmpError
from scapy_tfo.path.evidence import HOMEWARD, ONWARD, Finding, Verdict
from scapy_tfo.path.law import Deviation
from scapy_tfo.path.observation import SYN_DATA, Probe
from scapy_tfo.path.transit import ICMP_ERROR, Effect, Fate
from scapy_tfo.segment import ACK, FIN, RST, SYN, Segment

_VERBS = {
    Effect.LOST: "loses",
    Effect.CHANGED: "changes",
    Effect.DELAYED: "delays",
    Effect.DOUBLED: "doubles",
    Effect.INVENTED: "invents",
}
_SAYS = {
    Effect.LOST: "never arrive",
    Effect.CHANGED: "arrive changed",
    Effect.DELAYED: "arrive late, and later ones overtake them",
    Effect.DOUBLED: "arrive twice",
    Effect.INVENTED: "arrive that nobody sent",
}
_FIELDS = {"payload": "data", "seq": "sequence number", "ack": "acknowledgement"}
_CLASSES = {
    "data": "segments with data",
    "ACK": "bare ACKs",
    "FIN": "FINs without data",
    "RST": "RSTs",
    ICMP_ERROR: "ICMP errors",
}
_CONTROL = SYN | FIN | RST | ACK


def findings(found: Sequence[Deviation], *, whole: bool) -> list[Finding]:
    """One for each effect and direction, what comes first in a conversation in front.

    whole: every connection was, and every fast open was taken: what changes nothing that a fast
    open needs does no harm then.
    """
    groups: dict[tuple[Effect, bool], list[Deviation]] = {}
    for each in found:
        groups.setdefault((each.effect, each.onward), []).append(each)
    return [_finding(those, whole=whole) for those in groups.values()]


def _finding(those: Sequence[Deviation], *, whole: bool) -> Finding:
    first = those[0]
    name = f"{_VERBS[first.effect]}-{_object(those)}"
    parts = [f"{len(each.hits)} of {each.of} {_class(each.what)}{_sizes(each)}" for each in those]
    if first.effect is Effect.INVENTED:
        parts = [f"{len(each.hits)} {_class(each.what)}{_codes(each.hits)}" for each in those]
    says = f"{_listed(parts)} {_SAYS[first.effect]}{_fields(those)}{_where(those)}"
    return Finding(
        name,
        _verdict(those),
        says,
        harm=not (whole and _is_harmless(those)),
        way=ONWARD if first.onward else HOMEWARD,
    )


def _class(what: str) -> str:
    return _CLASSES.get(
        what,
        what.replace("SYN-ACK", "SYN-ACKs") if "SYN-ACK" in what else what.replace("SYN", "SYNs"),
    )


def _object(those: Sequence[Deviation]) -> str:
    """The object of the verb in a name: the field that changes, or the class."""
    if those[0].effect is Effect.CHANGED:
        fields = {name for one in those for each in one.hits for name in each.fields}
        if len(fields) == 1:
            return _FIELDS.get(*fields, *fields).replace(" ", "-")
        return "packets"
    classes = {each.what for each in those}
    if len(classes) == 1:
        return classes.pop().lower().replace(" ", "-")
    return (
        "syn"
        if all(each.startswith("SYN") and "ACK" not in each for each in classes)
        else ("packets")
    )


def _verdict(those: Sequence[Deviation]) -> Verdict:
    effect = those[0].effect
    hits = [each for one in those for each in one.hits]
    if effect is Effect.LOST:
        syn_data = {each.probe for each in hits} <= SYN_DATA
        later = not any("SYN" in each.what for each in hits)
        return Verdict.BLOCKS if syn_data and later else Verdict.DROPS
    if effect is Effect.CHANGED and all(_is_stripped(each) for each in hits):
        return Verdict.STRIPS
    return Verdict.TAMPERS


def _is_stripped(each: Fate) -> bool:
    if not isinstance(each.packet, Segment) or each.came is None:
        return False
    option = bool(each.packet.fast_open and not each.came.fast_open)
    data = bool(each.packet.payload and not each.came.payload)
    return option or data


def _is_harmless(those: Sequence[Deviation]) -> bool:
    """What fast open does not need: other options, windows, sequence numbers translated both
    ways, ICMP errors."""
    effect = those[0].effect
    if effect is Effect.INVENTED:
        return all(each.what == ICMP_ERROR for each in those)
    if effect is not Effect.CHANGED:
        return False
    return all(_is_harmless_change(each) for one in those for each in one.hits)


def _is_harmless_change(each: Fate) -> bool:
    sent, came = each.packet, each.came
    if not isinstance(sent, Segment) or came is None:
        return False
    if sent.payload != came.payload or sent.fast_open != came.fast_open:
        return False
    return sent.flags & _CONTROL == came.flags & _CONTROL


def _fields(those: Sequence[Deviation]) -> str:
    if those[0].effect is Effect.DELAYED:
        late = sorted(each.late for one in those for each in one.hits)
        return f", by {late[0]:.1f} to {late[-1]:.1f} s"
    if those[0].effect is not Effect.CHANGED:
        return ""
    names = dict.fromkeys(name for one in those for each in one.hits for name in each.fields)
    told = [_field(name, [each for one in those for each in one.hits]) for name in names]
    return f" ({_listed(told)})"


def _field(name: str, hits: Sequence[Fate]) -> str:
    pairs = [(each.packet, each.came) for each in hits if name in each.fields]
    segments = [(sent, came) for sent, came in pairs if isinstance(sent, Segment) and came]
    if name == "options":
        gone = [_kinds(sent) - _kinds(came) for sent, came in segments]
        same = set.intersection(*gone) if gone else set()
        if same:
            return f"option {_listed(str(each) for each in sorted(same))} is gone"
    if name == "payload" and all(sent.payload.startswith(came.payload) for sent, came in segments):
        cut = any(came.payload for _, came in segments)
        return "the end of the data is gone" if cut else "the data is gone"
    if name == "window" and not any(came.window for _, came in segments):
        return "the window is 0"
    return _FIELDS.get(name, name)


def _kinds(segment: Segment) -> set[int]:
    return {each.kind for each in opt.pull_options(segment.options)}


def _codes(hits: Sequence[Fate]) -> str:
    """Types and codes of ICMP errors."""
    errors = [each.packet for each in hits if isinstance(each.packet, IcmpError)]
    told = dict.fromkeys(f"{each.type}/{each.code}" for each in errors)
    return f" (type and code {_listed(sorted(told))})" if told else ""


def _sizes(found: Deviation) -> str:
    """Whether the amount of data decides."""
    hits, others = ([_size(each) for each in those] for those in (found.hits, found.others))
    if not others:
        return ""
    if min(hits) > max(others):
        return f" (all with {min(hits)} bytes of data or more)"
    if max(hits) < min(others):
        return f" (all with {max(hits)} bytes of data or fewer)"
    return ""


def _size(each: Fate) -> int:
    return len(each.packet.payload) if isinstance(each.packet, Segment) else 0


def _where(those: Sequence[Deviation]) -> str:
    """The kinds of connection, where it is not all that have such packets."""
    hit = {probe for each in those for probe in each.probes}
    every = hit | {each.probe for one in those for each in one.others}
    if hit == every:
        return ""
    if hit <= SYN_DATA:
        return ", only in connections whose SYN has data"
    named = [each.value for each in Probe if each in hit]
    kinds = _listed(f"'{each}'" for each in named)
    return f", in connections that begin with {kinds}" if len(named) <= 3 else ""


def _listed(parts: Iterable[str]) -> str:
    every = list(parts)
    return every[0] if len(every) == 1 else f"{', '.join(every[:-1])} and {every[-1]}"
