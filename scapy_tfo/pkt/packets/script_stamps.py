"""Reads off a script which TS val its packets should have, where those are times of a clock.

To many scripts a TS val is a name for whatever comes. Where a script says what a tick takes
(`--tcp_ts_tick_usecs`), or where all TS val of a connection but one are as many milliseconds apart
as their packets, they are times, and so each can be wrong.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from scapy_tfo.pkt.language import fields, tree
from scapy_tfo.pkt.packets.difference import Difference
from scapy_tfo.pkt.packets.live_numbers import Flow

_MODULUS = 1 << 32
_HALF = 1 << 31
_USUAL_TICK = 1_000_000
"""ns: of Linux, FreeBSD and most others; RFC 7323 section 5.4 has it between 1 ms and 1 s."""

_ENOUGH = 3
"""TS val of a connection, one of which may be wrong."""

_APART = 10_000_000
"""ns between packets whose TS val, if they agree with that, do so not by chance."""

_ROUNDED = 2
"""Ticks: what the script says is rounded, and so is what the kernel sends."""

_HELD_UP = 500_000
"""ns from the moment that a packet is stamped until it is on the wire."""


@dataclass(frozen=True, slots=True)
class Due:
    """When a packet comes by its script. first: the TS val of the first packet of its connection.

    value: its own. earliest, latest: ns after that packet. tick: ns.
    """

    first: int
    value: int
    earliest: int
    latest: int
    tick: int

    @property
    def error(self) -> int:
        """ns that the TS val is off."""
        shown = _signed(self.value - self.first) * self.tick
        return max(self.earliest - shown, shown - self.latest, 0)


@dataclass(slots=True)
class _Stamped:
    line: int
    value: int
    earliest: int
    latest: int


def stamps_due(script: tree.Script, tick: int) -> dict[int, Due]:
    """The packets, by line, whose TS val can be judged. tick: ns as the script says, or 0."""
    found: dict[int, Due] = {}
    for packets in _connections(script):
        dues = list(_dues(packets, tick or _USUAL_TICK))
        if not tick:
            dues = [each for each in dues if each[1].error > _USUAL_TICK] if _is_clock(dues) else []
        found.update(dues)
    return found


def wrong_stamp(due: Due, flow: Flow, value: int, live: int, when: int) -> list[Difference]:
    """That the script is wrong about a TS val, if it is.

    value: the script's. live: what came, and when, ns. The kernel's clock has to be right by what
    its packets say, so that none is blamed for a tick of its own.
    """
    if flow.first_stamps is None or flow.first_stamps[0] != due.first:
        return []
    passed = when - flow.first_stamp_at
    shown = _signed(live - flow.first_stamps[1])
    forgiven = _ROUNDED * due.tick + _HELD_UP
    if abs(shown * due.tick - passed) > forgiven:
        return []
    forgiven += due.latest - due.earliest
    off = (_signed(value - due.first) - shown) * due.tick
    # What came late has a later TS val; unless what made it late is in the script's value.
    late = max(passed - due.latest, 0) + min(passed - due.earliest, 0)
    if min(abs(off), abs(off + late)) <= forgiven:
        return []
    return [Difference("TS val", str(value), str((due.first + shown) % _MODULUS))]


def _is_clock(dues: list[tuple[int, Due]]) -> bool:
    """All agree with their times but one at most, and not by chance."""
    if any(due.earliest != due.latest for _, due in dues):
        return False
    right = [due for _, due in dues if due.error <= _USUAL_TICK]
    return (
        len(dues) + 1 >= _ENOUGH
        and len(dues) - len(right) <= 1
        and max((due.latest for due in right), default=0) >= _APART
    )


def _dues(packets: list[_Stamped], tick: int) -> Iterator[tuple[int, Due]]:
    first, *others = packets
    for each in others:
        yield (
            each.line,
            Due(
                first.value,
                each.value,
                max(each.earliest - first.latest, 0),
                each.latest - first.earliest,
                tick,
            ),
        )


def _connections(script: tree.Script) -> Iterator[list[_Stamped]]:
    """The packets with a TS val that the kernel sends, connection by connection."""
    open_ones: dict[tuple[object, int], list[_Stamped]] = {}
    earliest = latest = 0
    for event in script.events:
        time, action = event.time, event.action
        until = time.earliest if time.latest is None else time.latest
        if time.clock is tree.Clock.AFTER:
            earliest, latest = earliest + time.earliest, latest + until
        elif time.clock is tree.Clock.AT:
            earliest, latest = time.earliest, until
        is_unknown = time.clock is tree.Clock.WHENEVER or isinstance(action, tree.Shell)
        if isinstance(action, tree.Silence):
            earliest, latest = earliest + action.duration, latest + action.duration
        is_socket = isinstance(action, tree.Syscall) and action.name == "socket"
        if is_unknown or is_socket:
            yield from open_ones.values()
            open_ones = {}
        stamp = _stamp_of(action)
        if stamp is not None and isinstance(action, tree.Packet):
            found = _Stamped(event.at.line, stamp, earliest, latest)
            open_ones.setdefault((action.ports, action.client), []).append(found)
    yield from open_ones.values()


def _stamp_of(action: tree.Action) -> int | None:
    if not isinstance(action, tree.Packet) or action.direction is not tree.Direction.OUTBOUND:
        return None
    for option in action.options or ():
        if isinstance(option, fields.Timestamps) and isinstance(option.value, int):
            return option.value
    return None


def _signed(number: int) -> int:
    return (number + _HALF) % _MODULUS - _HALF
