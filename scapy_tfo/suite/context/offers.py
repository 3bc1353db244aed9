"""The options of a SYN in a context."""

from __future__ import annotations

from collections.abc import Sequence

from scapy_tfo import option as opt
from scapy_tfo.option import RawOption
from scapy_tfo.segment import Segment
from scapy_tfo.suite.context.context import Context

_UNKNOWN = 200
"""An option kind that IANA has not assigned."""

_TELLING = frozenset((opt.EOL, opt.TFO, opt.EXPERIMENT_1, opt.EXPERIMENT_2))
"""A case that gives one of these is about the list itself, which is then left as it is."""


def offered(
    context: Context,
    head: Sequence[RawOption],
    fast_open: Sequence[RawOption],
    others: Sequence[RawOption],
    tsval: int,
    room: int,
) -> list[RawOption]:
    """The options of a SYN: those of the case, and those of the context that have room.

    head: the MSS option, if any. others: what the case gives besides, which the context does not
    repeat. room: bytes for all options.
    """
    every = [*head, *fast_open, *others]
    if any(each.kind in _TELLING or not each.is_sound for each in others):
        return every
    given = {each.kind for each in others}
    free = room - len(opt.push_options(every))
    more: list[RawOption] = []
    for option in _wanted(context, tsval):
        size = len(opt.push_options([option]))
        if option.kind not in given and size <= free:
            more.append(option)
            free -= size
    before, behind = _fill(context["fill"], free)
    placed = [*before, *fast_open, *behind]
    if context["place"] == "first":
        return [*placed, *head, *others, *more]
    if context["place"] == "last":
        return [*head, *others, *more, *placed]
    return [*head, *placed, *others, *more]


def _wanted(context: Context, tsval: int) -> list[RawOption]:
    wanted = []
    if context["times"] != "none":
        wanted.append(opt.timestamps(tsval))
    if context["sack"] == "yes":
        wanted.append(opt.sack_permitted())
    if context["shift"] != "none":
        wanted.append(opt.window_scale(int(context["shift"])))
    return wanted


def _fill(fill: str, free: int) -> tuple[list[RawOption], list[RawOption]]:
    """What stands before the fast open option, and behind it."""
    if fill == "nop":
        return [opt.nop()] * (free > 0), []
    side, _, wanted = fill.partition("-")
    size = min(int(wanted or 0), free)
    if size < 2:
        return [], []
    option = RawOption(_UNKNOWN, size, bytes(size - 2))
    return ([option], []) if side == "before" else ([], [option])


def echoing(tsval: int | None, heard: Sequence[Segment]) -> list[RawOption]:
    """The timestamps option of a segment, which echoes what came last (RFC 7323 section 3.2); none
    where there is no TSval."""
    if tsval is None:
        return []
    stamps = (each.timestamps for each in reversed(heard))
    return [opt.timestamps(tsval, next((each[0] for each in stamps if each), 0))]
