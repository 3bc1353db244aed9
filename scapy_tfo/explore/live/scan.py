"""What a target on the wire cannot show leaves the model, with the reason."""

from __future__ import annotations

from scapy_tfo.explore.conversation.deeds import KINDS, RESTS_FOR_MINUTES
from scapy_tfo.explore.conversation.schedule import GONE, Schedule
from scapy_tfo.explore.ends.context import FACTORS, context_of
from scapy_tfo.explore.ends.opening import (
    OLD_KEY,
    PLAIN,
    REQUEST,
    meets_no_fast_open,
    relative_of,
)
from scapy_tfo.explore.ends.steps import is_written_out, longest_wait
from scapy_tfo.explore.live.ports import leaves_a_mark
from scapy_tfo.explore.live.site import Site

_NO_FAST_OPEN = "the target grants no cookies"
_NO_KEYS = "no hooks change keys"
_NO_SPARE = "no address is spare for what the target remembers of one"
_NEIGHBOUR = "of:"
_PATIENT = 10.0
"""Seconds that a client of ours lets pass at once, where they really pass."""


FACTORS_LEFT_OUT = {
    "factor port": "schedules run side by side, each from a port of its own",
    "factor their isn": "a target chooses its ISN itself",
}
"""What no target on the wire shows, by the factor of contexts, and why."""

LEFT_OUT = tuple(each.removeprefix("factor ") for each in FACTORS_LEFT_OUT)
"""The names of these factors."""


def lacks(site: Site, schedule: Schedule) -> str:
    """Why the target cannot show a schedule, "" where it can."""
    context = context_of(schedule.context)
    if context.family not in site.sources:
        return f"IPv{context.family}: no address of the family"
    if context.port:
        return "a port of its own: schedules run side by side"
    if context.client not in _usual_clients() or context.bit is not None:
        return "a client's address: schedules come from those that are there"
    if context.iss is not None:
        return "the target's ISN: it chooses that itself"
    if is_written_out(schedule.server):
        return "applications that are written out: listeners have their own"
    if is_written_out(schedule.client) and longest_wait(schedule.client) > _PATIENT:
        return f"a client that waits for more than {_PATIENT:g} s"
    if schedule.server not in site.ports:
        return f"application {schedule.server}: no listener has it"
    if schedule.opening not in (PLAIN, REQUEST) and not site.profile.fast_open:
        return f"openings with a cookie: {_NO_FAST_OPEN}"
    if schedule.opening == OLD_KEY and schedule.server not in site.old:
        return f"opening {OLD_KEY}: {_NO_KEYS}"
    if meets_no_fast_open(schedule.opening):
        return "openings at a listener without fast open: there is none of ours"
    if schedule.opening.startswith(_NEIGHBOUR):
        bit = int(schedule.opening.removeprefix(_NEIGHBOUR))
        sources = site.sources[context.family]
        if not all(site.reaches(relative_of(each, bit)) for each in sources):
            return "openings with the cookie of a neighbour: such an address is not ours"
    if any(each.kind == GONE for each in schedule.faults):
        return "a client that is gone: a target may take hours to tell its application"
    for each in schedule.deeds:
        kind = KINDS[each.kind]
        if kind.company or kind.again:
            return "deeds with other connections: schedules run side by side"
        if each.kind.startswith("urgent"):
            return "urgent text: the target's application may get it apart"
        if each.kind == RESTS_FOR_MINUTES:
            return "an application of ours that rests for ten minutes"
    if schedule.wrong is not None and not schedule.wrong.after and not site.ours:
        return "wrong segments before the SYN: their answers may come behind it"
    if leaves_a_mark(schedule) and not site.spare:
        return f"wrong segment too-big: {_NO_SPARE}"
    return ""


def _usual_clients() -> set[object]:
    return {context_of((("family", level),)).client for level in FACTORS["family"]}
