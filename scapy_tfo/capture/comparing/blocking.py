"""Paths that let a connection begin, and then block or reset it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from scapy_tfo.capture.comparing.deed import LEAST, Deed, Left
from scapy_tfo.capture.comparing.fates import DROPPED, INVENTED, Fate
from scapy_tfo.capture.comparing.talk import Talk


def blocking(left: Left) -> Iterator[Deed]:
    """A SYN with data passes, and then nothing of its connection, or between the hosts."""
    opened = [(talk, at) for talk in left.talks if (at := talk.passed_data_at) is not None]
    judged = [(talk, at) for talk, at in opened if _later(talk, at)]
    stalled = [(talk, at) for talk, at in judged if _is_silent(_later(talk, at))]
    if not stalled or len(stalled) < len(judged):
        return
    own = [fate for talk, at in stalled for fate in _later(talk, at)]
    others = [
        (other, fates)
        for talk, at in stalled
        for other in left.talks
        if other is not talk and other.port == talk.port
        if (fates := other.after(at + _AT_ONCE, within=_MINUTE))
    ]
    many = f"{len(stalled)} of {len(judged)}"
    says = "a SYN with data passes, and then nothing more"
    if len(others) >= LEAST and all(_is_silent(fates) for _, fates in others):
        lost = [fate for _, fates in others for fate in fates]
        left.explain(own + lost)
        says += f" between the two hosts: {many}, {len(lost)} packets of other connections lost"
        yield Deed("blocks-server-after-syn-data", says, len(stalled), len(judged))
    elif len(stalled) >= LEAST:
        left.explain(own)
        says += f" of its connection: {many}"
        yield Deed("blocks-flow-after-syn-data", says, len(stalled), len(judged))


_AT_ONCE = 1_000_000
"""ns in which it cannot be told which of two packets was first."""

_MINUTE = 55_000_000_000
"""ns that a block lasts at least that is told of the server."""


def _later(talk: Talk, at: int) -> list[Fate]:
    """Packets of a connection behind its SYN of that time; what answers it may seem as old."""
    fates = talk.after(at - _AT_ONCE)
    return [each for each in fates if each.what != "SYN" or talk.at(each) > at]


def _is_silent(fates: Sequence[Fate]) -> bool:
    return bool(fates) and all(each.kind == DROPPED for each in fates)


def after_handshake(left: Left) -> Iterator[Deed]:
    """The handshake passes, and then nothing, or a RST for both ends."""
    judged, silent, reset = [], [], []
    for talk in left.talks:
        rest = [each for each in left.of(talk) if each.what not in ("SYN", "SYN-ACK")]
        sent = [each for each in rest if each.sent is not None]
        if not talk.has_passed("SYN-ACK") or not any(map(_goes_on, sent)):
            continue
        judged.append(talk)
        # A RST of the other end's own may be taken for the one that was forged in its name.
        forged = [each for each in rest if each.what == "RST" and each.is_done]
        if {each.to_server for each in forged if each.kind == INVENTED} and len(forged) >= LEAST:
            reset.append((talk, forged))
        elif _is_silent(sent):
            silent.append((talk, sent))
    for name, how, found in (
        ("resets-after-handshake", "are reset at both ends", reset),
        ("silences-flow-after-handshake", "get no further", silent),
    ):
        if len(found) < LEAST:
            continue
        left.explain(fate for _, fates in found for fate in fates)
        befallen = [talk for talk, _ in found]
        of = f"{len(found)} of {len(judged)}"
        if len(found) == len(judged):
            says = f"connections {how} when the handshake is over: {of}"
            yield Deed(name, says, len(found), len(judged))
        elif _are_those_with_data(befallen, judged):
            many = "tracks-no-flow-with-syn-data" if found is silent else f"{name}-with-data"
            says = f"connections whose SYN has data {how} when the handshake is over: {of}"
            yield Deed(many, f"{says}; others pass", len(found), len(judged))
        else:
            yield Deed(name, f"{of} connections {how} when the handshake is over", *_of(of))


def _goes_on(fate: Fate) -> bool:
    """Whether it is the client's, in a connection that it takes for open."""
    return fate.to_server and fate.what != "RST"


def _of(text: str) -> tuple[int, int]:
    times, of = text.split(" of ")
    return int(times), int(of)


def _are_those_with_data(befallen: Sequence[Talk], judged: Sequence[Talk]) -> bool:
    return {id(each) for each in befallen} == {id(each) for each in judged if each.has_data}
