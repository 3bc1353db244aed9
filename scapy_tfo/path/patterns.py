"""The names of known middleboxes, as patterns of what befalls packets.

A finding that has a name explains some deviations; what is left over is told as what it is.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from scapy_tfo.path.evidence import BOTH, HOMEWARD, ONWARD, Finding, Verdict
from scapy_tfo.path.observation import SYN_DATA, WITH_DATA, Probe
from scapy_tfo.path.transit import DATA, ICMP_ERROR, RESET, SYN_ACK, Effect, Fate

Covers = Callable[[Fate, Effect], bool]

_MOST_BY_CHANCE = 0.2
"""Share of packets that may be lost by chance where a rule loses others."""


def _is_syn(each: Fate) -> bool:
    return each.onward and each.what.startswith("SYN") and not _is_syn_ack(each)


def _is_syn_ack(each: Fate) -> bool:
    return each.what.startswith(SYN_ACK)


def _is_later(each: Fate) -> bool:
    """Behind the handshake."""
    return not _is_syn(each) and not _is_syn_ack(each)


def _lost_syn(each: Fate, effect: Effect) -> bool:
    return effect is Effect.LOST and _is_syn(each)


def _changed_syn(each: Fate, effect: Effect) -> bool:
    return effect is Effect.CHANGED and _is_syn(each)


def _changed_syn_ack(each: Fate, effect: Effect) -> bool:
    return effect is Effect.CHANGED and not each.onward and _is_syn_ack(each)


def _lost_after_data(each: Fate, effect: Effect) -> bool:
    return effect is Effect.LOST and each.probe in (*SYN_DATA, Probe.AFTERWARDS)


def _answered_syn(what: str) -> Covers:
    def covers(each: Fate, effect: Effect) -> bool:
        invented = effect is Effect.INVENTED and not each.onward and each.what == what
        return invented or _lost_syn(each, effect)

    return covers


def _too_big(each: Fate, effect: Effect) -> bool:
    big = effect is Effect.LOST and each.onward and each.what == DATA
    return big or _answered_syn(ICMP_ERROR)(each, effect)


def _split(each: Fate, effect: Effect) -> bool:
    rest = effect is Effect.INVENTED and each.onward and each.what == DATA
    return rest or _changed_syn(each, effect)


def _both_changed(each: Fate, effect: Effect) -> bool:
    return _changed_syn(each, effect) or _changed_syn_ack(each, effect)


COVERS: dict[str, Covers] = {
    "strips-option-from-syn": _changed_syn,
    "strips-option-from-syn-ack": _changed_syn_ack,
    "strips-option": _both_changed,
    "strips-long-option": _changed_syn,
    "strips-syn-data": _changed_syn,
    "cuts-syn-data": _changed_syn,
    "rewrites-syn-data": _changed_syn,
    "rewrites-cookie": _changed_syn,
    "acknowledges-lost-data": _both_changed,
    "splits-syn-data": _split,
    "drops-long-option": _lost_syn,
    "drops-syn-with-option": _lost_syn,
    "drops-syn-with-data": _lost_syn,
    "drops-syn-with-much-data": _lost_syn,
    "drops-syn-with-option-and-data": _lost_syn,
    "drops-syn-ack-with-cookie": lambda each, effect: effect is Effect.LOST and _is_syn_ack(each),
    "blocks-flow-after-syn-data": _lost_after_data,
    "blocks-server-after-syn-data": _lost_after_data,
    "resets-syn-with-data": _answered_syn(RESET),
    "prohibits-syn-with-data": _answered_syn(ICMP_ERROR),
    "finds-syn-too-big": _too_big,
    "duplicates-syn": lambda each, effect: effect is Effect.DOUBLED and _is_syn(each),
    "delays-syn-with-data": lambda each, effect: effect is Effect.DELAYED and _is_syn(each),
}
"""What each name explains that comes from the SYN and its answer alone."""


def later(fates: Sequence[Fate]) -> list[tuple[Finding, Covers]]:
    """The boxes that show behind the handshake."""
    behind = [each for each in fates if _is_later(each)]
    return [each for test in (_silence, _resets, _server_data, _window) for each in test(behind)]


def _share(those: Sequence[Fate], effect: Effect) -> float:
    return sum(effect in each.effects for each in those) / len(those) if those else 0.0


def _sent(fates: Sequence[Fate]) -> list[Fate]:
    return [each for each in fates if Effect.INVENTED not in each.effects]


def _silence(behind: Sequence[Fate]) -> list[tuple[Finding, Covers]]:
    sent = _sent(behind)
    tracked = [each for each in sent if each.probe not in SYN_DATA]
    after_data = [each for each in sent if each.probe in WITH_DATA]
    if not after_data or _share(after_data, Effect.LOST) < 1.0:
        return []

    def covers(each: Fate, effect: Effect) -> bool:
        return effect is Effect.LOST and _is_later(each)

    if tracked and _share(tracked, Effect.LOST) == 1.0:
        says = "SYNs and SYN-ACKs pass, and nothing else of any connection does"
        name = "silences-flow-after-handshake"
    elif tracked and _share(tracked, Effect.LOST) < _MOST_BY_CHANCE:
        says = (
            "a SYN with data and its SYN-ACK pass, and then nothing of that connection; those that "
            "begin with another SYN are whole"
        )
        name = "tracks-no-flow-with-syn-data"
    else:
        return []
    return [(Finding(name, Verdict.BLOCKS, says), covers)]


def _resets(behind: Sequence[Fate]) -> list[tuple[Finding, Covers]]:
    every = {each.trial for each in behind if each.probe is Probe.PLAIN}
    reset = [each for each in behind if each.what == RESET and Effect.INVENTED in each.effects]
    both = (
        {each.trial for each in reset if each.onward},
        {each.trial for each in reset if not each.onward},
    )
    if not every or not any(every <= those for those in both):
        return []
    ends = [name for name, those in zip(("server", "client"), both, strict=True) if every <= those]

    def covers(each: Fate, effect: Effect) -> bool:
        return effect is Effect.INVENTED and each.what == RESET and _is_later(each)

    says = f"connections are reset behind the handshake: the {' and the '.join(ends)} "
    says += f"{'get' if len(ends) > 1 else 'gets'} a RST that the other end did not send"
    way = BOTH if len(ends) > 1 else ONWARD if ends == ["server"] else HOMEWARD
    return [(Finding("resets-after-handshake", Verdict.TAMPERS, says, way=way), covers)]


def _server_data(behind: Sequence[Fate]) -> list[tuple[Finding, Covers]]:
    data = [each for each in _sent(behind) if not each.onward and each.what == DATA]
    others = [each for each in _sent(behind) if each.onward]
    if len(data) < len(Probe) or _share(others, Effect.LOST) > _MOST_BY_CHANCE:
        return []
    if _share(data, Effect.LOST) == 1.0:
        says = f"the server's data never arrives: {len(data)} of {len(data)} segments are lost"
        finding = Finding("drops-server-data", Verdict.DROPS, says)
        return [(finding, lambda each, effect: effect is Effect.LOST and _is_server_data(each))]
    came = [each for each in data if each.came is not None]
    if came and all("payload" in each.fields for each in came):
        says = "the server's data is not what was sent, and its checksum is right"
        finding = Finding("rewrites-server-data", Verdict.TAMPERS, says)
        return [(finding, lambda each, effect: effect is Effect.CHANGED and _is_server_data(each))]
    return []


def _is_server_data(each: Fate) -> bool:
    return not each.onward and (each.what == DATA or _is_syn_ack(each))


def _window(behind: Sequence[Fate]) -> list[tuple[Finding, Covers]]:
    came = [
        each
        for each in _sent(behind)
        if not each.onward and each.came is not None and each.what != RESET
    ]
    shut = [each for each in came if each.came is not None and not each.came.window]
    if not came or len(shut) < len(came) or not any("window" in each.fields for each in shut):
        return []

    def covers(each: Fate, effect: Effect) -> bool:
        return effect is Effect.CHANGED and not each.onward and each.fields == ("window",)

    says = "the server's window arrives as 0 in every segment: the client may send no more"
    return [(Finding("shuts-window", Verdict.TAMPERS, says), covers)]
